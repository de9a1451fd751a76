"""The command `sweep`: all runs of an experiment, what they will take, and how they ended."""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from tyro.conf import arg

from sadapt.cli.board import board
from sadapt.cli.common import Flag, Imports, OptionalCount, progress
from sadapt.errors import Stop, UserError
from sadapt.registry import import_modules
from sadapt.runs.display import clock

if TYPE_CHECKING:
    from sadapt.experiments.plan import Planned
    from sadapt.experiments.sweep import Sweep

Results = Annotated[Path, arg(metavar="DIR")]


@dataclass(frozen=True)
class SweepCommand:
    """Train all runs of a figure, or of your own experiment file. After any stop, the same command continues.

    examples:
      sadapt sweep                           list the built-in experiments
      sadapt sweep F4                        Tetris, five agents, five seeds
      sadapt sweep F4 --preset paper         the same with the paper's DQN, days
      sadapt sweep mine.toml --out results   your own worlds and settings
      sadapt sweep study --dry-run           only say what would be run
    """

    experiment: Annotated[str, tyro.conf.Positional, arg(metavar="FIGURE|FILE", help_behavior_hint="")] = ""
    """A figure of the paper (F2), another experiment, or a TOML file; by default, list the experiments."""
    preset: Literal["fast", "paper"] = "fast"
    """Which groups of the file to run: PQN in minutes, or the paper's DQN."""
    out: Results = Path("results")
    """Folder of all runs."""
    executor: Literal["local", "ray", "slurm"] = "local"
    """Where: the cores of this machine, a Ray cluster (extra `ray`), or SLURM (extra `slurm`)."""
    workers: OptionalCount = None
    """Runs at the same time; by default one per core."""
    dry_run: Flag = False
    """Print the plan and the estimated time, and run nothing."""
    no_estimate: Flag = False
    """Do not measure the speed of each kind of run first."""
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
        if not self.dry_run:
            sweep.require_same_settings()
        left = sweep.left()
        if self.json and self.dry_run:
            return show_json(_records(sweep))
        print(f"{sweep.experiment.title}: {len(sweep.experiment.runs)} runs in {self.out}, {len(left)} to do")
        if self.dry_run:
            return self._rehearse(sweep, left)
        if not left:
            return None
        if not self.no_estimate:
            self._estimate(sweep, left)
        self._carry_out(sweep, left)
        return show_json(_records(sweep)) if self.json else None

    def _rehearse(self, sweep: Sweep, left: list[Planned]) -> None:
        """Says how long all of it takes, what is left of that, and what would be refused."""
        if not self.no_estimate:
            self._estimate(sweep, left, everything=True)
        _show(_records(sweep))
        try:
            sweep.require_same_settings()
        except UserError as error:
            print(f"this would be refused: {error}", file=sys.stderr)

    def _estimate(self, sweep: Sweep, left: list[Planned], *, everything: bool = False) -> None:
        from sadapt.experiments.sweep import expected_seconds, measured_paces
        from sadapt.runs.cores import available

        runs = sweep.experiment.runs if everything else left
        with progress(self.json) as tell:
            paces = measured_paces(sweep, runs, workers=self.workers, tell=tell)
        cores = self.workers or len(available())
        told = f"about {clock(expected_seconds(sweep, left, paces, self.workers))}"
        if everything:
            whole = clock(expected_seconds(sweep, runs, paces, self.workers, anew=True))
            told = f"about {whole} for all of it, {told} for what is left,"
        print(f"{told} on {cores} core{'' if cores == 1 else 's'} of this machine", flush=True)

    def _carry_out(self, sweep: Sweep, left: list[Planned]) -> None:
        from sadapt.experiments.executors import EXECUTORS
        from sadapt.experiments.sweep import carry_out

        began, failures = time.monotonic(), []
        for number in (signal.SIGINT, signal.SIGTERM):  # also where the shell had them ignored
            signal.signal(number, signal.default_int_handler)
        try:
            with board(sweep, left, quiet=self.json) as (tick, tell):
                for run, outcome in carry_out(sweep, left, EXECUTORS[self.executor], workers=self.workers, tick=tick):
                    tell(run, outcome.code == 0, outcome.seconds)
                    if outcome.code:
                        failures.append(f"{sweep.folder(run)}: {outcome.message or f'exit code {outcome.code}'}")
        except KeyboardInterrupt:
            done = len(sweep.experiment.runs) - len(sweep.left())
            raise Stop(
                f"stopped; {done} of {len(sweep.experiment.runs)} runs are finished, the others are saved: "
                "the same command continues",
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
