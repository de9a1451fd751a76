"""The command `bench`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro
from tyro.conf import arg

from sadapt.cli.common import Flag, progress
from sadapt.fields import Positive

EXPECTED = 34
"""Rows of the whole table, about."""


@dataclass(frozen=True)
class BenchCommand:
    """Measure speed on one core: worlds, wrappers, learners, and their peers where they are installed."""

    part: Annotated[
        Literal["all", "worlds", "wrappers", "learners"], tyro.conf.Positional, arg(help_behavior_hint="")
    ] = "all"
    """What to measure: all, worlds, wrappers or learners."""
    seconds: Positive = 3.0
    """How long to repeat each measurement; the fastest call counts."""
    json: Flag = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        from sadapt.runs.cores import one_core

        one_core()
        from sadapt.benchmarks.run import PARTS, rows
        from sadapt.output import Column, show, show_json

        records = []
        with progress(self.json) as on_progress:
            for row in rows(PARTS if self.part == "all" else (self.part,), seconds=self.seconds):
                records.append(row)
                if on_progress is not None:
                    on_progress(row["what"], min(len(records) / EXPECTED, 1.0))
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


def _figures(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
