"""Krichevsky and Trofimov's estimator: surprise is code length, whatever the order."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from scipy.special import betaln

from sadapt.errors import UserError
from sadapt.motivation.marginals import InputSpec
from sadapt.motivation.marginals.kt import kt
from tests.motivation.marginals.examples import BINARY, SHAPE, after, binary_entropy

SPEC = InputSpec("world", SHAPE, np.uint8, 0, 1)


@given(BINARY)
def test_surprises_add_up_to_the_code_length(seen):
    """-sum over entries of ln B(k + 1/2, n - k + 1/2) / B(1/2, 1/2) for k ones among n."""
    marginal = kt(SPEC, xp=np)
    state, total = marginal.init(), 0.0
    for obs in seen:
        total -= float(marginal.log_prob(state, obs))
        state = marginal.update(state, obs)
    ones, count = seen.sum(axis=0, dtype=np.float64), len(seen)
    length = -(betaln(ones + 0.5, count - ones + 0.5) - betaln(0.5, 0.5)).sum()
    assert total == pytest.approx(length, rel=1e-4, abs=1e-4)


@given(BINARY)
def test_theta_and_entropy_by_hand(seen):
    marginal = kt(SPEC, xp=np)
    state = after(marginal, seen)
    theta = (seen.sum(axis=0, dtype=np.float64) + 0.5) / (len(seen) + 1)
    np.testing.assert_allclose(marginal.features(state), theta, rtol=1e-6)
    assert float(marginal.entropy(state)) == pytest.approx(sum(map(binary_entropy, theta.flat)), rel=1e-4)


def test_before_the_first_observation_every_bit_is_a_coin():
    marginal = kt(SPEC)
    bits = math.prod(SHAPE)
    assert float(marginal.entropy(marginal.init())) == pytest.approx(bits * math.log(2))
    assert float(marginal.log_prob(marginal.init(), jnp.ones(SHAPE, jnp.uint8))) == pytest.approx(-bits * math.log(2))


def test_other_numbers_than_bits_are_refused():
    with pytest.raises(UserError, match="needs 0/1 observations"):
        kt(InputSpec("world", SHAPE, np.float32, -1, 1))
