"""Comparing trees of arrays, keys by their bits."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


def same(a, b, **tolerance) -> None:
    """Leaf by leaf the same numbers."""
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        if jnp.issubdtype(x.dtype, jax.dtypes.prng_key):
            x, y = jax.random.key_data(x), jax.random.key_data(y)
        if tolerance:
            np.testing.assert_allclose(x, y, **tolerance)
        else:
            np.testing.assert_array_equal(x, y)


def identical(a, b) -> None:
    """Leaf by leaf the same numbers of the same dtype and shape."""
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert x.dtype == y.dtype
        assert x.shape == y.shape
    same(a, b)
