"""Independent Gaussian per entry, for numbers of any kind."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.fields import Checked, NotNegative, Positive
from sadapt.motivation.arrays import array_module
from sadapt.motivation.marginals.base import InputSpec, Marginal, axes, faded, require_pseudo_count


@dataclass(frozen=True)
class GaussianSettings(Checked):
    """How entries of any value are modelled."""

    pseudo_count: NotNegative = 0.0
    """All-zero observations added before the first (0 is the paper's formula, 1 the authors' code)."""
    std_floor: Positive = 0.1
    """Smallest standard deviation of the Gaussian marginal, in units of the observation."""


class GaussianState(NamedTuple):
    """Welford's running moments: `spread` is the sum of squared deviations from the mean."""

    mean: Any
    spread: Any
    count: Any


def gaussian(shape: tuple[int, ...], *, std_floor: float = 0.1, pseudo_count: float = 0.0, xp: Any = None) -> Marginal:
    """Independent Gaussian per entry, with the moments of the observations so far and variance at least std_floor^2.

    log p(x) = -sum (x - mu)^2 / (2 sigma^2) + log(2 pi sigma^2) / 2,  H = sum log(2 pi e sigma^2) / 2.
    `pseudo_count` stands for that many all-zero observations.
    """
    if not std_floor > 0:
        raise UserError(f"the Gaussian standard-deviation floor must be positive; got {std_floor}")
    require_pseudo_count(pseudo_count)
    least_variance, xp = std_floor**2, array_module(xp)
    entries, beside_entries = axes(shape)

    def init() -> GaussianState:
        zeros = xp.zeros(shape, xp.float32)
        return GaussianState(mean=zeros, spread=zeros, count=xp.full((), pseudo_count, xp.float32))

    def update(state: GaussianState, obs: Any) -> GaussianState:
        count = state.count + xp.float32(1)
        deviation = obs.astype(xp.float32) - state.mean
        mean = state.mean + deviation / count[beside_entries]
        return GaussianState(mean=mean, spread=state.spread + deviation * (obs.astype(xp.float32) - mean), count=count)

    def variance(state: GaussianState) -> Any:
        count = xp.maximum(state.count, xp.float32(1))[beside_entries]
        return xp.maximum(state.spread / count, xp.float32(least_variance))

    def likelihood(mean: Any, var: Any, obs: Any) -> Any:
        deviation = obs.astype(xp.float32) - mean
        return -xp.sum(deviation * deviation / (2 * var) + xp.log(xp.float32(2 * math.pi) * var) / 2, axis=entries)

    def disorder(var: Any) -> Any:
        return xp.sum(xp.log(xp.float32(2 * math.pi * math.e) * var), axis=entries) / 2

    def log_prob(state: GaussianState, obs: Any) -> Any:
        return likelihood(state.mean, variance(state), obs)

    def entropy(state: GaussianState) -> Any:
        return disorder(variance(state))

    def log_prob_at(theta: Any, obs: Any) -> Any:
        return likelihood(theta[..., : shape[-1]], theta[..., shape[-1] :], obs)

    def features(state: GaussianState) -> Any:
        return xp.concatenate([state.mean, variance(state)], axis=-1)

    return Marginal(
        init=init,
        update=update,
        log_prob=log_prob,
        entropy=entropy,
        features=features,
        feature_shape=(*shape[:-1], 2 * shape[-1]),
        log_prob_at=log_prob_at,
        entropy_at=lambda theta: disorder(theta[..., shape[-1] :]),
        feature_bounds=partial(_bounds, shape, least_variance, pseudo_count > 0),
        least_entropy=math.prod(shape) * math.log(2 * math.pi * math.e * least_variance) / 2,
        fade=faded("spread", "count"),
        remove=partial(_remove, beside_entries, xp),
    )


def _remove(beside_entries: tuple[Any, ...], xp: Any, state: GaussianState, obs: Any) -> GaussianState:
    """One observation less: Welford's update the other way round."""
    count = state.count - xp.float32(1)
    deviation = obs.astype(xp.float32) - state.mean
    mean = state.mean - deviation / xp.maximum(count, xp.float32(1))[beside_entries]
    spread = state.spread - deviation * (obs.astype(xp.float32) - mean)
    return GaussianState(mean=mean, spread=xp.maximum(spread, xp.float32(0)), count=count)


def _bounds(shape: tuple[int, ...], least: float, zeros: bool, low: Any, high: Any) -> tuple[Any, Any]:
    """Means lie between the entries' bounds (and 0 where zeros were imagined), variances up to their range squared."""
    low, high = (np.broadcast_to(np.asarray(bound, np.float32), shape) for bound in (low, high))
    if zeros:
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    floor = np.full(shape, least, np.float32)
    with np.errstate(over="ignore"):
        most = np.maximum(np.square(high - low), floor)
    return np.concatenate([low, floor], axis=-1), np.concatenate([high, most], axis=-1)


def of_numbers(spec: InputSpec, settings: GaussianSettings = GaussianSettings(), *, xp: Any = None) -> Marginal:
    """The Gaussian marginal of any world."""
    return gaussian(spec.shape, std_floor=settings.std_floor, pseudo_count=settings.pseudo_count, xp=xp)
