"""The rules that claims are checked by: each turns stored runs into margins that must not be negative."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sadapt.motivation.objectives import ARMS, OBJECTIVES
from sadapt.report.adaptation import of_world
from sadapt.report.statistics import Interval, interval
from sadapt.report.stored import Results

AGENTS = ("s-adapt", "s-max", "s-min", "extrinsic", "random")
SHARES = ("alpha",)
"""Columns that lie between 0 and 1."""
SPOKEN = {"alpha": "share of S-Min"}


class Scale(NamedTuple):
    """What a margin is compared with, so that margins of different units can stand beside each other."""

    size: float
    of: str = ""
    """What it is, if it is not 1."""


ONE = Scale(1.0)
ADAPTING = {
    "waste": "share of episodes on the worse arm",
    "area": "distance from Random over the run, relative to the better arm's agent,",
    "final": "final distance from Random, relative to the better arm's agent,",
    "cost": "steps, relative to the better arm's agent,",
}


class Margin(NamedTuple):
    """A check as a number that must not be negative."""

    what: str
    """What is checked."""
    finds: str
    """The values behind it."""
    found: Interval
    scale: Scale


class Missing(Exception):
    """An agent that a check needs has no runs, or too few."""

    def __init__(self, agent: str, seeds: int) -> None:
        super().__init__(agent)
        self.seeds = seeds


class Values:
    """The final values of a world's agents, one number a seed."""

    def __init__(self, results: Results, world: str, learner: str, seeds: int) -> None:
        self.results, self.world, self.learner, self.least = results, world, learner, seeds
        self.fewest = 1_000

    def __call__(self, agent: str, column: str) -> np.ndarray:
        objective, _, marginal = agent.partition(" ")
        group = self.results.get(self.world, objective, marginal=marginal or "auto", learner=self.learner)
        seeds = 0 if group is None else len(group.seeds)
        self.fewest = min(self.fewest, seeds)
        if group is None or seeds < self.least:
            raise Missing(agent, seeds)
        values = group.final(column)
        if not np.isfinite(values).all():
            raise Missing(agent, 0)
        return values

    def scale(self, column: str, bar: float = 0.0) -> Scale:
        """From the lowest to the highest mean of the world's agents; the threshold itself where only one has runs."""
        if column in SHARES:
            return ONE
        groups = (self.results.get(self.world, agent, learner=self.learner) for agent in AGENTS)
        levels = [float(np.mean(each.final(column))) for each in groups if each is not None and column in each.columns]
        span = float(np.ptp([level for level in levels if np.isfinite(level)] or [0.0]))
        if span > 0:
            return Scale(span, "of the agents' range")
        return Scale(abs(bar), "of the threshold") if bar else ONE


Rule = Callable[[dict[str, Any], Values], Iterator[Margin]]


def name(agent: str) -> str:
    """`S-Adapt`; `S-Adapt with the Gaussian`."""
    objective, _, marginal = agent.partition(" ")
    title = OBJECTIVES[objective].title if objective in OBJECTIVES else objective
    return f"{title} with the {marginal.capitalize()}" if marginal else title


def measure(check: dict[str, Any]) -> str:
    return SPOKEN.get(check["column"], str(check["column"]))


def means(samples: Sequence[np.ndarray]) -> str:
    """`9.67 against 12.3`."""
    return " against ".join(f"{float(_mean(each)):.3g}" for each in samples)


