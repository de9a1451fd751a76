"""Independent Bernoulli per entry, for binary maps: the paper's marginal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.fields import BelowHalf, Checked, NotNegative
from sadapt.motivation.arrays import array_module
from sadapt.motivation.marginals.base import InputSpec, Marginal, axes, faded, require_bits, require_pseudo_count


@dataclass(frozen=True)
class BernoulliSettings(Checked):
    """How binary entries are modelled."""

    pseudo_count: NotNegative = 0.0
    """All-zero observations added before the first (0 is the paper's formula, 1 the authors' code)."""
    probability_clip: BelowHalf = 1e-4
    """Bernoulli probabilities are clipped to this distance from 0 and 1."""


class BernoulliState(NamedTuple):
    """How often each entry was one (uint16: exact, and small in replay; fractions once faded), of how many times."""

    ones: Any
    count: Any


fade = faded("ones", "count")


def remove(state: BernoulliState, obs: Any) -> BernoulliState:
    """One observation less."""
    return BernoulliState(ones=state.ones - obs.astype(state.ones.dtype), count=state.count - np.float32(1))


def bernoulli(shape: tuple[int, ...], *, clip: float = 1e-4, pseudo_count: float = 0.0, xp: Any = None) -> Marginal:
    """Independent Bernoulli per entry: theta = (sum of observations) / (their number + pseudo_count).

    log p(x) = sum x log theta + (1 - x) log(1 - theta),  H = -sum theta log theta + (1 - theta) log(1 - theta),
    with theta clipped to [clip, 1 - clip] in both, and 1/2 before the first observation. `pseudo_count` stands for that
    many all-zero observations.
    """
    if not 1e-7 <= clip < 0.5:
        raise UserError(
            f"the Bernoulli clip must be below 0.5 and at least 1e-7, which float32 can still tell from 0; got {clip}"
        )
    require_pseudo_count(pseudo_count)
    xp = array_module(xp)
    entries, beside_entries = axes(shape)
    least, most = xp.float32(clip), xp.float32(1 - clip)

    def init() -> BernoulliState:
        return BernoulliState(ones=xp.zeros(shape, xp.uint16), count=xp.zeros((), xp.float32))

    def update(state: BernoulliState, obs: Any) -> BernoulliState:
        return BernoulliState(ones=state.ones + obs.astype(state.ones.dtype), count=state.count + xp.float32(1))

    def features(state: BernoulliState) -> Any:
        count = (state.count + xp.float32(pseudo_count))[beside_entries]
        unseen = (count == 0).astype(xp.float32)
        return (state.ones.astype(xp.float32) + unseen / 2) / (count + unseen)

    def log_prob_at(theta: Any, obs: Any) -> Any:
        p = theta.clip(least, most)
        return xp.log(xp.where(obs.astype(bool), p, 1 - p)).sum(axis=entries)

    def entropy_at(theta: Any) -> Any:
        p = theta.clip(least, most)
        q = 1 - p
        return -(p * xp.log(p) + q * xp.log(q)).sum(axis=entries)

    def log_prob(state: BernoulliState, obs: Any) -> Any:
        return log_prob_at(features(state), obs)

    def entropy(state: BernoulliState) -> Any:
        return entropy_at(features(state))

    def feature_bounds(low: Any, high: Any) -> tuple[Any, Any]:
        return np.zeros(shape, np.float32), np.ones(shape, np.float32)

    return Marginal(
        init=init,
        update=update,
        log_prob=log_prob,
        entropy=entropy,
        features=features,
        feature_shape=shape,
        log_prob_at=log_prob_at,
        entropy_at=entropy_at,
        feature_bounds=feature_bounds,
        least_entropy=-math.prod(shape) * (clip * math.log(clip) + (1 - clip) * math.log1p(-clip)),
        fade=fade,
        remove=remove,
    )


def of_bits(spec: InputSpec, settings: BernoulliSettings = BernoulliSettings(), *, xp: Any = None) -> Marginal:
    """The Bernoulli marginal of a world whose entries are bits."""
    require_bits(spec)
    return bernoulli(spec.shape, clip=settings.probability_clip, pseudo_count=settings.pseudo_count, xp=xp)
