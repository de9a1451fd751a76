"""What a world tells its marginal: the kinds of its entries, and on request what random play shows."""

from __future__ import annotations

import functools
from contextlib import closing
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Env, Facts, HostEnv
from sadapt.motivation.marginals import InputSpec
from sadapt.motivation.marginals.base import with_parts

Array = jax.Array
STEPS, WORLDS = 1_024, 16
"""Steps of random play that are looked at, and worlds that share them where they are compiled."""


def input_spec(env: Facts) -> InputSpec:
    """What a marginal models of this world."""
    whole = InputSpec(env.name, env.input_shape, env.obs_dtype, env.low, env.high)
    return with_parts(whole._replace(sample=functools.cache(lambda: random_inputs(env))), env.kinds)


def random_inputs(env: Facts) -> np.ndarray:
    """Marginal inputs of random play, the same in every call: [steps, *shape]."""
    if isinstance(env, Env):
        return np.asarray(jax.jit(functools.partial(_compiled, env))(jax.random.key(0)))
    assert isinstance(env, HostEnv)
    return np.asarray(env.marginal_input(jnp.asarray(_outside(env))))


def _compiled(env: Env, key: Array) -> Array:
    key_begin, key_play = jax.random.split(key)

    def one(carry: tuple[Any, Array], key: Array) -> tuple[tuple[Any, Array], Array]:
        (world, t), (key_act, key_step, key_reset) = carry, jax.random.split(key, 3)
        after, step = env.step(key_step, world, jax.random.randint(key_act, (), 0, env.num_actions))
        over = step.terminated | (t + 1 >= env.horizon)
        fresh, _ = env.reset(key_reset)
        world = jax.tree.map(lambda a, b: jnp.where(over, a, b), fresh, after)
        return (world, jnp.where(over, 0, t + 1)), env.marginal_input(step.obs)

    def play(key_begin: Array, key: Array) -> Array:
        first, _ = env.reset(key_begin)
        return jax.lax.scan(one, (first, jnp.int32(0)), jax.random.split(key, STEPS // WORLDS))[1]

    seen = jax.vmap(play)(jax.random.split(key_begin, WORLDS), jax.random.split(key_play, WORLDS))
    return seen.reshape(-1, *seen.shape[2:])


def _outside(env: HostEnv) -> np.ndarray:
    chance, keys = np.random.default_rng(0), jax.random.split(jax.random.key(0), STEPS)
    seen, t = [], 0
    with closing(env.open(1)) as worlds:
        worlds.restart(jax.random.key(1), np.ones(1, bool))
        for key in keys:
            step = worlds.step(key, np.array([chance.integers(env.num_actions)]))
            seen.append(np.array(step.obs[0]))
            t += 1
            if step.terminated[0] or t >= env.horizon:
                worlds.restart(jax.random.fold_in(key, 1), np.ones(1, bool))
                t = 0
    return np.stack(seen)
