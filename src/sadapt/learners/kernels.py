"""What CPUs compute in place of the functions of the same names in `layers`: the same up to rounding, and sooner.

XLA's own convolution is many times slower inside a scan on a CPU, and products of matrices take the order and the
layout that they are given.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Num

Layer = dict[str, Float[Array, "..."]]
MANY_CHANNELS = 32
"""From here on a convolution spends more time on its products than on moving their inputs."""
WIDE = 2**18
"""Weights from which on the order of a dense layer's factors matters."""


def dense(layer: Layer, x: Float[Array, "*batch inputs"]) -> Float[Array, "*batch outputs"]:
    """y = x W^T + b over the last axis."""
    y = product(x, layer["weight"])
    if x.shape[:-1] == (1,):  # XLA would fuse the sum into a product of its own, six times slower
        y = jax.lax.optimization_barrier(y)
    return y + layer["bias"].reshape((1,) * (x.ndim - 1) + (-1,))


def rectified(layer: Layer, x: Float[Array, "batch inputs"]) -> Float[Array, "batch outputs"]:
    """y = relu(x W^T + b); of a batch and wide weights as relu(W x^T + b)^T, which takes a fifth less time."""
    weight = layer["weight"]
    if weight.size < WIDE or len(x) == 1:
        return jax.nn.relu(dense(layer, x))
    return jax.nn.relu(product(weight, x) + layer["bias"][:, None]).T


def product(x: Float[Array, "*rows inputs"], weight: Float[Array, "outputs inputs"]) -> Float[Array, "*rows outputs"]:
    """x W^T over the last axes of both.

    Between matrices, and not as `x @ W.T`: else XLA may copy W where x is one row, and x for the gradient of W.
    """
    rows = jax.lax.dot_general(x.reshape(-1, x.shape[-1]), weight, (((1,), (1,)), ((), ())))
    return rows.reshape(*x.shape[:-1], -1)


def conv2d(
    layer: Layer,
    x: Num[Array, "batch height width channels"],
    *,
    stride: int = 1,
    padding: int = 0,
    scale: float = 1.0,
) -> Float[Array, "batch rows columns filters"]:
    """Cross-correlation of scale x with W[height, width, channels, filters], plus b: shifted slices and one product.

    Bytes are read as they are, and the weights scaled in their place.
    """
    weight = layer["weight"] if scale == 1 else scale * layer["weight"]
    tall, wide, channels, filters = weight.shape
    if padding:
        x = jnp.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    rows, columns = (x.shape[1] - tall) // stride + 1, (x.shape[2] - wide) // stride + 1
    if stride > 1 and tall % stride == wide % stride == 0:
        x = x[:, : stride * (rows - 1) + tall, : stride * (columns - 1) + wide]
        blocks = in_blocks(weight.reshape(1, tall, wide, -1), stride)[0]
        return conv2d({**layer, "weight": blocks.reshape(*blocks.shape[:2], -1, filters)}, in_blocks(x, stride))
    bias = layer["bias"].reshape(1, 1, 1, -1)
    if (tall, wide, stride) in ((2, 2, 1), (3, 3, 1)) and channels >= MANY_CHANNELS and len(x) > 1:
        return winograd(weight, x) + bias
    shifts = [
        x[:, i : i + stride * (rows - 1) + 1 : stride, j : j + stride * (columns - 1) + 1 : stride]
        for i in range(tall)
        for j in range(wide)
    ]
    patches = jnp.concatenate(shifts, axis=-1).astype(jnp.float32)
    return patches @ weight.reshape(-1, filters) + bias


