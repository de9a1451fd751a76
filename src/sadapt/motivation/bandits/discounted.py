"""Discounted upper confidence bounds (Garivier and Moulines, 2011), for arms that change: what was heard fades.

Each feedback weighs g = 1 - 1 / memory of what it did when the next is heard. With n_i the weights' sum and mu_i the
mean of arm i under them, and s the deviation of feedback within the arms, the arm pulled is

    argmax_i  mu_i + c s sqrt(ln(sum_j n_j) / n_i)

so that an arm which was not heard of for long is tried again. Feedback a + b f gives the same choices as f for b > 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sadapt.fields import Checked, Count, NotNegative
from sadapt.motivation.arrays import array_module
from sadapt.motivation.bandits.base import LEAST, Bandit, Standing, abandoned, begun, highest, listened


@dataclass(frozen=True)
class DiscountedSettings(Checked):
    """How long feedback is remembered, and how eagerly the other arm is tried."""

    discounted_memory: Count = 500
    """Approximate number of feedback values remembered."""
    discounted_c: NotNegative = 1.0
    """Exploration bonus, in standard deviations of the feedback."""


class DiscountedState(NamedTuple):
    """Per arm: the recent feedback's mean, weight, squared deviations; decisions that were heard of, under way."""

    means: Any
    weights: Any
    squares: Any
    counts: Any
    pending: Any


def discounted(arms: int, settings: DiscountedSettings = DiscountedSettings(), *, xp: Any = None) -> Bandit:
    """UCB with a fading memory; an arm never pulled goes first, ties are broken at random."""
    xp = array_module(xp)
    least = xp.float32(LEAST)
    keep = xp.float32(1 - 1 / settings.discounted_memory)

    def init() -> DiscountedState:
        zeros = xp.zeros((arms,), xp.float32)
        return DiscountedState(zeros, zeros, zeros, xp.zeros((arms,), xp.int32), zeros)

    def select(draws: Any, state: DiscountedState) -> tuple[DiscountedState, Any]:
        pulls = state.weights + state.pending
        spread = xp.sqrt(xp.sum(state.squares) / xp.maximum(xp.sum(state.weights), least))
        wide = xp.sqrt(xp.log(xp.maximum(xp.sum(pulls), xp.float32(1))) / xp.maximum(pulls, least))
        never = (state.counts == 0) & (state.pending == 0)
        scores = xp.where(never, xp.float32(xp.inf), state.means + xp.float32(settings.discounted_c) * spread * wide)
        arm = highest(draws, scores, xp)
        return begun(state, arm, xp), arm

    def update(state: DiscountedState, arm: Any, feedback: Any) -> DiscountedState:
        return listened(state, arm, feedback, keep, xp)

    def abandon(state: DiscountedState, arm: Any) -> DiscountedState:
        return abandoned(state, arm, xp)

    def standing(state: DiscountedState) -> Standing:
        return Standing(state.means, state.counts)

    return Bandit(init=init, select=select, update=update, abandon=abandon, standing=standing, arms=arms)