def _value(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """x - at_least, or at_most - x."""
    sign, side = (1, "at_least") if "at_least" in check else (-1, "at_most")
    bar = float(check[side])
    for agent in check["agents"]:
        samples = (of(agent, check["column"]),)
        what = f"{measure(check)} of {name(agent)} {side.replace('_', ' ')} {bar:g}"
        found = interval(samples, lambda x: sign * (_mean(x) - bar))
        yield Margin(what, means(samples), found, of.scale(check["column"], bar))


def _below(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """other - x."""
    column, agent, other = check["column"], check["agent"], check["than"]
    samples = (of(agent, column), of(other, column))
    what = f"{measure(check)} of {name(agent)} below that of {name(other)}"
    yield Margin(what, means(samples), interval(samples, lambda x, y: _mean(y) - _mean(x)), of.scale(column))


def _par(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """x - other + tolerance |other - random|."""
    column, other, share = check["column"], check["than"], float(check["tolerance"])
    for agent in check["agents"]:
        samples = (of(agent, column), of(other, column), of("random", column))
        found = interval(samples, lambda x, y, r: _mean(x) - _mean(y) + share * np.abs(_mean(y) - _mean(r)))
        what = f"{measure(check)} of {name(agent)} on par with {name(other)}, to {share:.0%} of its lead over Random"
        yield Margin(what, f"{means(samples[:2])}, Random {means(samples[2:])}", found, of.scale(column))


def _close(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """tolerance |other| - |x - other|."""
    column, agent, other, share = check["column"], check["agent"], check["than"], float(check["tolerance"])
    samples = (of(agent, column), of(other, column))
    found = interval(samples, lambda x, y: share * np.abs(_mean(y)) - np.abs(_mean(x) - _mean(y)))
    what = f"{measure(check)} of {name(agent)} within {share:.0%} of {name(other)}"
    yield Margin(what, means(samples), found, of.scale(column))


def _extreme(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """tolerance (max - min over agents) - distance of x from the end."""
    column, agent, share, end = check["column"], check["agent"], float(check["tolerance"]), check["end"]
    samples = tuple(of(each, column) for each in AGENTS)
    place = AGENTS.index(agent)

    def statistic(*drawn: np.ndarray) -> Any:
        levels = np.stack([_mean(each) for each in drawn])
        low, high = levels.min(axis=0), levels.max(axis=0)
        away = levels[place] - low if end == "lowest" else high - levels[place]
        return share * (high - low) - away

    levels = [float(_mean(each)) for each in samples]
    what = f"{measure(check)} of {name(agent)} the {end}, to {share:.0%} of the agents' range"
    finds = f"{levels[place]:.3g}, all agents {min(levels):.3g} to {max(levels):.3g}"
    yield Margin(what, finds, interval(samples, statistic), of.scale(column))


def _further(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """|x - random| - |other - random| of the final entropies."""
    agent, other = check["agent"], check["than"]
    samples = tuple(of(each, "entropy") for each in (agent, other, "random"))
    what = f"{name(agent)} moves entropy further from Random than {name(other)}"
    found = interval(samples, lambda *drawn: np.subtract(*_distances(*drawn)))
    yield Margin(what, _spoken(*_distances(*samples)), found, of.scale("entropy"))


def _equally_far(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """factor - the larger of the two distances over the smaller."""
    agent, other, factor = check["agent"], check["than"], float(check["factor"])
    samples = tuple(of(each, "entropy") for each in (agent, other, "random"))

    def statistic(*drawn: np.ndarray) -> Any:
        far, near = _distances(*drawn)
        return factor - np.maximum(far, near) / np.maximum(np.minimum(far, near), 1e-9)

    what = f"{name(agent)} and {name(other)} move entropy equally far from Random, to a factor of {factor:g}"
    yield Margin(what, _spoken(*_distances(*samples)), interval(samples, statistic), ONE)


def _follows(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """Share of the better arm's episodes - 1/2; which arm that is, is as uncertain as the single agents' entropies.

    Where the arms are as good as equal, either is right, and the margin is all that it can be.
    """
    tie = float(check["tolerance"])
    samples = (*(of(each, "entropy") for each in ("s-max", "s-min", "random")), of("s-adapt", "alpha"))

    def statistic(up: np.ndarray, down: np.ndarray, random: np.ndarray, shares: np.ndarray) -> Any:
        far, near = _distances(up, down, random)
        on_it = np.where(far > near, 1 - _mean(shares), _mean(shares))
        return np.where(np.maximum(far, near) <= tie * np.minimum(far, near), 1.0, on_it) - 0.5

    far, near = _distances(*samples[:3])
    equal = max(far, near) <= tie * min(far, near)
    better = "either, as both go equally far" if equal else name("s-max" if far > near else "s-min")
    what = f"S-Adapt on the arm that moves entropy further: {better}"
    finds = f"on S-Min in {float(_mean(samples[3])):.0%} of its last episodes"
    yield Margin(what, finds, interval(samples, statistic), ONE)


def _adapting(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """What adapting costs (`sadapt adaptation`): measure - at_least, or at_most - measure."""
    for agent in ("s-adapt", *ARMS):
        of(agent, "entropy")
    measured = of_world(of.results, of.world, of.learner)
    assert measured is not None
    found: Interval = getattr(measured, check["measure"])
    side = "at_least" if "at_least" in check else "at_most"
    bar = float(check[side])
    above = Interval(*(each - bar for each in found))
    margin = above if side == "at_least" else Interval(-above.value, -above.high, -above.low)
    yield Margin(f"{ADAPTING[check['measure']]} {side.replace('_', ' ')} {bar:g}", f"{found.value:.3g}", margin, ONE)


def _mean(values: np.ndarray) -> Any:
    return values.mean(axis=-1)


def _distances(x: np.ndarray, y: np.ndarray, r: np.ndarray) -> tuple[Any, Any]:
    """Of two agents' mean entropies from Random's."""
    return np.abs(_mean(x) - _mean(r)), np.abs(_mean(y) - _mean(r))


def _spoken(far: float, near: float) -> str:
    return f"{far:.3g} against {near:.3g} nats"


RULES: dict[str, Rule] = {
    "value": _value,
    "below": _below,
    "par": _par,
    "close": _close,
    "extreme": _extreme,
    "further": _further,
    "equally far": _equally_far,
    "follows": _follows,
    "adapting": _adapting,
}
