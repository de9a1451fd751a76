"""Layers as pure functions of their parameters, plain dicts of float32 arrays, for a batch (leading axis)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

import jax
import jax.numpy as jnp

Array = jax.Array
Layer = dict[str, Array]
MANY_CHANNELS = 32
"""From here on a convolution spends more time on its products than on moving their inputs."""
WIDE = 2**18
"""Weights from which on the order of a dense layer's factors matters."""
Initialiser = Callable[[Array, tuple[int, ...]], Layer]
"""`initialise(key, (*window, inputs, outputs)) -> {"weight", "bias"}` of a dense layer or a convolution.

A dense layer keeps its weights as [outputs, inputs], which makes an update a quarter faster on a CPU.
"""


def as_kept(weight: Array) -> Array:
    """Weights [inputs, outputs] of a dense layer transposed, those of a convolution as they are."""
    return weight.T if weight.ndim == 2 else weight


def torch_default(key: Array, shape: tuple[int, ...]) -> Layer:
    """PyTorch's kaiming_uniform(a = sqrt 5): weights and biases uniform in +-1 / sqrt(fan_in)."""
    bound = 1 / math.sqrt(math.prod(shape[:-1]))
    key_weight, key_bias = jax.random.split(key)
    return {
        "weight": as_kept(jax.random.uniform(key_weight, shape, jnp.float32, -bound, bound)),
        "bias": jax.random.uniform(key_bias, shape[-1:], jnp.float32, -bound, bound),
    }


def orthogonal(gain: float = math.sqrt(2)) -> Initialiser:
    """Orthogonal columns (or rows, where there are fewer) of length `gain`; biases zero."""
    weights = jax.nn.initializers.orthogonal(gain)

    def initialise(key: Array, shape: tuple[int, ...]) -> Layer:
        return {"weight": as_kept(weights(key, shape, jnp.float32)), "bias": jnp.zeros(shape[-1:], jnp.float32)}

    return initialise


def unit_norm(features: int) -> Layer:
    """Parameters of a layer norm that leaves what it has normalised as it is."""
    return {"scale": jnp.ones(features, jnp.float32), "offset": jnp.zeros(features, jnp.float32)}


def along_last(vector: Array, rank: int) -> Array:
    """A vector with leading axes of one, to be combined with the last axis of an array of that rank."""
    return vector.reshape((1,) * (rank - 1) + vector.shape)


def dense(layer: Layer, x: Array) -> Array:
    """y = x W^T + b over the last axis."""
    y = product(x, layer["weight"])
    if x.shape[:-1] == (1,):  # XLA would fuse the sum into a product of its own, six times slower on a CPU
        y = jax.lax.optimization_barrier(y)
    return y + along_last(layer["bias"], x.ndim)


def rectified(layer: Layer, x: Array) -> Array:
    """y = relu(x W^T + b); of a batch and wide weights as relu(W x^T + b)^T, which a CPU does in a fifth less time."""
    weight = layer["weight"]
    if weight.size < WIDE or len(x) == 1:
        return jax.nn.relu(dense(layer, x))
    return jax.nn.relu(product(weight, x) + layer["bias"][:, None]).T


def product(x: Array, weight: Array) -> Array:
    """x W^T over the last axes of both.

    Between matrices, and not as `x @ W.T`: else XLA may copy W where x is one row, and x for the gradient of W.
    """
    rows = jax.lax.dot_general(x.reshape(-1, x.shape[-1]), weight, (((1,), (1,)), ((), ())))
    return rows.reshape(*x.shape[:-1], -1)


def conv2d(layer: Layer, x: Array, *, stride: int = 1, padding: int = 0, scale: float = 1.0) -> Array:
    """Cross-correlation of scale x[batch, height, width, channels] with W[height, width, channels, filters], plus b.

    Shifted slices and one matrix product: XLA's own convolution is many times slower inside a scan on a CPU. Bytes are
    read as they are, and the weights scaled in their place.
    """
    weight = layer["weight"] if scale == 1 else scale * layer["weight"]
    tall, wide, channels, filters = weight.shape
    if padding:
        x = jnp.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    rows, columns = conv_size(x.shape[1], tall, stride), conv_size(x.shape[2], wide, stride)
    if stride > 1 and tall % stride == wide % stride == 0:
        x = x[:, : stride * (rows - 1) + tall, : stride * (columns - 1) + wide]
        blocks = in_blocks(weight.reshape(1, tall, wide, -1), stride)[0]
        return conv2d({**layer, "weight": blocks.reshape(*blocks.shape[:2], -1, filters)}, in_blocks(x, stride))
    if (tall, wide, stride) in ((2, 2, 1), (3, 3, 1)) and channels >= MANY_CHANNELS and len(x) > 1:
        return winograd(weight, x) + along_last(layer["bias"], x.ndim)
    shifts = [
        x[:, i : i + stride * (rows - 1) + 1 : stride, j : j + stride * (columns - 1) + 1 : stride]
        for i in range(tall)
        for j in range(wide)
    ]
    patches = jnp.concatenate(shifts, axis=-1).astype(jnp.float32)
    return patches @ weight.reshape(-1, filters) + along_last(layer["bias"], patches.ndim)


def winograd(weight: Array, x: Array) -> Array:
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
def winograd_inputs(x: Array, axis: int, side: int) -> tuple[Array, ...]:
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


def in_blocks(x: Array, side: int) -> Array:
    """Squares of `side` by `side` cells as one cell with all their channels: a stride of `side` becomes one of 1."""
    batch, height, width, channels = x.shape
    shape = batch, height // side, width // side, -1
    if x.dtype == jnp.uint8 and channels % 4 == 0:  # XLA moves four bytes as one word in the time of one byte
        words = jax.lax.bitcast_convert_type(x.reshape(batch, height, width, -1, 4), jnp.uint32)
        strips = words.reshape(-1, side, width // side, side * channels // 4)
        return jax.lax.bitcast_convert_type(strips.swapaxes(1, 2), jnp.uint8).reshape(shape)
    strips = x.reshape(-1, side, width // side, side * channels)  # stacked in less than half a transposition's time
    return jnp.stack([strips[:, i] for i in range(side)], axis=2).reshape(shape)


def conv_size(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
    """Cells that a convolution leaves of `size` cells along one axis."""
    return (size + 2 * padding - kernel) // stride + 1


def layer_norm(layer: Layer, x: Array, *, epsilon: float = 1e-5) -> Array:
    """y = scale (x - mean) / sqrt(variance + epsilon) + offset, over the last axis."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
    normal = centred * jax.lax.rsqrt(variance + epsilon)
    return normal * along_last(layer["scale"], x.ndim) + along_last(layer["offset"], x.ndim)
