"""Whole episodes of hand-written policies, and the random agent, against closed forms and an independent simulation."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.errors import UserError
from sadapt.motivation.baseline import play, play_constants, random_agent, random_policy
from sadapt.motivation.feedback import usable
from sadapt.motivation.marginals import bernoulli, gaussian
from tests.motivation.worlds import coins, counter, line


def h(p):
    """Entropies of coins at the marginal's clip."""
    p = np.clip(np.asarray(p, np.float64), 1e-4, 1 - 1e-4)
    return -p * np.log(p) - (1 - p) * np.log(1 - p)


def keys(number, seed=0):
    return jax.random.split(jax.random.key(seed), number)


def always(action):
    return lambda key, world, theta: jnp.int32(action)


# The random agent


def test_the_random_agent_where_all_episodes_are_the_same():
    """0, 1, 2, 3 whatever one does: variance 15 / 12, H = ln(2 pi e 15 / 12) / 2.

    Surprise as of theta = (0, floor), (0.5, 0.25), (1, 2/3); nothing differs between episodes.
    """
    env = counter(horizon=5)
    found = random_agent(env, gaussian(env.input_shape), on_death="end", horizon=3, count=4)(jax.random.key(0))
    assert found.mean["entropy"] == pytest.approx(0.5 * math.log(2 * math.pi * math.e * 15 / 12), rel=1e-5)
    theta = ((1, 0.01), (1.5**2, 0.25), (2**2, 2 / 3))
    surprise = [far / (2 * variance) + 0.5 * math.log(2 * math.pi * variance) for far, variance in theta]
    assert found.mean["surprise"] == pytest.approx(sum(surprise) / 3, rel=1e-5)
    assert found.std == {"entropy": 0, "surprise": 0}


def test_h_random_of_coins_is_that_of_an_independent_simulation():
    number, horizon, heads = 4, 12, 0.3
    env = coins(number, horizon=horizon, heads=heads)
    estimate = random_agent(env, bernoulli(env.input_shape), on_death="end", count=2000)
    measured = estimate(jax.random.key(0))
    found = measured.mean["entropy"]
    random = np.random.default_rng(0)
    tossing = random.random((4000, horizon, 1)) < 0.5
    shown = tossing & (random.random((4000, horizon, number)) < heads)
    entropies = h(shown.sum(axis=1) / (horizon + 1)).sum(axis=1)
    error = entropies.std() * math.sqrt(1 / 4000 + 1 / 2000)
    assert found == pytest.approx(entropies.mean(), abs=4 * error)
    assert measured.std["entropy"] == pytest.approx(entropies.std(), rel=0.1)
    # another key gives another mean, as close to it as 2,000 episodes are
    other = estimate(jax.random.key(1)).mean["entropy"]
    assert 0 < abs(other - found) < 5 * entropies.std() * math.sqrt(2 / 2000)
    assert estimate(jax.random.key(0)) == measured


def test_h_random_of_zero_is_refused():
    """Nothing moves and 2 pi e std_floor^2 = 1, so H = ln(1) / 2 = 0."""
    env = counter(step_size=0.0)
    marginal = gaussian(env.input_shape, std_floor=1 / math.sqrt(2 * math.pi * math.e))
    found = random_agent(env, marginal, on_death="end", count=2)(jax.random.key(0))
    with pytest.raises(UserError, match=r"entropy in 'counter' is .*undefined"):
        usable(found, "entropy", env.name)


def test_random_policy_is_uniform():
    env = coins(actions=("still", "toss", "toss too"))
    actions = jax.vmap(lambda key: random_policy(env)(key, None, None))(keys(3000))
    counts = np.bincount(actions)
    assert counts.shape == (3,)
    np.testing.assert_allclose(counts / 3000, 1 / 3, atol=5 * math.sqrt(2 / 9 / 3000))


# episodes


def test_played_episode_by_hand():
    """Right, right, right and dead: cells 0, 1, 2, 3, reward 1.5, then nothing more up to the horizon."""
    env = line(cells=4, horizon=6)
    played = play(env, bernoulli(env.input_shape), always(1), on_death="end")(keys(2))
    told = played.measures
    for found, expected in (
        (told["length"], 3),
        (told["deaths"], 1),
        (told["return"], 1.5),
        (told["moves"], 3),
    ):
        np.testing.assert_array_equal(found, [expected] * 2)
    np.testing.assert_allclose(told["entropy"], 4 * h(1 / 4), rtol=1e-5)
    curve = [4 * h(0), 2 * h(1 / 2) + 2 * h(0), 3 * h(1 / 3) + h(0), *[4 * h(1 / 4)] * 4]
    np.testing.assert_allclose(played.entropy_curve, [curve] * 2, rtol=1e-3)
    # surprise: two certainties turned; ln 2 twice and one turned; ln 3/2 three times and one turned
    certain, sure = -math.log(1e-4), -math.log(1 - 1e-4)
    total = (2 * certain + 2 * sure) + (2 * math.log(2) + certain + sure) + (3 * math.log(1.5) + certain)
    np.testing.assert_allclose(told["surprise"], total / 3, rtol=1e-4)


@pytest.mark.parametrize("treatment", ["soft", "shock"])
def test_survived_deaths_are_counted_to_the_horizon(treatment):
    """Dead at steps 3, 6 and 9 of 10, one move into the fourth life."""
    env = line(cells=4, horizon=10)
    told = play(env, bernoulli(env.input_shape), always(1), on_death=treatment)(keys(3)).measures
    for found, expected in (
        (told["length"], 10),
        (told["deaths"], 3),
        (told["return"], 5.0),
        (told["moves"], 10),
    ):
        np.testing.assert_array_equal(found, [expected] * 3)


def test_policies_see_the_world_and_theta():
    """Go right until half of what was seen is not the first cell; then stay: cells 0, 1, 1, 1."""
    env = line(cells=5, horizon=3)
    policy = lambda key, world, theta: ((theta[0, 0] > 0.75) & (world.cell < 3)).astype(jnp.int32)  # noqa: E731
    played = play(env, bernoulli(env.input_shape), policy, on_death="end")(keys(1))
    np.testing.assert_allclose(played.measures["entropy"], [2 * h(1 / 4) + 3 * h(0)], rtol=1e-4)


def test_constants_play_every_action_on_every_key():
    env = line(cells=4, horizon=6)
    marginal = bernoulli(env.input_shape)
    both = play_constants(env, marginal, on_death="soft")(keys(3))
    assert both.measures["entropy"].shape == (2, 3)
    assert both.entropy_curve.shape == (2, 3, 7)
    np.testing.assert_array_equal(both.measures["deaths"], [[0] * 3, [2] * 3])
    # staying sees one cell; going right sees 0 1 2 | 0 1 2 | 0
    np.testing.assert_allclose(both.measures["entropy"][0], 4 * h(0), rtol=1e-3)
    np.testing.assert_allclose(both.measures["entropy"][1], h(3 / 7) + 2 * h(2 / 7) + h(0), rtol=1e-4)
