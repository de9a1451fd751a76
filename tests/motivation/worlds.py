"""Worlds so small that every number about them can be worked out by hand."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Env, Step


def _blank(state: object) -> np.ndarray:
    return np.zeros((1, 1, 3), np.uint8)


class Place(NamedTuple):
    """Where on the line, and how many steps the world itself has been running."""

    cell: jax.Array
    age: jax.Array


def line(cells: int = 4, *, horizon: int = 10, start: int = 0, seen: tuple[int, ...] = (0,)) -> Env:
    """Stay or go right; the last cell kills. Reward 0.5 per move.

    Channel 0 is the cell, one-hot; channel 1 is all ones, so that it matters which channels the marginal sees.
    """

    def show(cell: jax.Array) -> jax.Array:
        here = (jnp.arange(cells) == cell).astype(jnp.uint8)
        return jnp.stack([here, jnp.ones_like(here)], axis=-1)

    def reset(key: jax.Array) -> tuple[Place, jax.Array]:
        state = Place(jnp.int32(start), jnp.int32(0))
        return state, show(state.cell)

    def step(key: jax.Array, state: Place, action: jax.Array) -> tuple[Place, Step]:
        cell = jnp.minimum(state.cell + action, cells - 1)
        moved = (cell > state.cell).astype(jnp.int32)
        reward = moved.astype(jnp.float32) * 0.5
        return Place(cell, state.age + 1), Step(show(cell), reward, cell == cells - 1, {"moves": moved})

    return Env(
        name="line",
        reset=reset,
        step=step,
        render=_blank,
        obs_shape=(cells, 2),
        obs_dtype=jnp.uint8,
        channels=("here", "ones"),
        actions=("stay", "right"),
        horizon=horizon,
        marginal_channels=seen,
        counters=("moves",),
    )


def counter(*, horizon: int = 5, step_size: float = 1.0) -> Env:
    """One unbounded real number: the steps made so far, times `step_size`. Nothing else happens."""

    def reset(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.float32(0), jnp.zeros((1, 1), jnp.float32)

    def step(key: jax.Array, state: jax.Array, action: jax.Array) -> tuple[jax.Array, Step]:
        state = state + jnp.float32(step_size)
        return state, Step(jnp.full((1, 1), state), jnp.float32(1), jnp.bool_(False), {})

    return Env(
        name="counter",
        reset=reset,
        step=step,
        render=_blank,
        obs_shape=(1, 1),
        obs_dtype=jnp.float32,
        channels=("steps",),
        actions=("wait", "hurry"),
        horizon=horizon,
        marginal_channels=(0,),
        high=float("inf"),
    )


def coins(
    number: int = 6, *, horizon: int = 20, heads: float = 0.5, actions: tuple[str, ...] = ("still", "toss")
) -> Env:
    """Coins that start as tails; action 0 turns all to tails, any other tosses all of them. Never dies."""

    def reset(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.int32(0), jnp.zeros((number, 1), jnp.uint8)

    def step(key: jax.Array, state: jax.Array, action: jax.Array) -> tuple[jax.Array, Step]:
        tossed = jax.random.bernoulli(key, heads, (number, 1)) & (action > 0)
        return state + 1, Step(tossed.astype(jnp.uint8), jnp.float32(0), jnp.bool_(False), {})

    return Env(
        name="coins",
        reset=reset,
        step=step,
        render=_blank,
        obs_shape=(number, 1),
        obs_dtype=jnp.uint8,
        channels=("heads",),
        actions=actions,
        horizon=horizon,
        marginal_channels=(0,),
    )


class Climb(NamedTuple):
    """The rung, and whether the next grip must be the right hand's."""

    rung: jax.Array
    right: jax.Array


def ladder(rungs: int = 16) -> Env:
    """Left and right hand in turn climb one rung a step; a wrong hand falls to the ground. The horizon is the top.

    The scripted climber sees every rung once; an agent that always pulls with the right hand never leaves the ground.
    """

    def show(rung: jax.Array) -> jax.Array:
        return (jnp.arange(rungs) == rung).astype(jnp.uint8)[:, None]

    def reset(key: jax.Array) -> tuple[Climb, jax.Array]:
        return Climb(jnp.int32(0), jnp.bool_(False)), show(jnp.int32(0))

    def step(key: jax.Array, state: Climb, action: jax.Array) -> tuple[Climb, Step]:
        good = (action == 1) == state.right
        rung = jnp.where(good, jnp.minimum(state.rung + 1, rungs - 1), 0)
        state = Climb(rung, jnp.where(good, ~state.right, False))
        return state, Step(show(rung), jnp.float32(0), jnp.bool_(False), {})

    return Env(
        name="ladder",
        reset=reset,
        step=step,
        render=_blank,
        obs_shape=(rungs, 1),
        obs_dtype=jnp.uint8,
        channels=("climber",),
        actions=("left", "right"),
        horizon=rungs - 1,
        marginal_channels=(0,),
        scripted={"climber": lambda key, world, theta: world.right.astype(jnp.int32)},
    )
