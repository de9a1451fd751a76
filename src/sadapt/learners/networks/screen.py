"""A small network for pictures: two strided convolutions, and theta, t/T and alpha beside what they give."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Num

from sadapt.learners.layers import conv2d, dense, layer_norm, orthogonal
from sadapt.learners.networks.base import Network, Outputs, Params, Spec, flat, require_rows_and_columns, scalars
from sadapt.learners.networks.blocks import Conv, conv_shapes, fitting, normed
from sadapt.learners.table import PlainSettings
from sadapt.motivation.augmented import Augmented

STACK = (Conv(16, 6, 3), Conv(32, 4, 2))


class Picture(NamedTuple):
    """What the network keeps: s as it is, bytes too, and the rest as a vector."""

    cells: Num[Array, "*batch height width channels"]
    beside: Float[Array, "*batch entries"]


def screen(spec: Spec, settings: PlainSettings = PlainSettings()) -> Network:
    """Convolutions, layer norm over a whole example before each ReLU; theta, on whatever grid, is seen as a vector."""
    require_rows_and_columns("the screen network", spec)
    stack = fitting(spec.obs_shape, STACK)
    shapes = conv_shapes(spec.obs_shape, stack)
    beside = 0 if spec.theta_shape is None else math.prod(spec.theta_shape) + 2

    def init(key: Key[Array, ""]) -> Params:
        key_dense, key_head, *keys = jax.random.split(key, 2 + len(stack))
        convs = {}
        for i, (conv, before, after) in enumerate(zip(stack, shapes, shapes[1:], strict=False)):
            window = (conv.kernel, conv.kernel, before[-1], conv.filters)
            convs[f"conv_{i}"] = normed(keys[i], window, math.prod(after))
        joined = math.prod(shapes[-1]) + beside
        return {
            **convs,
            "dense": normed(key_dense, (joined, settings.hidden), settings.hidden),
            "head": orthogonal(1.0)(key_head, (settings.hidden, spec.outputs)),
        }

    def view(seen: Augmented) -> Picture:
        theta = jnp.zeros(0, jnp.float32) if spec.theta_shape is None else seen.theta.reshape(-1)
        return Picture(seen.obs, jnp.concatenate([theta, scalars(spec, seen)]))

    def apply(params: Params, views: Picture) -> Outputs:
        x = views.cells
        for i, conv in enumerate(stack):
            layer, scale = params[f"conv_{i}"], spec.scale if i == 0 else 1.0
            y = conv2d(layer["linear"], x, stride=conv.stride, padding=conv.padding, scale=scale)
            x = jax.nn.relu(layer_norm(layer["norm"], flat(y))).reshape(y.shape)
        joined = jnp.concatenate([flat(x), views.beside], axis=-1)
        hidden = jax.nn.relu(layer_norm(params["dense"]["norm"], dense(params["dense"]["linear"], joined)))
        return dense(params["head"], hidden)

    return Network(init, view, apply)
