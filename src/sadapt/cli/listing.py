"""Commands about several runs: `runs` and `compare`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import arg

from sadapt.cli.common import Flag

First = Annotated[Path, tyro.conf.Positional, arg(metavar="RUN", help_behavior_hint="")]
Second = Annotated[Path, tyro.conf.Positional, arg(metavar="RUN2", help_behavior_hint="")]
Folder = Annotated[Path, tyro.conf.Positional, arg(metavar="DIR", help_behavior_hint="(default: runs)")]


@dataclass(frozen=True)
class RunsCommand:
    """List the runs in a folder: their state, progress and latest results.

    examples:
      sadapt runs                     every run in runs/
      sadapt runs results --json      those of a sweep, as JSON
    """

    folder: Folder = Path("runs")
    """Folder to look in."""
    json: Flag = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        from sadapt.output import Column, show, show_json
        from sadapt.runs.listing import listed

        found = listed(self.folder)
        if self.json:
            return show_json([{**each._asdict(), "progress": each.progress} for each in found])
        show(
            [{**each._asdict(), "progress": each.progress, "on": _on(each)} for each in found],
            [
                Column("run", "run", folds=True),
                Column("state", "state"),
                Column("progress", "done", _number(".0%"), right=True),
                Column("step", "steps", _number(","), right=True, spare=True),
                Column("last_return", "return", _number(".4g"), right=True),
                Column("on", "arm"),
                Column("pace", "steps/s", _number(",.0f"), right=True),
                Column("updated", "updated", lambda text: text or "", spare=True),
            ],
        )
        for each in found:
            if each.why is not None:
                print(f"{each.run}: {each.why}")
        return None


def _number(form: str) -> Callable[[Any], str]:
    """A number as it is shown, or nothing where there is none."""
    return lambda value: "" if value is None else format(value, form)


def _on(each: Any) -> str:
    return "" if each.arm is None else f"{each.arm} {each.arm_share:.0%}"


@dataclass(frozen=True)
class CompareCommand:
    """Show what differs between two runs: settings, how they were made, and results.

    Results are means over the last tenth of the rows, up to the last step that both runs have reached.
    """

    run_path: First
    """Folder of a run."""
    second: Second
    """Folder of the run to compare it with."""
    json: Flag = False
    """Print JSON instead of tables."""

    def run(self) -> None:
        from sadapt.output import Column, console, show, show_json
        from sadapt.runs.listing import compared

        found = compared(self.run_path, self.second)
        if self.json:
            return show_json(found.as_dict())
        out = console()
        out.print(f"first:  {found.first}\nsecond: {found.second}")
        word = lambda value: "-" if value is None else str(value)  # noqa: E731
        for title, rows in (("setting", found.settings), ("made by", found.made)):
            out.print()
            if rows:
                columns = [Column("first", "first", word, folds=True), Column("second", "second", word, folds=True)]
                show([each._asdict() for each in rows], [Column("name", title), *columns])
            else:
                out.print("The settings are the same." if title == "setting" else "Both were made by the same program.")
        out.print()
        if found.identical:
            return out.print("Their rows of metrics are the same, except for the speed.")
        if found.until is None:
            return out.print("There are no rows of metrics in both of them to compare.")
        figure = lambda value: f"{value:.4g}"  # noqa: E731
        return show(
            [{**each._asdict(), "difference": each.difference} for each in found.results],
            [
                Column("name", f"mean to step {found.until:,}"),
                Column("first", "first", figure, right=True),
                Column("second", "second", figure, right=True),
                Column("difference", "second - first", figure, right=True),
            ],
        )
