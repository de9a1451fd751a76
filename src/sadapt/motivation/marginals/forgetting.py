"""Marginals that forget, of any family: what was seen fades with a half-life, or drops out of a sliding window.

With a half-life h an observation weighs 2^(-k / h) k steps later. Sums S' = l S + f(s) and n' = l n + 1 with
l = 2^(-1 / h) follow from S, n and s alone, so that (theta, n) stays a sufficient statistic and the augmented
observation stays Markovian, exactly; n tends to 1 / (1 - l) and is a function of time. What a window drops next is
not in theta: there it is so only together with the window's content, which the state holds and the policy does not see.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.fields import Bound, Checked, Count
from sadapt.motivation.arrays import array_module
from sadapt.motivation.marginals.base import MAX_COUNT, InputSpec, Marginal, MarginalState

HalfLife = Annotated[float, Bound(lambda value: value >= 1, "must be at least 1 step")]


@dataclass(frozen=True)
class MemorySettings(Checked):
    """What the marginal forgets."""

    half_life: HalfLife | None = None
    """Steps in which an observation's weight in the marginal halves; by default none, in a stream half the horizon."""
    window: Count | None = None
    """Number of latest observations that the marginal remembers, instead of a half-life."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.half_life is not None and self.window is not None:
            raise UserError(
                f"the marginal forgets with a half-life ({self.half_life:g}) or in a window ({self.window}): give one"
            )

    @property
    def lasting(self) -> bool:
        """Whether nothing is forgotten."""
        return self.window is None and (self.half_life is None or math.isinf(self.half_life))


class WindowState(NamedTuple):
    """The window's observations, and what the family makes of them."""

    family: MarginalState
    """Of all observations in the window."""
    renewed: MarginalState
    """Of those since the ring began anew: it takes the place of `family` then, so that no error is kept for long."""
    ring: Any
    """The observations, in the order of their places."""
    seen: Any
    """Observations so far, up to twice the window, from where on it goes back to the window."""


def forgetting(marginal: Marginal, spec: InputSpec, memory: MemorySettings, *, xp: Any = None) -> Marginal:
    """The family with this memory; the family itself where nothing is forgotten."""
    if memory.lasting:
        return marginal
    if memory.window is not None:
        return sliding(marginal, spec, memory.window, xp=xp)
    assert memory.half_life is not None
    return fading(marginal, memory.half_life, source=spec.source)


def fading(marginal: Marginal, half_life: float, *, source: str = "this world") -> Marginal:
    """What was seen k steps ago weighs 2^(-k / half_life)."""
    fade, family = marginal.fade, marginal.update
    if fade is None:
        raise UserError(f"the marginal of {source!r} cannot fade (it has no `fade`): use another, or no --half-life")
    keep = 0.5 ** (1 / half_life)
    return marginal._replace(
        init=lambda: fade(marginal.init(), 1.0),
        update=lambda state, obs: family(fade(state, keep), obs),
        filled=lambda t: 1 - np.float32(keep) ** (t + 1).astype(np.float32),
    )


def sliding(marginal: Marginal, spec: InputSpec, window: int, *, xp: Any = None) -> Marginal:
    """The latest `window` observations, and nothing of those before."""
    remove, xp = marginal.remove, array_module(xp)
    if remove is None:
        raise UserError(
            f"the marginal of {spec.source!r} cannot remove observations (it has no `remove`): use another, or "
            "--half-life instead of --window"
        )
    if window >= MAX_COUNT:
        raise UserError(f"--window must be less than {MAX_COUNT}; got {window}")
    axis = -len(spec.shape) - 1

    def init() -> WindowState:
        ring = xp.zeros((window, *spec.shape), spec.dtype)
        return WindowState(marginal.init(), marginal.init(), ring, xp.zeros((), xp.int32))

    def update(state: WindowState, obs: Any) -> WindowState:
        place, full = state.seen % window, state.seen >= window
        oldest = taken(xp, state.ring, place, axis)
        grown, renewed = marginal.update(state.family, obs), marginal.update(state.renewed, obs)
        family = _either(xp, full, remove(grown, oldest), grown)
        again = place == window - 1
        seen = xp.where(state.seen + 1 == 2 * window, window, state.seen + 1).astype(xp.int32)
        family, renewed = _either(xp, again, renewed, family), _either(xp, again, marginal.init(), renewed)
        return WindowState(family, renewed, put(xp, state.ring, place, obs, axis), seen)

    return marginal._replace(
        init=init,
        update=update,
        log_prob=lambda state, obs: marginal.log_prob(state.family, obs),
        entropy=lambda state: marginal.entropy(state.family),
        features=lambda state: marginal.features(state.family),
        fade=None,
        remove=None,
        filled=lambda t: xp.minimum(t + 1, window).astype(np.float32) / np.float32(window),
    )


def taken(xp: Any, ring: Any, place: Any, axis: int) -> Any:
    """What stands at a place of the ring; of several rings along leading axes, in NumPy."""
    if xp is not np:
        return ring[place]
    return np.take_along_axis(ring, np.expand_dims(place, tuple(range(axis, 0))), axis).squeeze(axis)


def put(xp: Any, ring: Any, place: Any, obs: Any, axis: int) -> Any:
    """The ring with `obs` at a place."""
    if xp is not np:
        return ring.at[place].set(obs.astype(ring.dtype))
    row = np.expand_dims(obs, axis).astype(ring.dtype)
    ring = ring.copy()
    np.put_along_axis(ring, np.broadcast_to(np.expand_dims(place, tuple(range(axis, 0))), row.shape), row, axis)
    return ring


def _either(xp: Any, which: Any, yes: Any, no: Any) -> Any:
    """Field by field, `yes` where `which` holds, else `no`; the states of several parts are a tuple of states."""
    if not isinstance(no, tuple):
        return xp.where(which[(..., *[None] * (no.ndim - which.ndim))], yes, no)
    fields = [_either(xp, which, a, b) for a, b in zip(yes, no, strict=True)]
    return type(no)(*fields) if hasattr(no, "_fields") else tuple(fields)
