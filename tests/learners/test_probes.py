"""Probe worlds of rising difficulty: both learners must reach the values that can be computed by hand.

The three simplest are implied by the others and run with the slow tests, as do all of DQN's.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.envs.base import Env, Step
from sadapt.learners.dqn import DQNSettings
from sadapt.learners.pqn import PQNSettings
from sadapt.motivation.augmented import Augmented
from sadapt.training import compiled
from sadapt.training.program import program
from sadapt.training.settings import MotivationSettings, NetworkSettings, Settings

GAMMA = 0.9
BITS = 3
SURPRISE = -np.log(1e-4)
CALM = -np.log(1 - 1e-4)


def world(step, *, horizon=1, first=None):
    """A world of `BITS` bits, the last always one; its state is the number of steps and the observation."""

    def show(bits):
        return jnp.asarray(bits, jnp.uint8).reshape(1, 1, BITS)

    def reset(key):
        obs = show([0, 0, 1]) if first is None else first(key).reshape(1, 1, BITS)
        return (jnp.zeros((), jnp.int32), obs), obs

    def advance(key, state, action):
        t, obs = state
        reward, after = step(t, obs, action)
        after = show(after) if after is not None else obs
        return (t + 1, after), Step(after, jnp.asarray(reward, jnp.float32), jnp.zeros((), bool), {})

    return Env(
        name="probe",
        reset=reset,
        step=advance,
        render=lambda state: np.zeros((8, 8, 3), np.uint8),
        obs_shape=(1, 1, BITS),
        obs_dtype=np.uint8,
        channels=("a", "b", "c"),
        actions=("left", "right"),
        horizon=horizon,
        marginal_channels=(0, 1, 2),
    )


def coin(key):
    return jnp.asarray([0, 0, 1], jnp.uint8).at[0].set(jax.random.bernoulli(key).astype(jnp.uint8))


LEARNERS = {
    "dqn": (
        1,
        9000,
        DQNSettings(
            learning_rate=1e-3, gamma=GAMMA, batch_size=32, buffer_size=4000, train_frequency=2, learning_starts=1000,
            target_network_frequency=100, end_e=0.5, exploration_fraction=0.5, snapshot_interval=4,
        ),
    ),
    "pqn": (
        16,
        40_000,
        PQNSettings(learning_rate=3e-3, gamma=GAMMA, q_lambda=0.5, num_steps=4, minibatch_size=32, end_e=0.5),
    ),
}  # fmt: skip


LEARNERS["dqn with all its options"] = (
    *LEARNERS["dqn"][:2],
    dataclasses.replace(LEARNERS["dqn"][2], double=True, huber=True, relabel=True),
)
SEEDS = (1, 2, 3)


def values(env, learner, inputs, objective="extrinsic"):
    """Action values [seed, input, action] of trained agents for a list of (bits, time, arm); all seeds at once."""
    num_envs, steps, settings = LEARNERS[learner]
    prog = program(
        env,
        Settings(
            env="probe",
            objective=objective,
            total_timesteps=steps,
            num_envs=num_envs,
            motivation=MotivationSettings(normalise=False, bootstrap="terminal", random_episodes=4, ucb_c=100.0),
            network=NetworkSettings(network="plain", hidden=32),
            learner=settings,
        ),
    )
    keys = jnp.stack([jax.random.key(seed) for seed in SEEDS])
    state = jax.jit(jax.vmap(lambda key: compiled.start(prog, key, jnp.float32(1.0))))(keys)
    *_, state = compiled.run(prog, state, over=jax.vmap)
    batch = [
        Augmented(
            jnp.asarray(bits, jnp.uint8).reshape(1, 1, BITS),
            jnp.asarray(bits, jnp.float32).reshape(1, 1, BITS),
            jnp.float32(time),
            jnp.float32(arm),
        )
        for bits, time, arm in inputs
    ]
    views = jax.tree.map(lambda *x: jnp.stack(x), *[prog.network.view(one) for one in batch])
    return np.asarray(jax.vmap(prog.network.apply, in_axes=(0, None))(state.learner.params, views))


def check(learned, expected, atol):
    """Every seed has learned the values."""
    for of_one_seed in learned:
        np.testing.assert_allclose(of_one_seed, expected, atol=atol)


every_learner = pytest.mark.parametrize("learner", ["dqn", "pqn"])
dqn_when_slow = pytest.mark.parametrize("learner", [pytest.param("dqn", marks=pytest.mark.slow), "pqn"])


@pytest.mark.slow
@every_learner
def test_constant_reward(learner):
    env = world(lambda t, obs, action: (1.0, None))
    check(values(env, learner, [((0, 0, 1), 0, 0)]), [[1, 1]], atol=0.05)


@pytest.mark.slow
@every_learner
def test_reward_depends_on_the_observation(learner):
    env = world(lambda t, obs, action: (2.0 * obs[0, 0, 0].astype(jnp.float32) - 1.0, None), first=coin)
    check(values(env, learner, [((0, 0, 1), 0, 0), ((1, 0, 1), 0, 0)]), [[-1, -1], [1, 1]], atol=0.1)


@pytest.mark.slow
@dqn_when_slow
def test_two_step_credit(learner):
    """Reward 1 for the second step, whatever is done: gamma at first, 1 then."""
    env = world(lambda t, obs, action: (t.astype(jnp.float32), [0, 1, 1]), horizon=2)
    learned = values(env, learner, [((0, 0, 1), 0, 0), ((0, 1, 1), 0.5, 0)])
    check(learned, [[GAMMA, GAMMA], [1, 1]], atol=0.1)


@pytest.mark.slow
@every_learner
def test_action_matters(learner):
    env = world(lambda t, obs, action: (jnp.where(action == 1, 1.0, -1.0), None))
    check(values(env, learner, [((0, 0, 1), 0, 0)]), [[-1, 1]], atol=0.1)


@pytest.mark.slow
@dqn_when_slow
def test_action_and_observation_matter(learner):
    env = world(
        lambda t, obs, action: (jnp.where(action == obs[0, 0, 0].astype(action.dtype), 1.0, -1.0), None), first=coin
    )
    check(values(env, learner, [((0, 0, 1), 0, 0), ((1, 0, 1), 0, 0)]), [[1, -1], [-1, 1]], atol=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["pqn", "dqn", "dqn with all its options"])
def test_the_arm_flips_the_right_action(learner):
    """`right` turns one bit, which costs -log clip nats; `left` changes nothing."""
    env = world(lambda t, obs, action: (0.0, jnp.stack([action, jnp.zeros_like(action), jnp.ones_like(action)])))
    learned = values(env, learner, [((0, 0, 1), 0, 0), ((0, 0, 1), 0, 1)], objective="s-adapt")
    calm, surprised = BITS * CALM, SURPRISE + (BITS - 1) * CALM
    check(learned, [[calm, surprised], [-calm, -surprised]], atol=0.5)
