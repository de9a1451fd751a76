"""UCB in units of the feedback's own spread: c means the same in every world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sadapt.fields import Checked, NotNegative
from sadapt.motivation.arrays import array_module
from sadapt.motivation.bandits.base import Bandit, Standing, abandoned, begun


@dataclass(frozen=True)
class RelativeSettings(Checked):
    """How eagerly the other arm is tried."""

    relative_c: NotNegative = 5.0
    """Exploration of the bandit, in deviations of all feedback so far."""


class RelativeState(NamedTuple):
    """Per arm: mean feedback, episodes that ended, that are under way; and the moments of all feedback (Welford's)."""

    means: Any
    counts: Any
    pending: Any
    mean: Any
    spread: Any
    """Sum of squared deviations from `mean`."""


def relative(arms: int, settings: RelativeSettings = RelativeSettings(), *, xp: Any = None) -> Bandit:
    """argmax_i mu_i + c s sqrt(log t / N_i), with s the standard deviation of all feedback so far.

    Feedback a + b f gives the same choices as f, for any b > 0. An arm never heard of goes first, the one with the
    fewest episodes under way before the others; equal scores are decided by the larger draw.
    """
    xp = array_module(xp)
    index = xp.arange(arms)

    def init() -> RelativeState:
        zeros, zero = xp.zeros((arms,), xp.float32), xp.zeros((), xp.float32)
        return RelativeState(zeros, zeros, zeros, zero, zero)

    def select(draws: Any, state: RelativeState) -> tuple[RelativeState, Any]:
        pulls = state.counts + state.pending
        total = xp.maximum(xp.sum(state.counts), xp.float32(1))
        deviation = xp.sqrt(state.spread / total)
        log_total = xp.log(xp.maximum(xp.sum(pulls), xp.float32(1)))
        bonus = xp.float32(settings.relative_c) * deviation * xp.sqrt(log_total / xp.maximum(pulls, xp.float32(1)))
        scores = xp.where(state.counts > 0, state.means + bonus, xp.float32(xp.inf))
        waiting = xp.where(xp.isinf(scores), -pulls, xp.float32(0))
        best = (scores == xp.max(scores)) & (waiting == xp.max(xp.where(scores == xp.max(scores), waiting, -xp.inf)))
        arm = xp.argmax(xp.where(best, draws, xp.float32(-1))).astype(xp.int32)
        return begun(state, arm, xp), arm

    def update(state: RelativeState, arm: Any, feedback: Any) -> RelativeState:
        pulled = (index == arm).astype(xp.float32)
        counts = state.counts + pulled
        means = state.means + pulled * (feedback - state.means) / xp.maximum(counts, xp.float32(1))
        away = feedback - state.mean
        mean = state.mean + away / xp.sum(counts)
        spread = state.spread + away * (feedback - mean)
        return abandon(state, arm)._replace(means=means, counts=counts, mean=mean, spread=spread)

    def abandon(state: RelativeState, arm: Any) -> RelativeState:
        return abandoned(state, arm, xp)

    def standing(state: RelativeState) -> Standing:
        return Standing(state.means, state.counts)

    return Bandit(init=init, select=select, update=update, abandon=abandon, standing=standing, arms=arms)
