"""The learner that does not learn: uniform actions, nothing remembered."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from sadapt.learners.base import Learner, Report, Task, View

Array = jax.Array


class IdleState(NamedTuple):
    """Nothing."""

    params: Any = ()


def idle(task: Task) -> Learner:
    """Random play through the same program, for the same metrics."""

    def act(key: Array, state: IdleState, view: View, step: Array) -> tuple[IdleState, Array]:
        return state, (jax.random.uniform(key, (task.num_envs,)) * task.env.num_actions).astype(jnp.int32)

    def update(key: Array, state: IdleState, view: View, normaliser: Any) -> tuple[IdleState, Report]:
        nothing = jnp.asarray(jnp.nan, jnp.float32)
        return state, {"loss": nothing, "q": nothing}

    return Learner(
        init=lambda key, episodes, view: IdleState(),
        act=act,
        observe=lambda state, action, transition, episodes: state,
        update=update,
        policy=None,
        view=lambda seen: (),
        reports={"loss": "losses/td_loss", "q": "losses/q_values"},
        steps_per_update=1,
        chunk_steps=task.num_envs * max(1, task.chunk_steps // task.num_envs),
        schedule=lambda step: {"epsilon": jnp.ones((), jnp.float32)},
    )
