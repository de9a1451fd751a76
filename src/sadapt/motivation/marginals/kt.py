"""Bernoulli per entry with the prior of Krichevsky and Trofimov (1981): no clip, no pseudo-count.

theta = (ones + 1/2) / (n + 1), the mean of Beta(1/2, 1/2) after n observations. Surprises along an episode add up to
the length of its code, -log B(ones + 1/2, n - ones + 1/2) / B(1/2, 1/2) nats an entry, whatever the order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sadapt.motivation.arrays import array_module
from sadapt.motivation.marginals.base import InputSpec, Marginal, axes, require_bits
from sadapt.motivation.marginals.bernoulli import BernoulliState, fade, remove


def kt(spec: InputSpec, *, xp: Any = None) -> Marginal:
    """log p(x) = sum x log theta + (1 - x) log(1 - theta),  H = -sum theta log theta + (1 - theta) log(1 - theta)."""
    require_bits(spec)
    xp = array_module(xp)
    entries, beside_entries = axes(spec.shape)

    def init() -> BernoulliState:
        return BernoulliState(ones=xp.zeros(spec.shape, xp.uint16), count=xp.zeros((), xp.float32))

    def update(state: BernoulliState, obs: Any) -> BernoulliState:
        return BernoulliState(ones=state.ones + obs.astype(state.ones.dtype), count=state.count + xp.float32(1))

    def features(state: BernoulliState) -> Any:
        return (state.ones.astype(xp.float32) + xp.float32(0.5)) / (state.count + xp.float32(1))[beside_entries]

    def log_prob_at(theta: Any, obs: Any) -> Any:
        return xp.log(xp.where(obs.astype(bool), theta, 1 - theta)).sum(axis=entries)

    def entropy_at(theta: Any) -> Any:
        return -(theta * xp.log(theta) + (1 - theta) * xp.log(1 - theta)).sum(axis=entries)

    return Marginal(
        init=init,
        update=update,
        log_prob=lambda state, obs: log_prob_at(features(state), obs),
        entropy=lambda state: entropy_at(features(state)),
        features=features,
        feature_shape=spec.shape,
        log_prob_at=log_prob_at,
        entropy_at=entropy_at,
        feature_bounds=lambda low, high: (np.zeros(spec.shape, np.float32), np.ones(spec.shape, np.float32)),
        fade=fade,
        remove=remove,
    )
