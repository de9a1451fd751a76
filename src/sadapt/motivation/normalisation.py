"""Running normalisation of rewards, with statistics of their own for every arm.

z = clip((r - mean[arm, time]) / std[arm]).  With baseline "global" there is one mean per arm (the paper's); with "time"
there is one per arm and time step, which changes no policy's rank when all episodes have the same length and leaves
only what actions can influence in the scale. In a stream the statistics fade as theta does: what a season adds to
every reward would else drown what actions add to it. Time in a stream is what has passed since it was refilled last.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from sadapt.errors import UserError
from sadapt.motivation.arrays import array_module, carried, scatter_add

NormaliserState = Any


class RunningState(NamedTuple):
    """Counts and means per arm and time step; deviation from those means per arm."""

    count: Any
    mean: Any
    lost: Any
    """What rounding cut off the means: after a million steps it is most of what a step adds."""
    variance: Any
    variance_lost: Any
    """The same of the variances."""


class Normaliser(NamedTuple):
    """Running statistics over all rewards so far, or over those of late; arguments may have any equal shape."""

    init: Callable[[], NormaliserState]
    update: Callable[[NormaliserState, Any, Any, Any], NormaliserState]
    """`update(state, arm, time, reward) -> state`."""
    apply: Callable[[NormaliserState, Any, Any, Any], Any]
    """`apply(state, arm, time, reward) -> z`."""


class Slots(NamedTuple):
    """Where statistics are kept: a mean for every arm and slot of time."""

    arms: int
    slots: int
    keep: float | None
    """What is left of a reward's weight when the next batch comes; None forgets nothing."""
    cyclic: bool
    """Whether the first slot follows the last one; else later times belong to the last one."""
    xp: Any

    def place(self, arm: Any, time: Any) -> Any:
        """Slot of a reward, slots of all arms end to end."""
        if self.slots == 1:
            return arm
        return arm * self.slots + (time % self.slots if self.cyclic else self.xp.minimum(time, self.slots - 1))

    def per_arm(self, values: Any) -> Any:
        """Sums over the slots of each arm."""
        return values.sum(axis=1) if self.slots > 1 else values[:, 0]

    def sums(self, where: Any, values: Any) -> Any:
        """Per arm and slot, the sum of the values that belong there."""
        return scatter_add(self.xp, where, values, self.arms * self.slots).reshape(self.arms, self.slots)


def running(
    arms: int,
    horizon: int,
    *,
    baseline: str = "global",
    centre: bool = True,
    std_floor: float = 1e-4,
    clip: float = float("inf"),
    keep: float | None = None,
    cyclic: bool = False,
    xp: Any = None,
) -> Normaliser:
    """Mean and deviation of everything seen so far, merged batch by batch (Chan's form of Welford's update).

    With `keep` what was seen before weighs so much of what it did whenever a batch comes; `cyclic` times begin anew
    after every horizon.
    """
    if baseline not in ("global", "time"):
        raise UserError(f"unknown reward baseline {baseline!r}: choose 'global' or 'time'")
    xp = array_module(xp)
    at = Slots(arms, horizon if baseline == "time" else 1, keep, cyclic, xp)

    def init() -> RunningState:
        return RunningState(
            count=xp.zeros((arms, at.slots), xp.int32 if keep is None else xp.float32),
            mean=xp.zeros((arms, at.slots), xp.float32),
            lost=xp.zeros((arms, at.slots), xp.float32),
            variance=xp.zeros((arms,), xp.float32),
            variance_lost=xp.zeros((arms,), xp.float32),
        )

    def apply(state: RunningState, arm: Any, time: Any, reward: Any) -> Any:
        std = xp.maximum(xp.sqrt(state.variance)[arm], xp.float32(std_floor))
        mean = state.mean.reshape(-1)[at.place(arm, time)] if centre else xp.float32(0)
        z = (reward - mean) / std
        return xp.clip(z, -clip, clip) if clip < float("inf") else z

    return Normaliser(init, partial(merge, at), apply)


def merge(at: Slots, state: RunningState, arm: Any, time: Any, reward: Any) -> RunningState:
    """The statistics with a batch of rewards added."""
    xp = at.xp
    arm, time, reward = (x.reshape(-1) for x in (arm, time, reward))
    where = at.place(arm, time)
    away = reward - state.mean.reshape(-1)[where]
    added = at.sums(where, xp.ones(where.shape, xp.int32))
    before = state.count if at.keep is None else xp.float32(at.keep) * state.count
    count = before + added.astype(before.dtype)
    new = added.astype(xp.float32)
    shift = at.sums(where, away) / xp.maximum(new, 1)
    share = new / xp.maximum(count, 1).astype(xp.float32)
    touched = added > 0
    mean, lost = carried(xp, touched, state.mean, state.lost, shift * share)
    within = at.sums(where, xp.square(away - shift.reshape(-1)[where]))
    squares = at.per_arm(within + xp.square(shift) * new * (1 - share))
    every = xp.maximum(at.per_arm(count), 1).astype(xp.float32)
    heard = at.per_arm(new)
    change = (squares - heard * state.variance) / every
    variance, variance_lost = carried(xp, heard > 0, state.variance, state.variance_lost, change)
    return RunningState(count, mean, lost, xp.maximum(variance, 0), variance_lost)


def unnormalised() -> Normaliser:
    """Rewards as they are."""
    return Normaliser(lambda: (), lambda state, arm, time, reward: state, lambda state, arm, time, reward: reward)
