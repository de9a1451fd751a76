"""All stored runs as one tidy table: a row for every run and logged step, what is known of the run beside what it saw.

The table is a compressed CSV, the same to the byte from the same runs, for whoever wants the numbers without the
folders: pandas, R or a spreadsheet read it as it is.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError, installing
from sadapt.report.naming import labels
from sadapt.report.stored import Group, Results
from sadapt.report.stored import load as load_runs

FILE = "runs.csv.gz"
FACTS = ("run", "env", "objective", "learner", "marginal", "variant", "settings", "seed")
"""What is told of a run; `variant` and `settings` are explained in results/README.md."""

CLOCK = "steps_per_second"
"""A column that no repetition gives again."""


class Cost(NamedTuple):
    """What the runs of one world and learner took."""

    world: str
    learner: str
    runs: int
    steps: int
    core_hours: float


def load(results: str | Path) -> Any:
    """Stored runs as a pandas frame, a row for every run and logged step.

    `results` is a folder of runs, which are read themselves, or one that holds nothing but their table, or the table.
    """
    try:
        import pandas
    except ImportError as error:
        raise UserError(
            f"sadapt.report.load gives a pandas frame, and pandas is not installed: {installing('pandas')}. "
            f"`sadapt table {results}` writes the same as a compressed CSV without it"
        ) from error
    source = _source(Path(results))
    names: Any = {name: str for name in FACTS if name != "seed"}
    try:
        return pandas.read_csv(source, compression="gzip", dtype=names).fillna({"variant": ""})
    except (ValueError, OSError, EOFError) as error:
        raise UserError(f"{results} is not a table of runs ({error}): `sadapt table RESULTS` writes one") from error


def _source(path: Path) -> Path | io.BytesIO:
    if path.is_file():
        return path
    if any(path.rglob("config.json")) or not (path / FILE).is_file():
        return io.BytesIO(compressed(load_runs(path), path))
    return path / FILE


def write(results: Results, root: Path, out: Path | None = None) -> Path:
    """Writes the table, beside the runs if not told where; returns its file."""
    file = root / FILE if out is None else out
    if not file.name.endswith(".csv.gz"):
        raise UserError(f"--out must name a .csv.gz file; got {str(file)!r}")
    table = compressed(results, root)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(table)
    return file


def compressed(results: Results, root: Path) -> bytes:
    """The table, compressed without a date or a name, so that the same runs give the same bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    groups = results.all_groups()
    columns = list(dict.fromkeys(name for group in groups for name in group.columns if name != CLOCK))
    writer.writerow([*FACTS, *columns])
    for facts, values in sorted(_runs(results, root), key=lambda run: run[0]):
        known = [values.get(name) for name in columns]
        for row in range(len(values["step"])):
            writer.writerow([*facts, *("" if each is None else _text(each[row]) for each in known)])
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0, compresslevel=9) as file:
        file.write(text.getvalue().encode())
    return packed.getvalue()


def _runs(results: Results, root: Path) -> Iterator[tuple[list[str], dict[str, np.ndarray]]]:
    """Every run's facts and columns."""
    for group in results.groups.values():
        variants = results.variants(group)
        for each, label in zip(variants, labels([one.settings for one in variants]), strict=True):
            agent, variant = each.agent, label.partition(", ")[2]
            for place, (folder, seed) in enumerate(zip(each.folders, each.seeds, strict=True)):
                run = folder.path.relative_to(root).as_posix()
                names = [run, agent.env, agent.objective, agent.learner, agent.marginal, variant, digest(each)]
                yield [*names, str(seed)], {name: values[place] for name, values in each.columns.items()}


def digest(group: Group) -> str:
    """Eight letters that are the same for runs that differ in nothing but their seed."""
    return hashlib.sha256(json.dumps(group.settings, sort_keys=True).encode()).hexdigest()[:8]


def _text(value: float) -> str:
    """As short as it can be written without loss; empty where there is no number."""
    if not np.isfinite(value):
        return "" if np.isnan(value) else repr(float(value))
    return str(int(value)) if value == int(value) else repr(float(value))


def costs(results: Results) -> list[Cost]:
    """What the stored runs took by their own account, world by world."""
    found: dict[tuple[str, str], list[Group]] = {}
    for group in results.all_groups():
        found.setdefault((group.agent.learner, group.agent.env), []).append(group)
    return [
        Cost(
            world=env,
            learner=learner,
            runs=sum(len(group.seeds) for group in groups),
            steps=sum(len(group.seeds) * group.total for group in groups),
            core_hours=sum(_seconds(folder) for group in groups for folder in group.folders) / 3600,
        )
        for (learner, env), groups in sorted(found.items())
    ]


def _seconds(folder: Any) -> float:
    """That a run was trained for, on one core."""
    told = folder.read_status().get("seconds", 0.0)
    return float(told) if isinstance(told, int | float) else 0.0
