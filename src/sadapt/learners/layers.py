"""Layers as pure functions of their parameters, plain dicts of float32 arrays, for a batch (leading axis)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Num

from sadapt.learners import kernels

P = ParamSpec("P")
Layer = dict[str, Float[Array, "..."]]
Initialiser = Callable[[Key[Array, ""], tuple[int, ...]], Layer]
"""`initialise(key, (*window, inputs, outputs)) -> {"weight", "bias"}` of a dense layer or a convolution.

A dense layer keeps its weights as [outputs, inputs], which makes an update a quarter faster on a CPU.
"""


def as_kept(weight: Float[Array, "*window inputs outputs"]) -> Float[Array, "*window _ _"]:
    """Weights [inputs, outputs] of a dense layer transposed, those of a convolution as they are."""
    return weight.T if weight.ndim == 2 else weight


def torch_default(key: Key[Array, ""], shape: tuple[int, ...]) -> Layer:
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

    def initialise(key: Key[Array, ""], shape: tuple[int, ...]) -> Layer:
        # One after another under vmap: on CPUs a batched QR waits for threads of the very pool that it occupies, and
        # two at once wait for ever where there are two cores.
        alone = jax.custom_batching.sequential_vmap(lambda key: weights(key, shape, jnp.float32))
        return {"weight": as_kept(alone(key)), "bias": jnp.zeros(shape[-1:], jnp.float32)}

    return initialise


def unit_norm(features: int) -> Layer:
    """Parameters of a layer norm that leaves what it has normalised as it is."""
    return {"scale": jnp.ones(features, jnp.float32), "offset": jnp.zeros(features, jnp.float32)}


def on_cpu(kernel: Callable[P, Array]) -> Callable[[Callable[P, Array]], Callable[P, Array]]:
    """Decorates a layer with a kernel of the same signature, by which CPUs compute it; other platforms go by the layer.

    The choice falls when a program is lowered for a platform. All that is left of the other branch are zeros in place
    of what its gradient would have needed, which nobody reads and XLA removes.
    """

    def choose(reference: Callable[P, Array]) -> Callable[P, Array]:
        @wraps(reference)
        def layer(*arrays: Any, **static: Any) -> Array:
            here, elsewhere = partial(kernel, **static), partial(reference, **static)
            return jax.lax.platform_dependent(*arrays, cpu=here, default=elsewhere)

        return layer

    return choose


def along_last(vector: Float[Array, " features"], rank: int) -> Float[Array, "*ones features"]:
    """A vector with leading axes of one, to be combined with the last axis of an array of that rank."""
    return vector.reshape((1,) * (rank - 1) + vector.shape)


@on_cpu(kernels.dense)
def dense(layer: Layer, x: Float[Array, "*batch inputs"]) -> Float[Array, "*batch outputs"]:
    """y = x W^T + b over the last axis."""
    return x @ layer["weight"].T + along_last(layer["bias"], x.ndim)


@on_cpu(kernels.rectified)
def rectified(layer: Layer, x: Float[Array, "batch inputs"]) -> Float[Array, "batch outputs"]:
    """y = relu(x W^T + b)."""
    return jax.nn.relu(x @ layer["weight"].T + along_last(layer["bias"], x.ndim))


@on_cpu(kernels.conv2d)
def conv2d(
    layer: Layer,
    x: Num[Array, "batch height width channels"],
    *,
    stride: int = 1,
    padding: int = 0,
    scale: float = 1.0,
) -> Float[Array, "batch rows columns filters"]:
    """Cross-correlation of scale x with W[height, width, channels, filters], plus b."""
    y = jax.lax.conv_general_dilated(
        scale * x.astype(jnp.float32),
        layer["weight"],
        window_strides=(stride, stride),
        padding=[(padding, padding)] * 2,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return y + along_last(layer["bias"], y.ndim)


def conv_size(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
    """Cells that a convolution leaves of `size` cells along one axis."""
    return (size + 2 * padding - kernel) // stride + 1


def layer_norm(
    layer: Layer, x: Float[Array, "*batch features"], *, epsilon: float = 1e-5
) -> Float[Array, "*batch features"]:
    """y = scale (x - mean) / sqrt(variance + epsilon) + offset, over the last axis."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
    normal = centred * jax.lax.rsqrt(variance + epsilon)
    return normal * along_last(layer["scale"], x.ndim) + along_last(layer["offset"], x.ndim)
