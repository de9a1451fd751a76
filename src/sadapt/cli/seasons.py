"""The command `seasons`: how well stored agents follow a world whose season changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import arg

from sadapt.cli.common import Flag, Imports, OptionalFile, require_suffix

MEASURES = ("right", "recovery", "value", "regret")


@dataclass(frozen=True)
class SeasonsCommand:
    """Measure how well agents follow a world whose season changes: `seasons`, or `switch:A,B`.

    Over the last five seasons of each run: right is the share of decisions on the season's arm, recovery the share
    of a season until nine tenths are, value the distance from the random agent in the arm's direction, and regret what
    is missing to the oracle's value, relative to what the worse single objective misses.
    """

    results: Annotated[Path, tyro.conf.Positional, arg(metavar="DIR", help_behavior_hint="")]
    """Folder of runs, as written by `sadapt sweep seasons`."""
    figure: OptionalFile = None
    """Also draw surprise, arm and season over the last ten changes of S-Adapt's runs: a .png, .svg or .pdf file."""
    json: Flag = False
    """Print JSON instead of a table."""
    imports: Imports = ()

    def run(self) -> None:
        if self.figure is not None:
            require_suffix("--figure", self.figure, (".png", ".svg", ".pdf"))
        from sadapt.output import Column, show, show_json
        from sadapt.studies import seasons

        found = seasons(self.results, figure=self.figure, imports=self.imports)
        if self.json:
            return show_json([_record(each._asdict()) for each in found])
        spoken = lambda each: "" if each is None else str(each)  # noqa: E731
        told = lambda each: ", ".join(f"{value:.2f}" for value in each)  # noqa: E731
        return show(
            [each._asdict() for each in found],
            [
                Column("agent", "agent"),
                *(Column(name, f"{name}, 95 %", spoken, right=True) for name in MEASURES),
                Column("task", "task in 100 steps, by season", told, right=True),
                Column("seeds", "seeds", right=True),
            ],
        )


def _record(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, **{name: None if row[name] is None else row[name]._asdict() for name in MEASURES}}
