"""Where a call of NumPy costs more than its arithmetic: the same numbers by fewer calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from sadapt.motivation.building import PaymentSettings, build_normaliser
from sadapt.motivation.normalisation import Normaliser, RunningState
from sadapt.motivation.objectives import Objective


def normaliser_of(row: Objective, horizon: int, wanted: PaymentSettings) -> Normaliser:
    """The normaliser of one's settings, whose single rewards take a way of their own."""
    whole = build_normaliser(row, horizon, wanted, xp=np)

    def update(state: Any, arm: Any, time: Any, reward: Any) -> Any:
        if reward.size == 1 and isinstance(state, RunningState):
            return updated_by_one(state, arm.item(), time.item(), reward.reshape(-1)[0])
        return whole.update(state, arm, time, reward)

    return whole._replace(update=update)


def updated_by_one(state: RunningState, arm: int, time: int, reward: Any) -> RunningState:
    """`sadapt.motivation.normalisation.merge` of one reward."""
    count, mean, lost, variance = (part.copy() for part in state)
    slots = count.shape[1]
    slot = arm, min(time, slots - 1)
    count[slot] += 1
    away, share = reward - mean[slot], np.float32(1 / count[slot])
    wanted = away * share + lost[slot]
    mean[slot] += wanted
    lost[slot] = wanted - (mean[slot] - state.mean[slot])
    every = np.float32(count[arm].sum() if slots > 1 else count[arm, 0])
    variance[arm] = max(variance[arm] + (away * away * (1 - share) - variance[arm]) / every, 0)
    return RunningState(count, mean, lost, variance)
