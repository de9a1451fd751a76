"""What holds for every family of marginals: the laws of maximum likelihood, and that both array modules agree."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.errors import UserError
from sadapt.motivation import building  # noqa: F401 (fills the table of marginals)
from sadapt.motivation.marginals import InputSpec, bernoulli
from sadapt.registry import find
from tests.motivation.marginals.examples import BINARY, CLIP, FAMILIES, REAL, SHAPE, after, binary_entropy, compiled


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


@pytest.mark.parametrize("kind", ["bernoulli", "gaussian", "auto"])
@pytest.mark.parametrize("pseudo_count", [-1.0, math.nan, math.inf])
def test_pseudo_count_is_refused_by_name_too(kind, pseudo_count):
    part = find("marginal", kind)
    with pytest.raises(UserError, match=r"pseudo.count"):
        part.make(InputSpec("world", SHAPE, np.uint8, 0, 1), settings=part.settings(pseudo_count=pseudo_count))


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
