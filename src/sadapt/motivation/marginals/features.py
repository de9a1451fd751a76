"""Features of pictures: a frozen random convolution, the same for the same seed, standardised by random play.

Filters are orthonormal and add up to zero over each channel, so that a brighter picture (a constant added) has the same
features; they are rectified and projected onto a few orthonormal directions. A picture of more contrast has larger
ones by its factor, which standardising by the mean and deviation of random play takes out again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.fields import Checked, Count, Positive, Whole
from sadapt.motivation.arrays import array_module
from sadapt.motivation.marginals.base import InputSpec, Marginal
from sadapt.motivation.marginals.gaussian import gaussian

FILTERS = 32
LARGE, LARGE_KERNEL, SMALL_KERNEL = 32, 8, 3
"""Side from which on a picture is seen through large filters, half of them apart; smaller ones cell by cell."""
LEAST_SHARE = 1e-3
"""Features that deviate by less than this share of the liveliest one are divided as if they did by that much."""
BLOCK = 64
"""Pictures of random play that are looked at together."""


@dataclass(frozen=True)
class FeatureSettings(Checked):
    """Which features of an image are modelled."""

    features: Count = 32
    """Number of features that the random convolution extracts from an image."""
    feature_seed: Whole = 0
    """Seed of the random convolution."""


@dataclass(frozen=True)
class GaussianFeatureSettings(FeatureSettings):
    """How features are modelled."""

    feature_std_floor: Positive = 0.05
    """Smallest standard deviation of a feature, in units of its standard deviation under random play."""


class Filters(NamedTuple):
    """A convolution and the projection of what it gives."""

    weights: np.ndarray
    """[kernel * kernel * channels, filters]."""
    projection: np.ndarray
    """[rows * columns * filters, features]."""
    kernel: int
    stride: int


def on_features(
    spec: InputSpec, settings: GaussianFeatureSettings = GaussianFeatureSettings(), *, xp: Any = None
) -> Marginal:
    """A Gaussian marginal over an image's features: log p and H are densities of these, not of pixels."""
    xp = array_module(xp)
    look = features_of(spec, settings, xp)
    inner = gaussian((settings.features,), std_floor=settings.feature_std_floor, xp=xp)
    assert inner.log_prob_at is not None
    assert inner.feature_bounds is not None
    assert inner.remove is not None
    log_prob_at, remove, bounds = inner.log_prob_at, inner.remove, inner.feature_bounds(-np.inf, np.inf)
    return inner._replace(
        update=lambda state, obs: inner.update(state, look(obs)),
        log_prob=lambda state, obs: inner.log_prob(state, look(obs)),
        log_prob_at=lambda theta, obs: log_prob_at(theta, look(obs)),
        feature_bounds=lambda low, high: bounds,
        remove=lambda state, obs: remove(state, look(obs)),
    )


def features_of(spec: InputSpec, settings: FeatureSettings, xp: Any) -> Callable[[Any], Any]:
    """`look(obs)`: standardised features of a picture, float32[..., features]; leading axes are worlds."""
    filters = drawn(spec, settings)
    mean, deviation = _moments(spec, filters)
    centre, scale = (xp.asarray(each.astype(np.float32)) for each in (mean / deviation, 1 / deviation))
    weights, projection = xp.asarray(filters.weights), xp.asarray(filters.projection)

    def look(obs: Any) -> Any:
        found = raw_features(obs, filters._replace(weights=weights, projection=projection), len(spec.shape), xp)
        lead = (1,) * (found.ndim - 1)
        return found * scale.reshape(*lead, -1) - centre.reshape(*lead, -1)

    return look


def drawn(spec: InputSpec, settings: FeatureSettings) -> Filters:
    """The frozen convolution that fits a picture."""
    if len(spec.shape) not in (2, 3):
        raise UserError(
            f"random features need images of height x width x channels; {spec.source!r} shows the shape "
            f"{spec.shape}: use --marginal gaussian"
        )
    height, width, channels = (*spec.shape, 1)[:3]
    side = min(height, width)
    kernel = LARGE_KERNEL if side >= LARGE else min(SMALL_KERNEL, side)
    stride = max(1, kernel // 2)
    cells = ((height - kernel) // stride + 1) * ((width - kernel) // stride + 1)
    filters = min(FILTERS, (kernel * kernel - 1) * channels)
    if filters < 1 or settings.features > cells * filters:
        raise UserError(
            f"--features must be at most {cells * max(filters, 0)} for the images of {spec.source!r}, of shape "
            f"{spec.shape}; got {settings.features}"
        )
    chance = np.random.default_rng(settings.feature_seed)
    free = chance.standard_normal((kernel * kernel, channels, filters))
    weights = _orthonormal((free - free.mean(axis=0)).reshape(-1, filters))
    projection = _orthonormal(chance.standard_normal((cells * filters, settings.features)))
    return Filters(weights, projection, kernel, stride)


def _orthonormal(matrix: np.ndarray) -> np.ndarray:
    """Orthonormal columns of the same span, with signs that do not depend on how they were found."""
    q, r = np.linalg.qr(matrix)
    return (q * np.where(np.diagonal(r) < 0, -1.0, 1.0)).astype(np.float32)


def raw_features(obs: Any, filters: Filters, rank: int, xp: Any) -> Any:
    """The projection of the rectified convolution, before it is standardised."""
    picture = obs.astype(xp.float32) if rank == 3 else obs.astype(xp.float32)[..., None]
    kernel, stride = filters.kernel, filters.stride
    rows, columns = ((size - kernel) // stride + 1 for size in picture.shape[-3:-1])
    shifted = [
        picture[..., y : y + stride * (rows - 1) + 1 : stride, x : x + stride * (columns - 1) + 1 : stride, :]
        for y in range(kernel)
        for x in range(kernel)
    ]
    convolved = xp.maximum(xp.concatenate(shifted, axis=-1) @ filters.weights, xp.float32(0))
    return convolved.reshape(*convolved.shape[:-3], -1) @ filters.projection


def _moments(spec: InputSpec, filters: Filters) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of every feature in random play."""
    if spec.sample is None:
        raise UserError(f"random features are standardised by random play, but {spec.source!r} was not played")
    seen = np.asarray(spec.sample())
    rank = len(spec.shape)
    blocks = [raw_features(seen[at : at + BLOCK], filters, rank, np) for at in range(0, len(seen), BLOCK)]
    found = np.concatenate(blocks).astype(np.float64)
    deviation = found.std(axis=0)
    liveliest = float(deviation.max())
    return found.mean(axis=0), np.maximum(deviation, LEAST_SHARE * liveliest) if liveliest > 0 else deviation + 1.0
