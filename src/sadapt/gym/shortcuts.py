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
    count, mean, lost, variance, variance_lost = (part.copy() for part in state)
    slots = count.shape[1]
    slot = arm, min(time, slots - 1)
    count[slot] += 1
    away, share = reward - mean[slot], np.float32(1 / count[slot])
    mean[slot], lost[slot] = _carried(mean[slot], lost[slot], away * share)
    every = np.float32(count[arm].sum() if slots > 1 else count[arm, 0])
    change = (away * away * (1 - share) - variance[arm]) / every
    variance[arm], variance_lost[arm] = _carried(variance[arm], variance_lost[arm], change)
    variance[arm] = max(variance[arm], 0)
    return RunningState(count, mean, lost, variance, variance_lost)


def _carried(total: Any, lost: Any, step: Any) -> tuple[Any, Any]:
    wanted = step + lost
    after = total + wanted
    return after, wanted - (after - total)
