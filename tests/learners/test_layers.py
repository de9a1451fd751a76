"""Layers against oracles that share nothing with them."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError
from scipy.signal import correlate

from sadapt.benchmarks.jaxprs import inside
from sadapt.learners.kernels import WIDE
from sadapt.learners.layers import (
    conv2d,
    conv_size,
    dense,
    layer_norm,
    orthogonal,
    rectified,
    torch_default,
    unit_norm,
)


def random_layer(seed, shape):
    rng = np.random.default_rng(seed)
    return {
        "weight": jnp.asarray(rng.normal(size=shape), jnp.float32),
        "bias": jnp.asarray(rng.normal(size=shape[-1]), jnp.float32),
    }


@given(
    seed=st.integers(0, 2**31),
    batch=st.integers(1, 3),
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    spare=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    channels=st.integers(1, 3),
    filters=st.integers(1, 3),
    stride=st.integers(1, 4),
    padding=st.integers(0, 2),
)
def test_conv2d_is_strided_correlation(seed, batch, kernel, spare, channels, filters, stride, padding):
    height, width = (k + s for k, s in zip(kernel, spare, strict=True))
    layer = random_layer(seed, (*kernel, channels, filters))
    x = np.random.default_rng(seed + 1).normal(size=(batch, height, width, channels)).astype(np.float32)

    y = jax.jit(conv2d, static_argnames=("stride", "padding"))(layer, jnp.asarray(x), stride=stride, padding=padding)

    padded = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    weight, bias = np.asarray(layer["weight"]), np.asarray(layer["bias"])
    expected = np.empty((batch, *y.shape[1:]))
    for n, f in np.ndindex(batch, filters):
        expected[n, :, :, f] = correlate(padded[n], weight[..., f], mode="valid")[::stride, ::stride, 0] + bias[f]
    np.testing.assert_allclose(y, expected, atol=1e-4)


@pytest.mark.parametrize(("kernel", "stride", "padding", "batch"), [(8, 4, 0, 2), (8, 4, 0, 1), (3, 1, 1, 2)])
def test_conv2d_takes_bytes_and_scales_them(kernel, stride, padding, batch):
    layer = random_layer(0, (kernel, kernel, 2, 3))
    x = np.random.default_rng(1).integers(0, 256, (batch, 17, 14, 2), dtype=np.uint8)
    geometry = {"stride": stride, "padding": padding}
    grey = conv2d(layer, jnp.asarray(x), **geometry, scale=1 / 255)
    np.testing.assert_allclose(grey, conv2d(layer, jnp.asarray(x, jnp.float32) / 255, **geometry), atol=1e-4)


@pytest.mark.parametrize(
    ("channels", "kernel", "stride", "padding"),
    [(2, 3, 1, 0), (2, 3, 2, 1), (2, 4, 3, 0), (2, 4, 2, 0), (2, 8, 4, 0), (2, 2, 2, 1), (32, 3, 1, 0), (8, 4, 2, 0)],
)
def test_gradients_of_conv2d_are_those_of_xla(channels, kernel, stride, padding):
    layer = random_layer(0, (kernel, kernel, channels, 3))
    x = jnp.asarray(np.random.default_rng(1).normal(size=(2, 13, 12, channels)), jnp.float32)

    def ours(layer, x):
        return jnp.sum(jnp.sin(conv2d(layer, x, stride=stride, padding=padding)))

    def xla(layer, x):
        y = jax.lax.conv_general_dilated(
            x,
            layer["weight"],
            (stride, stride),
            [(padding, padding)] * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        return jnp.sum(jnp.sin(y + layer["bias"].reshape(1, 1, 1, -1)))

    got, expected = (jax.tree.leaves(jax.jit(jax.grad(f, (0, 1)))(layer, x)) for f in (ours, xla))
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-3)


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "left"),
    [(10, 3, 1, 0, 8), (32, 3, 2, 1, 16), (84, 8, 4, 0, 20), (20, 4, 2, 0, 9), (11, 3, 2, 0, 5), (2, 3, 1, 0, 0)],
)
def test_conv_size(size, kernel, stride, padding, left):
    assert conv_size(size, kernel, stride, padding) == left


@pytest.mark.parametrize("shape", [(5,), (4, 5), (2, 3, 5)])
def test_dense_is_affine_over_the_last_axis(shape):
    layer = random_layer(0, (7, 5))
    layer["bias"] = jnp.arange(7, dtype=jnp.float32)
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    expected = np.einsum("...i,oi->...o", x, layer["weight"]) + np.asarray(layer["bias"])
    np.testing.assert_allclose(dense(layer, jnp.asarray(x)), expected, atol=1e-5)


@pytest.mark.parametrize("examples", [1, 6])
@pytest.mark.parametrize("inputs", [40, WIDE // 64])
def test_rectified_is_what_dense_gives_where_that_is_positive_and_so_are_its_gradients(examples, inputs):
    layer, x = random_layer(2, (64, inputs)), random_layer(3, (examples, inputs))["weight"]
    layer["bias"] = jnp.linspace(-1, 1, 64)
    weight = np.asarray(layer["weight"])
    sums = np.asarray(x) @ weight.T + np.asarray(layer["bias"])
    np.testing.assert_allclose(rectified(layer, x), np.maximum(sums, 0), rtol=1e-4, atol=1e-3)
    by_layer, by_x = jax.grad(lambda layer, x: jnp.sum(jnp.square(rectified(layer, x))) / 2, argnums=(0, 1))(layer, x)
    error = np.maximum(sums, 0)
    scale = np.abs(error).max()
    np.testing.assert_allclose(by_layer["weight"] / scale, error.T @ np.asarray(x) / scale, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(by_layer["bias"] / scale, error.sum(axis=0) / scale, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(by_x / scale, error @ weight / scale, rtol=1e-4, atol=1e-3)


@given(
    seed=st.integers(0, 2**31),
    features=st.sampled_from([2, 5, 40]),
    spread=st.floats(0.1, 100),
    shift=st.floats(-100, 100),
)
def test_layer_norm_standardises_every_example(seed, features, spread, shift):
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(3, features)) * spread + shift).astype(np.float32)
    layer = {key: jnp.asarray(rng.normal(size=features), jnp.float32) for key in ("scale", "offset")}
    wide = x.astype(np.float64)
    normal = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    expected = normal * np.asarray(layer["scale"]) + np.asarray(layer["offset"])
    np.testing.assert_allclose(jax.jit(layer_norm)(layer, jnp.asarray(x)), expected, atol=5e-3)


def test_a_fresh_layer_norm_gives_mean_zero_and_deviation_one_and_survives_a_constant():
    x = jnp.asarray(np.random.default_rng(0).normal(3, 5, size=(4, 50)), jnp.float32)
    y = np.asarray(layer_norm(unit_norm(50), x))
    np.testing.assert_allclose(y.mean(1), 0, atol=1e-5)
    np.testing.assert_allclose(y.std(1), 1, atol=1e-4)
    constant = jnp.full((1, 50), 7.0)
    np.testing.assert_array_equal(layer_norm(unit_norm(50), constant), np.zeros((1, 50)))
    gradient = jax.grad(lambda x: jnp.sum(layer_norm(unit_norm(50), x) ** 2))(constant)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("shape", [(400, 30), (3, 3, 40, 20)])
def test_torch_default_fills_plus_minus_one_over_root_fan_in(shape):
    layer = torch_default(jax.random.key(0), shape)
    bound = 1 / math.sqrt(math.prod(shape[:-1]))
    assert layer["weight"].shape == (shape[::-1] if len(shape) == 2 else shape)
    assert layer["bias"].shape == shape[-1:]
    for values in layer.values():
        values = np.asarray(values)
        assert values.dtype == np.float32
        assert np.abs(values).max() <= bound
        assert values.max() > 0.8 * bound
        assert values.min() < -0.8 * bound
    assert abs(np.std(layer["weight"]) / (bound / math.sqrt(3)) - 1) < 0.05


@pytest.mark.parametrize(("shape", "gain"), [((30, 20), 1.0), ((20, 30), math.sqrt(2)), ((3, 3, 5, 16), 0.01)])
def test_orthogonal_columns_or_rows_have_length_gain(shape, gain):
    layer = orthogonal(gain)(jax.random.key(0), shape)
    weight = np.asarray(layer["weight"], np.float64)
    assert weight.shape == (shape[::-1] if len(shape) == 2 else shape)
    matrix = weight.T if len(shape) == 2 else weight.reshape(-1, shape[-1])
    product = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
    np.testing.assert_allclose(product, gain**2 * np.eye(len(product)), atol=1e-5)
    np.testing.assert_array_equal(layer["bias"], np.zeros(shape[-1]))


def factorisations(program):
    """The matrices that a program factorises, as their ranks."""
    for equation in program.eqns:
        if equation.primitive.name in ("geqrf", "qr"):
            yield equation.invars[0].aval.ndim
        for inner in inside(equation):
            yield from factorisations(inner)


def test_networks_drawn_at_once_are_those_drawn_alone_and_no_factorisation_is_batched():
    """Two batched ones at a time never end on two cores (jaxlib 0.10)."""
    keys = jax.random.split(jax.random.key(1), (3, 2))

    def draw(key):
        return orthogonal()(key, (40, 7))["weight"]

    at_once = jax.vmap(jax.vmap(draw))
    ranks = list(factorisations(jax.make_jaxpr(at_once)(keys).jaxpr))
    assert ranks
    assert set(ranks) == {2}
    found = at_once(keys)
    for place in np.ndindex(3, 2):
        np.testing.assert_array_equal(found[place], draw(keys[place]))


@pytest.mark.parametrize("initialise", [torch_default, orthogonal()])
def test_another_key_gives_another_layer(initialise):
    first, same, other = (initialise(jax.random.key(seed), (6, 4))["weight"] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


def test_under_test_shapes_are_held_against_the_types():
    layer = random_layer(0, (3, 3, 2, 4))
    with pytest.raises(TypeCheckError, match="batch height width channels"):
        conv2d(layer, jnp.ones((5, 5, 2)))
