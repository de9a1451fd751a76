"""Plain networks: one small trunk over all that is seen."""

from __future__ import annotations

import math
from itertools import pairwise

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from sadapt.learners.layers import dense, layer_norm, orthogonal
from sadapt.learners.networks.base import Network, Outputs, Params, Spec, beside, maps, on_one_grid, shapes_seen
from sadapt.learners.networks.blocks import Cells, normed, one_convolution
from sadapt.learners.table import PlainSettings
from sadapt.motivation.augmented import Augmented

MANY_CELLS = 100
"""Cells of a map from which on a convolution pays."""
FILTERS = 16


def plain(spec: Spec, settings: PlainSettings = PlainSettings()) -> Network:
    """One convolution over a map that is large enough, unless theta is a map of other cells; otherwise dense layers."""
    shape, theta = spec.obs_shape, spec.theta_shape
    large = len(shape) == 3 and shape[0] * shape[1] >= MANY_CELLS
    joins = theta is None or len(theta) == 1 or on_one_grid(spec)
    return (plain_conv if large and joins else plain_dense)(spec, settings)


def plain_conv(spec: Spec, settings: PlainSettings) -> Network:
    """The whole map in one 3x3 convolution, beside t/T and alpha: for small maps without an agent to look around."""
    shapes, extra = shapes_seen(spec)
    cells = (*spec.obs_shape[:2], sum(shape[-1] for shape in shapes))

    def view(seen: Augmented) -> Cells:
        return Cells(jnp.concatenate(maps(spec, seen), axis=-1), beside(spec, seen))

    init, apply = one_convolution(cells, extra, spec.outputs, filters=FILTERS, stride=1, hidden=settings.hidden)
    return Network(init, view, apply)


def plain_dense(spec: Spec, settings: PlainSettings) -> Network:
    """Two layer-normed dense layers over s, theta, t/T and alpha, flattened: for a few dozen entries."""
    shapes, extra = shapes_seen(spec)
    layers = list(pairwise((sum(map(math.prod, shapes)) + extra, settings.hidden, settings.hidden)))

    def init(key: Key[Array, ""]) -> Params:
        key_head, *keys = jax.random.split(key, 1 + len(layers))
        trunk = {f"dense_{i}": normed(keys[i], shape, shape[-1]) for i, shape in enumerate(layers)}
        return {**trunk, "head": orthogonal(1.0)(key_head, (settings.hidden, spec.outputs))}

    def view(seen: Augmented) -> Float[Array, " entries"]:
        entries = [x.reshape(-1) for x in maps(spec, seen)]
        return jnp.concatenate([*entries, beside(spec, seen)])

    def apply(params: Params, views: Float[Array, "batch entries"]) -> Outputs:
        x = views
        for i in range(len(layers)):
            x = jax.nn.relu(layer_norm(params[f"dense_{i}"]["norm"], dense(params[f"dense_{i}"]["linear"], x)))
        return dense(params["head"], x)

    return Network(init, view, apply)
