"""The rules that claims are checked by: each turns stored runs into margins that must not be negative."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from sadapt.motivation.objectives import ARMS
from sadapt.report.adaptation import of_world
from sadapt.report.statistics import Interval, interval
from sadapt.report.stored import Results

AGENTS = ("s-adapt", "s-max", "s-min", "extrinsic", "random")


class Margin(NamedTuple):
    """A check as a number that must not be negative."""

    what: str
    found: Interval


def over(what: str, samples: tuple[np.ndarray, ...], statistic: Callable[..., Any]) -> Margin:
    """The margin as a statistic over seeds."""
    return Margin(what, interval(samples, statistic))


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


Rule = Callable[[dict[str, Any], Values], Iterator[Margin]]


def _value(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """x - at_least, or at_most - x."""
    for agent in check["agents"]:
        column, samples = check["column"], (of(agent, check["column"]),)
        if "at_least" in check:
            least = float(check["at_least"])
            yield over(f"{agent}: {column} - {least:g}", samples, lambda x, bar=least: _mean(x) - bar)
        else:
            most = float(check["at_most"])
            yield over(f"{agent}: {most:g} - {column}", samples, lambda x, bar=most: bar - _mean(x))


def _below(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """other - x."""
    column, agent, other = check["column"], check["agent"], check["than"]
    samples = (of(agent, column), of(other, column))
    yield over(f"{column} of {other} - of {agent}", samples, lambda x, y: _mean(y) - _mean(x))


def _par(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """x - other + tolerance |other - random|."""
    column, other, share = check["column"], check["than"], float(check["tolerance"])
    for agent in check["agents"]:
        samples = (of(agent, column), of(other, column), of("random", column))
        yield over(
            f"{column} of {agent} - of {other} + {share:g} |{other} - random|",
            samples,
            lambda x, y, r: _mean(x) - _mean(y) + share * np.abs(_mean(y) - _mean(r)),
        )


def _close(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """tolerance |other| - |x - other|."""
    column, agent, other, share = check["column"], check["agent"], check["than"], float(check["tolerance"])
    samples = (of(agent, column), of(other, column))
    yield over(
        f"{share:g} {column} of {other} - |{agent} - {other}|",
        samples,
        lambda x, y: share * np.abs(_mean(y)) - np.abs(_mean(x) - _mean(y)),
    )


def _extreme(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """tolerance (max - min over agents) - distance of x from the end."""
    column, agent, share, end = check["column"], check["agent"], float(check["tolerance"]), check["end"]
    samples = tuple(of(each, column) for each in AGENTS)
    place = AGENTS.index(agent)

    def statistic(*drawn: np.ndarray) -> Any:
        means = np.stack([_mean(each) for each in drawn])
        low, high = means.min(axis=0), means.max(axis=0)
        away = means[place] - low if end == "lowest" else high - means[place]
        return share * (high - low) - away

    yield over(f"{share:g} range - distance of {agent} from the {end} {column}", samples, statistic)


def _further(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """|x - random| - |other - random| of the final entropies."""
    agent, other = check["agent"], check["than"]
    samples = tuple(of(each, "entropy") for each in (agent, other, "random"))
    yield over(f"|H {agent} - H random| - |H {other} - H random|", samples, _lead)


def _equally_far(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """factor - the larger of the two distances over the smaller."""
    agent, other, factor = check["agent"], check["than"], float(check["factor"])
    samples = tuple(of(each, "entropy") for each in (agent, other, "random"))

    def statistic(x: np.ndarray, y: np.ndarray, r: np.ndarray) -> Any:
        far, near = np.abs(_mean(x) - _mean(r)), np.abs(_mean(y) - _mean(r))
        return factor - np.maximum(far, near) / np.maximum(np.minimum(far, near), 1e-9)

    yield over(f"{factor:g} - ratio of the distances of {agent} and {other} from random", samples, statistic)


def _follows(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """Share of the better arm's episodes - 1/2; nothing to show where the arms are as good as equal."""
    up, down, random = (of(each, "entropy") for each in ("s-max", "s-min", "random"))
    far, near = abs(_mean(up) - _mean(random)), abs(_mean(down) - _mean(random))
    shares = of("s-adapt", "alpha")
    if max(far, near) <= float(check["tolerance"]) * min(far, near):
        yield over("arms are equal: either is right", (shares,), lambda x: np.ones_like(_mean(x)))
    elif far > near:
        yield over("S-Max moves entropy further: share of S-Max - 0.5", (shares,), lambda x: 0.5 - _mean(x))
    else:
        yield over("S-Min moves entropy further: share of S-Min - 0.5", (shares,), lambda x: _mean(x) - 0.5)


def _adapting(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """What adapting costs (`sadapt adaptation`): measure - at_least, or at_most - measure."""
    for agent in ("s-adapt", *ARMS):
        of(agent, "entropy")
    measured = of_world(of.results, of.world, of.learner)
    assert measured is not None
    found: Interval = getattr(measured, check["measure"])
    if "at_least" in check:
        least = float(check["at_least"])
        yield Margin(f"{check['measure']} - {least:g}", Interval(*(each - least for each in found)))
    else:
        most = float(check["at_most"])
        turned = Interval(most - found.value, most - found.high, most - found.low)
        yield Margin(f"{most:g} - {check['measure']}", turned)


def _mean(values: np.ndarray) -> Any:
    return values.mean(axis=-1)


def _lead(x: np.ndarray, y: np.ndarray, r: np.ndarray) -> Any:
    return np.abs(_mean(x) - _mean(r)) - np.abs(_mean(y) - _mean(r))


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
