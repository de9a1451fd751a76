"""Kernels against the layers whose places they take, and which platform gets which."""

from __future__ import annotations

import re
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import correlate

from sadapt.learners import kernels, layers
from sadapt.learners.kernels import MANY_CHANNELS, WIDE, in_blocks, winograd

ELSEWHERE = ("cuda", "rocm", "tpu")
KERNELS_ALONE = ("concatenate", "slice", "optimization_barrier", "bitcast_convert")
"""Operations of the kernels that no layer has."""


def reference(name):
    return getattr(layers, name).__wrapped__


def kernel_layer(seed, shape, outputs):
    rng = np.random.default_rng(seed)
    weight, bias = rng.normal(size=shape), rng.normal(size=outputs)
    return {"weight": jnp.asarray(weight, jnp.float32), "bias": jnp.asarray(bias, jnp.float32)}


def example(seed, shape, dtype):
    rng = np.random.default_rng(seed)
    grey = dtype == np.uint8
    return jnp.asarray(rng.integers(0, 256, shape, dtype=np.uint8) if grey else rng.normal(size=shape), dtype)


def require_same(name, layer, x, **options):
    """Values and gradients, also by the input where it is not made of bytes."""
    wanted = (0, 1) if jnp.issubdtype(x.dtype, jnp.floating) else 0

    def pulled(f):
        def loss(layer, x):
            y = f(layer, x, **options)
            return jnp.sum(jnp.sin(y)), y

        return jax.jit(jax.grad(loss, wanted, has_aux=True))(layer, x)

    got, expected = (jax.tree.leaves(pulled(f)) for f in (getattr(kernels, name), reference(name)))
    for a, b in zip(got, expected, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, atol=1e-4 * max(1.0, float(jnp.abs(b).max())))


@given(
    seed=st.integers(0, 2**31),
    batch=st.integers(1, 3),
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    spare=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    channels=st.sampled_from([1, 2, 4]),
    stride=st.integers(1, 4),
    padding=st.integers(0, 2),
    grey=st.booleans(),
)
def test_conv2d_is_the_layer(seed, batch, kernel, spare, channels, stride, padding, grey):
    height, width = (k + s for k, s in zip(kernel, spare, strict=True))
    layer = kernel_layer(seed, (*kernel, channels, 3), 3)
    x = example(seed + 1, (batch, height, width, channels), np.uint8 if grey else np.float32)
    require_same("conv2d", layer, x, stride=stride, padding=padding, scale=1 / 255 if grey else 1.0)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "channels"),
    [(9, 3, 1, 0, MANY_CHANNELS), (8, 2, 1, 1, MANY_CHANNELS), (11, 4, 2, 0, 8), (20, 8, 4, 0, 4), (12, 3, 2, 1, 4)],
)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_conv2d_is_the_layer_in_blocks_words_and_sixteen_products(
    dtype, size, kernel, stride, padding, channels, batch
):
    layer = kernel_layer(0, (kernel, kernel, channels, 3), 3)
    x = example(1, (batch, size, size + 1, channels), dtype)
    require_same("conv2d", layer, x, stride=stride, padding=padding, scale=1 / 255 if dtype == np.uint8 else 0.5)


@pytest.mark.parametrize("shape", [(5,), (1, 5), (4, 5), (2, 3, 5)])
def test_dense_is_the_layer(shape):
    require_same("dense", kernel_layer(0, (7, 5), 7), example(1, shape, np.float32))


