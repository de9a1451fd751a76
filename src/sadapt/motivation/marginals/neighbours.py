"""Particle entropy: how far apart the features of an episode's pictures lie. An estimate, not a model.

After Kozachenko and Leonenko (1987), with r_i the distance of the i-th of n particles to its k-th nearest neighbour:

    H = psi(n) - psi(k) + log V_d + d/n sum log r_i,    log p(x) = psi(k) - psi(n + 1) - log V_d - d log r(x)

where V_d is the volume of the unit ball in d dimensions. Only the latest particles are kept. theta, their mean and
variance, is all that the policy sees of them, so that surprise is not a function of the augmented observation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.fields import Count, Positive
from sadapt.motivation.arrays import array_module, smallest
from sadapt.motivation.marginals.base import InputSpec, Marginal
from sadapt.motivation.marginals.features import FeatureSettings, features_of

EULER = 0.5772156649015329


@dataclass(frozen=True)
class NeighbourSettings(FeatureSettings):
    """How particles are compared."""

    neighbours: Count = 3
    """Which nearest neighbour's distance is used, k."""
    particles: Count = 128
    """Latest observations of an episode that are kept and compared."""
    least_distance: Positive = 0.05
    """Smallest distance that counts, in standard deviations of random play."""


class ParticleState(NamedTuple):
    """Features of the latest observations, in a ring; how many observations there were."""

    particles: Any
    count: Any


def nearest_neighbours(
    spec: InputSpec, settings: NeighbourSettings = NeighbourSettings(), *, xp: Any = None
) -> Marginal:
    """An estimate over an image's features; before there is any neighbour, a standard normal's values."""
    xp = array_module(xp)
    return particles(features_of(spec, settings, xp), settings, xp)


def particles(look: Any, settings: NeighbourSettings, xp: Any) -> Marginal:
    """The estimate over what `look` makes of an observation, a vector of `settings.features` numbers."""
    size, most, k = settings.features, settings.particles, settings.neighbours
    if k >= most:
        raise UserError(f"--neighbours must be less than --particles, {most}; got {k}")
    places = np.arange(most, dtype=np.int32)
    psi = xp.asarray(_digamma(most + 2))
    ball = np.float32(size / 2 * math.log(math.pi) - math.lgamma(size / 2 + 1))
    normal = np.float32(size / 2 * math.log(2 * math.pi))

    def init() -> ParticleState:
        return ParticleState(xp.zeros((most, size), xp.float32), xp.zeros((), xp.int32))

    def update(state: ParticleState, obs: Any) -> ParticleState:
        here = (xp.asarray(places) == (state.count % most)[..., None])[..., None]
        return ParticleState(xp.where(here, look(obs)[..., None, :], state.particles), state.count + xp.int32(1))

    def kept(state: ParticleState) -> Any:
        return xp.minimum(state.count, xp.int32(most))

    def nearest(squares: Any, others: Any) -> Any:
        """log of the distance to the k-th of so many others, or to the farthest where there are fewer."""
        which = (xp.minimum(others, xp.int32(k)) - xp.int32(1)).clip(0)
        chosen = xp.take_along_axis(smallest(xp, squares, k), which[..., None], axis=-1)[..., 0]
        return xp.log(xp.maximum(chosen, xp.float32(settings.least_distance**2))) / 2

    def estimate(log_distance: Any, others: Any) -> Any:
        known = psi[xp.minimum(others, xp.int32(k)).clip(1)] - psi[others + 1]
        return known - ball - size * log_distance

    def log_prob(state: ParticleState, obs: Any) -> Any:
        seen, others = look(obs), kept(state)
        squares = ((state.particles - seen[..., None, :]) ** 2).sum(axis=-1)
        squares = xp.where(xp.asarray(places) < others[..., None], squares, xp.float32(np.inf))
        squares = xp.where(others[..., None] > 0, squares, xp.float32(1))
        before = -(seen * seen).sum(axis=-1) / 2 - normal
        return xp.where(others > 0, estimate(nearest(squares, others), others), before)

    def entropy(state: ParticleState) -> Any:
        there, number = xp.asarray(places) < kept(state)[..., None], kept(state)
        squares = _between(xp, state.particles, there)
        others = (number - xp.int32(1)).clip(1)
        rows = xp.broadcast_to(others[..., None], squares.shape[:-1])
        each = xp.where(there & (number > 1)[..., None], -estimate(nearest(squares, rows), rows), xp.float32(0))
        mean = each.sum(axis=-1) / xp.maximum(number, xp.int32(1)).astype(xp.float32)
        return xp.where(number > 1, mean, normal + xp.float32(size / 2))

    def features(state: ParticleState) -> Any:
        return _moments(xp, state.particles, xp.asarray(places) < kept(state)[..., None])

    return Marginal(
        init=init,
        update=update,
        log_prob=log_prob,
        entropy=entropy,
        features=features,
        feature_shape=(2 * size,),
        exact=False,
        told="neighbours, whose surprise and entropy are estimates",
    )


def _between(xp: Any, particles: Any, there: Any) -> Any:
    """Squared distances of all particles to those that are there, infinite to themselves and to those that are not."""
    lengths = (particles**2).sum(axis=-1)
    products = particles @ xp.swapaxes(particles, -1, -2)
    squares = (lengths[..., :, None] + lengths[..., None, :] - 2 * products).clip(0)
    apart = there[..., None, :] & ~xp.eye(particles.shape[-2], dtype=bool)
    return xp.where(apart, squares, xp.float32(np.inf))


def _moments(xp: Any, particles: Any, there: Any) -> Any:
    """Mean and variance of the particles that are there; those that are not are zero."""
    number = xp.maximum(there.sum(axis=-1), 1).astype(xp.float32)[..., None]
    mean = particles.sum(axis=-2) / number
    spread = xp.where(there[..., None], (particles - mean[..., None, :]) ** 2, xp.float32(0)).sum(axis=-2)
    return xp.concatenate([mean, spread / number], axis=-1)


def _digamma(count: int) -> np.ndarray:
    """psi of 0 to count - 1; of 0, which is never asked, 0."""
    found = np.zeros(count, np.float64)
    found[1:] = -EULER + np.concatenate([[0.0], np.cumsum(1 / np.arange(1, count - 1))])
    return found.astype(np.float32)
