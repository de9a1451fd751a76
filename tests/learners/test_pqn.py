"""PQN's arithmetic by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sadapt.learners.exploration import soft_action, soft_value
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


def test_soft_value_by_hand():
    """log((e^0 + e^ln 3) / 2) = ln 2; half the temperature: (1/2) log((1 + 9) / 2)."""
    q = jnp.array([[0.0, np.log(3.0)]])
    np.testing.assert_allclose(soft_value(q, 1.0), [np.log(2)], rtol=1e-6)
    np.testing.assert_allclose(soft_value(q, 0.5), [np.log(5) / 2], rtol=1e-6)
    np.testing.assert_array_equal(soft_value(q, 0.0), q.max(axis=1))


@given(
    st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=6),
    st.floats(0.015625, 64, width=32),
    st.floats(-50, 50, width=32),
)
def test_soft_values_lie_between_mean_and_best_and_move_with_the_values(values, temperature, shift):
    q = jnp.array([values], jnp.float32)
    value = float(soft_value(q, temperature)[0])
    assert np.mean(values) - 1e-3 <= value <= max(values) + 1e-3
    assert value <= float(soft_value(q, temperature / 2)[0]) + 1e-3
    np.testing.assert_allclose(soft_value(q + shift, temperature), [value + shift], atol=1e-3)


def test_soft_actions_come_as_often_as_their_values_say():
    """Values 0 and ln 3: the second action three times as often, and always when it is cold."""
    q = jnp.tile(jnp.array([0.0, np.log(3.0)]), (40_000, 1))
    assert abs(soft_action(jax.random.key(1), q, 1.0).mean() - 0.75) < 0.01
    assert soft_action(jax.random.key(1), q, 0.01).all()
