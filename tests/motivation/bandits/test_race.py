"""A race between arms: by hand, against a second implementation, and what follows."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.motivation.bandits.race import PRIOR, RaceSettings, RaceState, race
from sadapt.motivation.building import build_bandit
from sadapt.motivation.objectives import objective
from sadapt.registry import Choice, find
from tests.motivation.bandits.examples import choose

TIE = np.array([0.9, 0.1], np.float32)
DEFAULTS = RaceSettings()


def state(means, weights, pending, variance, counts=None, xp=np):
    """A state whose arms all have that variance, and those means and weights."""
    weights = np.asarray(weights, np.float32)
    counts = np.asarray(weights if counts is None else counts)
    means, weights, squares, pending = (
        xp.asarray(x, xp.float32) for x in (means, weights, variance * weights, pending)
    )
    heard = xp.asarray(int(counts.sum()), xp.int32)
    return RaceState(means, weights, squares, xp.asarray(counts, xp.int32), pending, heard)


# z = 2. Weights (400, 100) and variance 1: the standard error is sqrt(1 / 400 + 1 / 100) = 0.111803, so arms are told
# apart from 0.2236 on (a little more, since the spread over all arms is more than 1 by the distance of the means).
HAND_TABLE = [
    ((0.5, 0.3), (400, 100), (0, 0), 1.0, None, 1),  # 0.2 apart: the one that was pulled less
    ((0.3, 0.5), (400, 100), (0, 0), 1.0, None, 1),
    ((0.3, 0.5), (100, 400), (0, 0), 1.0, None, 0),
    ((0.5, 0.25), (400, 100), (0, 0), 1.0, None, 0),  # 0.25 apart: the best
    ((0.25, 0.5), (100, 400), (0, 0), 1.0, None, 1),
    ((5.0, 3.0), (400, 100), (0, 0), 100.0, None, 1),  # ten times as much of everything
    ((5.0, 2.5), (400, 100), (0, 0), 100.0, None, 0),
    # what is under way counts: 0.2 apart with 300 of the second: sqrt(2 / 400) = 0.0707, told apart from 0.1414 on
    ((0.5, 0.3), (400, 100), (0, 300), 1.0, None, 0),
    # what was forgotten does not: 0.25 apart, but only 50 of the 100 are remembered: from 0.3 on
    ((0.5, 0.25), (400, 50), (0, 0), 1.0, (400, 100), 1),
    # no spread within the arms nor between them: the one that was pulled less
    ((0.5, 0.5), (30, 20), (0, 0), 0.0, None, 1),
    # an arm never heard of is in the race, whatever the other gave; of two such, the one with less under way
    ((100.0, 0.0), (5, 0), (0, 0), 1.0, None, 1),
    ((0.0, 0.0), (0, 0), (1, 0), 0.0, None, 1),
    ((0.0, 0.0), (0, 0), (3, 4), 0.0, None, 0),
]


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
@pytest.mark.parametrize("draws", [(0.1, 0.9), (0.9, 0.1)])
@pytest.mark.parametrize(("means", "weights", "pending", "variance", "counts", "expected"), HAND_TABLE)
def test_hand_table(means, weights, pending, variance, counts, expected, draws, xp):
    """Draws must not matter where pulls differ."""
    before = state(means, weights, pending, variance, counts, xp)
    after, arm = race(2, RaceSettings(race_z=2.0), xp=xp).select(xp.asarray(draws, xp.float32), before)
    assert int(arm) == expected
    assert arm.dtype == xp.int32
    np.testing.assert_array_equal(after.pending - before.pending, np.arange(2) == expected)
    for field in set(RaceState._fields) - {"pending"}:
        np.testing.assert_array_equal(getattr(after, field), getattr(before, field))


# z = 1, a least lead of 0.3. Weights (10,000, 5,000): the standard error is 0.0173 deviations, so the lead decides:
# 0.3, or a deviation where that is less.
LEADS = [
    (0.25, 1.0, 1),
    (0.35, 1.0, 0),
    (0.15, 0.2, 1),
    (0.25, 0.2, 0),
    (0.25, 100.0, 1),
    (0.35, 100.0, 1),  # here the standard error does, 1.73
    (2.0, 100.0, 0),
]


@pytest.mark.parametrize(("apart", "deviation", "expected"), LEADS)
def test_a_lead_must_be_worth_something(apart, deviation, expected):
    before = state((1 + apart, 1.0), (10_000, 5_000), (0, 0), deviation**2)
    for xp in (np, jnp):
        now = jax.tree.map(xp.asarray, before)
        bandit = race(2, RaceSettings(race_z=1.0, race_lead=0.3), xp=xp)
        assert int(bandit.select(xp.asarray(TIE), now)[1]) == expected


@pytest.mark.parametrize("good", [0, 1])
def test_an_arm_that_is_learned_late_is_not_given_up_for_next_to_nothing(good):
    """The bad arm is ahead by a little, for certain, until the good one is learned."""
    late = (lambda k, t: 0.4 if k > 400 else 0.0, lambda k, t: 0.015)
    curves = late if good == 0 else late[::-1]
    lost = played(race(2, xp=np), curves, deviation=0.025)
    kept = played(race(2, RaceSettings(race_lead=0.02), xp=np), curves, deviation=0.025)
    assert lost[good] < 0.25 * lost.sum()
    assert kept[good] > 0.7 * kept.sum()


@pytest.mark.parametrize(("draws", "expected"), [((0.3, 0.2, 0.9), 2), ((0.3, 0.95, 0.9), 1), ((0.0, 0.0, 0.0), 0)])
def test_ties_go_to_the_larger_draw(draws, expected):
    bandit, draws = race(3, xp=np), np.array(draws, np.float32)
    for tied in (bandit.init(), state((0.4,) * 3, (5,) * 3, (0,) * 3, 1.0)):
        assert int(bandit.select(draws, tied)[1]) == expected


def test_memory_is_a_share_of_the_past():
    """A half remembered is k = 1: the s-th of t episodes weighs s / t. Feedback 1, 2, 3, 4 by turns on two arms."""
    bandit = race(2, RaceSettings(race_memory=0.5), xp=np)
    now = bandit.init()
    for number, feedback in enumerate((1, 2, 3, 4)):
        now = bandit.update(now, np.int32(number % 2), np.float32(feedback))
    np.testing.assert_allclose(now.weights, [1 / 4 + 3 / 4, 2 / 4 + 4 / 4], rtol=1e-6)
    np.testing.assert_allclose(now.means, [(1 / 4 * 1 + 3 / 4 * 3) / 1, (2 / 4 * 2 + 4 / 4 * 4) / 1.5], rtol=1e-6)
    np.testing.assert_array_equal(now.counts, [2, 2])
    assert now.heard == 4


def test_all_of_the_past_is_every_episode_alike():
    bandit = race(2, RaceSettings(race_memory=1.0), xp=np)
    now = bandit.init()
    for feedback in (1, 2, 6):
        now = bandit.update(now, np.int32(1), np.float32(feedback))
    np.testing.assert_allclose(now.weights, [0, 3])
    assert now.means[1] == pytest.approx(3)
    assert now.squares[1] == pytest.approx(14)


@pytest.mark.parametrize("z", [0.0, 3.0])
def test_its_settings(z):
    bandit = build_bandit(objective("s-adapt"), Choice("race", RaceSettings(race_z=z)), {}, xp=np)
    close = state((0.5, 0.4), (300, 100), (0, 0), 1.0)
    assert int(bandit.select(TIE, close)[1]) == (1 if z else 0)
    assert find("bandit", "race").defaults() == DEFAULTS


def test_update_and_abandon_close_one_pending_pull():
    bandit = race(2, xp=np)
    before = state((0.1, 0.4), (1, 2), (3, 2), 1.0)
    after = bandit.update(before, np.int32(1), np.float32(1.0))
    np.testing.assert_array_equal(after.pending, [3, 1])
    np.testing.assert_array_equal(after.counts, [1, 3])
    assert after.means[0] == before.means[0]
    assert 0.4 < after.means[1] < 1
    for arm in (0, 1):
        pulled = before._replace(pending=before.pending + (np.arange(2) == arm).astype(np.float32))
        for field, twin in zip(bandit.abandon(pulled, np.int32(arm)), before, strict=True):
            np.testing.assert_array_equal(field, twin)
    none = bandit.abandon(state((0.1, 0.4), (1, 2), (0, 0), 1.0), np.int32(0))
    np.testing.assert_array_equal(none.pending, [0, 0])


# Laws


def expected_arm(history, settings=DEFAULTS):
    """Who is next by the definition, in float64 with the weights written out; None for a close call or a tie."""
    counts = [sum(arm == i for arm, _ in history) for i in (0, 1)]
    if min(counts) == 0:
        return None if counts[0] == counts[1] else int(np.argmin(counts))
    t, power = len(history), 1 / settings.race_memory - 1
    weight = np.array([((s + 1) / t) ** power for s in range(t)])
    arm, f = np.array([a for a, _ in history]), np.array([x for _, x in history], np.float64)
    every = np.cov(f, aweights=weight, ddof=0)
    means, errors = np.zeros(2), np.zeros(2)
    for i in (0, 1):
        n = weight[arm == i].sum()
        means[i] = (weight * f)[arm == i].sum() / n
        squares = (weight * (f - means[i]) ** 2)[arm == i].sum()
        errors[i] = (squares + PRIOR * every) / (n + PRIOR) / n
    apart, needed = abs(means[0] - means[1]), settings.race_z * math.sqrt(errors.sum())
    if abs(apart - needed) <= 1e-2 * needed + 1e-6:
        return None
    if apart > needed:
        return int(np.argmax(means))
    return None if counts[0] == counts[1] else int(np.argmin(counts))


@given(
    st.lists(st.floats(0, 1, width=32, allow_subnormal=False), min_size=4, max_size=40),
    st.floats(-4, 4, width=32),
    st.floats(0.125, 8, width=32),
    st.integers(0, 2**16),
    st.floats(0.25, 3, width=32),
)
def test_choices_do_not_depend_on_unit_and_zero_of_feedback(feedbacks, shift, scale, seed, z):
    """a + b f gives the choices of f, which are those of an independent implementation, but for close calls."""
    settings = RaceSettings(race_z=z)
    bandit, random = race(2, settings, xp=np), np.random.default_rng(seed)
    one, other, history = bandit.init(), bandit.init(), []
    for feedback in feedbacks:
        draws = random.random(2, np.float32)
        expected = expected_arm(history, settings)
        one, arm = bandit.select(draws, one)
        other, twin = bandit.select(draws, other)
        if expected is not None:
            assert int(twin) == int(arm) == expected
        # where it is a close call rounding may decide: both go on with the first one's choice
        other = other._replace(pending=one.pending)
        one = bandit.update(one, arm, np.float32(feedback))
        other = bandit.update(other, arm, np.float32(shift + scale * feedback))
        history.append((int(arm), float(feedback)))


@given(st.lists(st.floats(0, 1, width=32, allow_subnormal=False), min_size=1, max_size=30), st.permutations(range(3)))
def test_permuting_arms_permutes_choices(feedbacks, order):
    """Arm i of the one is arm order[i] of the other; z is so small that arms do go out."""
    bandit = race(3, RaceSettings(race_z=0.5), xp=np)
    one, other = bandit.init(), bandit.init()
    for number, feedback in enumerate(feedbacks):
        draws = np.random.default_rng(number).random(3).astype(np.float32)
        moved = np.empty(3, np.float32)
        moved[list(order)] = draws
        one, arm = bandit.select(draws, one)
        other, twin = bandit.select(moved, other)
        if len(set(one.means.tolist())) == 3:  # of equal means rounding decides which is best
            assert int(twin) == order[int(arm)]
        other = other._replace(pending=one.pending[np.argsort(order)])
        one = bandit.update(one, arm, np.float32(feedback))
        other = bandit.update(other, np.int32(order[int(arm)]), np.float32(feedback))


@pytest.mark.parametrize(("arms", "share"), [(2, 32), (4, 16)])
def test_simultaneous_choices_spread_at_the_start(arms, share):
    bandit = race(arms)
    now, picked = choose(bandit)(jax.random.key(0), bandit.init(), jnp.ones(64, bool))
    np.testing.assert_array_equal(np.bincount(picked), [share] * arms)
    np.testing.assert_array_equal(now.pending, [share] * arms)
    update = jax.jit(bandit.update)
    for arm in picked:
        now = update(now, arm, jnp.float32(0.25))
    np.testing.assert_array_equal(now.pending, [0] * arms)
    np.testing.assert_array_equal(now.counts, [share] * arms)


def test_an_arm_is_tried_again_only_as_often_as_it_takes():
    """0.5 apart, variance 1, 400 and 60 remembered, z = 5: out needs 1 / 400 + 1 / n < 0.01, that is n > 133."""
    bandit = race(2, RaceSettings(race_z=5.0))
    before = state((0.5, 0.0), (400, 60), (0, 0), 1.0, (400, 200), xp=jnp)
    _, picked = choose(bandit)(jax.random.key(0), before, jnp.ones(128, bool))
    assert 74 <= np.sum(picked == 1) <= 90


def test_numpy_equals_jax():
    host, device = race(3, xp=np), race(3)
    select, update = jax.jit(device.select), jax.jit(device.update)
    random = np.random.default_rng(0)
    one, other = host.init(), device.init()
    for _ in range(60):
        draws, feedback = random.random(3, np.float32), random.random(dtype=np.float32)
        one, arm = host.select(draws, one)
        other, same = select(jnp.asarray(draws), other)
        assert int(arm) == int(same)
        if random.random() < 0.7:
            one, other = host.update(one, arm, feedback), update(other, same, jnp.asarray(feedback))
        for field, twin in zip(one, other, strict=True):
            np.testing.assert_allclose(field, twin, rtol=1e-3, atol=1e-4)


# Regret


def played(bandit, curves, episodes=2_000, seed=0, unit=1.0, deviation=0.1, together=16):
    """Pulls of each arm, whose k-th pull at time t is worth `curves[arm](k, t)` and a little noise, in some unit."""
    random, pulls = np.random.default_rng(seed), np.zeros(2)
    now = bandit.init()
    for begin in range(0, episodes, together):
        arms = []
        for _ in range(together):
            now, arm = bandit.select(random.random(2, np.float32), now)
            arms.append(int(arm))
        for arm in arms:
            worth = curves[arm](pulls[arm], begin) + deviation * random.normal()
            now = bandit.update(now, np.int32(arm), np.float32(unit * worth))
            pulls[arm] += 1
    return pulls


FLAT = (lambda k, t: 1.0, lambda k, t: 0.2)
RISING = (lambda k, t: min(k / 100, 1.0), lambda k, t: 0.2)  # learned late
FALLING = (lambda k, t: 1.0, lambda k, t: max(1 - k / 50, 0.0))  # forgotten
TOGETHER = (lambda k, t: min(t / 1000, 1.0), lambda k, t: 0.5 * min(t / 1000, 1.0))  # as exploration falls
HELD_BACK = (lambda k, t: 0.4 * min(k / 300, 1), lambda k, t: 0.3 * min(k / 200, 1))  # better, once it is learned
TURNING = (lambda k, t: float(t >= 800), lambda k, t: 0.5)  # the world changes


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("good", [0, 1])
@pytest.mark.parametrize(
    ("curves", "least"),
    [
        pytest.param(FLAT, 0.95, id="flat"),
        pytest.param(RISING, 0.9, id="rising"),
        pytest.param(FALLING, 0.95, id="falling"),
        pytest.param(TOGETHER, 0.85, id="rising together"),
    ],
)
def test_the_good_arm_is_pulled_most(curves, least, good, unit):
    pulls = played(race(2, xp=np), curves if good == 0 else curves[::-1], unit=unit)
    assert pulls[good] > least * pulls.sum()
    assert pulls[1 - good] >= 1


@pytest.mark.parametrize("good", [0, 1])
def test_an_arm_is_not_given_up_for_being_learned_less(good):
    """Both rise by their own pulls, the better one a little later: by turns they are learned alike."""
    pulls = played(race(2, xp=np), HELD_BACK if good == 0 else HELD_BACK[::-1], deviation=0.1)
    assert pulls[good] > 0.6 * pulls.sum()


@pytest.mark.parametrize("good", [0, 1])
def test_an_arm_that_was_left_is_tried_again(good):
    """It was worse for 800 episodes and is better from then on: more than half of the other 1,200 are its own."""
    pulls = played(race(2, xp=np), TURNING if good == 0 else TURNING[::-1])
    assert pulls[good] > 600


@pytest.mark.parametrize("good", [0, 1])
def test_what_is_wasted_grows_slower_than_the_training(good):
    """Four times as many episodes: a smaller share of them on the worse arm, a deviation below the better one."""
    curves = (lambda k, t: 0.6, lambda k, t: 0.5)
    short, long = (played(race(2, xp=np), curves[:: 1 - 2 * good], episodes=n)[1 - good] / n for n in (1_000, 4_000))
    assert long < 0.75 * short
    assert 0 < short < 0.35
