"""Upper confidence bounds, the paper's bandit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from sadapt.errors import UserError
from sadapt.fields import Checked, NotNegative
from sadapt.motivation.arrays import array_module, carried
from sadapt.motivation.bandits.base import Bandit, Standing, abandoned, begun, highest


@dataclass(frozen=True)
class UCBSettings(Checked):
    """How eagerly the other arm is tried."""

    ucb_c: NotNegative = math.sqrt(2)
    """Exploration bonus."""


class MeansState(NamedTuple):
    """Per arm: the mean feedback, how many episodes ended, how many are under way; and how many ended altogether."""

    means: Any
    counts: Any
    pending: Any
    heard: Any
    lost: Any
    """What rounding has cut off the means, so far."""


def fresh_means(arms: int, xp: Any) -> MeansState:
    """Nothing pulled, nothing heard; whole numbers count what ended, since 32-bit fractions end at 2^24."""
    zeros, whole = xp.zeros((arms,), xp.float32), xp.zeros((arms,), xp.int32)
    return MeansState(means=zeros, counts=whole, pending=zeros, heard=xp.zeros((), xp.int32), lost=zeros)


def standing(state: MeansState) -> Standing:
    """Means and counts as they are."""
    return Standing(state.means, state.counts)


def ucb(arms: int = 2, *, c: float = math.sqrt(2), xp: Any = None) -> Bandit:
    """Upper confidence bounds: argmax_i mu_i + c sqrt(log t / N_i), N_i with pending pulls, t = sum of N_i.

    An arm never pulled goes first; equal scores are decided by the larger draw, so the very first arm is uniform.
    """
    if arms < 1 or not c >= 0:
        raise UserError(f"UCB needs at least one arm and c >= 0; got arms={arms}, c={c}")
    xp = array_module(xp)
    index = xp.arange(arms)

    def init() -> MeansState:
        return fresh_means(arms, xp)

    def select(draws: Any, state: MeansState) -> tuple[MeansState, Any]:
        pulls = state.counts.astype(xp.float32) + state.pending
        log_total = xp.log(xp.maximum(xp.sum(pulls), xp.float32(1)))
        bonus = xp.float32(c) * xp.sqrt(log_total / xp.maximum(pulls, xp.float32(1)))
        scores = xp.where(pulls > 0, state.means + bonus, xp.float32(xp.inf))
        arm = highest(draws, scores, xp)
        return begun(state, arm, xp), arm

    def update(state: MeansState, arm: Any, feedback: Any) -> MeansState:
        pulled = index == arm
        counts = state.counts + pulled.astype(xp.int32)
        step = (feedback - state.means) / xp.maximum(counts, 1).astype(xp.float32)
        means, lost = carried(xp, pulled, state.means, state.lost, step)
        return abandon(state, arm)._replace(means=means, counts=counts, heard=state.heard + 1, lost=lost)

    def abandon(state: MeansState, arm: Any) -> MeansState:
        return abandoned(state, arm, xp)

    return Bandit(init=init, select=select, update=update, abandon=abandon, standing=standing, arms=arms)


def from_settings(arms: int, settings: UCBSettings = UCBSettings(), *, xp: Any = None) -> Bandit:
    """The paper's upper confidence bounds: mean feedback plus a bonus for arms that were rarely pulled."""
    return ucb(arms, c=settings.ucb_c, xp=xp)
