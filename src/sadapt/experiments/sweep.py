"""A sweep: the runs of an experiment that are not there yet, how long they will take, and the account of them."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from sadapt.errors import UserError
from sadapt.experiments.executors import Executor, Outcome, here
from sadapt.experiments.plan import Experiment, Planned
from sadapt.experiments.worker import Job
from sadapt.motivation.objectives import OBJECTIVES
from sadapt.registry import IMPORTED
from sadapt.runs import config, metrics_file
from sadapt.runs.cores import available, processor
from sadapt.runs.folder import RunFolder, write_json

ACCOUNT = "sweeps.json"
CACHE = ".cache"
LOOKS = 50
"""Runs whose files are looked at each time that a sweep is shown."""
STARTUP = 8.0
"""Seconds that a worker takes before its first step."""


class Standing(NamedTuple):
    """How far a run has come."""

    state: str
    """`waiting`, `running`, `lost`, `stopped`, `finished`, or how it failed."""
    step: int
    total: int


class Sweep(NamedTuple):
    """An experiment and the folder of its runs."""

    experiment: Experiment
    out: Path

    def folder(self, run: Planned) -> RunFolder:
        return RunFolder(self.out / run.path)

    def standing(self, run: Planned) -> Standing:
        """From the run's own files: its status, or its metrics where only they were kept."""
        folder, total = self.folder(run), run.settings.total_timesteps
        status = folder.read_status()
        if status.get("state") == "finished" or (not status and last_step(folder) >= total):
            return Standing("finished", total, total)
        return Standing(str(status.get("state", "waiting")), int(status.get("step", 0)), total)

    def left(self) -> list[Planned]:
        """Runs that have not finished, those that have begun first."""
        found = [(run, self.standing(run)) for run in self.experiment.runs]
        open_runs = [(run, how) for run, how in found if how.state != "finished"]
        return [run for run, how in sorted(open_runs, key=lambda entry: entry[1].step == 0)]

    def require_same_settings(self) -> None:
        """Refuses a folder whose runs were made with other settings than the experiment's, before anything starts."""
        for run in self.experiment.runs:
            folder = self.folder(run)
            if not folder.config.exists():
                continue
            theirs, ours = config.to_dict(config.read(folder.config)), config.to_dict(run.settings)
            if found := config.unasked(theirs, ours):
                raise UserError(
                    f"{folder} was made with other settings than those of {self.experiment.name} (its own first): "
                    f"{'; '.join(found)}. Remove that folder, or use another --out"
                )

    def job(self, run: Planned, *, measure: bool = False) -> Job:
        return Job(
            path=str(self.out / run.path),
            settings=config.to_dict(run.settings),
            words=tuple(sys.argv[1:]),
            measure=measure,
            imports=tuple(IMPORTED),
            home=str(Path.cwd()) if IMPORTED else "",
        )


class Watch:
    """How the runs of a sweep stand, as they are watched: a few are looked at a time, by turns."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        self._turns = deque(sweep.experiment.runs)
        self._known = {run.path: sweep.standing(run) for run in sweep.experiment.runs}

    def __getitem__(self, run: Planned) -> Standing:
        return self._known[run.path]

    def look(self, over: Collection[Path]) -> None:
        """Looks at the next few that are not over, so that a thousand runs are no more work a second than a hundred."""
        looks = 0
        for _ in range(len(self._turns)):
            run = self._turns[0]
            self._turns.rotate(-1)
            if run.path in over:
                continue
            self._known[run.path] = self.sweep.standing(run)
            looks += 1
            if looks == LOOKS:
                break


def last_step(folder: RunFolder) -> int:
    """The step of the last row of metrics; 0 if there is none."""
    try:
        rows = metrics_file.read(folder.metrics)
    except (OSError, UserError):
        return 0
    return int(rows[-1]["step"] or 0) if rows else 0


def kind(run: Planned) -> str:
    """What decides a run's pace: everything but its seed and length, and of its agent only what it computes."""
    row = OBJECTIVES[run.settings.objective]
    like = "s-min" if row.intrinsic and row.arm is not None else run.settings.objective
    alike = replace(run.settings, seed=0, total_timesteps=1, objective=like)
    return json.dumps([platform.node(), os.cpu_count(), config.to_dict(alike)], sort_keys=True)


