"""What NumPy and JAX spell differently."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.motivation.arrays import smallest

VALUES = st.lists(st.floats(width=32, allow_nan=False, allow_subnormal=False), min_size=5, max_size=5)


@pytest.mark.parametrize("xp", [np, jnp])
@given(rows=st.lists(VALUES, min_size=1, max_size=3), count=st.integers(1, 5))
def test_the_smallest_are_the_first_of_all_in_order(xp, rows, count):
    """Ties and infinite values among them."""
    values = np.array(rows, np.float32)
    np.testing.assert_array_equal(smallest(xp, xp.asarray(values), count), np.sort(values, axis=-1)[:, :count])
