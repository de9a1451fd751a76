"""A sweep as it goes: a live table on a terminal, a line a run elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sadapt.runs.display import clock

if TYPE_CHECKING:
    from sadapt.experiments.plan import Planned
    from sadapt.experiments.sweep import Sweep, Watch

Tell = Callable[["Planned", bool, float], None]


@contextmanager
def board(sweep: Sweep, left: list[Planned], *, quiet: bool) -> Iterator[tuple[Callable[[], None], Tell]]:
    """Shows a sweep as it goes: a live table on a terminal, a line a run elsewhere."""
    if quiet:
        yield lambda: None, lambda *_: None
    elif sys.stderr.isatty():
        with _live(sweep, left) as shown:
            yield shown
    else:
        done = 0

        def tell(run: Planned, good: bool, seconds: float) -> None:
            nonlocal done
            done += 1
            how = "finished" if good else "FAILED"
            print(f"{done:4d} of {len(left)}  {run.path}  {how} after {clock(seconds)}", file=sys.stderr, flush=True)

        yield lambda: None, tell


class Row(NamedTuple):
    """The seeds of one agent in one world."""

    env: str
    name: str
    runs: int
    share: float
    """Of all their steps, in runs."""
    words: str
    now: str
    """What is running."""
    finished: bool
    steps: int
    """Made since the sweep began, by runs that were left then."""


def _rows(watch: Watch, left: list[Planned], ended: set[Path], failed: set[Path]) -> Iterator[Row]:
    """How every agent's seeds stand."""
    groups: dict[tuple[str, str], list[Planned]] = {}
    for run in watch.sweep.experiment.runs:
        name = run.path.name.removesuffix(f"-s{run.settings.seed}")
        groups.setdefault((run.settings.env, name), []).append(run)
    there = {run.path for run in left}
    for (env, name), runs in groups.items():
        standings = {run.path: watch[run] for run in runs if run.path not in ended}
        active = [(run, standings[run.path]) for run in runs if run.path in standings]
        bad = sum(run.path in failed for run in runs)
        good = sum(run.path in ended for run in runs) - bad
        yield Row(
            env=env,
            name=name,
            runs=len(runs),
            share=len(runs) - len(standings) + sum(how.step / how.total for how in standings.values()),
            words=f"{good} of {len(runs)}" + (f", {bad} failed" if bad else ""),
            now="  ".join(
                f"s{run.settings.seed} {how.step / how.total:.0%}" for run, how in active if how.state == "running"
            ),
            finished=good == len(runs),
            steps=sum(how.step for how in standings.values())
            + sum(run.settings.total_timesteps for run in runs if run.path in ended and run.path in there),
        )


@contextmanager
def _live(sweep: Sweep, left: list[Planned]) -> Iterator[tuple[Callable[[], None], Tell]]:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    from sadapt.experiments.sweep import Watch

    console, began, watch = Console(stderr=True, highlight=False), time.monotonic(), Watch(sweep)
    failed: set[Path] = set()
    ended = {run.path for run in sweep.experiment.runs} - {run.path for run in left}
    total = sum(run.settings.total_timesteps for run in left)
    first = sum(watch[run].step for run in left)

    def body() -> Any:
        watch.look(over=ended)
        rows = list(_rows(watch, left, ended, failed))
        done = sum(row.steps for row in rows)
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        for title in ("world", "agent", "finished", "", "now"):
            table.add_column(title)
        room = max(console.height - 5, 3)
        urgent = sorted(range(len(rows)), key=lambda index: (not rows[index].now, rows[index].finished, index))[:room]
        for row in (rows[index] for index in sorted(urgent)):
            bar = ProgressBar(row.runs, row.share, 20)
            table.add_row(row.env, row.name, row.words, bar, row.now, style="dim" if row.finished else "")
        if len(rows) > room:
            table.add_row(Text(f"and {len(rows) - room} more", style="dim"))
        gone = time.monotonic() - began
        pace = (done - first) / gone if gone > 0 else 0.0
        ahead = f", about {clock((total - done) / pace)} left" if pace > 0 else ""
        head = Text(f"{len(ended) - len(failed)} of {len(sweep.experiment.runs)} runs, {clock(gone)} gone{ahead}")
        return Group(head, table, Text("Ctrl-C saves everything; the same command continues", style="dim"))

    with Live(body(), console=console, auto_refresh=False) as live:
        last = 0.0

        def tick() -> None:
            nonlocal last
            if time.monotonic() - last > 1.0:
                live.update(body(), refresh=True)
                last = time.monotonic()

        def tell(run: Planned, good: bool, seconds: float) -> None:
            ended.add(run.path)
            if not good:
                failed.add(run.path)

        yield tick, tell
        live.update(body(), refresh=True)
