"""The window network: the cells around the agent, and a coarse summary of the whole map."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Key

from sadapt.errors import UserError
from sadapt.learners.networks.base import (
    Network,
    Outputs,
    Params,
    Shape,
    Spec,
    beside,
    maps,
    require_rows_and_columns,
    shapes_seen,
)
from sadapt.learners.networks.blocks import Cells, mlp, one_convolution
from sadapt.learners.table import WindowSettings
from sadapt.motivation.augmented import Augmented

FILTERS, STRIDE = 16, 2
COARSE = 4
"""Cells along each side of the summary of the map."""
OUTLOOK = 64
"""Hidden units of the part that sees the summary alone."""


def coarse_bins(size: int) -> Float32[np.ndarray, "bins {size}"]:
    """Each row averages one of at most `COARSE` equal parts of an axis."""
    parts = np.array_split(np.arange(size), min(COARSE, size))
    return np.stack([np.isin(np.arange(size), part) / len(part) for part in parts]).astype(np.float32)


def summary(shape: Shape) -> tuple[Callable[[Array], Array], int]:
    """Averages of every channel over the cells of a coarse grid and over the whole map, and how many these are."""
    height, width, channels = shape
    down, across = coarse_bins(height), coarse_bins(width)
    shares = np.outer((down > 0).mean(1), (across > 0).mean(1)).reshape(1, -1).astype(np.float32)
    columns = np.kron(across.T, np.eye(channels, dtype=np.float32))

    def summarise(x: Float[Array, "height width channels"]) -> Float[Array, " averages"]:
        coarse = (down @ (x.reshape(height, width * channels) @ columns)).reshape(-1, channels)
        return jnp.concatenate([coarse, shares @ coarse]).reshape(-1)

    return summarise, (shares.size + 1) * channels


def require_window(spec: Spec, radius: int) -> int:
    """The agent's channel; refuses worlds without one, what is no map, and a window on nothing."""
    if spec.agent_channel is None:
        raise UserError(f"the window network needs an agent to look around; {spec.source!r} has none: use plain")
    require_rows_and_columns("the window network", spec)
    if radius < 1:
        raise UserError(f"the window network must see at least one cell in each direction; got radius {radius}")
    return spec.agent_channel


def window(spec: Spec, settings: WindowSettings = WindowSettings()) -> Network:
    """y(s) = near(s) + far(s), from the cells around the agent and a coarse summary of the whole map.

    `radius` cells are seen in each direction, in one 3x3 convolution; outside the map all is zero but one channel that
    says so. Near sees these and the summary; far, one number for all outputs, the summary, t/T and alpha alone,
    magnified: one butterfly less is next to nothing in an average over a map, but much to what lies ahead. A theta that
    has other cells than s is a vector beside the summary.
    """
    radius, obs_shape = settings.radius, spec.obs_shape
    agent = require_window(spec, radius)
    shapes, extra = shapes_seen(spec)
    side, channels = 2 * radius + 1, 1 + sum(shape[-1] for shape in shapes)
    frame = ((radius, radius), (radius, radius), (0, 0))
    outside = np.pad(np.zeros((*obs_shape[:2], 1), np.float32), frame, constant_values=1)
    summaries, sizes = zip(*map(summary, shapes), strict=True)

    def view(seen: Augmented) -> Cells:
        planes = maps(spec, seen)
        row, column = jnp.divmod(jnp.argmax(seen.obs[..., agent].reshape(-1)), obs_shape[1])
        padded = jnp.concatenate([*(jnp.pad(x, frame) for x in planes), outside], axis=-1)
        cells = jax.lax.dynamic_slice(padded, (row, column, 0), (side, side, channels))
        averages = [summarise(x) for summarise, x in zip(summaries, planes, strict=True)]
        return Cells(cells, jnp.concatenate([*averages, beside(spec, seen)]))

    entries = sum(sizes) + extra
    init_near, near = one_convolution(
        (side, side, channels), entries, spec.outputs, filters=FILTERS, stride=STRIDE, hidden=settings.hidden
    )
    far = mlp(entries, (OUTLOOK, 1), linear_last=True)
    magnify = math.sqrt(obs_shape[0] * obs_shape[1]) / COARSE

    def init(key: Key[Array, ""]) -> Params:
        key_near, key_far = jax.random.split(key)
        return {**init_near(key_near), "outlook": far.init(key_far)}

    def apply(params: Params, views: Cells) -> Outputs:
        return near(params, views) + far.apply(params["outlook"], magnify * views.beside)

    return Network(init, view, apply)
