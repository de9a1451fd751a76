"""What the bandit hears: tables by hand, laws, and random agents that nothing can be compared with."""

from __future__ import annotations

import json
import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.errors import UserError
from sadapt.motivation.building import build_feedback
from sadapt.motivation.feedback import (
    COMPARED,
    FeedbackSettings,
    RandomAgent,
    as_plain,
    away_from_random,
    distance,
    from_plain,
    known_by_entropy,
    nobody,
    of_entropy,
    of_surprise,
    summed_up,
    usable,
    with_units,
)
from sadapt.motivation.objectives import MAXIMISE, MINIMISE
from sadapt.registry import Choice, find


def agent(mean, std, of="entropy"):
    """A random agent of which one measure is like that, and the other like nothing else here."""
    other = {name: np.float32(1e3) for name in COMPARED}
    return RandomAgent(mean={**other, of: np.float32(mean)}, std={**other, of: np.float32(std)})


def heard(x, random, arm=MAXIMISE, of="entropy", *, signed=False, xp=np):
    measures = {name: xp.float32(-1e6) for name in COMPARED} | {of: xp.float32(x)}
    return float(away_from_random(of, signed=signed, xp=xp).hear(measures, random, xp.int32(arm)))


TABLE = [
    # x, mean, std of the random agent, (x - mean) / max(|mean|, std)
    (4, 4, 0, 0),
    (6, 4, 0, 0.5),
    (2, 4, 0, -0.5),
    (0, 4, 1, -1),
    (12, 4, 3.5, 2),
    # a Gaussian's entropy may be negative: its size counts
    (-6, -4, 0, -0.5),
    (4, -4, 1, 2),
    # near zero, or noisy: the deviation is the unit
    (1, 0, 2, 0.5),
    (-3, 0, 2, -1.5),
    (3, 1, 4, 0.5),
    (-3, -1, 4, -0.5),
    (5, 1e-30, 10, 0.5),
]


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
@pytest.mark.parametrize("of", COMPARED)
@pytest.mark.parametrize(("x", "mean", "std", "moved"), TABLE)
def test_by_hand(x, mean, std, moved, of, xp):
    """|moved| for either arm; signed, moved itself for S-Max and its negative for S-Min."""
    random = agent(mean, std, of)
    for arm, sign in ((MAXIMISE, 1), (MINIMISE, -1)):
        assert heard(x, random, arm, of, xp=xp) == pytest.approx(abs(moved))
        assert heard(x, random, arm, of, signed=True, xp=xp) == pytest.approx(sign * moved)


@pytest.mark.parametrize(("name", "factory"), [("entropy", of_entropy), ("surprise", of_surprise)])
def test_each_goes_by_its_own_measure(name, factory):
    """Entropy 6 where a random agent has 4, mean surprise 1 where it has 10 +- 20: 0.5 and 0.45."""
    random = RandomAgent(mean={"entropy": 4.0, "surprise": 10.0}, std={"entropy": 1.0, "surprise": 20.0})
    measures = {"entropy": np.float32(6), "surprise": np.float32(1)}
    expected = {"entropy": 0.5, "surprise": -0.45}[name]
    for signed in (False, True):
        settings = FeedbackSettings(signed=signed)
        for feedback in (factory(settings, xp=np), build_feedback(Choice(name, settings), {}, xp=np)):
            assert feedback.of == name
            for arm, sign in ((MAXIMISE, 1), (MINIMISE, -1)):
                wanted = sign * expected if signed else abs(expected)
                assert feedback.hear(measures, random, np.int32(arm)) == pytest.approx(wanted)
    assert find("feedback", name).defaults() == FeedbackSettings(signed=False)


def test_near_zero_is_not_far_away():
    """x_rand = 1e-6 +- 1: an x of 0.5 is half a deviation away, not half a million times x_rand."""
    assert heard(0.5, agent(1e-6, 1)) == pytest.approx(0.5, rel=1e-4)
    assert heard(0.5, agent(1e-6, 0)) == pytest.approx(5e5, rel=1e-4)


# Laws

numbers = st.floats(-1e3, 1e3, width=32, allow_subnormal=False)
units = st.floats(0.125, 1e3, width=32, allow_subnormal=False)


@given(numbers, numbers, units)
def test_unsigned_is_symmetric_and_blind_to_the_arm(far, mean, std):
    """As far above as below, up to what float32 loses in mean +- far."""
    random, far, mean = agent(mean, std), np.float32(far), np.float32(mean)
    above, below = heard(mean + far, random), heard(mean - far, random)
    unit = max(abs(float(mean)), std)
    assert above >= 0
    assert above == pytest.approx(abs(float(far)) / unit, rel=1e-4, abs=1e-4 * (abs(float(mean)) + 1) / unit)
    assert above == pytest.approx(below, rel=1e-4, abs=1e-4 * (abs(float(mean)) + 1) / unit)
    assert above == heard(mean + far, random, MINIMISE)


@given(numbers, numbers, units)
def test_signed_changes_sign_with_the_arm(x, mean, std):
    random = agent(mean, std)
    up, down = (heard(x, random, arm, signed=True) for arm in (MAXIMISE, MINIMISE))
    assert up == -down
    assert abs(up) == heard(x, random)
    assert (up > 0) == (np.float32(x) > np.float32(mean))


