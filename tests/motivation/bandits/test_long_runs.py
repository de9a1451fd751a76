"""Bandits that have heard millions of episodes hear the next one too."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.motivation.bandits.d3rb import d3rb
from sadapt.motivation.bandits.fixed import fixed
from sadapt.motivation.bandits.race import race
from sadapt.motivation.bandits.ucb import ucb

BANDITS = {"ucb": ucb(2), "d3rb": d3rb(2), "fixed": fixed(0), "race": race(2)}
BOUND = 2**24
"""Where 32-bit fractions stop counting."""


@pytest.mark.parametrize("name", BANDITS)
def test_the_count_goes_on(name):
    bandit = BANDITS[name]
    before = bandit.init()._replace(counts=jnp.array([BOUND, BOUND], jnp.int32))
    after = bandit.update(bandit.update(before, jnp.int32(0), jnp.float32(0.5)), jnp.int32(0), jnp.float32(0.5))
    np.testing.assert_array_equal(bandit.standing(after).counts, [BOUND + 2, BOUND])


@pytest.mark.parametrize("name", ["ucb", "d3rb", "fixed"])
def test_the_mean_goes_on(name):
    """(5,000,000 x 0.5 + 200,000 x 0.6) / 5,200,000 = 0.5038462; every step is less than the mean's last digit."""
    bandit = BANDITS[name]
    before = bandit.init()._replace(means=jnp.array([0.5, 0.5], jnp.float32), counts=jnp.array([5_000_000, 5_000_000]))
    hear = jax.jit(lambda state: bandit.update(state, jnp.int32(0), jnp.float32(0.6)))
    after = jax.lax.fori_loop(0, 200_000, lambda _, state: hear(state), before)
    np.testing.assert_allclose(bandit.standing(after).means, [0.5038462, 0.5], rtol=1e-5)
