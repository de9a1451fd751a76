"""Probe worlds of rising difficulty: every learner must reach the values that can be computed by hand.

DQN and PQN learn the value of each action, PPO which action to prefer and what that is worth. All but one of PPO's are
slow tests.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.composite import all_changed
from sadapt.envs.base import Env, Step
from sadapt.motivation.augmented import Augmented
from sadapt.motivation.feedback import nobody
from sadapt.training import compiled
from sadapt.training.parts import parts
from sadapt.training.program import compose
from sadapt.training.settings import Settings

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


DQN = {
    "learner": "dqn", "num_envs": 1, "total_timesteps": 9000, "learning_rate": 1e-3, "batch_size": 32,
    "buffer_size": 4000, "train_frequency": 2, "learning_starts": 1000, "target_network_frequency": 100, "end_e": 0.5,
    "exploration_steps": 4500, "snapshot_interval": 4,
}  # fmt: skip
SIDE_BY_SIDE = {"num_envs": 16, "total_timesteps": 40_000, "learning_rate": 3e-3, "num_steps": 4, "minibatch_size": 32}
LEARNERS = {
    "dqn": DQN,
    "dqn with all its options": {**DQN, "double": True, "huber": True, "relabel": True},
    "pqn": {"learner": "pqn", **SIDE_BY_SIDE, "q_lambda": 0.5, "end_e": 0.5},
    "ppo": {"learner": "ppo", **SIDE_BY_SIDE, "total_timesteps": 20_000},
}
SOFT = {"pqn with wide gaps": {**LEARNERS["pqn"], "temperature": 1.0, "munchausen": 0.5, "total_timesteps": 20_000}}
COMMON = {
    "gamma": GAMMA, "normalise": False, "bootstrap": "terminal", "random_episodes": 4, "ucb_c": 100.0,
    "network": "plain", "hidden": 32,
}  # fmt: skip
SEEDS = (1, 2, 3)
SLOW = pytest.mark.slow


def outputs(env, learner, inputs, objective="extrinsic"):
    """What trained networks say [seed, input, output] of a list of (bits, time, arm); all seeds at once."""
    changes = {"objective": objective, **COMMON, **(LEARNERS | SOFT)[learner]}
    prog = compose(env, parts(env, all_changed(Settings(world="own:probe"), changes)))
    keys = jnp.stack([jax.random.key(seed) for seed in SEEDS])
    state = jax.jit(jax.vmap(lambda key: compiled.start(prog, key, nobody())))(keys)
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
    network = prog.parts.task.network(env.num_actions + (learner == "ppo"))
    views = jax.tree.map(lambda *x: jnp.stack(x), *[network.view(one) for one in batch])
    return np.asarray(jax.vmap(network.apply, in_axes=(0, None))(state.learner.params, views))


def check(env, learner, inputs, expected, *, objective="extrinsic", atol):
    """Every seed has learned the action values `expected`; of PPO, the largest of them and whose it is."""
    best = np.max(expected, axis=-1)
    matters = np.ptp(expected, axis=-1) > 0
    for learned in outputs(env, learner, inputs, objective):
        if learner != "ppo":
            np.testing.assert_allclose(learned, expected, atol=atol)
            continue
        np.testing.assert_allclose(learned[:, -1], best, atol=atol)
        preferred = learned[:, :-1].argmax(axis=-1)
        np.testing.assert_array_equal(preferred[matters], np.argmax(expected, axis=-1)[matters])


every_learner = pytest.mark.parametrize("learner", ["dqn", "pqn", "ppo"])


@pytest.mark.slow
@every_learner
def test_constant_reward(learner):
    env = world(lambda t, obs, action: (1.0, None))
    check(env, learner, [((0, 0, 1), 0, 0)], [[1, 1]], atol=0.05)


@pytest.mark.slow
@every_learner
def test_reward_depends_on_the_observation(learner):
    env = world(lambda t, obs, action: (2.0 * obs[0, 0, 0].astype(jnp.float32) - 1.0, None), first=coin)
    check(env, learner, [((0, 0, 1), 0, 0), ((1, 0, 1), 0, 0)], [[-1, -1], [1, 1]], atol=0.1)


@pytest.mark.slow
@every_learner
def test_two_step_credit(learner):
    """Reward 1 for the second step, whatever is done: gamma at first, 1 then."""
    env = world(lambda t, obs, action: (t.astype(jnp.float32), [0, 1, 1]), horizon=2)
    check(env, learner, [((0, 0, 1), 0, 0), ((0, 1, 1), 0.5, 0)], [[GAMMA, GAMMA], [1, 1]], atol=0.1)


@pytest.mark.slow
@every_learner
def test_action_matters(learner):
    env = world(lambda t, obs, action: (jnp.where(action == 1, 1.0, -1.0), None))
    check(env, learner, [((0, 0, 1), 0, 0)], [[-1, 1]], atol=0.1)


def test_munchausen_widens_the_gap_between_actions():
    """q = r + m (q - v), v = log mean exp q: the gap of rewards -1 and 1 is 2 / (1 - m), and q_1 = -1 - m (v - q_1)."""
    gap = 2 / (1 - 0.5)
    low = -1 - 0.5 * np.log((1 + np.exp(gap)) / 2)
    env = world(lambda t, obs, action: (jnp.where(action == 1, 1.0, -1.0), None))
    check(env, "pqn with wide gaps", [((0, 0, 1), 0, 0)], [[low, low + gap]], atol=0.1)


@pytest.mark.parametrize("learner", [pytest.param("dqn", marks=SLOW), pytest.param("pqn", marks=SLOW), "ppo"])
def test_action_and_observation_matter(learner):
    env = world(
        lambda t, obs, action: (jnp.where(action == obs[0, 0, 0].astype(action.dtype), 1.0, -1.0), None), first=coin
    )
    check(env, learner, [((0, 0, 1), 0, 0), ((1, 0, 1), 0, 0)], [[1, -1], [-1, 1]], atol=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_arm_flips_the_right_action(learner):
    """`right` turns one bit, which costs -log clip nats; `left` changes nothing."""
    env = world(lambda t, obs, action: (0.0, jnp.stack([action, jnp.zeros_like(action), jnp.ones_like(action)])))
    calm, surprised = BITS * CALM, SURPRISE + (BITS - 1) * CALM
    expected = [[calm, surprised], [-calm, -surprised]]
    check(env, learner, [((0, 0, 1), 0, 0), ((0, 0, 1), 0, 1)], expected, objective="s-adapt", atol=0.5)
