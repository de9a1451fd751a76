"""The learner that does not learn: uniform actions, nothing remembered."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from sadapt.learners.base import Learner, Report, View

Array = jax.Array


def idle(num_actions: int, *, num_envs: int, chunk_steps: int = 16_384) -> Learner:
    """Random play through the same program, for the same metrics."""

    def act(key: Array, state: Any, now: View, step: Array) -> tuple[Any, Array]:
        return state, (jax.random.uniform(key, (num_envs,)) * num_actions).astype(jnp.int32)

    def update(key: Array, state: Any, now: View, normaliser: Any) -> tuple[Any, Report]:
        return state, Report(jnp.asarray(jnp.nan, jnp.float32), jnp.asarray(jnp.nan, jnp.float32))

    return Learner(
        init=lambda key, episodes, now: (),
        act=act,
        observe=lambda state, action, seen, episodes: state,
        update=update,
        restart=lambda state, episodes: state,
        refresh=lambda state: state,
        greedy=lambda state, now: jnp.zeros((num_envs,), jnp.int32),
        epsilon=lambda step: jnp.ones((), jnp.float32),
        steps_per_update=1,
        updates_per_turn=1,
        chunk_steps=num_envs * max(1, chunk_steps // num_envs),
        warmup_steps=0,
    )
