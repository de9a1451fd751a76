"""Bandits that choose the episode's arm: 0 = maximise surprise, 1 = minimise it; any number of arms.

Chance stays with the caller, who passes uniform draws that break ties. Episodes that have begun and not yet ended are
*pending*: they count as pulls, so that worlds side by side spread over the arms instead of all taking one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from sadapt.errors import UserError
from sadapt.motivation.arrays import array_module


class BanditState(NamedTuple):
    """Per arm: the mean feedback, how many episodes ended, how many are under way; and how many ended altogether."""

    means: Any
    counts: Any
    pending: Any
    heard: Any = 0


class Bandit(NamedTuple):
    """A choice among arms that learns from feedback."""

    init: Callable[[], BanditState]
    select: Callable[[Any, BanditState], tuple[BanditState, Any]]
    """`select(draws, state) -> (state, arm)`, `draws` uniform in [0, 1) per arm; the pull is pending from then on."""
    update: Callable[[BanditState, Any, Any], BanditState]
    """`update(state, arm, feedback) -> state`, closing one pending pull of `arm`."""
    abandon: Callable[[BanditState, Any], BanditState]
    """`abandon(state, arm) -> state`, as if one pending pull of `arm` had never been."""
    arms: int


def ucb(arms: int = 2, *, c: float = math.sqrt(2), xp: Any = None) -> Bandit:
    """Upper confidence bounds: argmax_i mu_i + c sqrt(log t / N_i), N_i with pending pulls, t = sum of N_i.

    An arm never pulled goes first; equal scores are decided by the larger draw, so the very first arm is uniform.
    """
    if arms < 1 or not c >= 0:
        raise UserError(f"UCB needs at least one arm and c >= 0; got arms={arms}, c={c}")
    xp = array_module(xp)
    index = xp.arange(arms)

    def init() -> BanditState:
        zeros = xp.zeros((arms,), xp.float32)
        return BanditState(means=zeros, counts=zeros, pending=zeros, heard=xp.zeros((), xp.int32))

    def select(draws: Any, state: BanditState) -> tuple[BanditState, Any]:
        pulls = state.counts + state.pending
        log_total = xp.log(xp.maximum(xp.sum(pulls), xp.float32(1)))
        bonus = xp.float32(c) * xp.sqrt(log_total / xp.maximum(pulls, xp.float32(1)))
        scores = xp.where(pulls > 0, state.means + bonus, xp.float32(xp.inf))
        arm = xp.argmax(xp.where(scores == xp.max(scores), draws, xp.float32(-1)))
        return state._replace(pending=state.pending + (index == arm).astype(xp.float32)), arm.astype(xp.int32)

    def update(state: BanditState, arm: Any, feedback: Any) -> BanditState:
        pulled = (index == arm).astype(xp.float32)
        counts = state.counts + pulled
        step = pulled * (feedback - state.means) / xp.maximum(counts, xp.float32(1))
        after = abandon(state, arm)
        return after._replace(means=state.means + step, counts=counts, heard=state.heard + 1)

    def abandon(state: BanditState, arm: Any) -> BanditState:
        return state._replace(pending=xp.maximum(state.pending - (index == arm).astype(xp.float32), 0))

    return Bandit(init, select, update, abandon, arms)


def fixed(arm: int, *, arms: int = 2, xp: Any = None) -> Bandit:
    """Always the same arm; keeps the same statistics, so that every agent logs the same metrics."""
    xp = array_module(xp)
    base = ucb(arms, xp=xp)
    chosen = xp.asarray(arm, xp.int32)

    def select(draws: Any, state: BanditState) -> tuple[BanditState, Any]:
        return state._replace(pending=state.pending + (xp.arange(arms) == arm).astype(xp.float32)), chosen

    return base._replace(select=select)


def patient(bandit: Bandit, episodes: int, *, xp: Any = None) -> Bandit:
    """The first `episodes` take the arms by turns and are then forgotten.

    While the learner knows nothing, feedback tells which arm is learned first, not which one is worth more.
    """
    if episodes <= 0:
        return bandit
    xp = array_module(xp)
    index = xp.arange(bandit.arms)

    def select(draws: Any, state: BanditState) -> tuple[BanditState, Any]:
        pulls = state.counts + state.pending
        turn = xp.argmax(xp.where(pulls == xp.min(pulls), draws, xp.float32(-1)))
        chosen = bandit.select(draws, state)[1]
        arm = xp.where(state.heard < episodes, turn.astype(xp.int32), chosen)
        return state._replace(pending=state.pending + (index == arm).astype(xp.float32)), arm

    def update(state: BanditState, arm: Any, feedback: Any) -> BanditState:
        after = bandit.update(state, arm, feedback)
        kept = xp.where(after.heard == episodes, xp.float32(0), xp.float32(1))
        return after._replace(means=after.means * kept, counts=after.counts * kept)

    return bandit._replace(select=select, update=update)
