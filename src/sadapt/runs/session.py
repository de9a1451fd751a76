"""Training into folders: begins or takes up runs, writes metrics and checkpoints, and stops without losing anything."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp

from sadapt import __version__
from sadapt.envs.base import WorldFailed
from sadapt.errors import Stop, UserError
from sadapt.runs import config, sinks, table
from sadapt.runs.checkpoint import Damaged, read, tree_like
from sadapt.runs.folder import RunFolder, default_path, find, write_json
from sadapt.runs.interruption import requests
from sadapt.training import loop
from sadapt.training.driver import Driver, driver
from sadapt.training.loop import Diverged
from sadapt.training.memory import require_memory
from sadapt.training.metrics import CLOCK, Row
from sadapt.training.program import Program, TrainState, program
from sadapt.training.settings import Settings
from sadapt.training.world import world

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Options:
    """How a run is kept; nothing here changes what it learns."""

    checkpoint_interval: float = 300.0
    """Seconds between checkpoints."""
    tensorboard: bool = True
    """Write TensorBoard events into the run's folder."""
    clock: bool = True
    """Write the pace into metrics.csv; without it, equal runs give equal files."""
    track: bool = False
    """Log to Weights & Biases (extra `wandb`; WANDB_MODE=offline keeps it here)."""


class Progress(NamedTuple):
    """A run at this moment."""

    step: int
    total: int
    steps_per_second: float
    row: Row | None
    """The newest row of metrics, of the first seed."""


class Display(Protocol):
    """Shows a run to whoever waits for it."""

    def __call__(self, progress: Progress) -> None: ...


class Run(NamedTuple):
    """One seed's folder and what is written into it."""

    folder: RunFolder
    recorded: dict[str, Any]
    """Settings as in `config.json`."""
    table: table.Table
    sinks: list[sinks.Sink]


def train(
    settings: Settings,
    out: str | Path | None = None,
    *,
    num_seeds: int = 1,
    overwrite: bool = False,
    options: Options | None = None,
    display: Display | None = None,
) -> list[RunFolder]:
    """Trains `num_seeds` seeds from `settings.seed` on, in one program, each into its own folder."""
    options = options or Options()
    if num_seeds < 1:
        raise UserError(f"--num-seeds must be at least 1; got {num_seeds}")
    all_settings = [replace(settings, seed=settings.seed + index) for index in range(num_seeds)]
    folders = [RunFolder(_place(each, out, num_seeds)) for each in all_settings]
    prog = prepare(settings, options)
    with ExitStack() as stack:
        for folder in folders:
            if folder.config.exists() and not overwrite:
                raise UserError(
                    f"{folder} already holds a run: `sadapt resume {folder}` goes on with it, --overwrite replaces it, "
                    "--out names another folder"
                )
            stack.enter_context(folder.claimed())
        for folder, each in zip(folders, all_settings, strict=True):
            folder.clear()
            if settings.layout is not None:
                shutil.copyfile(settings.layout, folder.layout)
            write_json(folder.config, {**config.record(each), "options": asdict(options)})
            folder.write_status(state="running", step=0, total=settings.total_timesteps, seconds=0.0)
        with closing(driver(prog, [each.seed for each in all_settings])) as drive:
            _drive(prog, drive, _told_launch(drive), folders, options, display, seconds=0.0)
    return folders


def resume(path: str | Path, *, options: Options | None = None, display: Display | None = None) -> RunFolder:
    """Takes a run up from its newest good checkpoint; one that has finished is left as it is."""
    folder = find(path)
    settings = folder.read_settings()
    if options is None:
        options = former_options(folder)
    prog = prepare(settings, options)
    with folder.claimed():
        if folder.read_status().get("state") == "finished":
            return folder
        with closing(driver(prog)) as drive:
            found = restore(folder, drive.shapes)
            if found is None:
                log.warning("%s has no checkpoint yet: it begins again from its seed", folder)
                state, seconds = _told_launch(drive), 0.0
            else:
                state, seconds = drive.revive(found[0]), found[1]
            table.cut(folder.metrics, int(state.step))
            _drive(prog, drive, state, [folder], options, display, seconds=seconds)
    return folder


def _told_launch(drive: Driver) -> TrainState:
    try:
        return drive.launch()
    except WorldFailed as error:
        raise Stop(f"the run could not begin: {error}") from error


def prepare(settings: Settings, options: Options | None = None) -> Program:
    """A run's program, after everything that can be refused has been."""
    if options is not None and options.checkpoint_interval <= 0:
        raise UserError(f"--checkpoint-interval must be more than 0 seconds; got {options.checkpoint_interval:g}")
    if options is not None and options.track:
        sinks.require_wandb()
    prog = program(world(settings), settings)
    require_memory(prog)
    return prog


def restore(folder: RunFolder, shapes: TrainState) -> tuple[TrainState, float] | None:
    """State and seconds so far from the newest checkpoint that can be used; None if there never was one."""
    paths = list(folder.checkpoints.newest())
    mine = config.to_dict(config.read(folder.config))
    for path in paths:
        try:
            tensors, facts = read(path)
            _require_same(path, mine, facts)
            return tree_like(shapes, tensors), float(facts["seconds"])
        except Damaged as damage:
            log.warning("checkpoint %s is not used: %s", path, damage)
    if paths:
        raise UserError(
            f"no checkpoint of {folder} can be used ({', '.join(path.name for path in paths)}), so it cannot go on and "
            "is left as it is: `sadapt train ... --overwrite` begins anew"
        )
    return None


