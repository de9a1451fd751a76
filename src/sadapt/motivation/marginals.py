"""State marginals p_theta: what the agent has seen so far this episode, one independent distribution per entry.

A marginal is reset with the episode, updated with every observation, and asked how likely the next one is *before*
that one is added. The functions are written for one example, or for several along leading axes, and for one array
module, `xp`: JAX in the training program, NumPy in the Gymnasium wrappers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError, nearest
from sadapt.motivation.arrays import array_module

MarginalState = Any


class Marginal(NamedTuple):
    """A family of distributions over observations, fitted by maximum likelihood to those seen so far."""

    init: Callable[[], MarginalState]
    """State before any observation."""
    update: Callable[[MarginalState, Any], MarginalState]
    """`update(state, obs) -> state` with `obs` added."""
    log_prob: Callable[[MarginalState, Any], Any]
    """`log p_theta(obs)`, in nats, summed over entries."""
    entropy: Callable[[MarginalState], Any]
    """`H(p_theta)`, in nats, summed over entries."""
    features: Callable[[MarginalState], Any]
    """theta as the policy sees it."""
    feature_shape: tuple[int, ...]
    log_prob_at: Callable[[Any, Any], Any]
    """`log_prob` where theta is known already, as `features` gave it."""
    entropy_at: Callable[[Any], Any]
    """`entropy`, likewise."""


class BernoulliState(NamedTuple):
    """How often each entry was one (uint16: exact, and small in replay), in how many observations."""

    ones: Any
    count: Any


MAX_COUNT = 2**16 - 1
"""Most observations that a Bernoulli state can count in one episode."""


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
    entries, beside_entries = _axes(shape)
    least, most = xp.float32(clip), xp.float32(1 - clip)

    def init() -> BernoulliState:
        return BernoulliState(ones=xp.zeros(shape, xp.uint16), count=xp.zeros((), xp.float32))

    def update(state: BernoulliState, obs: Any) -> BernoulliState:
        return BernoulliState(ones=state.ones + obs.astype(xp.uint16), count=state.count + xp.float32(1))

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

    return Marginal(init, update, log_prob, entropy, features, shape, log_prob_at, entropy_at)


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
    least_variance = std_floor**2
    xp = array_module(xp)
    entries, beside_entries = _axes(shape)

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

    def entropy_at(theta: Any) -> Any:
        return disorder(theta[..., shape[-1] :])

    def features(state: GaussianState) -> Any:
        return xp.concatenate([state.mean, variance(state)], axis=-1)

    feature_shape = (*shape[:-1], 2 * shape[-1])
    return Marginal(init, update, log_prob, entropy, features, feature_shape, log_prob_at, entropy_at)


FAMILIES: dict[str, Callable[..., Marginal]] = {"bernoulli": bernoulli, "gaussian": gaussian}


def _axes(shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The axes of an observation's entries, and the index that stands a number per example beside them."""
    return tuple(range(-len(shape), 0)), (..., *[None] * len(shape))


def require_pseudo_count(pseudo_count: float) -> None:
    """Refuses a number of extra observations that is negative or not a number."""
    if not 0 <= pseudo_count < math.inf:
        raise UserError(f"pseudo_count must be zero or more all-zero observations; got {pseudo_count}")


def require_binary(source: str, low: float, high: float, dtype: Any) -> None:
    """Refuses a Bernoulli marginal on observations that are not 0/1 maps."""
    if (low, high) != (0, 1) or not (np.issubdtype(np.dtype(dtype), np.integer) or np.dtype(dtype) == bool):
        raise UserError(
            f"a Bernoulli marginal needs 0/1 observations; {source!r} gives {np.dtype(dtype)} values in "
            f"[{low:g}, {high:g}]: use --marginal gaussian"
        )


def marginal_family(kind: str) -> Callable[..., Marginal]:
    """The factory of a family by name."""
    if kind not in FAMILIES:
        raise UserError(f"unknown marginal {kind!r}: {nearest(kind, FAMILIES)}")
    return FAMILIES[kind]
