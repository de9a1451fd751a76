"""The Bernoulli marginal against scipy, against tables worked out by hand, and at the limits of its numbers."""

from __future__ import annotations

import itertools
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
from sadapt.motivation.marginals import MAX_COUNT, BernoulliState, InputSpec, bernoulli
from sadapt.motivation.marginals.bernoulli import BernoulliSettings, of_bits
from sadapt.registry import Choice
from tests.motivation.marginals.examples import BINARY, CLIP, SHAPE, after, binary_entropy, compiled


def test_bernoulli_table():
    """Three observations of two entries: 1 of 3 and 3 of 3 ones."""
    marginal = bernoulli((2,))
    state = after(marginal, np.array([[1, 1], [0, 1], [0, 1]], np.uint8))
    np.testing.assert_allclose(marginal.features(state), [1 / 3, 1.0], rtol=1e-6)
    # ln(1/3) = -1.0986123, ln(2/3) = -0.4054651, ln(0.9999) = -0.00010001, ln(0.0001) = -9.2103404
    for obs, expected in {
        (1, 1): -1.0986123 - 0.00010001,
        (0, 1): -0.4054651 - 0.00010001,
        (1, 0): -1.0986123 - 9.2103404,
        (0, 0): -0.4054651 - 9.2103404,
    }.items():
        assert float(marginal.log_prob(state, jnp.array(obs, jnp.uint8))) == pytest.approx(expected, abs=5e-4)
    # H(1/3) = 0.6365142, H(0.9999) = 0.0001 * 9.2103404 + 0.9999 * 0.00010001 = 0.00102103
    assert float(marginal.entropy(state)) == pytest.approx(0.6365142 + 0.00102103, abs=1e-6)


@given(BINARY, hnp.arrays(np.uint8, SHAPE, elements=st.integers(0, 1)))
def test_bernoulli_is_scipys(seen, new):
    marginal = compiled(bernoulli)
    state = after(marginal, seen)
    exact = scipy.stats.bernoulli(np.clip(seen.mean(axis=0, dtype=np.float64), CLIP, 1 - CLIP))
    np.testing.assert_allclose(marginal.log_prob(state, jnp.asarray(new)), exact.logpmf(new).sum(), rtol=5e-4)
    np.testing.assert_allclose(marginal.entropy(state), exact.entropy().sum(), rtol=5e-4)


@given(BINARY)
def test_bernoulli_log_prob_sums_to_one(seen):
    marginal = compiled(bernoulli)
    state = after(marginal, seen)
    everything = jnp.array(list(itertools.product((0, 1), repeat=6)), jnp.uint8).reshape(-1, *SHAPE)
    log_probs = jax.vmap(lambda obs: marginal.log_prob(state, obs))(everything)
    assert float(jnp.exp(log_probs).sum()) == pytest.approx(1, abs=1e-5)
    # the entropy is minus the mean of the log-probabilities under themselves
    assert float(-(jnp.exp(log_probs) * log_probs).sum()) == pytest.approx(float(marginal.entropy(state)), rel=1e-3)


def test_bernoulli_entropy_rises_to_one_half_and_falls_after_it():
    marginal = bernoulli((1,))
    entropies = [float(marginal.entropy(after(marginal, (np.arange(10) < ones)[:, None]))) for ones in range(11)]
    assert np.argmax(entropies) == 5
    assert entropies[5] == pytest.approx(math.log(2), rel=1e-6)
    np.testing.assert_allclose(entropies, entropies[::-1], rtol=5e-4)
    assert np.all(np.diff(entropies[:6]) > 0)


@pytest.mark.parametrize("clip", [1e-6, 1e-4, 0.05, 0.3])
def test_bernoulli_clip_bounds_surprise_and_entropy(clip):
    marginal = bernoulli((4,), clip=clip)
    state = after(marginal, np.tile(np.array([0, 0, 1, 1], np.uint8), (50, 1)))
    as_ever, upside_down = jnp.array([0, 0, 1, 1], jnp.uint8), jnp.array([1, 1, 0, 0], jnp.uint8)
    assert float(marginal.log_prob(state, as_ever)) == pytest.approx(4 * math.log1p(-clip), rel=0.05, abs=1e-7)
    assert float(marginal.log_prob(state, upside_down)) == pytest.approx(4 * math.log(clip), rel=5e-3)
    assert float(marginal.entropy(state)) == pytest.approx(4 * binary_entropy(clip), rel=0.02)
    np.testing.assert_array_equal(marginal.features(state), [0, 0, 1, 1])  # the policy sees theta itself


