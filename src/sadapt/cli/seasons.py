"""The command `seasons`: how well stored agents follow a world whose season changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import arg

from sadapt.cli.common import Flag, Imports, OptionalFile, require_suffix
from sadapt.errors import UserError
from sadapt.registry import import_modules

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
        import_modules(self.imports)
        from sadapt.output import Column, show, show_json
        from sadapt.report.seasons import by_agent, followed
        from sadapt.report.stored import load

        if self.figure is not None:
            require_suffix("--figure", self.figure, (".png", ".svg", ".pdf"))
        groups = by_agent(load(self.results))
        if not groups:
            raise UserError(f"{self.results} has no runs in a world with seasons: `sadapt sweep seasons` makes some")
        found = followed(groups)
        if self.figure is not None:
            from sadapt.report.seasons_picture import draw

            draw(groups, self.figure)
        if self.json:
            return show_json([_record(each._asdict()) for each in found])
        spoken = lambda each: "" if each is None else f"{each.value:.2f} [{each.low:.2f}, {each.high:.2f}]"  # noqa: E731
        told = lambda each: ", ".join(f"{value:.2f}" for value in each)  # noqa: E731
        return show(
            [each._asdict() for each in found],
            [
                Column("agent", "agent"),
                *(Column(name, f"{name}, 95 %", spoken, right=True) for name in MEASURES),
                Column("task", "task, by season", told, right=True),
                Column("seeds", "seeds", right=True),
            ],
        )


def _record(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, **{name: None if row[name] is None else row[name]._asdict() for name in MEASURES}}
