"""The last steps of all worlds side by side, for learners without a replay."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from sadapt.motivation.episode import Transition

Array = jax.Array


class Rollout(NamedTuple):
    """`num_steps` steps, each entry [steps, worlds, ...], and which of them is written next."""

    steps: dict[str, Any]
    cursor: Array


def empty(num_envs: int, num_steps: int, **examples: Any) -> Rollout:
    """Room for what a transition tells, and for whatever is like `examples` (arrays that lead with the worlds)."""
    scalar, whole, flag = (jnp.zeros(num_envs, kind) for kind in (jnp.float32, jnp.int32, bool))
    every = {
        **examples,
        "t": whole,
        "arm": whole,
        "surprise": scalar,
        "extrinsic": scalar,
        "closed": flag,
        "terminal": flag,
    }
    room = jax.tree.map(lambda x: jnp.zeros((num_steps, *x.shape), x.dtype), every)
    return Rollout(room, jnp.zeros((), jnp.int32))


def write(rollout: Rollout, **rows: Any) -> Rollout:
    """The same with a step's entries at the cursor."""

    def put(buffer: Array, row: Array) -> Array:
        return jax.lax.dynamic_update_index_in_dim(buffer, row, rollout.cursor, 0)

    written = {name: jax.tree.map(put, rollout.steps[name], row) for name, row in rows.items()}
    return rollout._replace(steps={**rollout.steps, **written})


def observed(rollout: Rollout, transition: Transition) -> Rollout:
    """What the worlds answered written down, and the cursor moved on."""
    written = write(
        rollout,
        t=transition.t,
        arm=transition.arm,
        surprise=transition.surprise,
        extrinsic=transition.extrinsic,
        closed=transition.closed,
        terminal=transition.terminal,
    )
    length = len(rollout.steps["t"])
    return written._replace(cursor=(rollout.cursor + 1) % length)


def flattened(tree: Any) -> Any:
    """[steps, worlds, ...] as [steps * worlds, ...]; what has no entries keeps its steps."""
    return jax.tree.map(lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), tree)
