"""Bandits for arms that change: by hand, on arms that change and on arms that do not."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.motivation.bandits import ucb
from sadapt.motivation.bandits.cusum import CusumSettings, cusum
from sadapt.motivation.bandits.discounted import DiscountedSettings, discounted
from sadapt.motivation.bandits.race import race
from sadapt.training.contracts import check_bandit

CHANGING = {"discounted": discounted, "cusum": cusum}
every_bandit = pytest.mark.parametrize("name", CHANGING)


@functools.cache
def right_share(make, season, rounds=4_000, noise=0.2):
    """Share of the decisions on the better arm, over 20 seeds; the arms change places every `season` rounds."""
    bandit = make(2)

    def one(key):
        def step(state, item):
            number, key = item
            draw, noisy = jax.random.split(key)
            better = (number // season) % 2
            state, arm = bandit.select(jax.random.uniform(draw, (2,)), state)
            worth = jnp.where(arm == better, 0.6, 0.3) + noise * jax.random.normal(noisy)
            return bandit.update(state, arm, worth), arm == better

        return jax.lax.scan(step, bandit.init(), (jnp.arange(rounds), jax.random.split(key, rounds)))[1]

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), 20))).mean(axis=0)


@every_bandit
def test_where_nothing_changes_it_is_not_much_worse_than_ucb(name):
    """Regret is the gap, 0.3, times the share of wrong decisions: at most a fiftieth of the gap beyond UCB's."""
    wrong, usual = (1 - right_share(make, season=10**6).mean() for make in (CHANGING[name], ucb))
    assert wrong < usual + 0.02


@every_bandit
def test_where_arms_change_places_it_follows(name):
    """In the second half of a season it is settled; UCB, which remembers for ever, and race are more often wrong."""
    share = right_share(CHANGING[name], season=500)
    late = share.reshape(-1, 500)[1:, 250:].mean()
    assert late > 0.9
    for lasting in (ucb, race):
        assert share[500:].mean() > right_share(lasting, season=500)[500:].mean()


def heard(bandit, feedbacks, arm=0):
    state = bandit.init()
    for feedback in feedbacks:
        state = bandit.update(state, np.int32(arm), np.float32(feedback))
    return state


def test_discounted_means_are_weighted_by_age():
    """Memory 2: g = 1/2, so that 1, 0, 4 weigh 1/4, 1/2 and 1, and their mean is (1/4 + 4) / (7/4)."""
    state = heard(discounted(2, DiscountedSettings(discounted_memory=2), xp=np), [1, 0, 4])
    assert float(state.weights[0]) == 1.75
    assert float(state.means[0]) == pytest.approx(4.25 / 1.75)
    assert state.counts.tolist() == [3, 0]
    shares = np.array([0.25, 0.5, 1]) / 1.75
    variance = shares @ (np.array([1, 0, 4]) - 4.25 / 1.75) ** 2
    assert float(state.squares[0]) / 1.75 == pytest.approx(variance)


def test_a_sum_grows_by_what_is_beyond_the_slack_and_begins_anew_at_the_threshold():
    """Feedback of -1 and 1 by turns has mean 0 and deviation 1; then 2, which is 2 deviations, less 0.5 of slack."""
    bandit = cusum(2, CusumSettings(cusum_memory=10**6, cusum_threshold=4.0), xp=np)
    state = heard(bandit, [-1, 1] * 1_000)
    assert int(state.changes) == 0
    before = float(state.up[0])
    state = bandit.update(state, np.int32(0), np.float32(2))
    assert float(state.up[0]) == pytest.approx(before + 1.5, abs=0.01)
    state = bandit.update(bandit.update(state, np.int32(0), np.float32(2)), np.int32(0), np.float32(2))
    assert int(state.changes) == 1
    for part in (state.means, state.weights, state.counts, state.level, state.known, state.up, state.down):
        np.testing.assert_array_equal(part, 0)
    assert bandit.standing(state).counts.tolist() == [2_003, 0]


def test_decisions_under_way_outlive_a_change():
    bandit = cusum(2, CusumSettings(cusum_threshold=4.0), xp=np)
    state = bandit.init()
    for _ in range(60):
        state, _ = bandit.select(np.array([0.9, 0.1], np.float32), state)
    pending = state.pending.copy()
    for turn in range(40):
        state = bandit.update(state, np.int32(0), np.float32((-1) ** turn))
    for _ in range(10):
        state = bandit.update(state, np.int32(0), np.float32(3))
    assert int(state.changes) >= 1
    np.testing.assert_array_equal(state.pending, np.maximum(pending - [50, 0], 0))


@pytest.mark.parametrize(("draw", "arm"), [(0.02, 1), (0.5, 0)])
def test_some_decisions_go_to_the_arm_pulled_least(draw, arm):
    """Arm 0 is far better; only a first draw below the share tries the other."""
    bandit = cusum(2, CusumSettings(cusum_explore=0.03), xp=np)
    state = bandit.init()
    for turn in range(100):
        state = bandit.update(state, np.int32(turn % 5 == 0), np.float32((turn % 5 > 0) + 0.01 * (turn % 3)))
    assert int(bandit.select(np.array([draw, 0.5], np.float32), state)[1]) == arm


@every_bandit
@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=40), st.sampled_from([0.25, 4.0]))
def test_the_scale_of_feedback_does_not_matter(name, feedbacks, scale):
    bandit = CHANGING[name](2, xp=np)
    one, other = bandit.init(), bandit.init()
    for number, feedback in enumerate(feedbacks):
        draws = np.random.default_rng(number).random(2).astype(np.float32)
        one, arm = bandit.select(draws, one)
        other, twin = bandit.select(draws, other)
        assert int(arm) == int(twin)
        one = bandit.update(one, arm, np.float32(feedback))
        other = bandit.update(other, twin, np.float32(scale * feedback))


@every_bandit
def test_it_keeps_to_the_contract_of_bandits(name):
    check_bandit(name, CHANGING[name](2), 2)
    check_bandit(name, CHANGING[name](3), 3)


@every_bandit
def test_millions_of_decisions_leave_no_drift(name):
    """Two million feedbacks of 0.5, then as many of 0.6 as are remembered five times over: the mean is 0.6."""
    bandit, random = CHANGING[name](2), jnp.float32(0.5)
    hear = lambda f: lambda _, state: bandit.update(state, jnp.int32(0), f)  # noqa: E731
    old = jax.jit(lambda state: jax.lax.fori_loop(0, 2_000_000, hear(random), state))(bandit.init())
    new = jax.jit(lambda state: jax.lax.fori_loop(0, 20_000, hear(jnp.float32(0.6)), state))(old)
    np.testing.assert_allclose(bandit.standing(old).means[0], 0.5, rtol=1e-5)
    np.testing.assert_allclose(bandit.standing(new).means[0], 0.6, rtol=1e-3)
    assert int(bandit.standing(new).counts[0]) == 2_020_000
