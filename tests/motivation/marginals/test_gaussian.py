"""The Gaussian marginal against scipy, against tables worked out by hand, and over long streams."""

from __future__ import annotations

import math

import hypothesis.extra.numpy as hnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from sadapt.errors import UserError
from sadapt.motivation.building import build_marginal
from sadapt.motivation.marginals import InputSpec, gaussian
from sadapt.motivation.marginals.gaussian import GaussianSettings
from sadapt.registry import Choice
from tests.motivation.marginals.examples import REAL, SHAPE, after, compiled


def test_gaussian_table():
    """Observations 1, 2, 6 of one entry: mean 3, variance (4 + 1 + 9) / 3 = 14/3, not 14/2."""
    marginal = gaussian((1,))
    state = after(marginal, np.array([[1], [2], [6]], np.float32))
    np.testing.assert_allclose(marginal.features(state), [3, 14 / 3], rtol=1e-6)
    # ln(2 pi 14/3) = ln(29.3215314) = 3.3783223;  log p(5) = -4 / (28/3) - 3.3783223 / 2
    assert float(marginal.log_prob(state, jnp.array([5.0]))) == pytest.approx(-0.4285714 - 1.6891611, rel=1e-6)
    assert float(marginal.entropy(state)) == pytest.approx(1.6891611 + 0.5, rel=1e-6)


@given(REAL, hnp.arrays(np.float32, SHAPE, elements=st.floats(-100, 100, width=32, allow_subnormal=False)))
def test_gaussian_is_scipys(seen, new):
    marginal = compiled(gaussian, std_floor=0.1)
    state = after(marginal, seen)
    exact = scipy.stats.norm(seen.mean(axis=0, dtype=np.float64), np.maximum(seen.std(axis=0, dtype=np.float64), 0.1))
    np.testing.assert_allclose(marginal.log_prob(state, jnp.asarray(new)), exact.logpdf(new).sum(), rtol=2e-3)
    np.testing.assert_allclose(marginal.entropy(state), exact.entropy().sum(), rtol=1e-3, atol=1e-3)


def test_gaussian_density_integrates_to_one():
    marginal = gaussian((1,))
    state = after(marginal, np.array([[0], [1], [5], [2]], np.float32))
    grid = jnp.linspace(-30, 30, 6001, dtype=jnp.float32)[:, None]
    density = np.exp(jax.vmap(lambda obs: marginal.log_prob(state, obs))(grid), dtype=np.float64)
    assert np.trapezoid(density, dx=0.01) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("floor", [0.01, 0.1, 2.0])
def test_gaussian_floor(floor):
    marginal = gaussian((1,), std_floor=floor)
    state = after(marginal, np.full((5, 1), 7, np.float32))
    np.testing.assert_allclose(marginal.features(state), [7, floor**2], rtol=1e-6)
    exact = scipy.stats.norm(7, floor)
    assert float(marginal.entropy(state)) == pytest.approx(exact.entropy(), rel=1e-5)
    assert float(marginal.log_prob(state, jnp.array([7 + floor]))) == pytest.approx(exact.logpdf(7 + floor), rel=1e-3)


@pytest.mark.parametrize("floor", [0.0, -1.0, math.nan])
def test_gaussian_refuses_a_floor_that_is_not_positive(floor):
    with pytest.raises(UserError, match="floor"):
        gaussian((1,), std_floor=floor)


@pytest.mark.parametrize(
    ("offset", "noise", "of_mean", "of_std"),
    [(0, 1, 1e-4, 1e-4), (1000, 1, 0.02, 1e-3), (1000, 1e-2, 0.2, 0.02), (-50, 3, 1e-3, 1e-4)],
)
def test_gaussian_moments_of_a_long_stream(offset, noise, of_mean, of_std):
    """100,000 float32 observations, nearly constant ones among them; tolerances in standard deviations."""
    stream = (offset + noise * np.random.default_rng(0).normal(size=(100_000, 4))).astype(np.float32)
    marginal = gaussian((4,), std_floor=1e-5)

    @jax.jit
    def watch(stream):
        return jax.lax.scan(lambda state, obs: (marginal.update(state, obs), None), marginal.init(), stream)[0]

    mean, variance = np.split(np.asarray(marginal.features(watch(jnp.asarray(stream)))), 2)
    exact_mean, exact_std = stream.mean(axis=0, dtype=np.float64), stream.std(axis=0, dtype=np.float64)
    assert np.abs(mean - exact_mean).max() < of_mean * noise
    np.testing.assert_allclose(np.sqrt(variance), exact_std, rtol=of_std)


@given(st.floats(-1000, 1000, width=32, allow_subnormal=False), st.integers(1, 60))
def test_gaussian_of_a_constant_has_no_spread(value, times):
    marginal = gaussian((1,), std_floor=1e-3)
    state = after(marginal, np.full((times, 1), value, np.float32))
    assert float(state.mean[0]) == np.float32(value)
    assert float(state.spread[0]) == 0


@pytest.mark.parametrize("xp", [jnp, np])
def test_its_settings_are_the_familys(xp):
    """One 4 beside three imagined zeros: mean 1, variance (9 + 1 + 1 + 1) / 4 = 3, below a floor of 2 squared."""
    spec = InputSpec("world", (1,), np.float32, -math.inf, math.inf)
    for floor, variance in ((0.1, 3), (2.0, 4)):
        choice = Choice("gaussian", GaussianSettings(pseudo_count=3.0, std_floor=floor))
        marginal = build_marginal(spec, choice, {}, xp=xp)
        state = after(marginal, xp.asarray([[4]], xp.float32))
        np.testing.assert_allclose(marginal.features(state), [1, variance], rtol=1e-6)


@given(REAL, st.sampled_from([0.0, 2.0]))
def test_theta_stays_within_its_bounds(seen, pseudo_count):
    """Also where zeros are imagined that lie outside of what the world can show."""
    for shift in (0, 300):
        marginal = gaussian(SHAPE, pseudo_count=pseudo_count, xp=np)
        low, high = marginal.feature_bounds(shift - 100, shift + 100)
        theta = marginal.features(after(marginal, seen + np.float32(shift)))
        slack = 1e-3 * (1 + np.abs(high))
        assert low.shape == high.shape == marginal.feature_shape
        assert (low - slack <= theta).all()
        assert (theta <= high + slack).all()


def test_bounds_of_numbers_without_any_are_infinite():
    low, high = gaussian((1,)).feature_bounds(-math.inf, math.inf)
    np.testing.assert_array_equal(low, np.array([-math.inf, 0.1**2], np.float32))
    np.testing.assert_array_equal(high, [math.inf, math.inf])
