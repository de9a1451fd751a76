"""UCB by recent feedback in units of its own spread: by hand, against a second implementation, and what follows."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.motivation.bandits.recent import PRIOR, RecentSettings, RecentState, recent
from sadapt.motivation.building import build_bandit
from sadapt.motivation.objectives import objective
from sadapt.registry import Choice, find
from tests.motivation.bandits.examples import choose

TIE = (0.9, 0.1)
DEFAULTS = RecentSettings()


def state(means, weights, pending, variance, heard=None, xp=np):
    """A state whose arms all have that variance, and those means and weights."""
    weights = np.asarray(weights, np.float32)
    heard = int(weights.sum()) if heard is None else heard
    squares = variance * weights
    floats = (xp.asarray(each, xp.float32) for each in (means, weights, squares, weights, pending))
    return RecentState(*floats, xp.asarray(heard, xp.int32))


# c = 1; all arms have the same mean or weights so large that the spread over all arms hardly matters
HAND_TABLE = [
    # weights (300, 100), t = 400, ln t = 5.991465, sigma = 1: bonuses 0.141321 and 0.244774, a little more for the
    # distance between the means
    ((0.5, 0.41), (300, 100), (0, 0), 1.0, 1),
    ((0.5, 0.39), (300, 100), (0, 0), 1.0, 0),
    # all feedback ten times as large
    ((5.0, 4.1), (300, 100), (0, 0), 100.0, 1),
    ((5.0, 3.9), (300, 100), (0, 0), 100.0, 0),
    # what is under way counts: N = (300, 100 + 200), t = 600
    ((0.5, 0.41), (300, 100), (0, 200), 1.0, 0),
    # no spread within the arms, none between them: the draw decides, see below; between them: the better mean
    ((0.2, 0.5), (300, 300), (0, 0), 0.0, 1),
    # an arm never heard of goes first, however good the other, and however much of it is under way
    ((100.0, 0.0), (5, 0), (0, 0), 1.0, 1),
    ((100.0, 0.0), (5, 0), (0, 50), 1.0, 1),
    # of two such arms, the one with less under way
    ((0.0, 0.0), (0, 0), (1, 0), 0.0, 1),
    ((0.0, 0.0), (0, 0), (3, 4), 0.0, 0),
]


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
@pytest.mark.parametrize("draws", [(0.1, 0.9), (0.9, 0.1)])
@pytest.mark.parametrize(("means", "weights", "pending", "variance", "expected"), HAND_TABLE)
def test_hand_table(means, weights, pending, variance, expected, draws, xp):
    """Draws must not matter where scores differ."""
    before = state(means, weights, pending, variance, xp=xp)
    after, arm = recent(2, RecentSettings(recent_c=1.0), xp=xp).select(xp.asarray(draws, xp.float32), before)
    assert int(arm) == expected
    assert arm.dtype == xp.int32
    np.testing.assert_array_equal(after.pending - before.pending, np.arange(2) == expected)
    for field in set(RecentState._fields) - {"pending"}:
        np.testing.assert_array_equal(getattr(after, field), getattr(before, field))


@pytest.mark.parametrize(("draws", "expected"), [((0.3, 0.2, 0.9), 2), ((0.3, 0.95, 0.9), 1), ((0.0, 0.0, 0.0), 0)])
def test_ties_go_to_the_larger_draw(draws, expected):
    bandit, draws = recent(3, xp=np), np.array(draws, np.float32)
    for tied in (bandit.init(), state((0.4,) * 3, (5,) * 3, (0,) * 3, 1.0)):
        assert int(bandit.select(draws, tied)[1]) == expected


def test_memory_is_a_share_of_the_past():
    """A half remembered is k = 1: the s-th of t episodes weighs s / t. Feedback 1, 2, 3, 4 by turns on two arms."""
    bandit = recent(2, RecentSettings(recent_memory=0.5), xp=np)
    now = bandit.init()
    for number, feedback in enumerate((1, 2, 3, 4)):
        now = bandit.update(now, np.int32(number % 2), np.float32(feedback))
    np.testing.assert_allclose(now.weights, [1 / 4 + 3 / 4, 2 / 4 + 4 / 4], rtol=1e-6)
    np.testing.assert_allclose(now.means, [(1 / 4 * 1 + 3 / 4 * 3) / 1, (2 / 4 * 2 + 4 / 4 * 4) / 1.5], rtol=1e-6)
    np.testing.assert_array_equal(now.counts, [2, 2])
    assert now.heard == 4


def test_all_of_the_past_is_every_episode_alike():
    bandit = recent(2, RecentSettings(recent_memory=1.0), xp=np)
    now = bandit.init()
    for feedback in (1, 2, 6):
        now = bandit.update(now, np.int32(1), np.float32(feedback))
    np.testing.assert_allclose(now.weights, [0, 3])
    assert now.means[1] == pytest.approx(3)
    assert now.squares[1] == pytest.approx(14)


@pytest.mark.parametrize("c", [0.0, 3.0])
def test_its_settings(c):
    bandit = build_bandit(objective("s-adapt"), Choice("recent", RecentSettings(recent_c=c)), {}, xp=np)
    close = state((0.5, 0.4), (300, 100), (0, 0), 1.0)
    assert int(bandit.select(np.array(TIE, np.float32), close)[1]) == (1 if c else 0)
    assert find("bandit", "recent").defaults() == DEFAULTS


def test_update_and_abandon_close_one_pending_pull():
    bandit = recent(2, xp=np)
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


def scores(history, settings=DEFAULTS):
    """mu_i + c sigma_i sqrt(log t / n_i) in float64, from [(arm, feedback)] with the weights written out."""
    t, power = len(history), 1 / settings.recent_memory - 1
    weight = np.array([((s + 1) / t) ** power for s in range(t)])
    arm, f = np.array([a for a, _ in history]), np.array([x for _, x in history], np.float64)
    every = np.cov(f, aweights=weight, ddof=0) if t > 1 else 0.0
    found = []
    for i in (0, 1):
        mine = arm == i
        n = weight[mine].sum()
        if not mine.any():
            found.append(math.inf)
            continue
        mean = (weight[mine] * f[mine]).sum() / n
        squares = (weight[mine] * (f[mine] - mean) ** 2).sum()
        variance = (squares + PRIOR * every) / (n + PRIOR)
        found.append(mean + settings.recent_c * math.sqrt(variance * math.log(t) / n))
    return np.array(found)


@given(
    st.lists(st.floats(0, 1, width=32, allow_subnormal=False), min_size=4, max_size=30),
    st.floats(-4, 4, width=32),
    st.floats(0.125, 8, width=32),
    st.integers(0, 2**16),
)
def test_choices_do_not_depend_on_unit_and_zero_of_feedback(feedbacks, shift, scale, seed):
    """a + b f gives the choices of f, which are those of an independent implementation, where scores differ at all."""
    bandit, random = recent(2, xp=np), np.random.default_rng(seed)
    one, other, history = bandit.init(), bandit.init(), []
    for feedback in feedbacks:
        draws = random.random(2, np.float32)
        expected = scores(history) if history else np.array([np.inf, np.inf])
        one, arm = bandit.select(draws, one)
        other, twin = bandit.select(draws, other)
        if np.isinf(expected).any() or abs(expected[0] - expected[1]) > 1e-2 * (1 + abs(expected).max()):
            assert int(twin) == int(arm)
            if not np.isinf(expected).all():
                assert int(arm) == int(np.argmax(expected))
        # where scores are all but equal rounding may decide: both go on with the first one's choice
        other = other._replace(pending=one.pending)
        one = bandit.update(one, arm, np.float32(feedback))
        other = bandit.update(other, arm, np.float32(shift + scale * feedback))
        history.append((int(arm), float(feedback)))


@given(st.lists(st.floats(0, 1, width=32, allow_subnormal=False), min_size=1, max_size=30), st.permutations(range(3)))
def test_permuting_arms_permutes_choices(feedbacks, order):
    """Arm i of the one is arm order[i] of the other."""
    bandit = recent(3, xp=np)
    one, other = bandit.init(), bandit.init()
    for number, feedback in enumerate(feedbacks):
        draws = np.random.default_rng(number).random(3).astype(np.float32)
        moved = np.empty(3, np.float32)
        moved[list(order)] = draws
        one, arm = bandit.select(draws, one)
        other, twin = bandit.select(moved, other)
        other = other._replace(pending=np.array([one.pending[order.index(i)] for i in range(3)]))
        if not np.allclose(one.means, one.means[0]):
            assert int(twin) == order[int(arm)] or min(one.counts) == 0
        one = bandit.update(one, arm, np.float32(feedback))
        other = bandit.update(other, np.int32(order[int(arm)]), np.float32(feedback))


@pytest.mark.parametrize(("arms", "share"), [(2, 32), (4, 16)])
def test_simultaneous_choices_spread_at_the_start(arms, share):
    bandit = recent(arms)
    now, picked = choose(bandit)(jax.random.key(0), bandit.init(), jnp.ones(64, bool))
    np.testing.assert_array_equal(np.bincount(picked), [share] * arms)
    np.testing.assert_array_equal(now.pending, [share] * arms)
    update = jax.jit(bandit.update)
    for arm in picked:
        now = update(now, arm, jnp.float32(0.25))
    np.testing.assert_array_equal(now.pending, [0] * arms)
    np.testing.assert_array_equal(now.counts, [share] * arms)


def test_simultaneous_choices_spread_between_arms_that_are_as_good():
    bandit = recent(2)
    before = state((0.5, 0.5), (40, 40), (0, 0), 0.04, xp=jnp)
    _, picked = choose(bandit)(jax.random.key(0), before, jnp.ones(64, bool))
    np.testing.assert_array_equal(np.bincount(picked), [32, 32])


@given(st.integers(1, 5), st.integers(0, 40), st.floats(-100, 100, width=32), st.integers(0, 2**16))
def test_an_arm_never_heard_of_goes_first(pulls, pending, feedback, seed):
    bandit, draws = recent(3, xp=np), np.random.default_rng(seed).random(3, np.float32)
    now = bandit.init()._replace(pending=np.array([0, 0, pending], np.float32))
    for _ in range(pulls):
        for arm in (0, 1):
            now = bandit.update(now, np.int32(arm), np.float32(feedback))
    assert int(bandit.select(draws, now)[1]) == 2


def test_numpy_equals_jax():
    host, device = recent(3, xp=np), recent(3)
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
    pulls = played(recent(2, xp=np), curves if good == 0 else curves[::-1], unit=unit)
    assert pulls[good] > least * pulls.sum()
    assert pulls[1 - good] >= 1


@pytest.mark.parametrize("good", [0, 1])
def test_an_arm_that_was_left_is_tried_again(good):
    """It was worse for 800 episodes and is better from then on: more than half of the other 1,200 are its own."""
    pulls = played(recent(2, xp=np), TURNING if good == 0 else TURNING[::-1])
    assert pulls[good] > 600


@pytest.mark.parametrize("good", [0, 1])
def test_what_is_wasted_grows_slower_than_the_training(good):
    """Four times as many episodes: a smaller share of them on the worse arm, a deviation below the better one."""
    curves = (lambda k, t: 0.6, lambda k, t: 0.5)
    short, long = (played(recent(2, xp=np), curves[:: 1 - 2 * good], episodes=n)[1 - good] / n for n in (1_000, 4_000))
    assert long < 0.75 * short
    assert 0 < short < 0.35
