"""Stored runs as arrays: the seeds of one agent in one world beside each other."""

from __future__ import annotations

import json
from collections.abc import Iterable
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

    def final(self, column: str) -> np.ndarray:
        """Per seed, the mean of the last tenth of the run."""
        steps, values = self.columns["step"][0], self.columns[column]
        late = values[:, steps > (1 - LAST) * steps[-1]]
        known = np.isfinite(late)
        counts = known.sum(axis=1)
        return np.where(counts > 0, np.where(known, late, 0).sum(axis=1) / np.maximum(counts, 1), np.nan)


class Results(NamedTuple):
    """Everything below a folder."""

    groups: dict[Agent, Group]
    unfinished: tuple[Path, ...]
    set_aside: tuple[Path, ...]
    """Runs of an agent that is also there with more seeds under other settings."""
    others: dict[Agent, tuple[Group, ...]] = {}  # noqa: RUF012 (shared, and never written to)
    """The groups of those."""

    def get(self, env: str, objective: str, *, marginal: str = "auto", learner: str = "pqn") -> Group | None:
        return self.groups.get(Agent(env, objective, marginal, learner))

    def variants(self, group: Group) -> tuple[Group, ...]:
        """A group, and the same agent's of other settings."""
        return (group, *self.others.get(group.agent, ()))

    def worlds(self, learner: str) -> list[str]:
        return sorted({agent.env for agent in self.groups if agent.learner == learner})


def load(folder: str | Path) -> Results:
    """Every finished run below `folder`."""
    root = Path(folder)
    configs = sorted(root.rglob("config.json"))
    if not configs:
        raise UserError(f"{root} holds no runs: `sadapt sweep FIGURE --out {root}` makes them")
    alike: dict[tuple[Agent, str], list[tuple[int, RunFolder, list[dict[str, Any]]]]] = {}
    unfinished = []
    for file in configs:
        run = RunFolder(file.parent)
        settings = config.read(file)
        rows = metrics_file.read(run.metrics) if run.metrics.exists() else []
        if not rows or int(rows[-1]["step"] or 0) < settings.total_timesteps:
            unfinished.append(run.path)
            continue
        agent = Agent(settings.env, settings.objective, settings.marginal.name, settings.learner.name)
        plain = {**config.to_dict(settings), "seed": 0}
        alike.setdefault((agent, json.dumps(plain)), []).append((settings.seed, run, rows))
    return _chosen(alike, unfinished)


def _chosen(
    alike: dict[tuple[Agent, str], list[tuple[int, RunFolder, list[dict[str, Any]]]]], unfinished: list[Path]
) -> Results:
    """Of several variants of an agent the one with the most seeds, then the longest."""
    best: dict[Agent, Group] = {}
    others: dict[Agent, tuple[Group, ...]] = {}
    aside: list[Path] = []
    for (agent, settings), runs in alike.items():
        group = _group(agent, runs)._replace(settings=json.loads(settings))
        rival = best.setdefault(agent, group)
        if rival is group:
            continue
        worse, best[agent] = sorted((group, rival), key=lambda each: (len(each.seeds), each.total))
        others[agent] = (*others.get(agent, ()), worse)
        aside += [folder.path for folder in worse.folders]
    return Results(best, tuple(unfinished), tuple(aside), others)


def _group(agent: Agent, runs: Iterable[tuple[int, RunFolder, list[dict[str, Any]]]]) -> Group:
    ordered = sorted(runs, key=lambda entry: entry[0])
    unique = {seed: (folder, rows) for seed, folder, rows in ordered}
    length = min(len(rows) for _, rows in unique.values())
    names = list(dict.fromkeys(name for _, rows in unique.values() for name in rows[0]))
    columns = {
        name: np.array(
            [[_number(row.get(name)) for row in rows[-length:]] for _, rows in unique.values()], dtype=np.float64
        )
        for name in names
    }
    total = int(columns["step"][0, -1])
    return Group(agent, total, tuple(folder for folder, _ in unique.values()), tuple(unique), columns)


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)
