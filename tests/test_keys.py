"""Random keys from seeds: each seed below 2^64 has its own, and those below 2^32 have JAX's."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.errors import UserError
from sadapt.keys import from_seed

SEEDS = st.integers(0, 2**64 - 1)


def bits(seed: int) -> list[int]:
    return np.asarray(jax.random.key_data(from_seed(seed))).tolist()


@given(st.integers(0, 2**32 - 1))
def test_small_seeds_are_as_they_always_were(seed):
    assert bits(seed) == np.asarray(jax.random.key_data(jax.random.key(np.uint32(seed)))).tolist()
    if seed < 2**31:
        assert bits(seed) == np.asarray(jax.random.key_data(jax.random.key(seed))).tolist()


@given(SEEDS, SEEDS)
def test_two_seeds_are_two_keys(one, other):
    assert (bits(one) == bits(other)) == (one == other)


@given(st.integers(0, 2**32 - 1), st.integers(1, 2**32 - 1))
def test_the_upper_half_counts(low, high):
    assert bits(high * 2**32 + low) != bits(low)


@pytest.mark.parametrize("seed", [-1, 2**64, 2**70, 1.5, "1", None])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(UserError, match="--seed must "):
        from_seed(seed)
