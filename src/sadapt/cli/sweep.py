"""The command `sweep`: all runs of an experiment, and how they stand while they are made."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import tyro
from tyro.conf import arg

from sadapt.cli.common import Flag, Imports, OptionalCount, progress
from sadapt.errors import Stop, UserError
from sadapt.registry import import_modules
from sadapt.runs.display import clock

if TYPE_CHECKING:
    from sadapt.experiments.plan import Planned
    from sadapt.experiments.sweep import Sweep, Watch

Results = Annotated[Path, arg(metavar="DIR")]


@dataclass(frozen=True)
class SweepCommand:
    """Make all runs of a figure, or of a file of your own. Give the same command again to go on after any stop.

    examples:
      sadapt sweep                           list what comes with the program
      sadapt sweep F4                        Tetris, five agents, five seeds
      sadapt sweep F4 --preset paper         the same with the paper's DQN, days
      sadapt sweep mine.toml --out results   your own worlds and settings
      sadapt sweep study --dry-run           only say what would be run
    """

    experiment: Annotated[str, tyro.conf.Positional, arg(metavar="FIGURE|FILE", help_behavior_hint="")] = ""
    """A figure of the paper (F2), another experiment, or a TOML file; without one, list what there is."""
    preset: Literal["fast", "paper"] = "fast"
    """Which groups of the file to run: PQN in minutes, or the paper's DQN."""
    out: Results = Path("results")
    """Folder of all runs."""
    executor: Literal["local", "ray", "slurm"] = "local"
    """Where: the cores of this machine, a Ray cluster (extra `ray`), or SLURM (extra `slurm`)."""
    workers: OptionalCount = None
    """Runs at the same time; one a core if not given."""
    dry_run: Flag = False
    """Print the plan and the time that it will take, and run nothing."""
    no_estimate: Flag = False
    """Do not measure the pace of each kind of run first."""
    imports: Imports = ()
    json: Flag = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        if not self.experiment:
            return _show_experiments(self.json)
        import_modules(self.imports)
        from sadapt.experiments import plan
        from sadapt.experiments.sweep import Sweep
        from sadapt.output import show_json

        sweep = Sweep(plan.read(self.experiment, self.preset, imports=tuple(self.imports)), self.out)
        sweep.require_same_settings()
        left = sweep.left()
        if self.json and self.dry_run:
            return show_json(_records(sweep))
        print(f"{sweep.experiment.title}: {len(sweep.experiment.runs)} runs in {self.out}, {len(left)} to do")
        if not left:
            return None
        if not self.no_estimate:
            self._estimate(sweep, left)
        if self.dry_run:
            return _show(_records(sweep))
        self._carry_out(sweep, left)
        return show_json(_records(sweep)) if self.json else None

    def _estimate(self, sweep: Sweep, left: list[Planned]) -> None:
        from sadapt.experiments.sweep import expected_seconds, measured_paces

        with progress(self.json) as tell:
            paces = measured_paces(sweep, left, workers=self.workers, tell=tell)
        seconds = expected_seconds(sweep, left, paces, self.workers)
        print(f"about {clock(seconds)} on this machine", flush=True)

    def _carry_out(self, sweep: Sweep, left: list[Planned]) -> None:
        from sadapt.experiments.executors import EXECUTORS
        from sadapt.experiments.sweep import carry_out

        began, failures = time.monotonic(), []
        for number in (signal.SIGINT, signal.SIGTERM):  # also where the shell had them ignored
            signal.signal(number, signal.default_int_handler)
        try:
            with _board(sweep, left, quiet=self.json) as (tick, tell):
                for run, outcome in carry_out(sweep, left, EXECUTORS[self.executor], workers=self.workers, tick=tick):
                    tell(run, outcome.code == 0, outcome.seconds)
                    if outcome.code:
                        failures.append(f"{sweep.folder(run)}: {outcome.message or f'exit code {outcome.code}'}")
        except KeyboardInterrupt:
            done = len(sweep.experiment.runs) - len(sweep.left())
            raise Stop(
                f"stopped; {done} of {len(sweep.experiment.runs)} runs are finished, the others are saved: "
                "the same command goes on",
                130,
            ) from None
        if failures:
            raise Stop("\n".join([f"{len(failures)} of {len(left)} runs could not be finished:", *failures]))
        if not self.json:
            took = clock(time.monotonic() - began)
            print(f"{len(left)} runs finished in {took}; `sadapt figures {self.out}` draws them")


def _show_experiments(as_json: bool) -> None:
    from sadapt.experiments import plan
    from sadapt.output import Column, show, show_json
    from sadapt.training.presets import PRESETS

    records = []
    for name in plan.packaged():
        counts: dict[str, Any] = {}
        for preset in PRESETS:
            try:
                found = plan.read(name, preset, checked=False)
                counts[preset], title = len(found.runs), found.title
            except UserError:
                counts[preset] = None
        records.append({"name": name, "title": title, **counts})
    if as_json:
        return show_json(records)
    number = lambda count: "" if count is None else str(count)  # noqa: E731
    return show(
        records,
        [
            Column("name", "experiment"),
            Column("title", "what"),
            Column("fast", "runs, fast", number, right=True),
            Column("paper", "runs, paper", number, right=True),
        ],
    )


def _records(sweep: Sweep) -> list[dict[str, Any]]:
    return [
        {"run": str(run.path), "state": how.state, "step": how.step, "total": how.total}
        for run in sweep.experiment.runs
        for how in [sweep.standing(run)]
    ]


def _show(records: list[dict[str, Any]]) -> None:
    from sadapt.output import Column, show

    steps = lambda count: f"{count:,}"  # noqa: E731
    show(
        records,
        [
            Column("run", "run"),
            Column("state", "state"),
            Column("step", "step", steps, right=True),
            Column("total", "of", steps, right=True),
        ],
    )


Tell = Callable[["Planned", bool, float], None]


@contextmanager
def _board(sweep: Sweep, left: list[Planned], *, quiet: bool) -> Iterator[tuple[Callable[[], None], Tell]]:
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
        return Group(head, table, Text("Ctrl-C saves everything; the same command goes on", style="dim"))

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
