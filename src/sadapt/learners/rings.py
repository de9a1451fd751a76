"""Where a replay keeps what it is given: rings of frames, one per world, and how each thing is packed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Facts
from sadapt.motivation.marginals import MAX_COUNT, Marginal

Array = jax.Array
Clock = Callable[[Array], Array]


class Rings(NamedTuple):
    """Sizes of the rings, and what is in them."""

    env: Facts
    marginal: Marginal
    num_envs: int
    length: int
    """Places of one ring, a multiple of the interval."""
    interval: int
    clock: Clock
    refill: int | None

    @property
    def spare(self) -> int:
        """The row that takes the marginals that are not kept."""
        return self.num_envs * self.length // self.interval

    @property
    def entries(self) -> int:
        """Numbers in an observation."""
        return int(np.prod(self.env.obs_shape))

    @property
    def action_dtype(self) -> np.dtype:
        """A byte, where there are so few actions."""
        return np.dtype(np.uint8 if self.env.num_actions <= 256 else np.int32)

    def place(self, index: Array, world: Array) -> Array:
        return world * self.length + index % self.length

    def places(self, index: Array) -> Array:
        """The place of an index in every world."""
        return self.place(index, jnp.arange(self.num_envs))

    def short(self, t: Array) -> Array:
        """Time in 16 bits; beyond them, the latest one that is as long after a refill."""
        over = jnp.maximum(t - MAX_COUNT, 0)
        return t - (over if self.refill is None else -(-over // self.refill) * self.refill)

    def pack(self, obs: Array) -> Array:
        """The newest of stacked observations as it is kept."""
        newest = obs[..., -self.env.obs_shape[-1] :]
        flat = newest.reshape(*obs.shape[: -len(self.env.obs_shape)], self.entries)
        return jnp.packbits(flat.astype(jnp.uint8), axis=-1) if self.env.binary else flat

    def unpack(self, stored: Array) -> Array:
        if self.env.binary:
            stored = jnp.unpackbits(stored, axis=-1, count=self.entries)
        return stored.reshape(*stored.shape[:-1], *self.env.obs_shape).astype(self.env.obs_dtype)

    def bytes(self) -> int:
        """Memory that the rings take."""
        per_frame = -(-self.entries // 8) if self.env.binary else self.entries * np.dtype(self.env.obs_dtype).itemsize
        state = jax.tree.leaves(jax.eval_shape(self.marginal.init))
        per_snapshot = sum(x.size * x.dtype.itemsize for x in state)
        per_step = 12 + self.action_dtype.itemsize
        return int(self.num_envs * self.length * (per_frame + per_step) + (self.spare + 1) * per_snapshot)
