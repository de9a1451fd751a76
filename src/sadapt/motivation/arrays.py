"""Which array module the mathematics is computed with."""

from __future__ import annotations

from typing import Any


def array_module(xp: Any = None) -> Any:
    """`xp` itself, or JAX's numpy where none is given, imported only then."""
    if xp is not None:
        return xp
    import jax.numpy as jnp

    return jnp
