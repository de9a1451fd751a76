"""How many steps per second the worlds make, many of them in one compiled loop."""

from __future__ import annotations

from typing import Any

import jax

from sadapt.benchmarks.timing import Call, best_seconds
from sadapt.envs import make
from sadapt.envs.base import Env

Array = jax.Array

TARGETS = {
    "maze-small": 2_000_000,
    "maze-large": 200_000,
    "butterflies-small": 1_000_000,
    "butterflies-large": 120_000,
    "tetris": 700_000,
}
"""Steps per second that a world should make at least, 256 at once on one core."""

ARCADE_TARGETS = {
    "minatar-asterix": 200_000,
    "minatar-breakout": 200_000,
    "minatar-freeway": 200_000,
    "minatar-seaquest": 50_000,
    "minatar-space-invaders": 200_000,
}
"""The same, 64 at once."""


def steps_per_second(name: str, num_envs: int = 256, *, steps: int = 16, seconds: float = 3.0) -> float:
    """Under random play, with every observation built and kept entry by entry."""
    return num_envs * steps / best_seconds(random_play(make(name), num_envs, steps=steps), seconds=seconds)


def random_play(env: Env, num_envs: int, *, steps: int) -> Call:
    """So many steps of every world."""

    def advance(carry: tuple[Any, Array], key: Array) -> tuple[tuple[Any, Array], None]:
        states, seen = carry
        key_actions, key_steps = jax.random.split(key)
        actions = jax.random.randint(key_actions, (num_envs,), 0, env.num_actions)
        states, step = jax.vmap(env.step)(jax.random.split(key_steps, num_envs), states, actions)
        # Entry by entry: of a plain sum the compiler would never build the observation.
        return (states, seen + step.obs), None

    @jax.jit
    def play(key: Array, states: Any, seen: Array) -> tuple[Any, Array]:
        return jax.lax.scan(advance, (states, seen), jax.random.split(key, steps))[0]

    states, seen = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), num_envs))
    key = jax.random.key(1)
    return lambda: jax.block_until_ready(play(key, states, seen))
