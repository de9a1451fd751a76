"""A race in every regime: which one it is, who is asked and who hears, and what is recalled after a change."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sadapt.motivation.bandits.race import RaceSettings, race
from sadapt.motivation.bandits.regimes import RegimesSettings, regimes
from sadapt.motivation.feedback import RandomAgent
from sadapt.training.contracts import check_bandit
from tests.trees import same

SURPRISE = {"calm": 3.0, "wild": 40.0}


def shown(surprise, xp=np):
    """A random agent that has so much surprise now."""
    return RandomAgent(mean={"surprise": xp.float32(surprise)}, std={"surprise": xp.float32(0)})


def attended(bandit, surprises, state=None):
    state, found = bandit.init() if state is None else state, []
    for surprise in surprises:
        state = bandit.attend(state, shown(surprise))
        found.append(int(state.now))
    return state, found


def test_it_keeps_the_contract():
    check_bandit("regimes", regimes(2), 2)
    check_bandit("regimes", regimes(3), 3)


def test_levels_far_apart_are_regimes_and_are_known_again():
    _, found = attended(regimes(2, xp=np), [3, 3.1, 2.9, 40, 41, 38, 3, 39, 3.2])
    assert found == [0, 0, 0, 1, 1, 1, 0, 1, 0]


def test_no_more_regimes_than_there_is_room_for():
    _, found = attended(regimes(2, RegimesSettings(regimes_most=2), xp=np), [1, 10, 100, 1000, 1, 12])
    assert found == [0, 1, 1, 1, 0, 1]


def test_noise_of_one_regime_makes_no_others():
    noisy = 5 * np.exp(0.3 * np.random.default_rng(0).standard_normal(2_000))
    _, found = attended(regimes(2, xp=np), noisy)
    assert np.mean(np.array(found) == 0) > 0.99


def test_negative_surprise_has_a_level_too():
    _, found = attended(regimes(2, xp=np), [-30, -29, 30, -31, 31])
    assert found == [0, 0, 1, 0, 1]


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 1), st.floats(-5, 5, width=32), st.floats(0, 1, width=32)), max_size=30))
def test_without_a_random_agent_it_is_a_race(told):
    one, other = regimes(2, xp=np), race(2, RaceSettings(race_lead=RegimesSettings().race_lead), xp=np)
    mine, theirs = one.init(), other.init()
    for arm, feedback, draw in told:
        draws = np.array([draw, 1 - draw], np.float32)
        mine, theirs = one.update(mine, arm, np.float32(feedback)), other.update(theirs, arm, np.float32(feedback))
        assert one.select(draws, mine)[1] == other.select(draws, theirs)[1]
        np.testing.assert_array_equal(mine.means[0], theirs.means)
        assert not mine.means[1:].any()


@functools.cache
def course(swap=False, scale=1.0, offset=0.0, worlds=8, seasons=6, stretches=40, lead=0.0):
    """Shares of arm 0 in every stretch, where calm is arm 0's and wild arm 1's (0.6 against 0.3, noise 0.2)."""
    bandit = regimes(2, RegimesSettings(race_lead=lead))

    def stretch(state, item):
        key, wild = item
        key_random, key_noise, key_draws = jax.random.split(key, 3)
        level = jnp.where(wild, SURPRISE["wild"], SURPRISE["calm"])
        random = shown(level * jnp.exp(0.2 * jax.random.normal(key_random)), jnp)

        def pull(carry, item):
            state = carry
            draw, noise = item
            state, arm = bandit.select(draw, state)
            return state, (arm, noise)

        draws = jax.random.uniform(key_draws, (worlds, 2))
        draws = jnp.flip(draws, axis=1) if swap else draws
        state, (pulled, noise) = jax.lax.scan(pull, state, (draws, jax.random.normal(key_noise, (worlds,))))
        state = bandit.attend(state, random)
        better = jnp.where(swap, 1 - wild, wild)

        def hear(state, item):
            arm, noise = item
            worth = jnp.where(arm == better, 0.6, 0.3) + 0.2 * noise
            return bandit.update(state, arm, (offset + scale * worth).astype(jnp.float32)), None

        state, _ = jax.lax.scan(hear, state, (pulled, noise))
        return state, jnp.mean(jax.nn.one_hot(pulled, 2, dtype=jnp.float32), axis=0)

    wild = jnp.arange(seasons * stretches) // stretches % 2
    keys = jax.random.split(jax.random.key(0), len(wild))
    return np.asarray(jax.jit(lambda: jax.lax.scan(stretch, bandit.init(), (keys, wild))[1])())


@pytest.mark.parametrize("lead", [0.0, RegimesSettings().race_lead])
def test_after_a_change_the_right_arm_is_recalled_at_once(lead):
    """In the first two seasons arms take turns; later the first stretch alone, begun before the change, is wrong."""
    share = course(lead=lead).reshape(6, 40, 2)
    for season in range(2, 6):
        right = share[season, :, season % 2]
        assert right[1:].mean() > 0.9
        assert right[1:4].mean() > 0.9


def test_scale_and_offset_of_feedback_do_not_matter():
    np.testing.assert_allclose(course(scale=4.0, offset=2.0), course(), atol=0.26)
    assert np.abs(course(scale=4.0, offset=2.0) - course()).mean() < 0.01


def test_arms_that_change_places_change_places_everywhere():
    assert np.abs(course(swap=True)[:, ::-1] - course()).mean() < 0.01


@pytest.mark.parametrize("worlds", [2, 8])
def test_pulls_under_way_spread_worlds_over_the_arms(worlds):
    bandit = regimes(2, xp=np)
    state, pulled = bandit.init(), []
    for _ in range(worlds):
        state, arm = bandit.select(np.array([0.5, 0.6], np.float32), state)
        pulled.append(int(arm))
    assert sorted(pulled) == [0] * (worlds // 2) + [1] * (worlds // 2)
    for arm in pulled:
        state = bandit.abandon(state, arm)
    same(state, bandit.init())
