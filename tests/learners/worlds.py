"""Small worlds whose every answer is known."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Env, Step


def noise_world(*, death: float, shape: tuple[int, ...] = (3, 2, 2), horizon: int = 7, binary: bool = True) -> Env:
    """Every observation is drawn anew and every step dies with probability `death`: nothing repeats by accident."""

    def draw(key):
        if binary:
            return jax.random.bernoulli(key, 0.4, shape).astype(jnp.uint8)
        return jax.random.normal(key, shape)

    def reset(key):
        return jnp.zeros((), jnp.int32), draw(key)

    def step(key, state, action):
        key_obs, key_death = jax.random.split(key)
        dead = jax.random.uniform(key_death) < death
        return state + 1, Step(draw(key_obs), action.astype(jnp.float32), dead, {})

    return Env(
        name="noise",
        reset=reset,
        step=step,
        render=lambda state: np.zeros((8, 8, 3), np.uint8),
        obs_shape=shape,
        obs_dtype=np.uint8 if binary else np.float32,
        channels=tuple(f"noise {i}" for i in range(shape[-1])),
        actions=("a", "b"),
        horizon=horizon,
        marginal_channels=(1,),
        low=0.0 if binary else -np.inf,
        high=1.0 if binary else np.inf,
    )
