"""Which array module the mathematics is computed with, and what the two spell differently."""

from __future__ import annotations

from typing import Any

import numpy as np


def array_module(xp: Any = None) -> Any:
    """`xp` itself, or JAX's numpy where none is given, imported only then."""
    if xp is not None:
        return xp
    import jax.numpy as jnp

    return jnp


def scatter_add(xp: Any, where: Any, values: Any, size: int) -> Any:
    """A vector of `size` entries, each the sum of the values whose place it is."""
    if xp is np:
        return np.bincount(where, values, size).astype(values.dtype)
    return xp.zeros(size, values.dtype).at[where].add(values)


def carried(xp: Any, touched: Any, total: Any, lost: Any, step: Any) -> tuple[Any, Any]:
    """total + step where touched, with what rounding cut off carried over to the next step (Kahan's sum)."""
    wanted = xp.where(touched, step + lost, xp.float32(0))
    after = total + wanted
    return after, xp.where(touched, wanted - (after - total), lost)


def smallest(xp: Any, values: Any, count: int) -> Any:
    """The `count` smallest along the last axis, in order; XLA's sort of all of them takes fifty times as long."""
    if xp is np:
        return np.sort(np.partition(values, count - 1, axis=-1)[..., :count], axis=-1)
    import jax

    return -jax.lax.top_k(-values, count)[0]