def _require_same(path: Path, mine: dict[str, Any], facts: dict[str, Any]) -> None:
    """Refuses a checkpoint of another version or of other settings than the run's."""
    if facts["version"] != __version__:
        raise UserError(
            f"checkpoint {path} is from sadapt {facts['version']}, this is {__version__}: install that version "
            f"(pip install sadapt=={facts['version']}) to go on, or train anew"
        )
    if found := config.differences(facts["settings"], mine):
        raise UserError(
            f"checkpoint {path} is from other settings than config.json (checkpoint's first): " + "; ".join(found)
        )


def _drive(
    prog: Program,
    drive: Driver,
    state: TrainState,
    folders: Sequence[RunFolder],
    options: Options,
    display: Display | None,
    *,
    seconds: float,
) -> None:
    """From `state` to the last step, or to whatever stops it."""
    settings, seeds = prog.settings, len(folders)
    runs = [_open(folder, options, int(jnp.max(state.step))) for folder in folders]
    began = saved = time.monotonic()
    row: Row | None = None

    def spent() -> float:
        return round(seconds + time.monotonic() - began, 1)

    def told(status: str, step: int, **facts: Any) -> None:
        for folder in folders:
            folder.write_status(state=status, step=step, total=settings.total_timesteps, seconds=spent(), **facts)

    def save(state: TrainState, step: int) -> None:
        for run, alone in zip(runs, loop.unstack(state, seeds), strict=True):
            run.table.sync()
            facts = {"version": __version__, "settings": run.recorded, "seconds": spent()}
            run.folder.checkpoints.save(alone, step, facts)

    step = int(jnp.max(state.step))
    try:
        with requests() as asked:
            for turn in loop.turns(prog, state, drive.advance, every=loop.chunks_per_row(prog), seeds=seeds):
                step = int(jnp.max(turn.state.step))
                if turn.rows:
                    row = turn.rows[0]
                    for run, each in zip(runs, turn.rows, strict=True):
                        run.table.append(each if options.clock else {**each, CLOCK: None})
                        for sink in run.sinks:
                            sink.add(each)
                    told("running", step)
                if display is not None:
                    display(Progress(step, settings.total_timesteps, turn.steps_per_second, row))
                finished = step >= settings.total_timesteps
                if finished or asked.received is not None or time.monotonic() - saved >= options.checkpoint_interval:
                    save(turn.state, step)
                    saved = time.monotonic()
                if asked.received is not None and not finished:
                    told("stopped", step)
                    where = f"stopped at step {step:,} of {settings.total_timesteps:,}"
                    raise Stop(f"{where}; `sadapt resume {folders[0]}` goes on", 128 + asked.received)
        told("finished", step)
    except Diverged as error:
        told("diverged", step, message=str(error))
        kept = next(folders[0].checkpoints.newest(), None)
        good = f"The last good checkpoint is {kept}" if kept else "There is no checkpoint yet"
        raise Stop(f"{error}. {good}") from error
    except WorldFailed as error:
        told("failed", step, message=str(error))
        kept = next(folders[0].checkpoints.newest(), None)
        good = f"checkpoint {kept} is intact" if kept else "there is no checkpoint yet"
        raise Stop(f"the run stopped {error}; {good}") from error
    except OSError as error:
        reason = str(error)
        _quietly(lambda: told("stopped", step, message=reason))
        raise _out_of_room(folders[0], step, error) from error
    finally:
        for run in runs:
            for close in (run.table.close, *(sink.close for sink in run.sinks)):
                _quietly(close)


def _out_of_room(folder: RunFolder, step: int, error: OSError) -> Stop:
    kept = next(folder.checkpoints.newest(), None)
    return Stop(
        f"the run stopped at step {step:,}: {error.filename or folder} could not be written "
        f"({error.strerror or error}); "
        + (f"checkpoint {kept} is intact" if kept else "there is no checkpoint yet")
        + f": make room, then `sadapt resume {folder}`"
    )


def _open(folder: RunFolder, options: Options, step: int) -> Run:
    settings = config.read(folder.config)
    recorded = config.to_dict(settings)
    opened: list[sinks.Sink] = []
    if options.tensorboard:
        opened.append(sinks.tensorboard(folder.path, step))
    if options.track:
        opened.append(sinks.wandb(folder.path, str(default_path(settings, "")), recorded))
    return Run(folder, recorded, table.Table(folder.metrics), opened)


def _quietly(close: Callable[[], None]) -> None:
    try:
        close()
    except OSError as error:
        log.debug("closing: %s", error)


def _place(settings: Settings, out: str | Path | None, num_seeds: int) -> Path:
    if out is None:
        return default_path(settings)
    return Path(out) / f"s{settings.seed}" if num_seeds > 1 else Path(out)


def former_options(folder: RunFolder) -> Options:
    given = config.read_record(folder.config).get("options", {})
    return Options(**{name: given[name] for name in Options.__dataclass_fields__ if name in given})