@pytest.mark.parametrize("signed", [False, True])
@given(numbers, numbers, units, st.integers(-10, 10), st.sampled_from([MAXIMISE, MINIMISE]))
def test_the_unit_of_measurement_does_not_matter(signed, x, mean, std, power, arm):
    """Nats or bits: x, x_rand and its deviation times one number give the same feedback; exactly, for powers of 2."""
    scale = 2.0**power
    before = heard(x, agent(mean, std), arm, signed=signed)
    assert heard(scale * x, agent(scale * mean, scale * std), arm, signed=signed) == before
    bits = 1 / math.log(2)
    near = {"rel": 1e-3, "abs": 1e-4 * (1 + before**2)}
    assert heard(bits * x, agent(bits * mean, bits * std), arm, signed=signed) == pytest.approx(before, **near)


@given(numbers, numbers, st.floats(0, 1e3, width=32, allow_subnormal=False))
def test_whatever_is_usable_gives_finite_feedback(x, mean, std):
    random = agent(mean, std)
    try:
        usable(random, "entropy", "here")
    except UserError:
        assert max(abs(mean), std) < 1e-9
    else:
        assert math.isfinite(heard(x, random))


def test_distance_is_of_arrays_too():
    random = RandomAgent({"entropy": 4.0}, {"entropy": 1.0})
    np.testing.assert_allclose(distance(np.array([2.0, 6.0]), random, "entropy", np), [-0.5, 0.5])
    assert with_units(random, np).unit == {"entropy": 4.0}


# Random agents


@pytest.mark.parametrize(
    ("mean", "std"),
    [(0.0, 0.0), (-0.0, 0.0), (1e-12, 0.0), (1e-12, 1e-12)]
    + [pair for bad in (math.nan, math.inf) for pair in ((bad, 0.0), (-bad, 1.0), (1.0, bad))],
)
@pytest.mark.parametrize("of", COMPARED)
def test_unusable_random_agents_are_refused(mean, std, of):
    with pytest.raises(UserError, match=rf"random agent's {of} in 'somewhere' is .*undefined"):
        usable(agent(mean, std, of), of, "somewhere")
    # only what is compared matters
    other = next(name for name in COMPARED if name != of)
    assert usable(agent(mean, std, of), other, "somewhere") == agent(mean, std, of) or math.isnan(mean + std)


@pytest.mark.parametrize(("mean", "std"), [(3.0, 0.0), (-3.0, 0.0), (1e-3, 0.0), (0.0, 1e-3), (-1e-12, 2.0)])
def test_usable_random_agents_come_back(mean, std):
    random = agent(mean, std)
    assert usable(random, "entropy", "somewhere") is random


def test_a_feedback_by_something_else_has_nothing_to_refuse():
    assert usable(agent(0, 0), "deaths", "somewhere") == agent(0, 0)


def test_summed_up_by_hand():
    """1, 2, 3, 6: mean 3, variance (4 + 1 + 0 + 9) / 4; what is not kept is left out."""
    found = summed_up({"entropy": np.array([1, 2, 3, 6]), "surprise": np.array([5, 5]), "return": np.array([7])})
    assert found.mean == {"entropy": 3, "surprise": 5}
    assert found.std == {"entropy": math.sqrt(14 / 4), "surprise": 0}


def test_there_and_back():
    random = summed_up({"entropy": np.array([1.0, 2.5]), "surprise": np.array([-3.0, 4.0])})
    plain = json.loads(json.dumps(as_plain(random), allow_nan=False))
    assert plain == {"mean": {"entropy": 1.75, "surprise": 0.5}, "std": {"entropy": 0.75, "surprise": 3.5}}
    back = from_plain(plain, "here")
    assert back == random
    assert {type(value) for part in (back.mean, back.std) for value in part.values()} == {np.float32}
    assert as_plain(back) == plain


def test_what_was_not_measured_stays_so():
    """Only an entropy of 2.5 is known: it can be compared with, surprise cannot."""
    known = known_by_entropy(2.5)
    plain = json.loads(json.dumps(as_plain(known), allow_nan=False))
    assert plain == {"mean": {"entropy": 2.5, "surprise": None}, "std": {"entropy": 0, "surprise": None}}
    back = from_plain(plain, "here")
    assert usable(back, "entropy", "here") is back
    assert heard(5, back) == 1
    with pytest.raises(UserError, match="random agent's surprise in 'here' is nan"):
        usable(back, "surprise", "here")


def test_nobody_has_the_shapes_of_somebody():
    for known in (nobody(), known_by_entropy(3.0)):
        assert [list(part) for part in known[:2]] == [list(part) for part in agent(1, 1)[:2]]
        assert {np.shape(value) for part in (known.mean, known.std) for value in part.values()} == {()}


FULL = {"mean": {"entropy": 1.0, "surprise": 2.0}, "std": {"entropy": 0.0, "surprise": 0.5}}


@pytest.mark.parametrize(
    ("given_", "lacks"),
    [
        ({}, "'mean'"),
        ({"mean": FULL["mean"]}, "'std'"),
        ({**FULL, "mean": {"entropy": 1.0}}, "'surprise'"),
        ({**FULL, "std": {"surprise": 1.0}}, "'entropy'"),
        ({**FULL, "std": {"surprise": 1.0, "entropy": "much"}}, "much"),
        ({**FULL, "mean": {"surprise": 1.0, "entropy": [1.0, 2.0]}}, "a number"),
        ({**FULL, "mean": {"surprise": 1.0, "entropy": 10**400}}, ""),
        (3.0, "float"),
        (None, "NoneType"),
    ],
)
def test_what_is_missing_is_named(given_, lacks):
    with pytest.raises(UserError, match=rf"the file holds no random agent \(it lacks .*{lacks}.*expected mean and std"):
        from_plain(given_, "the file")
