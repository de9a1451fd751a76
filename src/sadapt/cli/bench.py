"""The command `bench`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tyro
from tyro.conf import arg

from sadapt.cli.common import Flag, progress
from sadapt.fields import Positive

EXPECTED = 52
"""Rows of the whole table, about."""


@dataclass(frozen=True)
class BenchCommand:
    """Measure speed on one core: worlds, wrappers, learners, and other libraries for comparison."""

    part: Annotated[
        Literal["all", "worlds", "wrappers", "learners", "peers"], tyro.conf.Positional, arg(help_behavior_hint="")
    ] = "all"
    """What to measure: all, worlds, wrappers, learners or peers."""
    where: Flag = False
    """Instead, show where training time goes, part by part, compared with the matrix products alone."""
    growth: Flag = False
    """Instead, show how cost grows with worlds, cells, replay, seeds and cores, and the slopes it should keep."""
    roofline: Flag = False
    """Instead, show memory and arithmetic per step, and the speed to expect from two GPUs and from this core."""
    seconds: Positive = 3.0
    """How long to repeat each measurement; the fastest call counts."""
    json: Flag = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        from sadapt.runs.cores import available, one_core

        cores = available()
        one_core()
        if self.where:
            return self._show_where()
        if self.growth:
            return self._show_growth(cores)
        if self.roofline:
            return self._show_roofline()
        from sadapt.benchmarks.run import PARTS, rows
        from sadapt.output import Column, show, show_json

        measured = rows(PARTS if self.part == "all" else (self.part,), seconds=self.seconds)
        records = self._collected(measured, ("what",), EXPECTED)
        if self.json:
            return show_json(records)
        return show(
            records,
            [
                Column("what", "what"),
                Column("value", "measured", _figures, right=True),
                Column("unit", "unit"),
                Column("ratio", "ratio", lambda ratio: f"{ratio:.2f}", right=True),
                Column("reference", "reference", _figures, right=True),
                Column("against", "against", folds=True),
            ],
        )

    def _collected(self, rows: Iterable[dict[str, Any]], named: tuple[str, ...], expected: int) -> list[dict[str, Any]]:
        """All rows, each shown by its name as it comes."""
        records: list[dict[str, Any]] = []
        with progress(self.json) as on_progress:
            for row in rows:
                records.append(row)
                if on_progress is not None:
                    on_progress(", ".join(row[name] for name in named), min(len(records) / expected, 1.0))
        return records

    def _show_growth(self, cores: list[int]) -> None:
        from sadapt.benchmarks import growth
        from sadapt.cli.scaling import show_growth

        measured = growth.rows(cores, seconds=self.seconds)
        show_growth(self._collected(measured, ("axis", "what"), len(growth.cases(cores))), as_json=self.json)

    def _show_roofline(self) -> None:
        from sadapt.benchmarks import roofline
        from sadapt.cli.scaling import show_roofline

        measured = roofline.rows(seconds=self.seconds)
        show_roofline(self._collected(measured, ("preset", "world"), len(roofline.CASES)), as_json=self.json)

    def _show_where(self) -> None:
        from sadapt.benchmarks import where
        from sadapt.output import Column, console, show, show_json

        records = self._collected(where.rows(seconds=self.seconds), ("learner", "world"), len(where.CASES))
        if self.json:
            return show_json(records)
        parts = [Column(name, name.replace("_", " "), _figures, right=True) for name in where.Split._fields]
        show(
            records,
            [
                Column("learner", "learner"),
                Column("world", "world"),
                *parts,
                Column("together", "parts / whole", lambda ratio: f"{ratio:.2f}", right=True),
            ],
        )
        console().print(
            "microseconds per environment step, one core; *products*: the matrix products of that part alone, in the "
            "same shapes and order",
            markup=False,
        )
        return None


def _figures(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
