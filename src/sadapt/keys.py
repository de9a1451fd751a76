"""Typed random keys as the bits that they are made of, where only plain numbers can go."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

Array = jax.Array


def is_key(leaf: Any) -> bool:
    """Whether a leaf (only its dtype counts) holds typed random keys."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def as_bits(leaf: Any) -> Any:
    """A key's bits; any other array as it is."""
    return jax.random.key_data(leaf) if is_key(leaf) else leaf


def bits_like(leaf: Any) -> Any:
    """Shape and dtype of `as_bits(leaf)`."""
    return jax.eval_shape(as_bits, leaf)


def from_bits(bits: Array, leaf: Any) -> Array:
    """The keys that `as_bits` made of a leaf like this; any other array as it is."""
    return jax.random.wrap_key_data(bits) if is_key(leaf) else bits
