"""The command `report`: a folder of runs as one HTML file."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from tyro.conf import arg

from sadapt.cli.common import Flag, Imports, OptionalFile, require_suffix
from sadapt.errors import UserError
from sadapt.fields import Count
from sadapt.registry import import_modules

if TYPE_CHECKING:
    from sadapt.report.page.gather import Study

log = logging.getLogger(__name__)
WATCHED = ("config.json", "metrics.csv", "status.json", "videos/*")
MOST_FILMS = 12
"""Films that are made for one report; each takes some seconds."""


@dataclass(frozen=True)
class ReportCommand:
    """Show a folder of runs, or a whole study, as one HTML file that opens offline.

    It has curves with seeds and intervals, the arms over time, the paper's claims, what adapting costs, existing films,
    the settings that differ and the commands to repeat the runs. Unfinished runs are shown as far as they have got.
    """

    folder: Annotated[Path, tyro.conf.Positional, arg(metavar="DIR", help_behavior_hint="")]
    """Folder of runs."""
    out: OptionalFile = None
    """Where to write the page; by default DIR/report.html."""
    watch: Flag = False
    """Rebuild the page whenever a run writes something, until Ctrl-C; an open page reloads itself."""
    every: Annotated[Count, arg(metavar="SECONDS")] = 10
    """Seconds between checks, with --watch."""
    films: Flag = False
    """First film, like `sadapt watch`, every agent that has a checkpoint or an exported policy but no film yet."""
    imports: Imports = ()

    def run(self) -> None:
        import_modules(self.imports)
        out = self.out or self.folder / "report.html"
        require_suffix("--out", out, (".html", ".htm"))
        from sadapt.report.page.document import require_plotly
        from sadapt.report.page.gather import gather, require_folder
        from sadapt.studies import write_report

        require_plotly()
        require_folder(self.folder)
        if self.films:
            _film(gather(self.folder))
        if self.watch:
            self._follow(out)
        else:
            print(write_report(self.folder, out))

    def _follow(self, out: Path) -> None:
        """Builds the page again and again; the last one, which nobody will replace, no longer loads itself."""
        from sadapt.report.page.document import live, write
        from sadapt.report.page.gather import gather
        from sadapt.studies import page_of

        before: object = None
        text = ""
        print(f"{out} follows {self.folder} until Ctrl-C", flush=True)
        try:
            while True:
                now = sorted(_stamps(self.folder))
                if now != before:
                    study = gather(self.folder)
                    text = page_of(study)
                    write(out, live(text, self.every))
                    before = now
                    print(f"{time.strftime('%H:%M:%S')} {_standing(study)}", file=sys.stderr, flush=True)
                time.sleep(self.every)
        finally:
            if text:
                write(out, text)


def _film(study: Study) -> None:
    """A film for every curve that has none, as far as it can be made."""
    from sadapt.api import load, watch
    from sadapt.motivation.objectives import ARMS
    from sadapt.report.page.films import without_film

    for source in without_film(study, MOST_FILMS):
        try:
            agent = load(source)
            folder = source.parent if source.is_file() else source
            print(watch(agent, folder / "videos" / f"{ARMS[agent.arm(None)]}-s0.gif"), file=sys.stderr, flush=True)
        except UserError as error:
            log.warning("%s cannot be filmed: %s", source, error)


def _stamps(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Every file that a page is made from, with its size and its time."""
    for config in folder.rglob("config.json"):
        for pattern in WATCHED:
            for path in config.parent.glob(pattern):
                try:
                    found = path.stat()
                except OSError:  # replaced at this moment
                    continue
                yield str(path), found.st_size, found.st_mtime_ns


def _standing(study: Study) -> str:
    """`12 runs: 9 finished, 3 running`."""
    states = Counter(run.state for run in study.runs)
    told = ", ".join(f"{count} {state}" for state, count in states.most_common())
    return f"{len(study.runs)} runs: {told}" if told else "no runs yet"
