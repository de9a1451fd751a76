"""Confidence bounds that begin anew when an arm's feedback has changed, which cumulative sums (Page, 1954) tell.

Of every arm the recent mean mu and deviation sigma are known. With z = (f - mu) / sigma, cut at `cusum_clip`, two sums
grow while feedback is off to one side by more than the slack d, and fall back to 0 else:

    up' = max(0, up + z - d),    down' = max(0, down - z - d)

One of them above the threshold says that the arm has changed: the bounds, which are those of `discounted`, and all sums
begin anew. A change of an arm that nobody plays is seen by nobody, so that every now and then the arm that was pulled
least is pulled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sadapt.fields import Count, NotNegative, Positive, Share
from sadapt.motivation.arrays import array_module
from sadapt.motivation.bandits.base import Bandit, Standing, abandoned, begun
from sadapt.motivation.bandits.discounted import DiscountedSettings, DiscountedState, discounted

LEAST = 1e-6
"""Least deviation, relative to the mean, that feedback is measured by."""
FEW = 8
"""Feedbacks of an arm before its sums begin to grow."""


@dataclass(frozen=True)
class CusumSettings(DiscountedSettings):
    """When an arm counts as changed, and how often the other is tried."""

    discounted_memory: Count = 2_000
    """Approximate number of feedback values remembered if nothing changes."""
    cusum_slack: NotNegative = 0.5
    """Standard deviations that feedback may be off without being counted."""
    cusum_threshold: Positive = 20.0
    """Sum of standard deviations beyond the slack that counts as a change."""
    cusum_clip: Positive = 3.0
    """Largest number of standard deviations that a single feedback value can count for."""
    cusum_memory: Count = 200
    """Approximate number of feedback values behind an arm's mean and standard deviation."""
    cusum_explore: Share = 0.03
    """Share of decisions that go to the least-pulled arm."""


class CusumState(NamedTuple):
    """What `DiscountedState` has since the last change; then, since then and per arm, what tells the next one."""

    means: Any
    weights: Any
    squares: Any
    counts: Any
    pending: Any
    level: Any
    """Mean of the recent feedback."""
    variance: Any
    known: Any
    """Feedbacks that these are of."""
    up: Any
    down: Any
    pulls: Any
    """Decisions of each arm that were heard of, of all times."""
    changes: Any
    """How often it began anew."""


def inner(state: CusumState) -> DiscountedState:
    """What the bounds are made of."""
    return DiscountedState(*state[: len(DiscountedState._fields)])


def cusum(arms: int, settings: CusumSettings = CusumSettings(), *, xp: Any = None) -> Bandit:
    """`discounted` that restarts when it detects a change; at random, it tries the least-pulled arm."""
    xp = array_module(xp)
    base = discounted(arms, settings, xp=xp)
    index, memory = xp.arange(arms), xp.float32(settings.cusum_memory)
    slack, most = xp.float32(settings.cusum_slack), xp.float32(settings.cusum_clip)

    def init() -> CusumState:
        sums = {name: xp.zeros((arms,), xp.float32) for name in ("level", "variance", "known", "up", "down")}
        pulls, changes = xp.zeros((arms,), xp.int32), xp.zeros((), xp.int32)
        return CusumState(**base.init()._asdict(), **sums, pulls=pulls, changes=changes)

    def select(draws: Any, state: CusumState) -> tuple[CusumState, Any]:
        best = base.select(draws, inner(state))[1]
        least = xp.argmin(state.counts.astype(xp.float32) + state.pending).astype(xp.int32)
        arm = xp.where(draws[0] < xp.float32(settings.cusum_explore), least, best)
        return begun(state, arm, xp), arm

    def update(state: CusumState, arm: Any, feedback: Any) -> CusumState:
        pulled = index == arm
        known = state.known + pulled.astype(xp.float32)
        floor = xp.float32(LEAST) * xp.maximum(xp.abs(state.level), xp.float32(1))
        away = feedback - state.level
        z = xp.clip(away / xp.maximum(xp.sqrt(state.variance), floor), -most, most)
        counted = (pulled & (known > FEW)).astype(xp.float32)
        up = xp.maximum(state.up + counted * (z - slack), xp.float32(0))
        down = xp.maximum(state.down + counted * (-z - slack), xp.float32(0))
        share = pulled.astype(xp.float32) / xp.minimum(xp.maximum(known, xp.float32(1)), memory)
        after = state._replace(
            **base.update(inner(state), arm, feedback)._asdict(),
            level=state.level + share * away,
            variance=(1 - share) * (state.variance + share * xp.square(away)),
            known=xp.minimum(known, memory),
            up=up,
            down=down,
            pulls=state.pulls + pulled.astype(xp.int32),
        )
        return anew(after, xp.max(xp.maximum(up, down)) > xp.float32(settings.cusum_threshold))

    def anew(state: CusumState, changed: Any) -> CusumState:
        """Nothing known but what is under way and what has been, where something has changed."""
        fresh = init()._replace(pending=state.pending, pulls=state.pulls, changes=state.changes + 1)
        return CusumState(*(xp.where(changed, new, old) for new, old in zip(fresh, state, strict=True)))

    def abandon(state: CusumState, arm: Any) -> CusumState:
        return abandoned(state, arm, xp)

    def standing(state: CusumState) -> Standing:
        return Standing(state.means, state.pulls)

    return Bandit(init=init, select=select, update=update, abandon=abandon, standing=standing, arms=arms)
