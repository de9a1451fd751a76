"""Marginals against scipy, against tables worked out by hand, and against the laws of maximum likelihood."""

from __future__ import annotations

import functools
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
from sadapt.motivation.marginals import (
    FAMILIES,
    MAX_COUNT,
    BernoulliState,
    bernoulli,
    gaussian,
    marginal_family,
    require_binary,
)

SHAPE = (2, 3)
CLIP = 1e-4
BINARY = hnp.arrays(np.uint8, st.tuples(st.integers(1, 12), st.just(2), st.just(3)), elements=st.integers(0, 1))
REAL = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 12), st.just(2), st.just(3)),
    elements=st.floats(-100, 100, width=32, allow_subnormal=False),
)


@functools.cache
def compiled(family, **settings):
    """A family over SHAPE whose functions are compiled once for all examples."""
    marginal = family(SHAPE, **settings)
    functions = {name: jax.jit(getattr(marginal, name)) for name in ("update", "log_prob", "entropy", "features")}
    return marginal._replace(**functions)


def after(marginal, observations):
    state = marginal.init()
    for obs in observations:
        state = marginal.update(state, obs)
    return state


def binary_entropy(p):
    return sum(-q * math.log(q) for q in (p, 1 - p) if q > 0)


# Bernoulli


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


# Gaussian


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


# laws of both families


def family_and_data(draw):
    kind = draw(st.sampled_from(sorted(FAMILIES)))
    return FAMILIES[kind], draw(BINARY if kind == "bernoulli" else REAL)


either = st.composite(family_and_data)()


@given(either, st.randoms(use_true_random=False))
def test_order_does_not_matter(family_data, random):
    family, seen = family_data
    marginal, order = compiled(family), list(range(len(seen)))
    random.shuffle(order)
    there, back = after(marginal, seen), after(marginal, seen[order])
    np.testing.assert_allclose(marginal.features(there), marginal.features(back), rtol=1e-3, atol=1e-2)
    np.testing.assert_allclose(marginal.entropy(there), marginal.entropy(back), rtol=1e-3, atol=1e-3)


@given(either)
def test_running_estimate_is_the_batchs(family_data):
    family, seen = family_data
    marginal = compiled(family)
    state = after(marginal, seen)
    exact = seen.astype(np.float64)
    if family is bernoulli:
        np.testing.assert_allclose(marginal.features(state), exact.mean(axis=0), rtol=1e-6)
        expected = sum(binary_entropy(p) for p in np.clip(exact.mean(axis=0), CLIP, 1 - CLIP).flat)
    else:
        variance = np.maximum(exact.var(axis=0), 0.1**2)
        theta = np.concatenate([exact.mean(axis=0), variance], axis=-1)
        np.testing.assert_allclose(marginal.features(state), theta, rtol=1e-3, atol=1e-3)
        expected = (0.5 * np.log(2 * np.pi * np.e * variance)).sum()
    np.testing.assert_allclose(marginal.entropy(state), expected, rtol=1e-3, atol=1e-3)


@given(either, st.integers(1, 5))
def test_pseudo_count_is_that_many_empty_observations(family_data, extra):
    family, seen = family_data
    plain, pseudo = family(SHAPE, xp=np), family(SHAPE, pseudo_count=float(extra), xp=np)
    empty = np.zeros((extra, *SHAPE), seen.dtype)
    fed, counted = after(plain, np.concatenate([empty, seen])), after(pseudo, seen)
    np.testing.assert_array_equal(plain.features(fed), pseudo.features(counted))
    np.testing.assert_array_equal(plain.entropy(fed), pseudo.entropy(counted))
    np.testing.assert_array_equal(plain.log_prob(fed, seen[0]), pseudo.log_prob(counted, seen[0]))


@pytest.mark.parametrize("kind", sorted(FAMILIES))
@pytest.mark.parametrize("pseudo_count", [-1.0, math.nan, math.inf])
def test_pseudo_count_must_be_a_number_of_observations(kind, pseudo_count):
    with pytest.raises(UserError, match="pseudo_count"):
        FAMILIES[kind](SHAPE, pseudo_count=pseudo_count)


