"""Running normalisation of rewards, with statistics of their own for every arm.

z = clip((r - mean[arm, time]) / std[arm]).  With baseline "global" there is one mean per arm (the paper's); with "time"
there is one per arm and time step, which changes no policy's rank when all episodes have the same length and leaves
only what actions can influence in the scale.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.motivation.arrays import array_module


class NormaliserState(NamedTuple):
    """Counts and means per arm and time step; deviation from those means per arm."""

    count: Any
    mean: Any
    lost: Any
    """What rounding cut off the means: after a million steps it is most of what a step adds."""
    variance: Any


class Normaliser(NamedTuple):
    """Running statistics over all rewards so far; arguments may have any equal shape."""

    init: Callable[[], NormaliserState]
    update: Callable[[NormaliserState, Any, Any, Any], NormaliserState]
    """`update(state, arm, time, reward) -> state`."""
    apply: Callable[[NormaliserState, Any, Any, Any], Any]
    """`apply(state, arm, time, reward) -> z`."""


def running(
    arms: int,
    horizon: int,
    *,
    baseline: str = "global",
    centre: bool = True,
    std_floor: float = 1e-4,
    clip: float = float("inf"),
    xp: Any = None,
) -> Normaliser:
    """Mean and deviation of everything seen so far, merged batch by batch (Chan's form of Welford's update)."""
    if baseline not in ("global", "time"):
        raise UserError(f"unknown reward baseline {baseline!r}: choose 'global' or 'time'")
    xp = array_module(xp)
    slots = horizon if baseline == "time" else 1

    def init() -> NormaliserState:
        return NormaliserState(
            count=xp.zeros((arms, slots), xp.int32),
            mean=xp.zeros((arms, slots), xp.float32),
            lost=xp.zeros((arms, slots), xp.float32),
            variance=xp.zeros((arms,), xp.float32),
        )

    def place(arm: Any, time: Any) -> Any:
        return arm * slots + xp.minimum(time, slots - 1) if slots > 1 else arm

    def sums(where: Any, values: Any) -> Any:
        if xp is np:
            return np.bincount(where, values, arms * slots).astype(np.float32).reshape(arms, slots)
        return xp.zeros(arms * slots, xp.float32).at[where].add(values).reshape(arms, slots)

    def numbers(where: Any) -> Any:
        if xp is np:
            return np.bincount(where, minlength=arms * slots).astype(np.int32).reshape(arms, slots)
        return xp.zeros(arms * slots, xp.int32).at[where].add(1).reshape(arms, slots)

    def per_arm(values: Any) -> Any:
        return values.sum(axis=1) if slots > 1 else values[:, 0]

    def update(state: NormaliserState, arm: Any, time: Any, reward: Any) -> NormaliserState:
        if xp is np and reward.size == 1:
            return update_by_one(state, arm.item(), time.item(), reward.reshape(-1)[0])
        arm, time, reward = (x.reshape(-1) for x in (arm, time, reward))
        where = place(arm, time)
        away = reward - state.mean.reshape(-1)[where]
        added = numbers(where)
        count = state.count + added
        new = added.astype(xp.float32)
        shift = sums(where, away) / xp.maximum(new, 1)
        share = new / xp.maximum(count, 1).astype(xp.float32)
        touched = added > 0
        wanted = xp.where(touched, shift * share + state.lost, xp.float32(0))
        mean = state.mean + wanted
        lost = xp.where(touched, wanted - (mean - state.mean), state.lost)
        within = sums(where, xp.square(away - shift.reshape(-1)[where]))
        squares = per_arm(within + xp.square(shift) * new * (1 - share))
        every = xp.maximum(per_arm(count), 1).astype(xp.float32)
        variance = state.variance + (squares - per_arm(new) * state.variance) / every
        return NormaliserState(count, mean, lost, xp.maximum(variance, 0))

    def update_by_one(state: NormaliserState, arm: int, time: int, reward: Any) -> NormaliserState:
        """The same for one reward on the host, where a call costs more than its arithmetic."""
        count, mean, lost, variance = (part.copy() for part in state)
        slot = arm, min(time, slots - 1)
        count[slot] += 1
        away, share = reward - mean[slot], np.float32(1 / count[slot])
        wanted = away * share + lost[slot]
        mean[slot] += wanted
        lost[slot] = wanted - (mean[slot] - state.mean[slot])
        every = np.float32(per_arm(count)[arm])
        variance[arm] = max(variance[arm] + (away * away * (1 - share) - variance[arm]) / every, 0)
        return NormaliserState(count, mean, lost, variance)

    def apply(state: NormaliserState, arm: Any, time: Any, reward: Any) -> Any:
        std = xp.maximum(xp.sqrt(state.variance)[arm], xp.float32(std_floor))
        mean = state.mean.reshape(-1)[place(arm, time)] if centre else xp.float32(0)
        z = (reward - mean) / std
        return xp.clip(z, -clip, clip) if clip < float("inf") else z

    return Normaliser(init, update, apply)
