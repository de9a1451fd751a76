"""UCB in units of the feedback's own spread: by hand, against a second implementation, and what follows from it."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.motivation.bandits.relative import RelativeSettings, RelativeState, relative
from sadapt.motivation.building import build_bandit
from sadapt.motivation.objectives import objective
from sadapt.registry import Choice, find
from tests.motivation.bandits.examples import choose

TIE = (0.9, 0.1)


def state(means, counts, pending, variance, xp=np):
    """A state whose feedbacks so far have that variance; their mean is that of the arms."""
    total = sum(counts)
    mean = sum(m * n for m, n in zip(means, counts, strict=True)) / max(total, 1)
    return RelativeState(*(xp.asarray(each, xp.float32) for each in (means, counts, pending, mean, variance * total)))


# ln 4 = 1.386294, ln 5 = 1.609438, ln 6 = 1.791759; c = 1
HAND_TABLE = [
    # s = 1, N = (3, 1), t = 4: 0.5 + sqrt(0.462098) = 1.179778; 0.2 + sqrt(1.386294) = 1.377410
    ((0.5, 0.2), (3, 1), (0, 0), 1.0, 1),
    # s = 0.5, the same: 0.5 + 0.339889 = 0.839889; 0.2 + 0.588705 = 0.788705
    ((0.5, 0.2), (3, 1), (0, 0), 0.25, 0),
    # all feedback ten times as large: s = 5: 5 + 3.39889; 2 + 5.88705
    ((5.0, 2.0), (3, 1), (0, 0), 25.0, 0),
    # no spread at all: the better mean
    ((0.5, 0.2), (3, 1), (0, 0), 0.0, 0),
    ((0.2, 0.5), (100, 1), (0, 0), 0.0, 1),
    # what is under way counts: s = 1, N = (3, 1 + 1), t = 5: 0.5 + 0.732447 = 1.232447; 0.2 + 0.897061 = 1.097061
    ((0.5, 0.2), (3, 1), (0, 1), 1.0, 0),
    # ... in t as well: N = (3 + 2, 1), t = 6: 0.5 + 0.598625 = 1.098625; 0.2 + 1.338566 = 1.538566
    ((0.5, 0.2), (3, 1), (2, 0), 1.0, 1),
    # an arm never heard of goes first, however good the other, and however much of it is under way
    ((100.0, 0.0), (5, 0), (0, 0), 1.0, 1),
    ((100.0, 0.0), (5, 0), (0, 50), 1.0, 1),
    ((0.0, 100.0), (0, 5), (0, 0), 0.0, 0),
    # of two such arms, the one with less under way
    ((0.0, 0.0), (0, 0), (1, 0), 0.0, 1),
    ((0.0, 0.0), (0, 0), (3, 4), 0.0, 0),
]


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
@pytest.mark.parametrize("draws", [(0.1, 0.9), (0.9, 0.1)])
@pytest.mark.parametrize(("means", "counts", "pending", "variance", "expected"), HAND_TABLE)
def test_hand_table(means, counts, pending, variance, expected, draws, xp):
    """Draws must not matter where scores differ."""
    before = state(means, counts, pending, variance, xp)
    after, arm = relative(2, RelativeSettings(relative_c=1.0), xp=xp).select(xp.asarray(draws, xp.float32), before)
    assert int(arm) == expected
    assert arm.dtype == xp.int32
    np.testing.assert_array_equal(after.pending - before.pending, np.arange(2) == expected)
    for field in ("means", "counts", "mean", "spread"):
        np.testing.assert_array_equal(getattr(after, field), getattr(before, field))


@pytest.mark.parametrize(("draws", "expected"), [((0.3, 0.2, 0.9), 2), ((0.3, 0.95, 0.9), 1), ((0.0, 0.0, 0.0), 0)])
def test_ties_go_to_the_larger_draw(draws, expected):
    bandit, draws = relative(3, xp=np), np.array(draws, np.float32)
    for tied in (bandit.init(), state((0.4,) * 3, (5,) * 3, (0,) * 3, 1.0)):
        assert int(bandit.select(draws, tied)[1]) == expected
    best_two = state((0.4, 0.4, 0.1), (5, 5, 5), (0, 0, 0), 0.01)
    assert int(bandit.select(np.array([0.1, 0.2, 0.9], np.float32), best_two)[1]) == 1


@pytest.mark.parametrize("c", [0.0, 2.0])
def test_its_setting_is_c(c):
    """s = 1, N = (3, 1): greedy with c = 0, the second arm with c = 2."""
    bandit = build_bandit(objective("s-adapt"), Choice("relative", RelativeSettings(relative_c=c)), {}, xp=np)
    assert int(bandit.select(np.array(TIE, np.float32), state((0.5, 0.2), (3, 1), (0, 0), 1.0))[1]) == (1 if c else 0)
    assert find("bandit", "relative").defaults().relative_c == 5.0


histories = st.lists(
    st.tuples(st.integers(0, 2), st.floats(-10, 10, width=32, allow_subnormal=False)), min_size=1, max_size=40
)


@given(histories)
def test_moments_are_those_of_all_that_was_heard(history):
    bandit = relative(3, xp=np)
    now = bandit.init()
    for arm, feedback in history:
        now = bandit.update(now, np.int32(arm), np.float32(feedback))
    everything = np.array([feedback for _, feedback in history])
    assert now.mean == pytest.approx(everything.mean(), rel=1e-4, abs=1e-4)
    assert now.spread / len(history) == pytest.approx(everything.var(), rel=1e-3, abs=1e-3)
    assert now.spread >= 0
    for arm in range(3):
        heard = [feedback for pulled, feedback in history if pulled == arm]
        assert now.counts[arm] == len(heard)
        assert now.means[arm] == pytest.approx(np.mean(heard) if heard else 0, rel=1e-4, abs=1e-4)
    standing = bandit.standing(now)
    np.testing.assert_array_equal(standing.means, now.means)
    np.testing.assert_array_equal(standing.counts, now.counts)


def test_update_and_abandon_close_one_pending_pull():
    bandit = relative(2, xp=np)
    before = state((0.1, 0.4), (1, 2), (3, 2), 1.0)
    after = bandit.update(before, np.int32(1), np.float32(1.0))
    np.testing.assert_array_equal(after.pending, [3, 1])
    np.testing.assert_array_equal(after.counts, [1, 3])
    np.testing.assert_allclose(after.means, [0.1, 0.6], rtol=1e-6)
    for arm in (0, 1):
        pulled = before._replace(pending=before.pending + (np.arange(2) == arm).astype(np.float32))
        for field, twin in zip(bandit.abandon(pulled, np.int32(arm)), before, strict=True):
            np.testing.assert_array_equal(field, twin)
    none = bandit.abandon(state((0.1, 0.4), (1, 2), (0, 0), 1.0), np.int32(0))
    np.testing.assert_array_equal(none.pending, [0, 0])


# Laws


def scores(heard, c=5.0):
    """mu_i + c s sqrt(log t / N_i) in float64, from all that each arm has told; never heard of: infinite."""
    everything = [f for each in heard for f in each]
    spread = np.std(everything) if everything else 0.0
    bonus = [c * spread * math.sqrt(math.log(len(everything)) / len(each)) if each else math.inf for each in heard]
    return np.array([np.mean(each or [0]) for each in heard]) + bonus


@given(
    st.lists(st.floats(0, 1, width=32, allow_subnormal=False), min_size=4, max_size=30),
    st.floats(-4, 4, width=32),
    st.floats(0.125, 8, width=32),
    st.integers(0, 2**16),
)
def test_choices_do_not_depend_on_unit_and_zero_of_feedback(feedbacks, shift, scale, seed):
    """a + b f gives the choices of f, which are those of an independent implementation, where scores differ at all."""
    bandit, random = relative(2, xp=np), np.random.default_rng(seed)
    one, other = bandit.init(), bandit.init()
    heard: list[list[float]] = [[], []]
    decided = 0
    for feedback in feedbacks:
        draws = random.random(2, np.float32)
        expected = scores(heard)
        one, arm = bandit.select(draws, one)
        other, twin = bandit.select(draws, other)
        if np.isinf(expected).any() or abs(expected[0] - expected[1]) > 1e-3:
            assert int(twin) == int(arm)
            if not np.isinf(expected).all():
                assert int(arm) == int(np.argmax(expected))
                decided += 1
        # where scores are all but equal rounding may decide: both go on with the first one's choice
        other = other._replace(pending=one.pending)
        one = bandit.update(one, arm, np.float32(feedback))
        other = bandit.update(other, arm, np.float32(shift + scale * feedback))
        heard[int(arm)].append(float(feedback))
    assert decided >= 1


@given(st.lists(st.floats(0, 1, width=32, allow_subnormal=False), min_size=1, max_size=30), st.permutations(range(3)))
def test_permuting_arms_permutes_choices(feedbacks, order):
    """Arm i of the one is arm order[i] of the other."""
    bandit = relative(3, xp=np)
    one, other = bandit.init(), bandit.init()
    for number, feedback in enumerate(feedbacks):
        draws = np.random.default_rng(number).random(3).astype(np.float32)
        moved = np.empty(3, np.float32)
        moved[list(order)] = draws
        one, arm = bandit.select(draws, one)
        other, twin = bandit.select(moved, other)
        assert int(twin) == order[int(arm)]
        one, other = bandit.update(one, arm, np.float32(feedback)), bandit.update(other, twin, np.float32(feedback))


@pytest.mark.parametrize(("arms", "share"), [(2, 32), (4, 16)])
def test_simultaneous_choices_spread_at_the_start(arms, share):
    bandit = relative(arms)
    now, picked = choose(bandit)(jax.random.key(0), bandit.init(), jnp.ones(64, bool))
    np.testing.assert_array_equal(np.bincount(picked), [share] * arms)
    np.testing.assert_array_equal(now.pending, [share] * arms)
    update = jax.jit(bandit.update)
    for arm in picked:
        now = update(now, arm, jnp.float32(0.25))
    np.testing.assert_array_equal(now.pending, [0] * arms)
    np.testing.assert_array_equal(now.counts, [share] * arms)


@given(st.integers(1, 5), st.integers(0, 40), st.floats(-100, 100, width=32), st.integers(0, 2**16))
def test_an_arm_never_heard_of_goes_first(pulls, pending, feedback, seed):
    bandit, draws = relative(3, xp=np), np.random.default_rng(seed).random(3, np.float32)
    now = bandit.init()._replace(pending=np.array([0, 0, pending], np.float32))
    for _ in range(pulls):
        for arm in (0, 1):
            now = bandit.update(now, np.int32(arm), np.float32(feedback))
    assert int(bandit.select(draws, now)[1]) == 2


def test_numpy_equals_jax():
    host, device = relative(3, xp=np), relative(3)
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
            np.testing.assert_allclose(field, twin, rtol=1e-4, atol=1e-5)


# Regret


FLAT = (lambda k: 1.0, lambda k: 0.2)
RISING = (lambda k: min(k / 100, 1.0), lambda k: 0.2)  # learned late
FALLING = (lambda k: 1.0, lambda k: max(1 - k / 50, 0.0))  # forgotten


def played(bandit, curves, episodes=2_000, seed=0, unit=1.0):
    """Pulls of each arm, whose k-th pull is worth `curves[arm](k)` and a little noise, in some unit."""
    random, pulls = np.random.default_rng(seed), np.zeros(2)
    now = bandit.init()
    for _ in range(episodes):
        now, arm = bandit.select(random.random(2, np.float32), now)
        worth = curves[int(arm)](pulls[int(arm)]) + 0.1 * random.normal()
        now = bandit.update(now, arm, np.float32(unit * worth))
        pulls[int(arm)] += 1
    return pulls


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("good", [0, 1])
@pytest.mark.parametrize(
    "curves",
    [
        pytest.param(FLAT, id="flat"),
        pytest.param(RISING, id="rising"),
        pytest.param(FALLING, id="falling"),
    ],
)
def test_the_good_arm_is_pulled_most(curves, good, unit):
    pulls = played(relative(2, xp=np), curves if good == 0 else curves[::-1], unit=unit)
    assert pulls[good] > 0.8 * pulls.sum()
    assert pulls[1 - good] >= 1


@pytest.mark.parametrize("good", [0, 1])
def test_with_less_exploration_an_arm_that_is_learned_late_is_given_up(good):
    """Why it is not the square root of two: noise is all that it explores by."""
    bandit = relative(2, RelativeSettings(relative_c=math.sqrt(2)), xp=np)
    pulls = played(bandit, RISING if good == 0 else RISING[::-1])
    assert pulls[good] < 0.1 * pulls.sum()


@pytest.mark.parametrize("good", [0, 1])
def test_a_small_difference_is_explored(good):
    """Means a deviation apart: the worse arm is tried more than a few times, and yet seldom."""
    curves = (lambda k: 0.6, lambda k: 0.5)
    pulls = played(relative(2, xp=np), curves if good == 0 else curves[::-1])
    assert pulls[good] > 0.8 * pulls.sum()
    assert pulls[1 - good] > 5
