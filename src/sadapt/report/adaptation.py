"""What adapting costs: S-Adapt against the better of its two single objectives, world by world.

The distance of a run is |H - H_rand|, over its steps. The better arm is the one whose single-objective agent ends
further away; where both end within a tenth of each other, either is right.

    waste  share of S-Adapt's episodes on the other arm
    area   mean distance over the run, relative to the better agent's
    final  distance over the last tenth, relative to the better agent's
    cost   steps to nine tenths of the better agent's final distance, relative to its own
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sadapt.motivation.objectives import ARMS
from sadapt.report.statistics import Interval, interval
from sadapt.report.stored import LAST, Group, Results

TIE = 0.1
"""Share of the larger distance within which two arms are as good as each other."""
NEARLY = 0.9
"""Share of the better agent's final distance at which S-Adapt has arrived."""


class Adaptation(NamedTuple):
    """S-Adapt in one world."""

    world: str
    better: str
    """The arm that moves entropy further, or `either`."""
    waste: Interval
    area: Interval
    final: Interval
    cost: Interval
    """Infinite where S-Adapt does not arrive in most seeds."""
    seeds: int


def distances(group: Group) -> np.ndarray:
    """|H - H_rand| / |H_rand| of every seed and row, each episode's in its own arm's direction.

    While arms take turns, one is above H_rand and the other below: their mean entropy says nothing of either. Runs
    that did not write down `pushed` are taken at that mean all the same, which is never more.
    """
    pushed, random = group.columns.get("pushed"), group.columns["h_random"]
    if pushed is not None and np.isfinite(pushed).any():
        return np.abs(pushed)
    return np.abs((group.columns["entropy"] - random) / random)


def of_world(results: Results, world: str, learner: str) -> Adaptation | None:
    """The measures of one world; None where an agent has no runs."""
    found = {name: results.get(world, name, learner=learner) for name in ("s-adapt", *ARMS)}
    groups = {name: group for name, group in found.items() if group is not None}
    if len(groups) < len(found):
        return None
    adapt = groups["s-adapt"]
    ends = {name: float(np.mean(_final(groups[name]))) for name in ARMS}
    best = max(ends, key=lambda name: ends[name])
    tie = min(ends.values()) >= (1 - TIE) * max(ends.values())
    other = _share(adapt) if best == "s-max" else 1 - _share(adapt)
    waste = np.minimum(other, 1 - other) if tie else other
    goal = NEARLY * ends[best]
    return Adaptation(
        world=world,
        better="either" if tie else best,
        waste=interval((waste,), _mean),
        area=_ratio(_area(adapt), _area(groups[best])),
        final=_ratio(_final(adapt), _final(groups[best])),
        cost=_ratio(_arrival(adapt, goal), _arrival(groups[best], goal)),
        seeds=len(adapt.seeds),
    )


def measured(results: Results, *, learner: str = "pqn") -> list[Adaptation]:
    """Every world in which S-Adapt and both single objectives have runs."""
    found = (of_world(results, world, learner) for world in results.worlds(learner))
    return [each for each in found if each is not None]


def _share(group: Group) -> np.ndarray:
    """Per seed, the share of all its episodes that were S-Min's."""
    ended = np.diff(group.columns["episodes"], axis=1, prepend=0.0)
    alpha = np.nan_to_num(group.columns["alpha"])
    known = np.isfinite(group.columns["alpha"])
    return (alpha * ended).sum(axis=1) / np.maximum((known * ended).sum(axis=1), 1)


def _area(group: Group) -> np.ndarray:
    return np.nanmean(distances(group), axis=1)


def _final(group: Group) -> np.ndarray:
    steps = group.columns["step"][0]
    return np.nanmean(distances(group)[:, steps > (1 - LAST) * steps[-1]], axis=1)


def _arrival(group: Group, goal: float) -> np.ndarray:
    """Per seed, the step at which the distance first reaches the goal; infinite where it never does."""
    there = distances(group) >= goal
    steps = group.columns["step"]
    return np.where(there.any(axis=1), steps[np.arange(len(steps)), np.argmax(there, axis=1)], np.inf)


def _mean(values: np.ndarray) -> Any:
    return values.mean(axis=-1)


def _ratio(mine: np.ndarray, theirs: np.ndarray) -> Interval:
    statistic: Callable[..., Any] = lambda x, y: _mean(x) / _mean(y)  # noqa: E731
    if not np.isfinite([*mine, *theirs]).all():
        value = float(np.median(mine) / np.median(theirs)) if np.isfinite(np.median(theirs)) else float("nan")
        return Interval(value, float(np.min(mine) / np.max(theirs)), float("inf"))
    return interval((mine, theirs), statistic)
