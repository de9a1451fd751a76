"""Whether two sets of runs agree: the same settings, other processors or revisions, so not the same to the byte.

Runs of the same settings are compared over their seeds, by final entropy and return (Student's two-sample t-test, which
takes a single run against several) and by the arm that they end on (Fisher's exact test). Differences of less than a
hundredth of what the measure covers in that world do not count. Over all comparisons Holm's correction keeps the chance
of a false alarm at 5 %.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sadapt.report.naming import labels
from sadapt.report.stored import Group, Results
from sadapt.runs import config

LEVEL = 0.05
"""Chance that two sets from the same source are told apart anywhere."""
SMALL = 0.01
"""Share of what a measure covers in a world; true differences below it do not count."""
FEW = 3
"""Settings that are named as an example."""
MEASURES = ("entropy", "return")
ARM = "arm"


class Comparison(NamedTuple):
    """One measure of the runs of the same settings, in two sets."""

    world: str
    agent: str
    """With what it differs in from others of its objective there."""
    learner: str
    measure: str
    seeds: tuple[int, int]
    means: tuple[float, float]
    """Of the arm: the shares of runs that end on S-Min."""
    span: float
    """What the measure covers in that world."""
    error: float
    """Standard error of the difference of the means."""
    p: float
    """Chance of such a difference, by itself."""
    corrected: float
    """The same among so many comparisons."""

    @property
    def differs(self) -> bool:
        return self.corrected < LEVEL


class Agreement(NamedTuple):
    """Two sets of runs beside each other."""

    comparisons: tuple[Comparison, ...]
    pairs: int
    """Runs with the same settings and seed in both sets."""
    same: int
    """Of those, the ones with the same rows."""
    lonely: int
    """Settings with one run on each side, which nothing can be said of."""
    elsewhere: int
    """Settings that are in one set only."""

    @property
    def differing(self) -> tuple[Comparison, ...]:
        return tuple(each for each in self.comparisons if each.differs)

    @property
    def noticeable(self) -> float:
        """What half of the comparisons by value would have noticed, as a share of what their measure covers."""
        from scipy import stats

        chance = LEVEL / max(len(self.comparisons), 1) / 2
        by_value = [each for each in self.comparisons if each.measure != ARM and each.span > 0]
        bars = [stats.t.isf(chance, sum(each.seeds) - 2) * each.error / each.span for each in by_value]
        return SMALL + float(np.median(bars)) if bars else SMALL


def compare(ours: Results, theirs: Results) -> Agreement:
    """Every group of runs that both sets have, whatever its seeds."""
    mine, yours = _by_settings(ours), _by_settings(theirs)
    common = [key for key in mine if key in yours]
    pairs = [(mine[key], yours[key]) for key in common]
    testable = [(one, other) for one, other in pairs if len(one.seeds) + len(other.seeds) > 2]
    spans = _spans([*mine.values(), *yours.values()])
    names = _names([one for one, _ in testable])
    found = [each for (one, other), name in zip(testable, names, strict=True) for each in _of(one, other, name, spans)]
    return Agreement(
        comparisons=tuple(
            each._replace(corrected=chance)
            for each, chance in zip(found, holm([each.p for each in found]), strict=True)
        ),
        pairs=sum(len(set(one.seeds) & set(other.seeds)) for one, other in pairs),
        same=sum(_same_rows(one, other) for one, other in pairs),
        lonely=len(pairs) - len(testable),
        elsewhere=len(mine) + len(yours) - 2 * len(common),
    )


def nearest_miss(ours: Results, theirs: Results) -> str:
    """Where nothing is in common: an agent that is in both, and by which settings it differs; empty if none is."""
    for agent, group in ours.groups.items():
        if (other := theirs.groups.get(agent)) is not None:
            found = config.differences(group.settings, other.settings)
            return f"{agent.objective} in {agent.env} differs in {'; '.join(found[:FEW])}"
    return ""


def _by_settings(results: Results) -> dict[str, Group]:
    return {json.dumps(group.settings, sort_keys=True): group for group in results.all_groups()}


def _names(groups: Sequence[Group]) -> list[str]:
    """What each is called among those of its world and learner."""
    named: list[str] = []
    for group in groups:
        beside = [
            each for each in groups if (each.agent.env, each.agent.learner) == (group.agent.env, group.agent.learner)
        ]
        told = dict(zip(map(id, beside), labels([each.settings for each in beside]), strict=True))
        named.append(told[id(group)])
    return named


def _spans(groups: Sequence[Group]) -> dict[tuple[str, str, str, str], float]:
    """From the lowest to the highest value on any curve, by world, marginal, learner and measure."""
    seen: dict[tuple[str, str, str, str], list[np.ndarray]] = {}
    for group in groups:
        for measure in MEASURES:
            values = group.columns.get(measure, np.empty(0)).ravel()
            seen.setdefault((*_place(group), measure), []).append(values[np.isfinite(values)])
    whole = {key: np.concatenate(values) for key, values in seen.items()}
    return {key: float(np.ptp(values)) if len(values) else 0.0 for key, values in whole.items()}


def _place(group: Group) -> tuple[str, str, str]:
    """Where a measure means the same."""
    return group.agent.env, group.agent.marginal, group.agent.learner


def _of(one: Group, other: Group, name: str, spans: dict[tuple[str, str, str, str], float]) -> Iterator[Comparison]:
    """Entropy, return and arm; the correction comes later."""
    for measure in (*MEASURES, ARM):
        x, y = _finals(one, measure), _finals(other, measure)
        if not np.isfinite([*x, *y]).all():
            continue
        span = spans.get((*_place(one), measure), 1.0)
        p = fisher_test(x, y) if measure == ARM else t_test(x, y, SMALL * span)
        yield Comparison(
            world=one.agent.env,
            agent=name,
            learner=one.agent.learner,
            measure=measure,
            seeds=(len(x), len(y)),
            means=(float(x.mean()), float(y.mean())),
            span=span,
            error=standard_error(x, y),
            p=p,
            corrected=p,
        )


def _finals(group: Group, measure: str) -> np.ndarray:
    """One number a seed; of the arm 1 where the run ends on S-Min."""
    column = "alpha" if measure == ARM else measure
    if column not in group.columns:
        return np.full(len(group.seeds), np.nan)
    values = group.final(column)
    return np.where(np.isfinite(values), values > 0.5, np.nan) if measure == ARM else values


def standard_error(x: np.ndarray, y: np.ndarray) -> float:
    """Of the difference of two means, from the pooled deviation."""
    freedom = len(x) + len(y) - 2
    squares = float(((x - x.mean()) ** 2).sum() + ((y - y.mean()) ** 2).sum())
    return math.sqrt(squares / freedom * (1 / len(x) + 1 / len(y)))


def t_test(x: np.ndarray, y: np.ndarray, tolerance: float = 0.0) -> float:
    """Chance of means so far apart if both samples are of one source, or of two that are `tolerance` apart."""
    from scipy import stats

    excess = abs(float(x.mean() - y.mean())) - tolerance
    if excess <= 0:
        return 1.0
    error = standard_error(x, y)
    return min(1.0, 2 * float(stats.t.sf(excess / error, len(x) + len(y) - 2))) if error > 0 else 0.0


def fisher_test(x: np.ndarray, y: np.ndarray) -> float:
    """Chance of shares of ones so far apart if both samples are of one source."""
    from scipy import stats

    counts = np.array([[int(each.sum()), int(len(each) - each.sum())] for each in (x, y)])
    return float(stats.fisher_exact(counts).pvalue)


def holm(chances: Sequence[float]) -> list[float]:
    """Chances corrected for their number: the smallest times n, the next times n - 1, never less than before."""
    order = np.argsort(chances, kind="stable")
    corrected, highest = [0.0] * len(chances), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[place]))
        corrected[place] = highest
    return corrected


def _same_rows(one: Group, other: Group) -> int:
    """Seeds whose runs are the same, number by number."""
    seeds = [seed for seed in one.seeds if seed in other.seeds]
    return sum(_same(one.of_seed(seed), other.of_seed(seed)) for seed in seeds)


def _same(one: Group, other: Group) -> bool:
    names = set(one.columns) & set(other.columns) - {"steps_per_second"}
    return all(np.array_equal(one.columns[name], other.columns[name], equal_nan=True) for name in names)