def test_bernoulli_default_clip_is_the_specs():
    marginal = bernoulli((1,))
    state = marginal.update(marginal.init(), jnp.zeros(1))
    assert float(marginal.log_prob(state, jnp.ones(1))) == pytest.approx(math.log(1e-4), rel=1e-5)


@pytest.mark.parametrize("clip", [0.0, -0.1, 0.5, 1.0, 1e-9, math.nan])
def test_bernoulli_refuses_a_clip_that_cannot_work(clip):
    with pytest.raises(UserError, match="clip"):
        bernoulli((1,), clip=clip)


@given(BINARY)
def test_bernoulli_never_overflows_at_the_least_clip(seen):
    marginal = compiled(bernoulli, clip=1e-7)
    state = after(marginal, seen)
    assert np.isfinite(marginal.log_prob(state, 1 - jnp.asarray(seen[-1])))
    assert np.isfinite(marginal.entropy(state))


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, bool])
def test_bernoulli_counts_ones_of_any_type(dtype):
    marginal = bernoulli((2,))
    state = after(marginal, np.array([[1, 0], [1, 0], [1, 1]]).astype(dtype))
    np.testing.assert_array_equal(state.ones, [3, 1])
    assert float(state.count) == 3


@pytest.mark.parametrize("xp", [jnp, np])
def test_bernoulli_counts_as_far_as_it_promises(xp):
    marginal = bernoulli((2,), xp=xp)
    almost = BernoulliState(xp.asarray([MAX_COUNT - 1, 0], xp.uint16), xp.float32(MAX_COUNT - 1))
    full = marginal.update(almost, xp.asarray([1, 0], xp.uint8))
    np.testing.assert_array_equal(marginal.features(full), [1, 0])


def test_before_any_observation_a_coin_is_fair():
    marginal = bernoulli((3,))
    assert float(marginal.log_prob(marginal.init(), jnp.ones(3))) == pytest.approx(3 * math.log(0.5))
    assert float(marginal.entropy(marginal.init())) == pytest.approx(3 * math.log(2))


@pytest.mark.parametrize(
    ("low", "high", "dtype", "fine"),
    [
        (0, 1, np.uint8, True),
        (0, 1, np.int32, True),
        (0, 1, bool, True),
        (0, 1, np.float32, False),
        (0, 255, np.uint8, False),
        (-4.8, 4.8, np.float32, False),
        (-1, 1, np.int8, False),
    ],
)
def test_bernoulli_needs_binary_observations(low, high, dtype, fine):
    spec = InputSpec("world", (3,), dtype, low, high)
    if fine:
        assert of_bits(spec).feature_shape == (3,)
    else:
        with pytest.raises(UserError, match=r"'world' gives .*--marginal gaussian"):
            of_bits(spec)


@pytest.mark.parametrize("xp", [jnp, np])
def test_its_settings_are_the_familys(xp):
    """Twice one of two entries with a pseudo-count of 3: theta 2/5 and 0, and nothing closer to 0 than 0.2."""
    choice = Choice("bernoulli", BernoulliSettings(pseudo_count=3.0, probability_clip=0.2))
    marginal = build_marginal(InputSpec("world", (2,), np.uint8, 0, 1), choice, {}, xp=xp)
    state = after(marginal, xp.asarray([[1, 0], [1, 0]], xp.uint8))
    np.testing.assert_allclose(marginal.features(state), [0.4, 0], rtol=1e-6)
    both = float(marginal.log_prob(state, xp.ones(2, xp.uint8)))
    assert both == pytest.approx(math.log(0.4) + math.log(0.2), rel=1e-5)


@given(BINARY)
def test_theta_stays_within_its_bounds(seen):
    marginal = bernoulli(SHAPE, xp=np)
    low, high = marginal.feature_bounds(0, 1)
    theta = marginal.features(after(marginal, seen))
    assert low.shape == high.shape == marginal.feature_shape
    assert (low <= theta).all()
    assert (theta <= high).all()
