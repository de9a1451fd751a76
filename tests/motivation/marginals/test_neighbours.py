"""The particle estimate against distributions of known entropy, a second implementation, and its own definition."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from scipy.special import digamma, gammaln

from sadapt.errors import UserError
from sadapt.motivation.marginals import InputSpec
from sadapt.motivation.marginals.neighbours import NeighbourSettings, nearest_neighbours, particles

SMALL = NeighbourSettings(features=2, neighbours=3, particles=40, least_distance=1e-3)


def as_it_is(obs):
    return obs


def after(marginal, seen, xp=np):
    state = marginal.init()
    for obs in seen:
        state = marginal.update(state, xp.asarray(obs))
    return state


def by_hand(seen, k, floor):
    """Kozachenko and Leonenko's estimate with scipy's tree."""
    count, size = seen.shape
    distances = np.maximum(cKDTree(seen.astype(np.float64)).query(seen, k + 1)[0][:, k], floor)
    ball = size / 2 * np.log(np.pi) - gammaln(size / 2 + 1)
    return digamma(count) - digamma(k) + ball + size * np.log(distances).mean()


@given(st.integers(5, 40), st.integers(0, 1000))
def test_entropy_is_the_textbooks(count, seed):
    seen = np.random.default_rng(seed).standard_normal((count, 2)).astype(np.float32)
    marginal = particles(as_it_is, SMALL, np)
    assert float(marginal.entropy(after(marginal, seen))) == pytest.approx(by_hand(seen, 3, 1e-3), abs=1e-2)


def test_many_particles_come_near_the_true_entropy():
    """A standard normal in two dimensions has ln(2 pi e) nats; a square of side 4 has ln 16."""
    chance, wanted = np.random.default_rng(0), NeighbourSettings(features=2, particles=1500)
    marginal = particles(as_it_is, wanted, np)
    for seen, exact in (
        (chance.standard_normal((1500, 2)), np.log(2 * np.pi * np.e)),
        (chance.uniform(0, 4, (1500, 2)), np.log(16)),
    ):
        state = marginal.init()._replace(particles=seen.astype(np.float32), count=np.int32(1500))
        assert float(marginal.entropy(state)) == pytest.approx(exact, abs=0.15)


def test_log_prob_by_hand():
    """Distances 1, 2 and 4 on a line; the second nearest of three: ln p = psi(2) - psi(4) - ln 2 - ln 2."""
    marginal = particles(as_it_is, NeighbourSettings(features=1, neighbours=2, particles=5), np)
    state = after(marginal, np.array([[1], [-2], [4]], np.float32))
    expected = digamma(2) - digamma(4) - np.log(2) - np.log(2)
    assert float(marginal.log_prob(state, np.zeros(1, np.float32))) == pytest.approx(expected, rel=1e-5)


@given(st.integers(0, 60), st.integers(0, 100))
def test_numpy_equals_jax_and_worlds_are_each_their_own(count, seed):
    seen = np.random.default_rng(seed).standard_normal((count, 2)).astype(np.float32)
    new = np.array([0.3, -0.2], np.float32)
    host, device = particles(as_it_is, SMALL, np), particles(as_it_is, SMALL, jnp)
    one, other = after(host, seen), after(device, seen, jnp)
    two = type(one)(*(np.stack([empty, full]) for empty, full in zip(host.init(), one, strict=True)))
    for name, told in (("log_prob", (new,)), ("entropy", ()), ("features", ())):
        alone = np.asarray(getattr(host, name)(one, *told))
        assert np.isfinite(alone).all()
        assert alone.dtype == np.float32
        np.testing.assert_allclose(alone, getattr(device, name)(other, *map(jnp.asarray, told)), rtol=1e-3, atol=1e-3)
        both = getattr(host, name)(two, *(np.stack([each, each]) for each in told))
        np.testing.assert_allclose(both[1], alone, rtol=1e-4, atol=1e-4)


def test_only_the_latest_particles_count():
    marginal = particles(as_it_is, SMALL, np)
    seen = np.random.default_rng(0).standard_normal((100, 2)).astype(np.float32)
    late, all_of_it = after(marginal, seen[-40:]), after(marginal, seen)
    assert float(marginal.entropy(late)) == pytest.approx(float(marginal.entropy(all_of_it)), rel=1e-5)


def test_what_stays_the_same_lies_at_the_least_distance():
    marginal = particles(as_it_is, SMALL, np)
    state = after(marginal, np.zeros((10, 2), np.float32))
    assert float(marginal.entropy(state)) == pytest.approx(by_hand(np.zeros((10, 2)), 3, 1e-3), rel=1e-4)
    assert float(marginal.log_prob(state, np.full(2, 5, np.float32))) < float(marginal.log_prob(state, np.zeros(2)))


def test_it_is_marked_as_an_estimate():
    play = np.random.default_rng(0).random((50, 8, 8, 1)).astype(np.float32)
    spec = InputSpec("world", (8, 8, 1), np.float32, 0, 1, sample=lambda: play)
    assert not nearest_neighbours(spec, xp=np).exact
    with pytest.raises(UserError, match="--neighbours must be less than --particles, 4"):
        nearest_neighbours(spec, NeighbourSettings(neighbours=4, particles=4), xp=np)