@pytest.mark.parametrize("examples", [1, 6])
@pytest.mark.parametrize("inputs", [40, WIDE // 64])
def test_rectified_is_the_layer(examples, inputs):
    layer = kernel_layer(2, (64, inputs), 64)
    require_same("rectified", layer, example(3, (examples, inputs), np.float32) / inputs)


@given(
    seed=st.integers(0, 2**31),
    size=st.integers(2, 3),
    spare=st.tuples(st.integers(0, 7), st.integers(0, 7)),
    channels=st.integers(1, 3),
)
def test_winograd_is_correlation(seed, size, spare, channels):
    rng = np.random.default_rng(seed)
    weight = rng.normal(size=(size, size, channels, 2)).astype(np.float32)
    x = rng.normal(size=(2, size + spare[0], size + spare[1], channels)).astype(np.float32)

    y = jax.jit(winograd)(jnp.asarray(weight), jnp.asarray(x))

    for n, f in np.ndindex(2, 2):
        np.testing.assert_allclose(y[n, ..., f], correlate(x[n], weight[..., f], mode="valid")[..., 0], atol=1e-4)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("channels", [1, 3, 4, 8])
def test_a_block_has_its_cells_row_by_row(dtype, channels):
    x = np.random.default_rng(0).integers(0, 255, (2, 6, 9, channels)).astype(dtype)
    blocks = np.asarray(in_blocks(jnp.asarray(x), 3))
    assert blocks.dtype == dtype
    assert blocks.shape == (2, 2, 3, 9 * channels)
    for i, j in np.ndindex(2, 3):
        cells = x[:, 3 * i : 3 * i + 3, 3 * j : 3 * j + 3]
        np.testing.assert_array_equal(blocks[:, i, j], cells.reshape(2, -1))


CASES = {
    "dense": ((6, 5), (1, 5), {}),
    "rectified": ((64, WIDE // 64), (3, WIDE // 64), {}),
    "conv2d": ((3, 3, 2, 4), (2, 7, 6, 2), {"padding": 1}),
    "conv2d in blocks": ((4, 4, 4, 4), (2, 8, 8, 4), {"stride": 2}),
    "conv2d by Winograd": ((3, 3, MANY_CHANNELS, 4), (2, 7, 6, MANY_CHANNELS), {}),
}


def descent(case, by):
    """Two steps of gradient descent by a layer in a scan over two vmapped copies of its parameters, and its arguments.

    `by` is the layer itself, its kernel or its reference.
    """
    weight_shape, x_shape, options = CASES[case]
    name = case.split()[0]
    function = {"layer": getattr(layers, name), "kernel": getattr(kernels, name), "reference": reference(name)}[by]
    outputs = weight_shape[-1] if len(weight_shape) == 4 else weight_shape[0]
    layer, x = kernel_layer(0, weight_shape, outputs), example(1, x_shape, np.float32)

    def loss(layer, x):
        return jnp.sum(jnp.square(function(layer, x, **options)))

    def descend(layer, x):
        def step(layer, _):
            return jax.tree.map(lambda p, g: p - 0.01 * g, layer, jax.grad(loss)(layer, x)), loss(layer, x)

        return jax.lax.scan(step, layer, None, length=2)

    return jax.vmap(descend, in_axes=(0, None)), jax.tree.map(lambda p: jnp.stack([p, 2 * p]), layer), x


def lowered(case, by, platform):
    """How often each operation stands in the program that a platform's compiler would get."""
    f, *arguments = descent(case, by)
    text = jax.jit(f).trace(*arguments).lower(lowering_platforms=(platform,)).as_text()
    return Counter(re.findall(r"stablehlo\.(\w+)", text))


@pytest.mark.parametrize("platform", ELSEWHERE)
@pytest.mark.parametrize("case", CASES)
def test_other_platforms_get_the_layer_as_it_is_written(case, platform):
    chosen, written = (lowered(case, by, platform) for by in ("layer", "reference"))
    heavy = ("convolution", "dot_general", *KERNELS_ALONE)
    assert {name: chosen[name] for name in heavy} == {name: written[name] for name in heavy}
    assert not any(chosen[name] for name in KERNELS_ALONE)
    assert bool(chosen["convolution"]) == case.startswith("conv2d")


@pytest.mark.parametrize("case", CASES)
def test_cpus_get_the_kernel(case):
    assert lowered(case, "layer", "cpu")["convolution"] == 0
    assert lowered(case, "layer", "cpu")["dot_general"] == lowered(case, "kernel", "cpu")["dot_general"]


@pytest.mark.parametrize("case", CASES)
def test_the_choice_leaves_nothing_behind_in_a_cpus_program_and_changes_no_byte(case):
    def compiled(by):
        f, *arguments = descent(case, by)
        program = jax.jit(f).lower(*arguments).compile()
        return Counter(re.findall(r" = \S+ ([\w-]+)\(", program.as_text())), program(*arguments)

    (chosen, got), (bare, expected) = compiled("layer"), compiled("kernel")
    assert chosen == bare
    assert chosen["conditional"] == chosen["convolution"] == 0
    jax.tree.map(np.testing.assert_array_equal, got, expected)
