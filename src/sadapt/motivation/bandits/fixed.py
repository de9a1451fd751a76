"""The bandit of agents that have made up their minds."""

from __future__ import annotations

from typing import Any

from sadapt.motivation.arrays import array_module
from sadapt.motivation.bandits.base import Bandit, begun
from sadapt.motivation.bandits.ucb import MeansState, ucb


def fixed(arm: int, *, arms: int = 2, xp: Any = None) -> Bandit:
    """Always the same arm; keeps the same statistics, so that every agent logs the same metrics."""
    xp = array_module(xp)
    base = ucb(arms, xp=xp)
    chosen = xp.asarray(arm, xp.int32)

    def select(draws: Any, state: MeansState) -> tuple[MeansState, Any]:
        return begun(state, chosen, xp), chosen

    return base._replace(select=select)
