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
