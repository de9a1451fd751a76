"""A Bernoulli per entry with a prior: theta = (ones + a) / (n + 2a), which needs no clip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sadapt.fields import Checked, Positive
from sadapt.motivation.arrays import array_module
from sadapt.motivation.marginals import InputSpec, Marginal
from sadapt.registry import register


@dataclass(frozen=True)
class SmoothedSettings(Checked):
    """The prior."""

    prior: Positive = 0.5
    """Imagined observations of each value, a."""


class SmoothedState(NamedTuple):
    """How often each entry was one, in how many observations."""

    ones: Any
    count: Any


def smoothed(spec: InputSpec, settings: SmoothedSettings = SmoothedSettings(), xp: Any = None) -> Marginal:
    """For bits; written for JAX and for NumPy alike, by `xp`."""
    xp = array_module(xp)
    axes = tuple(range(-len(spec.shape), 0))
    beside = (..., *[None] * len(spec.shape))
    prior = xp.float32(settings.prior)

    def init() -> SmoothedState:
        return SmoothedState(xp.zeros(spec.shape, xp.float32), xp.zeros((), xp.float32))

    def update(state: SmoothedState, obs: Any) -> SmoothedState:
        return SmoothedState(state.ones + obs.astype(xp.float32), state.count + xp.float32(1))

    def features(state: SmoothedState) -> Any:
        return (state.ones + prior) / (state.count[beside] + 2 * prior)

    def log_prob(state: SmoothedState, obs: Any) -> Any:
        p = features(state)
        return xp.log(xp.where(obs.astype(bool), p, 1 - p)).sum(axis=axes)

    def entropy(state: SmoothedState) -> Any:
        p = features(state)
        return -(p * xp.log(p) + (1 - p) * xp.log(1 - p)).sum(axis=axes)

    return Marginal(
        init=init, update=update, log_prob=log_prob, entropy=entropy, features=features, feature_shape=spec.shape
    )


register("marginal", "smoothed", smoothed, settings=SmoothedSettings)
