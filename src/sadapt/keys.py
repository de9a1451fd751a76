"""Typed random keys: from seeds, and as the bits that they are made of, where only plain numbers can go."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.fields import Seed, checked, field_of

Array = jax.Array
SEED, HALF = field_of(Seed), 2**32


def from_seed(seed: int) -> Array:
    """The key of a seed, another for each below 2^64; `jax.random.key` alone would drop all but the lower 32 bits."""
    high, low = divmod(checked(SEED, "seed", seed), HALF)
    key = jax.random.key(np.uint32(low))
    if not high:
        return key
    return jax.random.wrap_key_data(jax.random.key_data(key).at[::2].set(np.uint32(high)))


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