def measured_paces(
    sweep: Sweep, runs: Sequence[Planned], *, workers: int | None, tell: Callable[[str, float], None] | None = None
) -> dict[str, float]:
    """Steps per second of every kind of run, measured on this machine once and remembered beside the runs."""
    file = sweep.out / CACHE / "paces.json"
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        told = {}
    known = {name: pace for name, pace in told.items() if _is_pace(pace)} if isinstance(told, dict) else {}
    missing = {kind(run): run for run in reversed(runs) if kind(run) not in known}
    names = {json.dumps(sweep.job(run, measure=True)): name for name, run in missing.items()}
    jobs = [sweep.job(run, measure=True) for run in missing.values()]
    for done, outcome in enumerate(here(jobs, workers=workers, tick=lambda: None), 1):
        if tell is not None:
            settings = outcome.job.settings
            tell(f"measuring the pace: {settings['env']} {settings['objective']}", done / len(jobs))
        if outcome.code:
            raise UserError(f"{outcome.job.path} cannot be run: {outcome.message}")
        known[names[json.dumps(outcome.job)]] = float(outcome.message)
    if missing:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_json(file, known)
    return known


def _is_pace(told: Any) -> bool:
    return isinstance(told, int | float) and 0 < told < math.inf


def expected_seconds(
    sweep: Sweep, runs: Sequence[Planned], paces: dict[str, float], workers: int | None, *, anew: bool = False
) -> float:
    """How long the runs will take on so many cores: the sum over them, or the longest run if that is more.

    `anew` counts them as if none had begun.
    """
    needs = []
    for run in runs:
        done = 0 if anew else sweep.standing(run).step
        needs.append(STARTUP + (run.settings.total_timesteps - done) / paces[kind(run)])
    return max(sum(needs) / (workers or len(available())), max(needs, default=0.0))


def carry_out(
    sweep: Sweep,
    runs: Sequence[Planned],
    execute: Executor,
    *,
    workers: int | None = None,
    tick: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Planned, Outcome]]:
    """Does the runs and keeps the account, however it ends."""
    planned = {str(sweep.out / run.path): run for run in runs}
    began, moment = time.monotonic(), time.gmtime()
    outcomes: list[Outcome] = []
    before = {path: sweep.folder(run).read_status().get("seconds", 0.0) for path, run in planned.items()}
    try:
        for outcome in execute([sweep.job(run) for run in runs], workers=workers, tick=tick):
            outcomes.append(outcome)
            yield planned[outcome.job.path], outcome
    finally:
        spent = sum(
            float(sweep.folder(run).read_status().get("seconds", 0.0)) - float(before[path])
            for path, run in planned.items()
        )
        _account(
            sweep,
            {
                "experiment": sweep.experiment.name,
                "command": config.command(),
                "revision": config.revision(),
                "machine": f"{processor()}, {os.cpu_count()} cores",
                "workers": workers or len(available()),
                "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", moment),
                "wall_seconds": round(time.monotonic() - began, 1),
                "core_seconds": round(max(spent, sum(each.seconds for each in outcomes)), 1),
                "finished": sum(each.code == 0 for each in outcomes),
                "failed": sum(each.code != 0 for each in outcomes),
            },
        )


def account(out: Path) -> list[dict[str, Any]]:
    """What the sweeps into a folder took, one entry each time that the command was given."""
    return _read_account(out / ACCOUNT) or []


def _read_account(file: Path) -> list[dict[str, Any]] | None:
    """None if what is there is no account."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _account(sweep: Sweep, entry: dict[str, Any]) -> None:
    """One entry more; a file that is no account is put aside, not overwritten."""
    sweep.out.mkdir(parents=True, exist_ok=True)
    file = sweep.out / ACCOUNT
    before = _read_account(file)
    if before is None and file.exists():
        file.replace(file.with_name(f"{ACCOUNT}.unreadable"))
    write_json(file, [*(before or []), entry])