def winograd(
    weight: Float[Array, "size size channels filters"], x: Num[Array, "batch height width channels"]
) -> Float[Array, "batch rows columns filters"]:
    """Cross-correlation with W[r, r, channels, filters], r = 2 or 3: (5 - r)^2 neighbouring outputs by 16 products.

    Along each axis (Winograd, 1980) four inputs give y_0 = a + b + c, y_1 = b - c and, if r = 2, y_2 = b + c, the last
    of them plus d, where a = (x_0 - x_2) w_0, d = (x_3 - x_1) w_{r-1},
    b = (x_1 + x_2) (w_0 + w_1 + w_2) / 2 and c = (x_2 - x_1) (w_0 - w_1 + w_2) / 2 with w_2 = 0 if r = 2.
    """
    batch, height, width, _ = x.shape
    size = weight.shape[0]
    side = 5 - size
    rows, columns = -(-(height - size + 1) // side), -(-(width - size + 1) // side)
    x = jax.lax.optimization_barrier(x)  # else XLA computes it anew for each of the 16
    x = jnp.pad(x, ((0, 0), (0, side * rows + size - 1 - height), (0, side * columns + size - 1 - width), (0, 0)))
    x = x.astype(jnp.float32)

    def weights(w: Array) -> tuple[Array, ...]:
        even, odd = sum(w[:, i] for i in range(0, size, 2)), w[:, 1]
        return w[:, 0], (even + odd) / 2, (even - odd) / 2, w[:, size - 1]

    def outputs(parts: Iterable[Array], axis: int) -> Array:
        a, b, c, d = parts
        y = [a + b + c, b - c, b + c][:side]
        return jnp.stack([*y[:-1], y[-1] + d], axis)

    def across(x: Array, w: Array) -> Array:
        return outputs(map(product, winograd_inputs(x, 2, side), weights(w)), 3)

    y = outputs(map(across, winograd_inputs(x, 1, side), weights(jnp.moveaxis(weight, -1, 0))), 2)
    return y.reshape(batch, side * rows, side * columns, -1)[:, : height - size + 1, : width - size + 1]


@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def winograd_inputs(
    x: Float[Array, "batch height width channels"], axis: int, side: int
) -> tuple[Float[Array, "batch rows columns channels"], ...]:
    """x_0 - x_2, x_1 + x_2, x_2 - x_1 and x_3 - x_1 of four neighbours at every `side`-th place along an axis."""
    last = x.shape[axis] - 3
    x0, x1, x2, x3 = (jax.lax.slice_in_dim(x, i, last + i, side, axis) for i in range(4))
    return x0 - x2, x1 + x2, x2 - x1, x3 - x1


def _winograd_gradient(axis: int, side: int, _: None, gradients: tuple[Array, ...]) -> tuple[Array]:
    """The neighbours' gradients side by side; XLA's own would first spread each of them over an image of zeros."""
    a, b, c, d = gradients
    neighbours = [a, b - c - d, b + c - a, d]

    def moved(part: Array, places: int) -> Array:
        return jnp.pad(part, [(places, 1 - places) if i == axis else (0, 0) for i in range(part.ndim)])

    parts = [moved(part, 0) for part in neighbours[:side]]
    for i, part in enumerate(neighbours[side:]):
        parts[i] += moved(part, 1)
    x = jnp.stack(parts, axis + 1).reshape(*a.shape[:axis], -1, *a.shape[axis + 1 :])
    return (jax.lax.slice_in_dim(x, 0, side * a.shape[axis] + 4 - side, 1, axis),)


winograd_inputs.defvjp(lambda x, axis, side: (winograd_inputs(x, axis, side), None), _winograd_gradient)


def in_blocks(
    x: Num[Array, "batch height width channels"], side: int
) -> Num[Array, "batch height//{side} width//{side} channels*{side}*{side}"]:
    """Squares of `side` by `side` cells as one cell with all their channels: a stride of `side` becomes one of 1."""
    batch, height, width, channels = x.shape
    shape = batch, height // side, width // side, -1
    if x.dtype == jnp.uint8 and channels % 4 == 0:  # XLA moves four bytes as one word in the time of one byte
        words = jax.lax.bitcast_convert_type(x.reshape(batch, height, width, -1, 4), jnp.uint32)
        strips = words.reshape(-1, side, width // side, side * channels // 4)
        return jax.lax.bitcast_convert_type(strips.swapaxes(1, 2), jnp.uint8).reshape(shape)
    strips = x.reshape(-1, side, width // side, side * channels)  # stacked in less than half a transposition's time
    return jnp.stack([strips[:, i] for i in range(side)], axis=2).reshape(shape)
