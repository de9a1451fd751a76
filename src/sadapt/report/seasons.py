"""How well an agent follows a world whose season changes: on the right arm, how soon after a change, at what loss.

Season i is arm i's: the first is S-Max's, the second S-Min's. A season's rows of metrics are those between two rows in
which it changed; of a run's seasons the last five count, when its arms have been learned, and both seasons weigh alike.

    right     share of the decisions on the season's arm, after its first tenth
    recovery  share of the season until nine tenths of the decisions are there; 1 if they never are
    value     mean distance from what a random agent has now, in the arm's own direction
    regret    what is missing to the oracle's value, relative to what the worse single objective misses
    task      the task's return in a hundred steps of each season

Who is paid by the task has no arm, and episodes are compared with random ones of any season: they have no value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from sadapt.motivation.objectives import ARMS, OBJECTIVES
from sadapt.report.statistics import Interval, interval
from sadapt.report.stored import Group, Results

SETTLED = 0.1
"""Share of a season within which an agent should have found its arm."""
NEARLY = 0.9
"""Share of the decisions that counts as found."""
COUNTED = 5
"""Seasons of a run that count, the last ones."""
COLUMNS = ("season", "changes")
"""What a world with seasons counts."""


class Season(NamedTuple):
    """Some rows of a run, all in one season."""

    number: int
    rows: np.ndarray


class Followed(NamedTuple):
    """What one agent made of the seasons."""

    agent: str
    right: Interval | None
    recovery: Interval | None
    value: Interval | None
    regret: Interval | None
    """None also where there is no oracle, or not both single objectives."""
    task: tuple[float, ...]
    seeds: int


def seasons_of(season: np.ndarray, changes: np.ndarray) -> list[Season]:
    """The seasons of one run that count, from each row's share of the second season and its changes."""
    inside = np.isfinite(season) & (changes == 0)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
    found = [Season(round(float(season[a])), np.arange(a, b)) for a, b in edges.reshape(-1, 2)]
    return found[-COUNTED:]


def followed(groups: Mapping[str, Group], oracle: str = "oracle") -> list[Followed]:
    """Every agent; the groups are called by their agents' names, among them the oracle and both single objectives."""
    values = {name: _over(group, _value) for name, group in groups.items() if _has_arms(group) and _streams(group)}
    best, worse = values.get(oracle), None
    if best is not None and all(OBJECTIVES[arm].title in values for arm in ARMS):
        worse = min((values[OBJECTIVES[arm].title] for arm in ARMS), key=np.mean)
    return [
        Followed(
            agent=name,
            right=_interval(_over(group, _right)) if _has_arms(group) else None,
            recovery=_interval(_over(group, _recovery)) if _has_arms(group) else None,
            value=_interval(values[name]) if name in values else None,
            regret=None
            if best is None or worse is None or name not in values
            else interval((best, values[name], worse), _regret),
            task=tuple(float(np.mean(_over(group, _task, number))) for number in range(len(ARMS))),
            seeds=len(group.seeds),
        )
        for name, group in groups.items()
    ]


def _has_arms(group: Group) -> bool:
    return OBJECTIVES[group.agent.objective].intrinsic


def _streams(group: Group) -> bool:
    return bool(group.settings.get("motivation", {}).get("stream", True))


Measure = Callable[[dict[str, np.ndarray], Season], float]


def _over(group: Group, measure: Measure, number: int | None = None) -> np.ndarray:
    """Per seed, the mean of a measure over the seasons that count, or over those of one number."""
    found = []
    for place in range(len(group.seeds)):
        columns = {name: values[place] for name, values in group.columns.items()}
        some = seasons_of(columns["season"] / columns["length"], columns["changes"])
        each_season: dict[int, list[float]] = {}
        for each in some:
            if number in (None, each.number):
                each_season.setdefault(each.number, []).append(measure(columns, each))
        found.append(np.mean([float(np.mean(values)) for values in each_season.values()] or [np.nan]))
    return np.array(found)


def _on_its_arm(columns: dict[str, np.ndarray], season: Season) -> np.ndarray:
    alpha = columns["alpha"][season.rows]
    return alpha if season.number else 1 - alpha


def _right(columns: dict[str, np.ndarray], season: Season) -> float:
    shares = _on_its_arm(columns, season)
    return float(np.mean(shares[int(SETTLED * len(shares)) :]))


def _recovery(columns: dict[str, np.ndarray], season: Season) -> float:
    there = _on_its_arm(columns, season) >= NEARLY
    return float(np.argmax(there) / len(there)) if there.any() else 1.0


def _value(columns: dict[str, np.ndarray], season: Season) -> float:
    return float(np.nanmean(columns["pushed"][season.rows]))


def _task(columns: dict[str, np.ndarray], season: Season) -> float:
    return float(100 * np.nanmean(columns["return"][season.rows] / columns["length"][season.rows]))


def _interval(values: np.ndarray) -> Interval:
    return interval((values,), lambda each: each.mean(axis=-1))


def _regret(best: np.ndarray, mine: np.ndarray, worse: np.ndarray) -> np.ndarray:
    top = best.mean(axis=-1)
    found: np.ndarray = (top - mine.mean(axis=-1)) / (top - worse.mean(axis=-1))
    return found


def by_agent(results: Results) -> dict[str, Group]:
    """The runs in worlds with seasons, by the names that the table calls their agents."""
    found: dict[str, Group] = {}
    for group in results.all_groups():
        if all(name in group.columns for name in COLUMNS):
            found.setdefault(_named(group), _on_one_arm(group))
    return found


def _on_one_arm(group: Group) -> Group:
    """A single objective's group with the share of decisions that it makes on S-Min: all or none."""
    row = OBJECTIVES[group.agent.objective]
    if row.arm is None or not row.intrinsic:
        return group
    return group._replace(columns={**group.columns, "alpha": np.full_like(group.columns["step"], row.arm)})


def _named(group: Group) -> str:
    title = OBJECTIVES[group.agent.objective].title
    if not OBJECTIVES[group.agent.objective].adaptive:
        return title
    if group.settings["bandit"]["kind"] == "told":
        return "oracle"
    return title if _streams(group) else f"{title}, episodes"
