"""Parts of networks with their parameters: dense layers, stacks of convolutions, one convolution with layer norm."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Num

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
from sadapt.learners.networks.base import Outputs, Params, Shape, flat


class Block(NamedTuple):
    """A part of a network with its parameters."""

    init: Callable[[Key[Array, ""]], Params]
    apply: Callable[[Params, Num[Array, "batch ..."]], Float[Array, "batch size"]]
    size: int
    """Entries of the vector that `apply` gives for each example."""


class Conv(NamedTuple):
    """One convolution of a stack."""

    filters: int
    kernel: int
    stride: int = 1
    padding: int = 0


class Cells(NamedTuple):
    """What a network with one convolution sees."""

    cells: Float[Array, "*batch height width channels"]
    beside: Float[Array, "*batch entries"]
    """What has no place among the cells; ends with t/T and alpha, unless only s is seen."""


def mlp(inputs: int, sizes: tuple[int, ...], *, linear_last: bool = False) -> Block:
    """Dense layers of `sizes` units with ReLU, which the last one may lack."""
    shapes = list(pairwise((inputs, *sizes)))

    def init(key: Key[Array, ""]) -> Params:
        keys = jax.random.split(key, len(shapes))
        return {f"dense_{i}": torch_default(keys[i], shape) for i, shape in enumerate(shapes)}

    def apply(params: Params, x: Float[Array, "batch inputs"]) -> Float[Array, "batch size"]:
        for i in range(len(shapes)):
            linear = linear_last and i == len(shapes) - 1
            x = (dense if linear else rectified)(params[f"dense_{i}"], x)
        return x

    return Block(init, apply, sizes[-1])


def conv_shapes(shape: Shape, stack: tuple[Conv, ...]) -> list[Shape]:
    """Shapes of an image before, between and after the convolutions of a stack."""
    shapes = [shape]
    for filters, kernel, stride, padding in stack:
        height, width = (conv_size(size, kernel, stride, padding) for size in shapes[-1][:2])
        shapes.append((height, width, filters))
    return shapes


def fitting(shape: Shape, stack: tuple[Conv, ...]) -> tuple[Conv, ...]:
    """The stack itself if the image is large enough for it, else the same filters of 3x3 cells, stride 2, padded."""
    if min(map(min, conv_shapes(shape, stack))) > 0:
        return stack
    return tuple(Conv(layer.filters, 3, 2, 1) for layer in stack)


def convolutions(shape: Shape, stack: tuple[Conv, ...], scale: float = 1.0) -> Block:
    """Convolutions of `scale` times an image with ReLU, then flattened."""
    shapes = conv_shapes(shape, stack)

    def init(key: Key[Array, ""]) -> Params:
        keys = jax.random.split(key, len(stack))
        return {
            f"conv_{i}": torch_default(keys[i], (layer.kernel, layer.kernel, shapes[i][-1], layer.filters))
            for i, layer in enumerate(stack)
        }

    def apply(params: Params, x: Num[Array, "batch height width channels"]) -> Float[Array, "batch size"]:
        for i, layer in enumerate(stack):
            factor = scale if i == 0 else 1.0
            x = conv2d(params[f"conv_{i}"], x, stride=layer.stride, padding=layer.padding, scale=factor)
            x = jax.nn.relu(x)
        return flat(x)

    return Block(init, apply, math.prod(shapes[-1]))


def normed(key: Key[Array, ""], shape: Shape, features: int) -> Params:
    """Parameters of a hidden dense layer or convolution and of the layer norm over all that it gives."""
    return {"linear": orthogonal()(key, shape), "norm": unit_norm(features)}


def one_convolution(
    cells: Shape, beside: int, outputs: int, *, filters: int, stride: int, hidden: int
) -> tuple[Callable[[Key[Array, ""]], Params], Callable[[Params, Cells], Outputs]]:
    """`init` and `apply`: a 3x3 convolution, a dense layer that also sees what is beside it, and the head.

    Layer norm before each ReLU; that of the convolution is over a whole example: over the filters of each cell it
    takes longer than the convolution.
    """
    (conv,) = fitting(cells, (Conv(filters, 3, stride),))
    features = math.prod(conv_shapes(cells, (conv,))[-1])

    def init(key: Key[Array, ""]) -> Params:
        key_conv, key_dense, key_head = jax.random.split(key, 3)
        return {
            "conv": normed(key_conv, (3, 3, cells[-1], filters), features),
            "dense": normed(key_dense, (features + beside, hidden), hidden),
            "head": orthogonal(1.0)(key_head, (hidden, outputs)),
        }

    def apply(params: Params, views: Cells) -> Outputs:
        local = flat(conv2d(params["conv"]["linear"], views.cells, stride=conv.stride, padding=conv.padding))
        local = jax.nn.relu(layer_norm(params["conv"]["norm"], local))
        x = dense(params["dense"]["linear"], jnp.concatenate([local, views.beside], axis=-1))
        x = jax.nn.relu(layer_norm(params["dense"]["norm"], x))
        return dense(params["head"], x)

    return init, apply
