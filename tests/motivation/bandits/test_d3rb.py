"""D3RB by hand, and what it makes of arms that stay, rise and fall."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.motivation.bandits.d3rb import D3RBSettings, D3RBState, d3rb

TIE = np.array([0.9, 0.1], np.float32)


def state(means, counts, pending, regret, xp=np):
    means, pending, regret = (xp.asarray(each, xp.float32) for each in (means, pending, regret))
    return D3RBState(means, xp.asarray(counts, xp.int32), pending, regret, xp.zeros_like(means))


@pytest.mark.parametrize("xp", [np, jnp])
@pytest.mark.parametrize(
    ("counts", "pending", "regret", "arm"),
    [
        ((0, 0), (0, 0), (1, 1), 0),  # a tie falls to the larger draw
        ((4, 1), (0, 0), (1, 1), 1),  # 1 * 2 against 1 * 1
        ((4, 1), (0, 0), (1, 4), 0),  # 1 * 2 against 4 * 1
        ((4, 4), (0, 5), (2, 1), 1),  # 2 * 2 against 1 * 3
        ((4, 4), (0, 21), (2, 1), 0),  # 2 * 2 against 1 * 5: what is under way counts
    ],
)
def test_the_arm_with_the_least_balance_is_pulled(xp, counts, pending, regret, arm):
    before = state((0, 0), counts, pending, regret, xp)
    after, chosen = d3rb(2, xp=xp).select(xp.asarray(TIE), before)
    assert int(chosen) == arm
    assert float(after.pending[arm]) == pending[arm] + 1


@pytest.mark.parametrize(("feedback", "doubled"), [(0.0, True), (1.0, False)])
def test_an_arm_that_does_too_badly_has_its_estimate_doubled(feedback, doubled):
    """c = 0.1, delta = 0.1, M = 2, n = (100, 100): width = 0.1 sqrt(ln(20 ln 100) / 100) = 0.0213.

    The other arm's mean is 0.9, so its lower bound is 0.879. With 99 feedbacks of 0 the first arm's mean plus
    d / sqrt(100) = 0.1 plus the width is 0.121 (or 0.131 after a 1): doubled, unless its mean was as high before.
    """
    bandit = d3rb(2, D3RBSettings(d3rb_c=0.1, d3rb_start=1.0, d3rb_delta=0.1), xp=np)
    before = state((0 if doubled else 90 / 99, 0.9), (99, 100), (1, 0), (1, 1))
    after = bandit.update(before, np.int32(0), np.float32(feedback))
    width = 0.1 * math.sqrt(math.log(20 * math.log(100)) / 100)
    assert ((after.means[0] + 0.1 + width) < 0.9 - width) == doubled
    np.testing.assert_array_equal(after.regret, [2, 1] if doubled else [1, 1])
    np.testing.assert_array_equal(after.counts, [100, 100])
    np.testing.assert_array_equal(after.pending, [0, 0])


def played(curves, episodes=2_000, seed=0):
    """Pulls of each arm, whose k-th pull is worth `curves[arm](k)` and a little noise."""
    bandit, random = d3rb(2, xp=np), np.random.default_rng(seed)
    now = bandit.init()
    for _ in range(episodes):
        now, arm = bandit.select(random.random(2, np.float32), now)
        worth = curves[int(arm)](float(now.counts[int(arm)])) + 0.1 * random.normal()
        now = bandit.update(now, arm, np.float32(worth))
    return now.counts


@pytest.mark.parametrize("good", [0, 1])
@pytest.mark.parametrize(
    "curves",
    [
        (lambda k: 1.0, lambda k: 0.2),
        (lambda k: min(k / 100, 1.0), lambda k: 0.2),  # learned late
        (lambda k: 1.0, lambda k: max(1 - k / 50, 0.0)),  # forgotten
    ],
    ids=["flat", "rising", "falling"],
)
def test_regret_stays_in_balance(curves, good):
    """The worse arm is pulled about as often as sqrt says: d sqrt(n) of both stay within a doubling of each other."""
    counts = played(curves if good == 0 else curves[::-1])
    assert counts[good] > 0.8 * counts.sum()
    assert counts[1 - good] > 1


def test_equal_arms_share():
    counts = played((lambda k: 0.5, lambda k: 0.5))
    assert abs(counts[0] - counts[1]) <= 2


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=30))
def test_permuting_arms_permutes_choices(feedbacks):
    bandit = d3rb(3, xp=np)
    one, other = bandit.init(), bandit.init()
    for number, feedback in enumerate(feedbacks):
        draws = np.random.default_rng(number).random(3).astype(np.float32)
        one, arm = bandit.select(draws, one)
        other, twin = bandit.select(draws[::-1], other)
        assert int(twin) == 2 - int(arm)
        one, other = bandit.update(one, arm, np.float32(feedback)), bandit.update(other, twin, np.float32(feedback))
