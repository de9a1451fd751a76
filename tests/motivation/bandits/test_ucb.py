"""UCB against a table worked out by hand, its fairness, and how simultaneous pulls spread."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from sadapt.errors import UserError
from sadapt.motivation.bandits import fixed, ucb
from sadapt.motivation.bandits.ucb import UCBSettings
from sadapt.motivation.building import build_bandit
from sadapt.motivation.objectives import objective
from sadapt.registry import Choice, find
from tests.motivation.bandits.examples import choose, state

NO_LUCK = jnp.array([0.5, 0.5], jnp.float32)


# ln 4 = 1.386294, ln 5 = 1.609438, ln 6 = 1.791759, ln 10 = 2.302585, ln 101 = 4.615121
HAND_TABLE = [
    # c = sqrt 2, N = (3, 1), t = 4: 0.5 + 1.414214 sqrt(0.462098) = 1.461351; 0.2 + 1.414214 sqrt(1.386294) = 1.865109
    (math.sqrt(2), (0.5, 0.2), (3, 1), (0, 0), 1),
    # c = sqrt 2, N = (3, 2), t = 5: 0.5 + 1.414214 sqrt(0.536479) = 1.535837; 0.2 + 1.414214 sqrt(0.804719) = 1.468636
    (math.sqrt(2), (0.5, 0.2), (3, 2), (0, 0), 0),
    # c = 2, the same: 0.5 + 2 sqrt(0.536479) = 1.964895; 0.2 + 2 sqrt(0.804719) = 1.994123
    (2.0, (0.5, 0.2), (3, 2), (0, 0), 1),
    # c = 1, N = (9, 1), t = 10: 1.1 + sqrt(0.255843) = 1.605809; 0.0 + sqrt(2.302585) = 1.517427
    (1.0, (1.1, 0.0), (9, 1), (0, 0), 0),
    # the same with a mean of 1.0: 1.505809; 1.517427. A logarithm to base 10 would say 1.333333; 1.000000
    (1.0, (1.0, 0.0), (9, 1), (0, 0), 1),
    # c = 0 is greedy
    (0.0, (0.5, 0.2), (1000, 1), (0, 0), 0),
    # a pending pull counts: N = (3, 1 + 2), t = 6: equal bonuses, the means decide
    (math.sqrt(2), (0.5, 0.2), (3, 1), (0, 2), 0),
    # ... also in t: N = (1, 1 + 99), t = 101: 0 + sqrt(4.615121) = 2.148283; 1.9 + sqrt(0.046151) = 2.114829
    (1.0, (0.0, 1.9), (1, 1), (0, 99), 0),
    # an arm never pulled goes first, however good the other
    (math.sqrt(2), (100.0, 0.0), (5, 0), (0, 0), 1),
    (0.0, (0.0, 100.0), (0, 5), (0, 0), 0),
    # an arm whose only pull is pending has been pulled: c = 0, 0.1 > 0
    (0.0, (0.1, 0.0), (1, 0), (0, 1), 0),
    (math.sqrt(2), (0.0, 0.0), (0, 0), (1, 0), 1),
]


@pytest.mark.parametrize("draws", [(0.1, 0.9), (0.9, 0.1)])
@pytest.mark.parametrize(("c", "means", "counts", "pending", "expected"), HAND_TABLE)
def test_ucb_hand_table(c, means, counts, pending, expected, draws):
    """Draws must not matter where scores differ."""
    before = state(means, counts, pending)
    after, arm = ucb(c=c).select(jnp.array(draws, jnp.float32), before)
    assert int(arm) == expected
    assert arm.dtype == jnp.int32
    np.testing.assert_array_equal(after.pending - before.pending, np.arange(2) == expected)
    np.testing.assert_array_equal(after.means, before.means)
    np.testing.assert_array_equal(after.counts, before.counts)


def test_ucb_default_is_square_root_of_two():
    """N = (3, 2), t = 5: the bonuses differ by sqrt 2 * (0.897061 - 0.732447) = 0.232799."""
    assert int(ucb().select(NO_LUCK, state((0.43, 0.2), (3, 2)))[1]) == 1
    assert int(ucb().select(NO_LUCK, state((0.44, 0.2), (3, 2)))[1]) == 0


def test_ucb_first_choices_by_hand():
    """Arm 0 always pays 0.5, arm 1 always 0.2; the first draw favours arm 0.

    t = 0: both new, the draw decides: 0.  t = 1: arm 1 is new: 1.
    t = 2, N = (1, 1): equal bonus: 0.
    t = 3, N = (2, 1): 0.5 + 1.0481 = 1.5481; 0.2 + 1.4823 = 1.6823: 1.
    t = 4, N = (2, 2): equal bonus: 0.
    t = 5, N = (3, 2): 0.5 + 1.0358 = 1.5358; 0.2 + 1.2686 = 1.4686: 0.
    t = 6, N = (4, 2): 0.5 + 0.9465 = 1.4465; 0.2 + 1.3386 = 1.5386: 1.
    """
    bandit = ucb()
    current, arms = bandit.init(), []
    for _ in range(7):
        current, arm = bandit.select(jnp.array([0.9, 0.1], jnp.float32), current)
        current = bandit.update(current, arm, jnp.where(arm == 0, jnp.float32(0.5), jnp.float32(0.2)))
        arms.append(int(arm))
    assert arms == [0, 1, 0, 1, 0, 0, 1]
    np.testing.assert_allclose(current.means, [0.5, 0.2], rtol=1e-6)
    np.testing.assert_array_equal(current.counts, [4, 3])
    np.testing.assert_array_equal(current.pending, [0, 0])


@pytest.mark.parametrize(("draws", "expected"), [((0.3, 0.2, 0.9), 2), ((0.3, 0.95, 0.9), 1), ((0.0, 0.0, 0.0), 0)])
def test_ties_go_to_the_larger_draw(draws, expected):
    draws = jnp.array(draws, jnp.float32)
    for tied in (ucb(3).init(), state((0.4, 0.4, 0.4), (5, 5, 5))):
        assert int(ucb(3).select(draws, tied)[1]) == expected
    # the best two are tied, the third has the largest draw
    assert int(ucb(3).select(jnp.array([0.1, 0.2, 0.9]), state((0.4, 0.4, 0.1), (5, 5, 5)))[1]) == 1


@pytest.mark.parametrize("arms", [2, 3, 5])
def test_first_arm_is_uniform(arms):
    bandit, number = ucb(arms, xp=np), 5000
    draws = np.random.default_rng(arms).random((number, arms), np.float32)
    first = [bandit.select(draw, bandit.init())[1] for draw in draws]
    counts = np.bincount(first, minlength=arms)
    assert counts.sum() == number
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("arms", [2, 3, 5])
def test_every_arm_is_tried_before_any_again(arms):
    bandit, current, seen = ucb(arms), ucb(arms).init(), []
    for key in jax.random.split(jax.random.key(0), arms):
        current, arm = bandit.select(jax.random.uniform(key, (arms,)), current)
        seen.append(int(arm))
    assert sorted(seen) == list(range(arms))


@given(
    st.lists(st.tuples(st.integers(0, 2), st.floats(0, 10, width=32, allow_subnormal=False)), min_size=1, max_size=40)
)
def test_incremental_mean_is_the_batch_mean(history):
    bandit = ucb(3, xp=np)
    current = bandit.init()
    for arm, feedback in history:
        current = bandit.update(current, arm, np.float32(feedback))
    for arm in range(3):
        heard = [feedback for pulled, feedback in history if pulled == arm]
        assert current.counts[arm] == len(heard)
        assert current.means[arm] == pytest.approx(np.mean(heard) if heard else 0, rel=1e-4, abs=1e-5)


def test_update_closes_one_pending_pull_of_its_arm():
    after = ucb().update(state((0.1, 0.4), (1, 2), (3, 2)), jnp.int32(1), jnp.float32(1.0))
    np.testing.assert_array_equal(after.pending, [3, 1])
    np.testing.assert_array_equal(after.counts, [1, 3])
    np.testing.assert_allclose(after.means, [0.1, 0.4 + 0.6 / 3], rtol=1e-6)
    # feedback that nobody waits for counts, and leaves nothing negative
    after = ucb().update(state((0.1, 0.4), (1, 2)), jnp.int32(0), jnp.float32(0.3))
    np.testing.assert_array_equal(after.pending, [0, 0])
    np.testing.assert_allclose(after.means, [0.2, 0.4], rtol=1e-6)


@pytest.mark.parametrize("arm", [0, 1])
def test_an_abandoned_pull_has_never_been(arm):
    bandit = ucb(xp=np)
    before = state((0.1, 0.4), (1, 2), (3, 2), xp=np)
    pulled, _ = fixed(arm, xp=np).select(np.zeros(2), before)
    assert pulled.pending[arm] == before.pending[arm] + 1
    for field, twin in zip(bandit.abandon(pulled, arm), before, strict=True):
        np.testing.assert_array_equal(field, twin)


@pytest.mark.parametrize(("arms", "best"), [(2, 0), (2, 1), (3, 2), (5, 3)])
def test_the_better_arm_is_pulled_most(arms, best):
    bandit, rounds, random = ucb(arms), 1500, np.random.default_rng(7)
    draws = random.random((rounds, arms), np.float32)
    pays = random.random((rounds, arms)) < np.where(np.arange(arms) == best, 0.8, 0.4)

    def one(current, item):
        draw, paid = item
        current, arm = bandit.select(draw, current)
        return bandit.update(current, arm, paid[arm]), arm

    final, arms_pulled = jax.lax.scan(one, bandit.init(), (jnp.asarray(draws), jnp.asarray(pays, jnp.float32)))
    pulls = np.bincount(arms_pulled, minlength=arms)
    np.testing.assert_array_equal(pulls, final.counts)
    # an inferior arm is left when c^2 ln t / N = gap^2: N = 2 ln 1500 / 0.16 = 91, with slack for luck
    assert np.delete(pulls, best).max() < 2.5 * 91
    assert np.delete(pulls, best).min() > 10
    assert pulls.argmax() == best


@pytest.mark.parametrize(("arms", "share"), [(2, 32), (4, 16)])
def test_simultaneous_choices_spread(arms, share):
    bandit = ucb(arms)
    current, picked = choose(bandit)(jax.random.key(0), bandit.init(), jnp.ones(64, bool))
    np.testing.assert_array_equal(np.bincount(picked), [share] * arms)
    np.testing.assert_array_equal(current.pending, [share] * arms)
    update = jax.jit(bandit.update)
    for arm in picked:
        current = update(current, arm, jnp.float32(0.25))
    np.testing.assert_array_equal(current.pending, [0] * arms)
    np.testing.assert_array_equal(current.counts, [share] * arms)
    current, picked = choose(bandit)(jax.random.key(1), current, jnp.ones(64, bool))
    assert np.abs(np.bincount(picked, minlength=arms) - share).max() <= 1


def test_simultaneous_choices_lean_to_the_better_arm():
    _, picked = choose(ucb())(jax.random.key(0), state((0.9, 0.1), (500, 500)), jnp.ones(64, bool))
    assert np.bincount(picked, minlength=2).tolist() == [64, 0]


def test_only_those_who_want_an_arm_get_one():
    wanted = jnp.array([True, False, True, False, False])
    current, picked = choose(ucb())(jax.random.key(0), ucb().init(), wanted)
    np.testing.assert_array_equal(np.asarray(picked) >= 0, wanted)
    np.testing.assert_array_equal(np.asarray(picked)[[1, 3, 4]], -1)
    assert sorted(np.asarray(picked)[[0, 2]]) == [0, 1]
    np.testing.assert_array_equal(current.pending, [1, 1])


@functools.cache
def compiled(arms):
    bandit = ucb(arms)
    return bandit._replace(select=jax.jit(bandit.select), update=jax.jit(bandit.update))


@given(st.sampled_from([1, 2, 5]), st.integers(0, 2**16))
def test_numpy_equals_jax(arms, seed):
    host, device = ucb(arms, xp=np), compiled(arms)
    random = np.random.default_rng(seed)
    one, other = host.init(), device.init()
    for _ in range(8):
        draws, feedback = random.random(arms, np.float32), random.random(dtype=np.float32)
        one, arm = host.select(draws, one)
        other, same = device.select(jnp.asarray(draws), other)
        assert int(arm) == int(same)
        if random.random() < 0.7:
            one = host.update(one, arm, feedback)
            other = device.update(other, same, jnp.asarray(feedback))
        for field, twin in zip(one, other, strict=True):
            assert isinstance(field, np.ndarray | np.generic)
            np.testing.assert_allclose(field, twin, rtol=1e-5)


@pytest.mark.parametrize(("arms", "c"), [(0, 1.0), (-1, 1.0), (2, -0.1), (2, math.nan)])
def test_impossible_bandits_are_refused(arms, c):
    with pytest.raises(UserError, match="at least one arm"):
        ucb(arms, c=c)


@pytest.mark.parametrize("c", [0.0, 2.0])
def test_its_setting_is_c(c):
    """The third and second rows of the table above with c = 2, greedy with c = 0."""
    bandit = build_bandit(objective("s-adapt"), Choice("ucb", UCBSettings(ucb_c=c)), {})
    assert bandit.arms == 2
    assert int(bandit.select(NO_LUCK, state((0.5, 0.2), (3, 2)))[1]) == (1 if c else 0)
    assert find("bandit", "ucb").defaults().ucb_c == math.sqrt(2)


def test_it_stands_where_its_means_and_counts_are():
    standing = ucb().standing(state((0.5, 0.2), (3, 2), (1, 0)))
    np.testing.assert_array_equal(standing.means, np.array([0.5, 0.2], np.float32))
    np.testing.assert_array_equal(standing.counts, [3, 2])
