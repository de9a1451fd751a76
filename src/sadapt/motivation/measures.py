"""What is told of an episode, as one table: from a step to a column of `metrics.csv` and a chart.

A measure is reduced over an episode's steps while they are made, or read off its end. A world's counters are measures
too. Means over episodes are the business of whoever counts them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sadapt.motivation.arrays import array_module

Values = dict[str, Any]
"""A number for every measure, by its name."""


class StepFacts(NamedTuple):
    """What a step tells."""

    reward: Any
    surprise: Any
    death: Any
    counters: dict[str, Any]


class EndFacts(NamedTuple):
    """What the end of an episode tells."""

    length: Any
    entropy: Any
    """H(p_theta_T) of the final marginal."""


class HeardFacts(NamedTuple):
    """What the comparison with a random agent tells; not a number where there is none."""

    feedback: Any
    """What the bandit hears."""
    distance: Mapping[str, Any]
    """|x - x_rand| in units of the random agent, for the measures that are kept of it."""
    pushed: Any
    """(-1)^alpha (H - H_rand) in the same units: how far the entropy moved the arm's own way."""


class Reduction(NamedTuple):
    """From the values of an episode's steps to one."""

    start: float
    """Before the first step."""
    add: Callable[[Any, Any], Any]
    """`add(so_far, value of one more step)`."""
    finish: Callable[[Any, Any], Any]
    """`finish(so_far, steps)`."""


def _per_step(total: Any, steps: Any) -> Any:
    return total / array_module().maximum(steps, 1).astype(np.float32)


SUM = Reduction(start=0.0, add=operator.add, finish=lambda total, steps: total)
MEAN = Reduction(start=0.0, add=operator.add, finish=_per_step)
LARGEST = Reduction(
    start=-math.inf, add=lambda so_far, value: array_module().maximum(so_far, value), finish=lambda most, steps: most
)
AT_END, HEARD = "at the end", "heard"
"""Not reduced: the episode's end tells it, or the comparison with a random agent after it."""


class Measure(NamedTuple):
    """One thing that is told of an episode."""

    name: str
    """Its column."""
    of: Callable[[Any], Any]
    """What it is of a step (`StepFacts`), of the end (`EndFacts`) or of the comparison (`HeardFacts`)."""
    over: Reduction | str
    """How its values are reduced over the steps."""
    chart: str
    """Its name in TensorBoard."""


MEASURES: tuple[Measure, ...] = (
    Measure("return", lambda step: step.reward, SUM, "charts/episodic_return"),
    Measure("length", lambda end: end.length, AT_END, "charts/episodic_length"),
    Measure("deaths", lambda step: step.death.astype(np.int32), SUM, "charts/deaths"),
    Measure("surprise", lambda step: step.surprise, MEAN, "surprise/mean"),
    Measure("surprise_peak", lambda step: step.surprise, LARGEST, "surprise/peak"),
    Measure("entropy", lambda end: end.entropy, AT_END, "surprise/entropy"),
    Measure("feedback", lambda heard: heard.feedback, HEARD, "bandit/feedback"),
    Measure("feedback_entropy", lambda heard: heard.distance["entropy"], HEARD, "bandit/feedback_entropy"),
    Measure("feedback_surprise", lambda heard: heard.distance["surprise"], HEARD, "bandit/feedback_surprise"),
    Measure("pushed", lambda heard: heard.pushed, HEARD, "surprise/pushed"),
)
"""In every world, in the order of their columns; charts have CleanRL's names where it has one."""


def counted(name: str) -> Measure:
    """The measure of a world's counter: its sum over the episode."""
    return Measure(name, lambda step: step.counters[name].astype(np.float32), SUM, f"charts/{name}")


def episode_measures(counters: Iterable[str]) -> tuple[Measure, ...]:
    """What is told of an episode in a world with these counters."""
    return (*MEASURES, *map(counted, sorted(counters)))


def begun(table: Iterable[Measure], counters: Iterable[str]) -> Values:
    """Before the first step, what is reduced over steps; each in the dtype of its values."""
    zero = np.float32(0)
    nothing = StepFacts(reward=zero, surprise=zero, death=np.bool_(False), counters=dict.fromkeys(counters, zero))
    xp = array_module()
    return {
        each.name: xp.full((), each.over.start, each.of(nothing).dtype)
        for each in table
        if isinstance(each.over, Reduction)
    }


def stepped(table: Iterable[Measure], so_far: Values, step: StepFacts) -> Values:
    """One more step."""
    return {
        each.name: each.over.add(so_far[each.name], each.of(step)) for each in table if isinstance(each.over, Reduction)
    }


def finished(table: Iterable[Measure], so_far: Values, end: EndFacts) -> Values:
    """Every measure of an episode that has ended, but for what the comparison with a random agent tells."""
    found: Values = {}
    for each in table:
        if isinstance(each.over, Reduction):
            found[each.name] = each.over.finish(so_far[each.name], end.length)
        elif each.over == AT_END:
            found[each.name] = each.of(end)
    return found


def heard(table: Iterable[Measure], found: Values, facts: HeardFacts) -> Values:
    """All of them, in the table's order."""
    return {each.name: each.of(facts) if each.over == HEARD else found[each.name] for each in table}
