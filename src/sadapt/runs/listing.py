"""Runs in the plural: how every run below a folder stands, and what differs between two of them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sadapt.errors import UserError
from sadapt.motivation.objectives import ARMS, MINIMISE, OBJECTIVES
from sadapt.runs import config, metrics_file
from sadapt.runs.belongings import is_ours
from sadapt.runs.folder import RunFolder, find

PACE, STEP = "steps_per_second", "step"
UNREADABLE, UNKNOWN = "unreadable", "unknown"
RECENT = 10
"""Rows over which the pace is taken: the median, which does not mind a pause."""
SHARE = 0.1
"""Of the rows that two runs have in common, the last, over which they are compared."""
NOT_COMPARED = (STEP, PACE)
ABOUT = ("version", "revision", "command")
"""What `config.json` tells of a run's making, beside its settings and libraries."""


class Listed(NamedTuple):
    """The state of a run."""

    run: str
    state: str
    """finished, running, stopped, lost, diverged, failed; unknown without a status, unreadable if it cannot be read."""
    env: str | None = None
    objective: str | None = None
    learner: str | None = None
    seed: int | None = None
    step: int = 0
    total: int | None = None
    last_return: float | None = None
    arm: str | None = None
    """The arm of most of the last episodes."""
    arm_share: float | None = None
    """Its share of them."""
    pace: float | None = None
    """Environment steps a second."""
    updated: str | None = None
    why: str | None = None
    """What is wrong with a run that cannot be read."""

    @property
    def progress(self) -> float | None:
        """Share of the steps that were asked for."""
        return None if not self.total else min(self.step / self.total, 1.0)


def listed(folder: str | Path = "runs") -> list[Listed]:
    """Every run below a folder, by its path."""
    root = Path(folder)
    if not root.is_dir():
        raise UserError(f"{root} is not a folder: name one that holds runs; `sadapt train` writes into runs/")
    found = [RunFolder(file.parent) for file in sorted(root.rglob("config.json")) if is_ours(file.parent)]
    if not found:
        raise UserError(f"{root} holds no runs: `sadapt train` and `sadapt sweep` make them")
    return [_stands(run) for run in found]


def _stands(run: RunFolder) -> Listed:
    """How one run stands, by its own files."""
    try:
        settings = config.read(run.config)
        rows = metrics_file.read(run.metrics) if run.metrics.exists() else []
    except (UserError, OSError) as error:
        return Listed(str(run), UNREADABLE, why=str(error))
    status, last = run.read_status(), rows[-1] if rows else {}
    total, step = settings.total_timesteps, int(last.get(STEP) or 0)
    known = "finished" if step >= total else UNKNOWN
    arm, share = _arm(settings.objective, last.get("alpha"))
    returns = [row["return"] for row in rows if row.get("return") is not None]
    return Listed(
        run=str(run),
        state=str(status.get("state", known)),
        env=settings.env,
        objective=settings.objective,
        learner=settings.learner.name,
        seed=settings.seed,
        step=max(step, int(status.get(STEP, 0))),
        total=total,
        last_return=returns[-1] if returns else None,
        arm=arm,
        arm_share=share,
        pace=_pace(rows, status),
        updated=status.get("updated") if isinstance(status.get("updated"), str) else None,
    )


def _pace(rows: list[dict[str, Any]], status: Mapping[str, Any]) -> float | None:
    """Of the last rows; of a run that does not write it down, over all of its time."""
    paces = [row[PACE] for row in rows[-RECENT:] if row.get(PACE)]
    if paces:
        return statistics.median(paces)
    return status[STEP] / status["seconds"] if status.get(STEP) and status.get("seconds") else None


def _arm(objective: str, alpha: float | None) -> tuple[str | None, float | None]:
    """The arm of most episodes and its share; an agent without a bandit is told by its objective."""
    if alpha is None or not OBJECTIVES[objective].adaptive:
        return None, None
    most = MINIMISE if alpha >= 0.5 else 1 - MINIMISE
    return ARMS[most], alpha if most == MINIMISE else 1 - alpha


class Difference(NamedTuple):
    """Something that two runs do not share."""

    name: str
    first: Any
    second: Any


class Outcome(NamedTuple):
    """A column of metrics, over the last tenth of the rows that both runs have."""

    name: str
    first: float
    second: float

    @property
    def difference(self) -> float:
        return self.second - self.first


class Comparison(NamedTuple):
    """What differs between two runs."""

    first: str
    second: str
    settings: list[Difference]
    """By their dotted names; None where a run does not have such a setting."""
    made: list[Difference]
    """Version, revision, command and libraries."""
    until: int | None
    """The last step that both have rows up to; None where they have none in common."""
    results: list[Outcome]
    identical: bool
    """Whether all rows are the same, but for the pace."""

    def as_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return {
            **self._asdict(),
            "settings": [each._asdict() for each in self.settings],
            "made": [each._asdict() for each in self.made],
            "results": [{**each._asdict(), "difference": each.difference} for each in self.results],
        }


def compared(first: str | Path | RunFolder, second: str | Path | RunFolder) -> Comparison:
    """What differs between two runs, in their settings and in their results."""
    runs = [find(first), find(second)]
    records = [config.read_record(run.config) for run in runs]
    plain = [flat(config.to_dict(config.read(run.config))) for run in runs]
    made = [{**{name: each.get(name) for name in ABOUT}, **flat(_mapping(each.get("versions")))} for each in records]
    rows = [metrics_file.read(run.metrics) if run.metrics.exists() else [] for run in runs]
    until, results = _results(*rows)
    bare = [[{name: value for name, value in row.items() if name != PACE} for row in each] for each in rows]
    return Comparison(
        first=str(runs[0]),
        second=str(runs[1]),
        settings=_differing(*plain),
        made=_differing(*made),
        until=until,
        results=results,
        identical=bool(rows[0]) and bare[0] == bare[1],
    )


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by their dotted names."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {prefix + name: value}
    return found


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    names = dict.fromkeys([*one, *other])
    return [Difference(name, one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)]


def _results(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> tuple[int | None, list[Outcome]]:
    """Means over the last tenth of the rows that both have, up to the step that both have come to."""
    if not one or not other:
        return None, []
    until = min(one[-1][STEP], other[-1][STEP])
    kept = [[row for row in rows if (1 - SHARE) * until < row[STEP] <= until] for rows in (one, other)]
    names = [name for name in one[0] if name in other[0] and name not in NOT_COMPARED]
    results = []
    for name in names:
        values = [[row[name] for row in rows if row.get(name) is not None] for rows in kept]
        if all(values):
            results.append(Outcome(name, *map(statistics.fmean, values)))
    return until, results