@pytest.mark.parametrize("kind", sorted(FAMILIES))
@pytest.mark.parametrize("pseudo_count", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(("shape", "xp"), [((4,), jnp), ((5, 4, 3), np)])
def test_before_any_observation_nothing_is_nan(kind, pseudo_count, shape, xp):
    marginal = FAMILIES[kind](shape, pseudo_count=pseudo_count, xp=xp)
    state = marginal.init()
    features = marginal.features(state)
    assert features.shape == marginal.feature_shape
    assert features.dtype == jnp.float32
    for value in (features, marginal.entropy(state), marginal.log_prob(state, xp.ones(shape))):
        assert np.isfinite(value).all()
    doubled = 2 if kind == "gaussian" else 1
    assert marginal.feature_shape == (*shape[:-1], doubled * shape[-1])


def test_before_any_observation_a_coin_is_fair():
    marginal = bernoulli((3,))
    assert float(marginal.log_prob(marginal.init(), jnp.ones(3))) == pytest.approx(3 * math.log(0.5))
    assert float(marginal.entropy(marginal.init())) == pytest.approx(3 * math.log(2))


@given(either)
def test_update_leaves_its_argument_alone(family_data):
    family, seen = family_data
    marginal = family(SHAPE, xp=np)
    first = marginal.update(marginal.init(), seen[0])
    copy = type(first)(*(np.array(field) for field in first))
    marginal.update(first, seen[-1])
    for was, now in zip(copy, first, strict=True):
        np.testing.assert_array_equal(was, now)


@given(either)
def test_numpy_equals_jax(family_data):
    family, seen = family_data
    on_host, on_device = family(SHAPE, xp=np), compiled(family)
    host, device = on_host.init(), after(on_device, seen)
    for obs in seen:
        host = on_host.update(host, obs)
    theta = on_host.features(host)
    assert isinstance(theta, np.ndarray)
    assert theta.dtype == np.float32
    np.testing.assert_allclose(theta, on_device.features(device), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(on_host.entropy(host), on_device.entropy(device), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        on_host.log_prob(host, seen[0]), on_device.log_prob(device, jnp.asarray(seen[0])), rtol=1e-3, atol=1e-3
    )


@given(either)
def test_several_worlds_along_a_leading_axis_are_each_its_own(family_data):
    """World i has seen i + 1 observations; theta known already, or found from the state."""
    family, seen = family_data
    marginal = family(SHAPE, xp=np)
    alone = [after(marginal, seen[: i + 1]) for i in range(len(seen))]
    together = type(alone[0])(*(np.stack(parts) for parts in zip(*alone, strict=True)))
    theta = marginal.features(together)
    for i, (state, obs) in enumerate(zip(alone, seen, strict=True)):
        np.testing.assert_array_equal(theta[i], marginal.features(state))
        for many in (marginal.entropy(together), marginal.entropy_at(theta)):
            np.testing.assert_allclose(many[i], marginal.entropy(state), rtol=1e-6)
        for many in (marginal.log_prob(together, seen), marginal.log_prob_at(theta, seen)):
            np.testing.assert_allclose(many[i], marginal.log_prob(state, obs), rtol=1e-6)
    for many, one in zip(marginal.update(together, seen), marginal.update(alone[-1], seen[-1]), strict=True):
        np.testing.assert_array_equal(many[-1], one)


@pytest.mark.parametrize("kind", sorted(FAMILIES))
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_jitted_equals_plain_equals_vmapped(kind, dtype):
    marginal = FAMILIES[kind](SHAPE)
    seen = jnp.asarray(np.random.default_rng(1).integers(0, 2, (5, 7, *SHAPE)).astype(dtype))  # 5 worlds, 7 steps
    new = jnp.asarray(np.random.default_rng(2).integers(0, 2, (5, *SHAPE)).astype(dtype))

    def watch(seen, new):
        state = jax.lax.scan(lambda state, obs: (marginal.update(state, obs), None), marginal.init(), seen)[0]
        return marginal.log_prob(state, new), marginal.entropy(state), marginal.features(state)

    vmapped = jax.jit(jax.vmap(watch))(seen, new)
    for world in (0, 4):
        state = after(marginal, seen[world])
        plain = marginal.log_prob(state, new[world]), marginal.entropy(state), marginal.features(state)
        for one, other, third in zip(plain, jax.jit(watch)(seen[world], new[world]), vmapped, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(one, third[world], rtol=1e-5, atol=1e-5)


# names


def test_family_by_name():
    assert marginal_family("bernoulli") is bernoulli
    assert marginal_family("gaussian") is gaussian
    with pytest.raises(UserError, match="did you mean 'gaussian'"):
        marginal_family("gausian")


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
    if fine:
        require_binary("world", low, high, dtype)
    else:
        with pytest.raises(UserError, match=r"'world' gives .*--marginal gaussian"):
            require_binary("world", low, high, dtype)
