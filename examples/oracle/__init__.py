"""An agent that is told the season: the best that S-Adapt could do in a world whose first season is S-Max's.

cd examples
sadapt train seasons --stream --calendar 1 --import oracle --feedback season --bandit told

Nothing in the package knows of oracles: a feedback may read any measure of a stretch, the world's counters too, and a
bandit may do with it what it likes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sadapt.motivation.arrays import array_module
from sadapt.motivation.bandits import Bandit, Standing
from sadapt.motivation.feedback import Feedback, Measures, RandomAgent
from sadapt.registry import register


class ToldState(NamedTuple):
    """The arm that it was told last, and how many decisions of each arm ended."""

    right: Any
    counts: Any


def season(xp: Any = None) -> Feedback:
    """1 where the arm has the number of the season that most of the stretch lay in, else -1."""
    xp = array_module(xp)

    def hear(measures: Measures, random: RandomAgent, arm: Any) -> Any:
        right = 2 * measures["season"] > measures["length"]
        return xp.where(right == (arm == 1), xp.float32(1), xp.float32(-1))

    return Feedback(hear, of="season")


def told(arms: int, xp: Any = None) -> Bandit:
    """Stays on an arm that it hears good of, and goes on to the next one else."""
    xp = array_module(xp)

    def init() -> ToldState:
        return ToldState(xp.zeros((), xp.int32), xp.zeros((arms,), xp.int32))

    def select(draws: Any, state: ToldState) -> tuple[ToldState, Any]:
        return state, state.right

    def update(state: ToldState, arm: Any, feedback: Any) -> ToldState:
        right = xp.where(feedback > 0, arm, (arm + 1) % arms).astype(xp.int32)
        return ToldState(right, state.counts + (xp.arange(arms) == arm).astype(xp.int32))

    def abandon(state: ToldState, arm: Any) -> ToldState:
        return state

    def standing(state: ToldState) -> Standing:
        return Standing((xp.arange(arms) == state.right).astype(xp.float32), state.counts)

    return Bandit(init=init, select=select, update=update, abandon=abandon, standing=standing, arms=arms)


register("feedback", "season", season)
register("bandit", "told", told)
