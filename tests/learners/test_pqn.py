"""PQN's arithmetic by hand."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from sadapt.learners.pqn import lambda_returns


def test_lambda_returns_by_hand():
    """gamma 0.5, lambda 0.5; values 1, 2, 3 and 4 after the last; the middle step cut off or terminal."""
    r, v = jnp.array([1.0, 1.0, 1.0]), jnp.array([1.0, 2.0, 3.0])
    no = jnp.array([False, False, False])
    mid = jnp.array([False, True, False])
    last = 1 + 0.5 * 4.0
    second = 1 + 0.5 * (0.5 * 3 + 0.5 * last)
    first = 1 + 0.5 * (0.5 * 2 + 0.5 * second)
    np.testing.assert_allclose(lambda_returns(r, no, no, v, jnp.float32(4), 0.5, 0.5), [first, second, last])
    np.testing.assert_allclose(lambda_returns(r, mid, mid, v, jnp.float32(4), 0.5, 0.5), [1.75, 1.0, last])
    np.testing.assert_allclose(lambda_returns(r, no, mid, v, jnp.float32(4), 0.5, 0.5), [2.0, 2.0, last])
