"""Patience: a bandit that listens only after a while."""

from __future__ import annotations

from typing import Any

from sadapt.errors import UserError
from sadapt.motivation.arrays import array_module
from sadapt.motivation.bandits.base import Bandit, begun, highest
from sadapt.motivation.bandits.ucb import MeansState


def patient(bandit: Bandit, episodes: int, *, xp: Any = None) -> Bandit:
    """The arms take turns in the first `episodes`, which are then forgotten, unless the bandit forgets by itself.

    While the learner knows nothing, feedback shows which arm is learned first, not which one is worth more.
    """
    if episodes <= 0:
        return bandit
    xp = array_module(xp)
    first = bandit.init()
    if not hasattr(first, "pending"):
        raise UserError("patience is for bandits that count what is under way (pending), like ucb: use 0 with others")
    if not isinstance(first, MeansState):
        return by_turns(bandit, episodes, xp)

    def select(draws: Any, state: MeansState) -> tuple[MeansState, Any]:
        turn, chosen = next_in_turn(draws, state.counts, state.pending, xp), bandit.select(draws, state)[1]
        arm = xp.where(state.heard < episodes, turn, chosen)
        return begun(state, arm, xp), arm

    def update(state: MeansState, arm: Any, feedback: Any) -> MeansState:
        after = bandit.update(state, arm, feedback)
        over = after.heard == episodes
        known = {name: getattr(after, name) for name in ("means", "counts", "lost")}
        return after._replace(**{name: xp.where(over, xp.zeros_like(x), x) for name, x in known.items()})

    return bandit._replace(select=select, update=update)


def by_turns(bandit: Bandit, episodes: int, xp: Any) -> Bandit:
    """The bandit hears of everything, and is asked only after so many episodes."""

    def select(draws: Any, state: Any) -> tuple[Any, Any]:
        counts = bandit.standing(state).counts
        turn, chosen = next_in_turn(draws, counts, state.pending, xp), bandit.select(draws, state)[1]
        arm = xp.where(xp.sum(counts) < episodes, turn, chosen)
        return begun(state, arm, xp), arm

    return bandit._replace(select=select)


def next_in_turn(draws: Any, counts: Any, pending: Any, xp: Any) -> Any:
    """The arm that was pulled least; any of those where there are several."""
    return highest(draws, -(counts.astype(xp.float32) + pending), xp)
