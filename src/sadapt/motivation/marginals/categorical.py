"""One category per cell with a Dirichlet(1/2) prior, for maps of whole numbers and for one-hot channels.

theta_k = (n_k + 1/2) / (n + K/2) after n observations, n_k of them k. Surprises along an episode add up to the length
of its code, -log of Gamma(K/2) prod Gamma(n_k + 1/2) / (Gamma(1/2)^K Gamma(n + K/2)) nats a cell, whatever the order.
With two categories this is `kt`. Of one-hot channels it models which one is set: they are not independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.fields import Checked, Count
from sadapt.motivation.arrays import array_module
from sadapt.motivation.marginals.base import InputSpec, Marginal, axes, faded

MOST = 256
"""Categories of a cell that are still counted one by one."""
OneHot = Literal["auto", "no", "channels", "channels-or-none"]


@dataclass(frozen=True)
class CategoricalSettings(Checked):
    """What the categories of a cell are."""

    categories: Count | None = None
    """Number of values an integer entry can take, counted from its lower bound; by default all within its bounds."""
    one_hot: OneHot = "auto"
    """Whether the channels of a cell are one category, with one of them set, or none; auto asks the world."""


class CategoricalState(NamedTuple):
    """How often each category was seen (uint16: exact, and small in replay), in how many observations."""

    counts: Any
    count: Any


class Cells(NamedTuple):
    """How an observation becomes one 1 among the categories of each of its cells, along the last axis."""

    shape: tuple[int, ...]
    """Of the categories of all cells."""
    encode: Callable[[Any], Any]
    """Whether each category is the one that is seen."""
    sizes: tuple[int, ...]
    """Categories of the cells along the last axis."""


def categorical(spec: InputSpec, settings: CategoricalSettings = CategoricalSettings(), *, xp: Any = None) -> Marginal:
    """log p(x) = sum over cells of log theta_x,  H = -sum over cells and categories of theta_k log theta_k."""
    xp = array_module(xp)
    cells = _cells(spec, settings, xp)
    entries, beside_entries = axes(cells.shape)
    prior = np.repeat(np.asarray(cells.sizes, np.float32) / 2, cells.sizes)

    def init() -> CategoricalState:
        return CategoricalState(counts=xp.zeros(cells.shape, xp.uint16), count=xp.zeros((), xp.float32))

    def update(state: CategoricalState, obs: Any) -> CategoricalState:
        return CategoricalState(
            state.counts + cells.encode(obs).astype(state.counts.dtype), state.count + xp.float32(1)
        )

    def remove(state: CategoricalState, obs: Any) -> CategoricalState:
        return CategoricalState(
            state.counts - cells.encode(obs).astype(state.counts.dtype), state.count - xp.float32(1)
        )

    def features(state: CategoricalState) -> Any:
        count = state.count[beside_entries] + xp.asarray(prior.reshape((1,) * (len(cells.shape) - 1) + prior.shape))
        return (state.counts.astype(xp.float32) + xp.float32(0.5)) / count

    def log_prob_at(theta: Any, obs: Any) -> Any:
        return xp.where(cells.encode(obs), xp.log(theta), xp.float32(0)).sum(axis=entries)

    def entropy_at(theta: Any) -> Any:
        return -(theta * xp.log(theta)).sum(axis=entries)

    return Marginal(
        init=init,
        update=update,
        log_prob=lambda state, obs: log_prob_at(features(state), obs),
        entropy=lambda state: entropy_at(features(state)),
        features=features,
        feature_shape=cells.shape,
        log_prob_at=log_prob_at,
        entropy_at=entropy_at,
        feature_bounds=lambda low, high: (np.zeros(cells.shape, np.float32), np.ones(cells.shape, np.float32)),
        fade=faded("counts", "count"),
        remove=remove,
    )


def _cells(spec: InputSpec, settings: CategoricalSettings, xp: Any) -> Cells:
    """The categories that the settings ask for, or that the world says it has."""
    one_hot = settings.one_hot
    if one_hot == "auto":
        one_hot = "channels" if spec.groups and settings.categories is None else "no"
    if one_hot == "no":
        return _of_numbers(spec, settings.categories, xp)
    if not spec.binary:
        raise UserError(
            f"one_hot channels are 0 or 1; {spec.source!r} gives {np.dtype(spec.dtype)} values in "
            f"[{np.min(spec.low):g}, {np.max(spec.high):g}]: leave one_hot out, or use --marginal gaussian"
        )
    return _of_channels(spec, one_hot == "channels-or-none", xp)


def _of_numbers(spec: InputSpec, categories: int | None, xp: Any) -> Cells:
    """A cell per entry, a category per value."""
    size = spec.values if categories is None else categories
    if spec.spacing is None or size is None or not 2 <= size <= MOST:
        raise UserError(
            f"a categorical marginal needs integers with 2 to {MOST} values; {spec.source!r} gives "
            f"{np.dtype(spec.dtype)} values in [{np.min(spec.low):g}, {np.max(spec.high):g}]: "
            + ("use --marginal gaussian" if spec.spacing is None else "give --categories, or use --marginal gaussian")
        )
    shape = (*spec.shape[:-1], spec.shape[-1] * size)
    least, finest, most = np.float32(np.min(spec.low)), np.float32(1 / spec.spacing), np.float32(size - 1)
    known = np.arange(size, dtype=np.int32).reshape((1,) * len(spec.shape) + (size,))

    def encode(obs: Any) -> Any:
        places = xp.round((obs.astype(xp.float32) - least) * finest).clip(np.float32(0), most).astype(xp.int32)
        chosen = places[..., None] == xp.asarray(known)
        return chosen.reshape(*obs.shape[:-1], shape[-1])

    return Cells(shape, encode, (size,) * spec.shape[-1])


def _of_channels(spec: InputSpec, or_none: bool, xp: Any) -> Cells:
    """A cell per group of channels, a category per channel; of several that are set, the first counts."""
    groups = (spec.groups or (spec.shape[-1],)) if not or_none else (spec.shape[-1],)
    if sum(groups) != spec.shape[-1]:
        raise UserError(f"the groups {groups} of {spec.source!r} are not its {spec.shape[-1]} channels")
    sizes = tuple(size + or_none for size in groups)
    starts = np.cumsum([0, *groups])

    def encode(obs: Any) -> Any:
        return xp.concatenate(
            [first(obs[..., start : start + size]) for start, size in zip(starts, groups, strict=False)], axis=-1
        )

    def first(channels: Any) -> Any:
        is_set = channels.astype(bool)
        if or_none:
            is_set = xp.concatenate([is_set, ~is_set.any(axis=-1, keepdims=True)], axis=-1)
        return is_set & (xp.cumsum(is_set, axis=-1) == 1)

    return Cells((*spec.shape[:-1], sum(sizes)), encode, sizes)
