"""Every run below a folder as it stands now, finished or not, and which of them are one curve."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.motivation.objectives import OBJECTIVES
from sadapt.report.naming import labels
from sadapt.report.stored import LAST
from sadapt.runs import config, metrics_file
from sadapt.runs.folder import RunFolder

ORDER = ("s-adapt", "s-max", "s-min", "s-task", "extrinsic", "random")
FINISHED, UNFINISHED = "finished", "unfinished"
Columns = dict[str, np.ndarray]
"""A run's metrics; not a number where a cell is empty."""


class Run(NamedTuple):
    """A run of ours."""

    folder: RunFolder
    settings: dict[str, Any]
    record: dict[str, Any]
    """All of its `config.json`."""
    state: str
    warnings: tuple[str, ...]
    columns: Columns

    @property
    def seed(self) -> int:
        return int(self.settings["seed"])

    @property
    def total(self) -> int:
        """Steps that were asked for."""
        return int(self.settings["total_timesteps"])

    @property
    def step(self) -> int:
        """Steps that it has come to."""
        return int(self.columns["step"][-1]) if self.columns else 0

    def last(self, column: str) -> float:
        """The mean of a column over the last tenth of the steps that are there."""
        if column not in self.columns:
            return float("nan")
        steps, values = self.columns["step"], self.columns[column]
        late = values[(steps > (1 - LAST) * steps[-1]) & np.isfinite(values)]
        return float(late.mean()) if len(late) else float("nan")


class Broken(NamedTuple):
    """A folder that looks like a run's and cannot be read, and why, in words that name it."""

    path: Path
    why: str


class Curve(NamedTuple):
    """Runs that differ in nothing but their seed."""

    name: str
    objective: str
    variant: int
    """How many curves of the same agent stand before it."""
    runs: tuple[Run, ...]

    @property
    def begun(self) -> tuple[Run, ...]:
        """Those that have something to show."""
        return tuple(run for run in self.runs if run.columns)

    @property
    def judged(self) -> tuple[Run, ...]:
        """Those whose last rows count: the finished ones, or all that have begun while none is."""
        return tuple(run for run in self.begun if run.state == FINISHED) or self.begun


class Block(NamedTuple):
    """The curves of one world and one learner, which are drawn together."""

    world: str
    learner: str
    curves: tuple[Curve, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        return tuple(run for curve in self.curves for run in curve.runs)


class Study(NamedTuple):
    """Everything below a folder."""

    root: Path
    blocks: tuple[Block, ...]
    broken: tuple[Broken, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        return tuple(run for block in self.blocks for run in block.runs)

    @property
    def learners(self) -> list[str]:
        """The one with the most runs first."""
        counts = Counter(run.settings["learner"]["kind"] for run in self.runs)
        return sorted(counts, key=lambda name: (-counts[name], name))


def gather(root: Path) -> Study:
    """The runs below a folder; those that cannot be read are named and left out."""
    found = [_read(file.parent) for file in sorted(root.rglob("config.json"))]
    runs = [each for each in found if isinstance(each, Run)]
    return Study(root, tuple(_blocks(runs)), tuple(each for each in found if isinstance(each, Broken)))


def require_folder(root: Path) -> Path:
    """Refuses what is no folder."""
    if not root.is_dir():
        raise UserError(f"{root} is not a folder: name one that holds runs, such as runs or results")
    return root


def require_runs(study: Study) -> None:
    """Refuses a folder without a single run of ours."""
    if study.blocks:
        return
    if not study.broken:
        raise UserError(f"{study.root} holds no runs: `sadapt train` and `sadapt sweep` make them")
    first, *others = study.broken
    more = f", and {len(others)} more like it" if others else ""
    raise UserError(f"{study.root} holds no run that can be read: {first.why}{more}")


def _read(path: Path) -> Run | Broken:
    folder = RunFolder(path)
    try:
        record = config.read_record(folder.config)
        settings = config.to_dict(config.read(folder.config))
        columns = _columns(metrics_file.read(folder.metrics)) if folder.metrics.exists() else {}
    except Exception as error:  # somebody else's config.json may hold anything
        said = str(error) or type(error).__name__
        return Broken(path, said if str(path) in said else f"{path}: {said}")
    run = Run(folder, settings, record, UNFINISHED, folder.warnings, columns)
    told = str(folder.read_status().get("state", UNFINISHED))
    state = FINISHED if run.step >= run.total else UNFINISHED if told == FINISHED else told
    return run._replace(state=state)


def _columns(rows: Sequence[dict[str, Any]]) -> Columns:
    """Rows as columns, up to the first that does not come after the one before: a line that was cut short."""
    steps = [row["step"] for row in rows]
    whole = next((at for at in range(1, len(steps)) if steps[at] <= steps[at - 1]), len(steps))
    if not whole:
        return {}
    return {name: np.array([_number(row.get(name)) for row in rows[:whole]], np.float64) for name in rows[0]}


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)


def _blocks(runs: Sequence[Run]) -> Iterator[Block]:
    places: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        places.setdefault((str(run.settings["env"]), str(run.settings["learner"]["kind"])), []).append(run)
    for (world, learner), members in sorted(places.items()):
        yield Block(world, learner, tuple(_curves(members)))


def _curves(runs: Sequence[Run]) -> Iterator[Curve]:
    """Seeds of the same settings are one curve; agents in their usual order, the plainest and most first."""
    alike: dict[str, list[Run]] = {}
    for run in runs:
        alike.setdefault(json.dumps({**run.settings, "seed": 0}, sort_keys=True), []).append(run)
    groups = sorted(
        alike.values(), key=lambda group: (_place(group[0]), _special(group[0]), -len(group), group[0].folder.path)
    )
    names = labels([group[0].settings for group in groups])
    objectives = [str(group[0].settings["objective"]) for group in groups]
    for number, (group, name) in enumerate(zip(groups, names, strict=True)):
        members = tuple(sorted(group, key=lambda run: (run.seed, run.folder.path)))
        yield Curve(name, objectives[number], objectives[:number].count(objectives[number]), members)


def _special(run: Run) -> int:
    """Settings of its own that a run's folder is called after."""
    return run.folder.path.name.count("=")


def _place(run: Run) -> int:
    known = [*ORDER, *(name for name in OBJECTIVES if name not in ORDER)]
    return known.index(run.settings["objective"])
