"""A world's compiled functions, as its Gymnasium environments call them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode
from jax.typing import ArrayLike

from sadapt.envs.base import Array, Env, State
from sadapt.envs.registry import make


class Life(NamedTuple):
    """A world in the middle of an episode."""

    key: Array
    """Raw data of the key that all later chance comes from, resets too; typed keys would leave jit's fast path."""
    state: State
    obs: Array
    clock: Array
    """Steps since the reset."""
    done: Array
    """Whether the episode has ended."""


class Outcome(NamedTuple):
    """What a step tells beside the observation."""

    reward: Array
    terminated: Array
    truncated: Array
    counters: dict[str, Array]
    final_obs: Array | None = None
    """Observations from before the reset, where a step may end with one."""


class Play(NamedTuple):
    """The compiled functions of one world; `limit` is the number of steps after which an episode is truncated."""

    world: Env
    start: Callable[[ArrayLike], Life]
    """`start(key) -> life`."""
    step: Callable[[Life, ArrayLike, int], tuple[Life, Outcome]]
    """`step(life, action, limit) -> (life, outcome)`."""
    start_all: Callable[[ArrayLike], Life]
    """`start`, for many worlds."""
    step_all: Mapping[AutoresetMode, Callable[[Life, ArrayLike, int], tuple[Life, Outcome]]]
    """`step_all[mode](lives, actions, limit) -> (lives, outcomes)`."""


def play_of(name: str, layout: str | Path | None) -> Play:
    """The compiled functions of a world, shared by all of its environments until its map's file changes."""
    if layout is None or "\n" in str(layout):
        return _compiled(name, layout, None)
    file = Path(layout)
    return _compiled(name, file, file.read_bytes() if file.is_file() else None)


@functools.cache
def _compiled(name: str, layout: str | Path | None, content: bytes | None) -> Play:
    world = make(name, layout)

    def start(key: Array) -> Life:
        key, key_reset = _split(key)
        state, obs = world.reset(key_reset)
        return Life(key, state, obs, clock=jnp.int32(0), done=jnp.bool_(False))

    def step(life: Life, action: Array, limit: int) -> tuple[Life, Outcome]:
        key, key_step = _split(life.key)
        state, seen = world.step(key_step, life.state, action)
        clock = life.clock + 1
        truncated = clock >= limit
        life = Life(key, state, seen.obs, clock, done=seen.terminated | truncated)
        return life, Outcome(seen.reward, seen.terminated, truncated, seen.counters)

    start_all = jax.vmap(start)
    step_all = jax.vmap(step, in_axes=(0, 0, None))

    def step_or_start(lives: Life, actions: Array, limit: int) -> tuple[Life, Outcome]:
        # Only one of the two uses of a world's key is kept.
        stepped, outcomes = step_all(lives, actions, limit)
        nothing = jax.tree.map(jnp.zeros_like, outcomes)
        return where(lives.done, (start_all(lives.key), nothing), (stepped, outcomes))

    def step_and_start(lives: Life, actions: Array, limit: int) -> tuple[Life, Outcome]:
        stepped, outcomes = step_all(lives, actions, limit)
        lives = where(stepped.done, start_all(stepped.key), stepped)
        return lives, outcomes._replace(final_obs=stepped.obs)

    modes = {
        AutoresetMode.DISABLED: jax.jit(step_all),
        AutoresetMode.NEXT_STEP: jax.jit(step_or_start),
        AutoresetMode.SAME_STEP: jax.jit(step_and_start),
    }
    return Play(world, jax.jit(start), jax.jit(step), jax.jit(start_all), modes)


def _split(key: Array) -> tuple[Array, Array]:
    """The raw data to keep, and a typed key to use now."""
    later, now = jax.random.split(jax.random.wrap_key_data(key, impl="threefry2x32"))
    return jax.random.key_data(later), now


@jax.jit
@jax.vmap
def where(mask: Array, yes: Any, no: Any) -> Any:
    """`yes` for the worlds of the mask, `no` for the others."""
    return jax.tree.map(functools.partial(jnp.where, mask), yes, no)


def draw_keys(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Raw data of fresh keys."""
    return random.integers(2**32, size=(*shape, 2), dtype=np.uint32)
