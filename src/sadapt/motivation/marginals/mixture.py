"""What a world has, part by part: a vector that is joined from several, with a marginal for each.

log p and H are sums over the parts, theta is one vector of theirs, one after another. A single part is itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.motivation.arrays import array_module
from sadapt.motivation.marginals.base import InputSpec, Marginal


class Piece(NamedTuple):
    """A part of the vector with its marginal."""

    spec: InputSpec
    marginal: Marginal
    entries: slice
    """Its place in the observation."""
    theta: slice
    """Its place in theta."""


def mixture(spec: InputSpec, each: Callable[..., Marginal], *, xp: Any = None) -> Marginal:
    """log p(x) = sum over parts of log p(part),  H likewise; `each(spec, xp=...)` makes the marginal of a part."""
    if not spec.parts:
        raise UserError(f"a mixture needs a world that shows several parts; {spec.source!r} shows one: use auto")
    xp = array_module(xp)
    pieces = _pieces(spec, [each(part, xp=xp) for part in spec.parts])
    size = pieces[-1].theta.stop

    def own(piece: Piece, theta: Any) -> Any:
        part = theta[..., piece.theta]
        return part.reshape(*part.shape[:-1], *piece.marginal.feature_shape)

    def update(state: tuple[Any, ...], obs: Any) -> tuple[Any, ...]:
        pairs = zip(pieces, state, strict=True)
        return tuple(piece.marginal.update(inner, taken(piece, obs)) for piece, inner in pairs)

    def features(state: tuple[Any, ...]) -> Any:
        found = [piece.marginal.features(inner) for piece, inner in zip(pieces, state, strict=True)]
        ranks = [len(piece.marginal.feature_shape) for piece in pieces]
        return xp.concatenate(
            [theta.reshape(*theta.shape[: theta.ndim - rank], -1) for theta, rank in zip(found, ranks, strict=True)],
            axis=-1,
        )

    def log_prob(state: tuple[Any, ...], obs: Any) -> Any:
        pairs = zip(pieces, state, strict=True)
        return _sum([piece.marginal.log_prob(inner, taken(piece, obs)) for piece, inner in pairs])

    def log_prob_at(theta: Any, obs: Any) -> Any:
        return _sum([_given(p.marginal.log_prob_at)(own(p, theta), taken(p, obs)) for p in pieces])

    def bounds(low: Any, high: Any) -> tuple[Any, Any]:
        found = [_given(piece.marginal.feature_bounds)(piece.spec.low, piece.spec.high) for piece in pieces]
        lows, highs = zip(*found, strict=True)
        return tuple(np.concatenate([np.ravel(bound) for bound in side]) for side in (lows, highs))  # type: ignore[return-value]

    known = all(piece.marginal.log_prob_at and piece.marginal.entropy_at for piece in pieces)
    bounded = all(piece.marginal.feature_bounds for piece in pieces)
    floors = [piece.marginal.least_entropy for piece in pieces]
    return Marginal(
        init=lambda: tuple(piece.marginal.init() for piece in pieces),
        update=update,
        log_prob=log_prob,
        entropy=lambda state: _sum([p.marginal.entropy(inner) for p, inner in zip(pieces, state, strict=True)]),
        features=features,
        feature_shape=(size,),
        log_prob_at=log_prob_at if known else None,
        entropy_at=(lambda theta: _sum([_given(p.marginal.entropy_at)(own(p, theta)) for p in pieces]))
        if known
        else None,
        feature_bounds=bounds if bounded else None,
        least_entropy=None if None in floors else math.fsum(floors),  # type: ignore[arg-type]
        fade=_fade(pieces),
        remove=_remove(pieces),
        exact=all(piece.marginal.exact for piece in pieces),
        told="; ".join(f"{p.spec.source}: {p.marginal.told}" for p in pieces if p.marginal.told),
    )


def _pieces(spec: InputSpec, marginals: list[Marginal]) -> list[Piece]:
    """The parts with their places in the observation and in theta."""
    sizes = [math.prod(part.shape) for part in spec.parts]
    if (sum(sizes),) != spec.shape:
        raise UserError(f"the parts of {spec.source!r} have {sum(sizes)} entries together, not the shape {spec.shape}")
    thetas = [math.prod(marginal.feature_shape) for marginal in marginals]
    places = zip(pairwise(np.cumsum([0, *sizes]).tolist()), pairwise(np.cumsum([0, *thetas]).tolist()), strict=True)
    return [
        Piece(part, marginal, slice(*entries), slice(*theta))
        for part, marginal, (entries, theta) in zip(spec.parts, marginals, places, strict=True)
    ]


def taken(piece: Piece, obs: Any) -> Any:
    """A part's own entries."""
    part = obs[..., piece.entries]
    return part.reshape(*part.shape[:-1], *piece.spec.shape).astype(piece.spec.dtype)


def _fade(pieces: list[Piece]) -> Callable[[Any, Any], Any] | None:
    """All parts fade, where all of them can."""
    if not all(piece.marginal.fade for piece in pieces):
        return None
    return lambda state, keep: tuple(
        _given(piece.marginal.fade)(inner, keep) for piece, inner in zip(pieces, state, strict=True)
    )


def _remove(pieces: list[Piece]) -> Callable[[Any, Any], Any] | None:
    """All parts take an observation back, where all of them can."""
    if not all(piece.marginal.remove for piece in pieces):
        return None
    return lambda state, obs: tuple(
        _given(piece.marginal.remove)(inner, taken(piece, obs)) for piece, inner in zip(pieces, state, strict=True)
    )


def _sum(terms: list[Any]) -> Any:
    """Terms added up from the first, so that a single one is itself."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _given(function: Callable[..., Any] | None) -> Callable[..., Any]:
    """A function that is there."""
    assert function is not None
    return function
