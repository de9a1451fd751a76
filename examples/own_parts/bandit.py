"""The arm with the best mean feedback, and now and then a random one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sadapt.fields import Checked, Share
from sadapt.motivation.arrays import array_module
from sadapt.motivation.bandits import Bandit, Standing
from sadapt.registry import register


@dataclass(frozen=True)
class WanderingSettings(Checked):
    """How often."""

    wander: Share = 0.1
    """Share of episodes whose arm is drawn at random."""


class WanderingState(NamedTuple):
    """Per arm, the sum of its feedback and the number of its episodes."""

    sums: Any
    counts: Any


def wandering(arms: int, settings: WanderingSettings = WanderingSettings(), xp: Any = None) -> Bandit:
    """epsilon-greedy over arms; one that was never pulled goes first."""
    xp = array_module(xp)
    index = xp.arange(arms)

    def init() -> WanderingState:
        zeros = xp.zeros((arms,), xp.float32)
        return WanderingState(zeros, zeros)

    def standing(state: WanderingState) -> Standing:
        return Standing(state.sums / xp.maximum(state.counts, xp.float32(1)), state.counts)

    def select(draws: Any, state: WanderingState) -> tuple[WanderingState, Any]:
        means = xp.where(state.counts > 0, standing(state).means, xp.float32(xp.inf))
        best = xp.argmax(xp.where(means == xp.max(means), draws, xp.float32(-1)))
        anyone = xp.floor(arms * draws[0] / max(settings.wander, 1e-9))
        arm = xp.where(draws[0] < settings.wander, anyone.astype(xp.int32), best.astype(xp.int32))
        return state, arm

    def update(state: WanderingState, arm: Any, feedback: Any) -> WanderingState:
        pulled = (index == arm).astype(xp.float32)
        return WanderingState(state.sums + pulled * feedback, state.counts + pulled)

    def abandon(state: WanderingState, arm: Any) -> WanderingState:
        return state

    return Bandit(init=init, select=select, update=update, abandon=abandon, standing=standing, arms=arms)


register("bandit", "wandering", wandering, settings=WanderingSettings)
