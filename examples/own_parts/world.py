"""Lamps: a row of them, some of which fail at every step.

Actions: wait, or turn on lamp i. It pays 1 when all are lit. Channels: one, whether a lamp is lit.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import Env, Step
from sadapt.fields import Checked, Count, Share
from sadapt.registry import register


@dataclass(frozen=True)
class LampSettings(Checked):
    """The row of lamps."""

    lamps: Count = 6
    """Lamps in the row."""
    failing: Share = 0.05
    """How probable it is that a lamp goes out in a step."""
    horizon: Count = 50
    """Steps in an episode."""


def lamps(name: str, settings: LampSettings = LampSettings()) -> Env:
    """The row as a world."""
    shape = (1, settings.lamps, 1)

    def reset(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        lit = jax.random.bernoulli(key, 0.5, (settings.lamps,))
        return lit, lit.astype(jnp.uint8).reshape(shape)

    def step(key: jax.Array, lit: jax.Array, action: jax.Array) -> tuple[jax.Array, Step]:
        lit = lit | (jnp.arange(settings.lamps) == action - 1)
        reward = jnp.all(lit).astype(jnp.float32)
        lit = lit & ~jax.random.bernoulli(key, settings.failing, lit.shape)
        return lit, Step(lit.astype(jnp.uint8).reshape(shape), reward, jnp.zeros((), bool), {})

    def render(lit: jax.Array) -> np.ndarray:
        cells = np.where(np.asarray(lit)[None, :, None], (255, 210, 80), (60, 60, 70)).astype(np.uint8)
        return np.kron(cells, np.ones((32, 32, 1), np.uint8))

    return Env(
        name=name,
        reset=reset,
        step=step,
        render=render,
        obs_shape=shape,
        obs_dtype=np.uint8,
        channels=("lit",),
        actions=("wait", *(f"lamp {index}" for index in range(settings.lamps))),
        horizon=settings.horizon,
        marginal_channels=(0,),
        about="keep a row of failing lamps lit",
    )


register("env", "lamps", lamps, settings=LampSettings, fast_steps=200_000)
