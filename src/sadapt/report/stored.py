"""Stored runs as arrays: the seeds of one agent in one world beside each other."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.runs import config, metrics_file
from sadapt.runs.folder import RunFolder

LAST = 0.1
"""Share of a run, at its end, over which its final value is a mean."""


class Agent(NamedTuple):
    """Who was trained, where and how."""

    env: str
    objective: str
    marginal: str
    learner: str


class Group(NamedTuple):
    """The finished runs of one agent that differ in nothing but their seed."""

    agent: Agent
    total: int
    """Environment steps of each run."""
    folders: tuple[RunFolder, ...]
    seeds: tuple[int, ...]
    columns: dict[str, np.ndarray]
    """[seeds, rows]; not a number where a cell is empty."""
    settings: dict[str, Any] = {}  # noqa: RUF012 (shared, and never written to)
    """As they are stored, but for the seed."""

    def of_seed(self, seed: int) -> Group:
        """That seed's run alone."""
        place = self.seeds.index(seed)
        columns = {name: values[place : place + 1] for name, values in self.columns.items()}
        return self._replace(folders=self.folders[place : place + 1], seeds=(seed,), columns=columns)

    def final(self, column: str) -> np.ndarray:
        """Per seed, the mean of the last tenth of the run."""
        steps, values = self.columns["step"][0], self.columns[column]
        late = values[:, steps > (1 - LAST) * steps[-1]]
        known = np.isfinite(late)
        counts = known.sum(axis=1)
        return np.where(counts > 0, np.where(known, late, 0).sum(axis=1) / np.maximum(counts, 1), np.nan)


class Run(NamedTuple):
    """A finished run."""

    seed: int
    folder: RunFolder
    rows: list[dict[str, Any]]

    def steps(self) -> tuple[int, ...]:
        return tuple(row["step"] for row in self.rows)


class LeftOut(NamedTuple):
    """A run that is not used, and why."""

    path: Path
    why: str


class Results(NamedTuple):
    """Everything below a folder."""

    groups: dict[Agent, Group]
    unfinished: tuple[Path, ...]
    set_aside: tuple[Path, ...]
    """Runs of an agent that is also there under the preset's own settings, or under others with more seeds."""
    left_out: tuple[LeftOut, ...] = ()
    """Folders whose runs cannot be used, or not beside the others."""
    others: dict[Agent, tuple[Group, ...]] = {}  # noqa: RUF012 (shared, and never written to)
    """The groups of those."""

    def get(self, env: str, objective: str, *, marginal: str = "auto", learner: str = "pqn") -> Group | None:
        return self.groups.get(Agent(env, objective, marginal, learner))

    def variants(self, group: Group) -> tuple[Group, ...]:
        """A group, and the same agent's of other settings."""
        return (group, *self.others.get(group.agent, ()))

    def all_groups(self) -> list[Group]:
        """Every group, each agent's variants beside each other."""
        return [each for group in self.groups.values() for each in self.variants(group)]

    def of_seed(self, seed: int) -> Results:
        """That seed's runs alone."""
        groups = {agent: group.of_seed(seed) for agent, group in self.groups.items() if seed in group.seeds}
        return self._replace(groups=groups, others={})

    def worlds(self, learner: str) -> list[str]:
        return sorted({agent.env for agent in self.groups if agent.learner == learner})


def load(folder: str | Path) -> Results:
    """Every finished run below `folder` that can be read."""
    root = Path(folder)
    configs = sorted(root.rglob("config.json"))
    if not configs:
        raise UserError(f"{root} holds no runs: `sadapt sweep FIGURE --out {root}` makes them")
    alike: dict[tuple[Agent, str], list[Run]] = {}
    unfinished, left_out = list[Path](), list[LeftOut]()
    for file in configs:
        run = RunFolder(file.parent)
        try:
            settings = config.read(file)
            rows = metrics_file.read(run.metrics) if run.metrics.exists() else []
        except Exception as error:  # somebody else's config.json may hold anything
            left_out.append(LeftOut(run.path, f"not a run that can be read ({error or type(error).__name__})"))
            continue
        if not rows or rows[-1]["step"] < settings.total_timesteps:
            unfinished.append(run.path)
        elif hole := metrics_file.hole(rows, settings.planned_timesteps):
            left_out.append(LeftOut(run.path, f"its metrics.csv {hole}"))
        else:
            agent = Agent(settings.env, settings.objective, settings.marginal.name, settings.learner.name)
            plain = {**config.to_dict(settings), "seed": 0}
            alike.setdefault((agent, json.dumps(plain)), []).append(Run(settings.seed, run, rows))
    return _chosen(alike, unfinished, left_out)


def _chosen(alike: dict[tuple[Agent, str], list[Run]], unfinished: list[Path], left_out: list[LeftOut]) -> Results:
    """Of an agent's variants the one with the preset's own settings, or with the most seeds, or the longest."""
    best: dict[Agent, Group] = {}
    others: dict[Agent, tuple[Group, ...]] = {}
    aside: list[Path] = []
    for (agent, settings), runs in alike.items():
        group = _group(agent, _comparable(runs, left_out))._replace(settings=json.loads(settings))
        rival = best.setdefault(agent, group)
        if rival is group:
            continue
        worse, best[agent] = sorted((group, rival), key=_weight)
        others[agent] = (*others.get(agent, ()), worse)
        aside += [folder.path for folder in worse.folders]
    return Results(best, tuple(unfinished), tuple(aside), tuple(left_out), others)


def _weight(group: Group) -> tuple[bool, int, int]:
    """What decides between variants; a sweep names the settings in a folder's name that are not the preset's."""
    return "=" not in group.folders[0].path.name, len(group.seeds), group.total


def _comparable(runs: list[Run], left_out: list[LeftOut]) -> list[Run]:
    """Every seed once, by the first path, and all of them with rows at the same steps; names what is left out."""
    usual = Counter(run.steps() for run in runs).most_common(1)[0][0]
    unique: dict[int, Run] = {}
    for run in runs:
        if run.steps() != usual:
            left_out.append(LeftOut(run.folder.path, "its rows are at other steps than those of most seeds"))
        elif run.seed in unique:
            first = unique[run.seed]
            how = "the same rows" if first.rows == run.rows else "other rows"
            left_out.append(
                LeftOut(run.folder.path, f"seed {run.seed} is there twice, and {first.folder} with {how} is used")
            )
        else:
            unique[run.seed] = run
    return [unique[seed] for seed in sorted(unique)]


def _group(agent: Agent, runs: list[Run]) -> Group:
    names = list(dict.fromkeys(name for run in runs for name in run.rows[0]))
    columns = {
        name: np.array([[_number(row.get(name)) for row in run.rows] for run in runs], dtype=np.float64)
        for name in names
    }
    total = int(columns["step"][0, -1])
    return Group(agent, total, tuple(run.folder for run in runs), tuple(run.seed for run in runs), columns)


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)
