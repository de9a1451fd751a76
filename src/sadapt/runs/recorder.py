"""What is written while a run goes on: rows of metrics, checkpoints and how it stands, in the folder of every seed."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp

from sadapt.fields import Checked, Limit
from sadapt.motivation import doubts
from sadapt.runs import config, metrics_file, sinks
from sadapt.runs.folder import RunFolder, default_path
from sadapt.runs.restoring import known_facts
from sadapt.training import loop, metrics
from sadapt.training.metrics import CLOCK, Row
from sadapt.training.program import Program, TrainState

log = logging.getLogger(__name__)
TELLING = 5.0
"""Seconds between words of how a run stands: on a cluster many share one file system."""


@dataclass(frozen=True)
class Options(Checked):
    """How a run is stored; nothing here changes what it learns."""

    checkpoint_interval: Limit = 300.0
    """Seconds between checkpoints."""
    tensorboard: bool = True
    """Write TensorBoard events into the run's folder."""
    clock: bool = True
    """Write the speed into metrics.csv; without it, equal runs give equal files."""
    track: bool = False
    """Log to Weights & Biases (extra `wandb`; WANDB_MODE=offline logs locally)."""


class Progress(NamedTuple):
    """A run at this moment."""

    step: int
    total: int
    steps_per_second: float
    row: Row | None
    """The newest row of metrics, of the first seed."""
    marginal: str = ""
    """Before the first step: which marginal was picked and why, where the user named none."""


class Display(Protocol):
    """Shows a run to whoever waits for it."""

    def __call__(self, progress: Progress) -> None: ...


class Run(NamedTuple):
    """One seed's folder and what is written into it."""

    folder: RunFolder
    facts: dict[str, Any]
    """What its checkpoints tell of it."""
    table: metrics_file.MetricsFile
    onlookers: sinks.Onlookers


class Recorder:
    """Writes down a run of one or several seeds."""

    def __init__(self, prog: Program, folders: Sequence[RunFolder], options: Options) -> None:
        self.prog, self.folders, self.options = prog, folders, options
        self.step = 0
        self.saved: int | None = None
        """The step of the newest checkpoint of this process."""
        self.row: Row | None = None
        """The newest row of metrics, of the first seed."""
        self.begun = False
        """Whether the folders are this run's already, so that `status.json` may be."""
        self.notes: dict[str, Any] = {}
        """What `status.json` says from now on, however the run stands."""
        self.warnings: list[list[str]] = [[] for _ in folders]
        """What is doubtful about each seed's run; `status.json` keeps it too."""
        self._before = 0.0
        self._began = self._saved = self._told = time.monotonic()
        self._runs: list[Run] = []

    def open(self, step: int, seconds: float = 0.0) -> None:
        """Begins to write at environment step `step`, after so many seconds of work before."""
        self.step, self._before, self.begun = step, seconds, True
        self._began = self._saved = time.monotonic()
        self._runs = [_opened(folder, self.options, step, metrics.charts(self.prog)) for folder in self.folders]
        self.tell("running")

    @property
    def writing(self) -> bool:
        """Whether files are open, so that trouble with files is trouble with these."""
        return bool(self._runs)

    def tell(self, state: str, **facts: Any) -> None:
        """How the run stands, in every folder."""
        if not self.begun:
            return
        total, self._told = self.prog.sizes.total_steps, time.monotonic()
        facts = {"step": self.step, "total": total, "seconds": self._seconds(), **self.notes, **facts}
        for folder, warnings in zip(self.folders, self.warnings, strict=True):
            folder.write_status(state=state, **facts, **({"warnings": warnings} if warnings else {}))

    def warn(self, found: Sequence[Sequence[str]]) -> None:
        """Says, and writes down from now on, what is doubtful about each seed's run and was not known before."""
        new = [[each for each in now if each not in known] for known, now in zip(self.warnings, found, strict=True)]
        doubts.warn(itertools.chain(*new))
        self.warnings = [known + more for known, more in zip(self.warnings, new, strict=True)]

    def tell_if_possible(self, state: str, **facts: Any) -> None:
        """The same where the disk may be the trouble."""
        _quietly(lambda: self.tell(state, **facts))

    def add(self, turn: loop.Turn) -> None:
        """A chunk of steps, with its rows if an interval ends there."""
        self.step = int(jnp.max(turn.state.step))
        if not turn.rows:
            return
        self.row = turn.rows[0]
        for run, row in zip(self._runs, turn.rows, strict=True):
            run.table.append(row if self.options.clock else {**row, CLOCK: None})
            run.onlookers.add(row)
        if time.monotonic() - self._told >= TELLING:
            self.tell("running")

    def due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return time.monotonic() - self._saved >= self.options.checkpoint_interval

    def save(self, state: TrainState) -> None:
        """A checkpoint of every seed."""
        for run, alone in zip(self._runs, loop.unstack(state, len(self._runs)), strict=True):
            run.table.sync()
            facts = {**run.facts, "seconds": self._seconds(), "metrics": run.table.known()}
            run.folder.checkpoints.save(alone, self.step, facts)
        self._saved, self.saved = time.monotonic(), self.step

    def close(self) -> None:
        """Lets go of all files."""
        for run in self._runs:
            _quietly(run.table.close)
            run.onlookers.close()

    def _seconds(self) -> float:
        return round(self._before + time.monotonic() - self._began, 1)


def _opened(folder: RunFolder, options: Options, step: int, charts: dict[str, str]) -> Run:
    settings = config.read(folder.config)
    openers: dict[str, Callable[[], sinks.Sink]] = {}
    if options.tensorboard:
        openers["TensorBoard"] = lambda: sinks.tensorboard(folder.path, step, charts)
    if options.track:
        name = str(default_path(settings, ""))
        openers["Weights & Biases"] = lambda: sinks.wandb(folder.path, name, config.to_dict(settings), charts)
    return Run(folder, known_facts(folder), metrics_file.MetricsFile(folder.metrics), sinks.Onlookers(openers))


def _quietly(close: Callable[[], None]) -> None:
    try:
        close()
    except OSError as error:
        log.debug("closing: %s", error)
