"""Training into folders: begins or takes up runs, writes metrics and checkpoints, and stops without losing anything."""

from __future__ import annotations

import logging
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp

from sadapt import __version__
from sadapt.envs.base import WorldFailed
from sadapt.errors import Stop, UserError
from sadapt.fields import Count, checked, field_of
from sadapt.registry import Own
from sadapt.runs import config, metrics_file, sinks
from sadapt.runs.checkpoint import Damaged, read, tree_like
from sadapt.runs.folder import RunFolder, default_path, find, write_json
from sadapt.runs.interruption import requests
from sadapt.runs.recorder import Display, Options, Progress, Recorder
from sadapt.training import loop
from sadapt.training.driver import Driver, driver
from sadapt.training.loop import Diverged
from sadapt.training.memory import require_memory
from sadapt.training.program import Program, TrainState, build
from sadapt.training.settings import Settings, foreign_modules

log = logging.getLogger(__name__)


def train(
    settings: Settings,
    out: str | Path | None = None,
    *,
    num_seeds: int = 1,
    overwrite: bool = False,
    options: Options | None = None,
    display: Display | None = None,
    own: Own | None = None,
) -> list[RunFolder]:
    """Trains `num_seeds` seeds from `settings.seed` on, in one program, each into its own folder."""
    options = options or Options()
    num_seeds = checked(field_of(Count), "num_seeds", num_seeds)
    settings = replace(settings, imports=foreign_modules(settings))
    prog = prepare(settings, options, own, seeds=num_seeds)
    all_settings = [replace(settings, seed=settings.seed + index) for index in range(num_seeds)]
    folders = [RunFolder(_place(each, out, num_seeds)) for each in all_settings]
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
            folder.keep_layout(each)
            write_json(folder.config, {**config.record(each), "options": asdict(options)})
            folder.write_status(state="running", step=0, total=settings.total_timesteps, seconds=0.0)
        with closing(driver(prog, [each.seed for each in all_settings])) as drive:
            _drive(prog, drive, _told_launch(drive), Recorder(prog, folders, options), display)
    return folders


def resume(
    path: str | Path,
    *,
    options: Options | None = None,
    display: Display | None = None,
    own: Own | None = None,
    trust: bool = False,
) -> RunFolder:
    """Takes a run up from its newest good checkpoint; one that has finished is left as it is.

    Modules that the run needs are imported only if they are trusted, or have been imported already.
    """
    folder = find(path)
    settings = folder.read_settings(trust=trust)
    if options is None:
        options = former_options(folder)
    prog = prepare(settings, options, own)
    with folder.claimed():
        if folder.read_status().get("state") == "finished":
            return folder
        with closing(driver(prog, [settings.seed])) as drive:
            found = restore(folder, drive.shapes)
            if found is None:
                log.warning("%s has no checkpoint yet: it begins again from its seed", folder)
                state, seconds = _told_launch(drive), 0.0
            else:
                state, seconds = drive.revive(found[0]), found[1]
            metrics_file.cut(folder.metrics, int(state.step))
            _drive(prog, drive, state, Recorder(prog, [folder], options, seconds=seconds), display)
    return folder


def _told_launch(drive: Driver) -> TrainState:
    try:
        return drive.launch()
    except WorldFailed as error:
        raise Stop(f"the run could not begin: {error}") from error


def prepare(settings: Settings, options: Options | None = None, own: Own | None = None, *, seeds: int = 1) -> Program:
    """A run's program, after everything that can be refused has been."""
    if options is not None and options.track:
        sinks.require_wandb()
    prog = build(settings, own)
    require_memory(prog, seeds=seeds)
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


def _drive(prog: Program, drive: Driver, state: TrainState, recorder: Recorder, display: Display | None) -> None:
    """From `state` to the last step, or to whatever stops it."""
    total, folder = prog.sizes.total_steps, recorder.folders[0]
    recorder.open(int(jnp.max(state.step)))
    try:
        with requests() as asked:
            every = loop.chunks_per_row(prog)
            for turn in loop.turns(prog, state, drive.advance, every=every, seeds=len(recorder.folders)):
                recorder.add(turn)
                step = recorder.step
                if display is not None:
                    display(Progress(step, total, turn.steps_per_second, recorder.row))
                finished = step >= total
                if finished or asked.received is not None or recorder.due():
                    recorder.save(turn.state)
                if asked.received is not None and not finished:
                    recorder.tell("stopped")
                    where = f"stopped at step {step:,} of {total:,}"
                    raise Stop(f"{where}; `sadapt resume {folder}` goes on", 128 + asked.received)
        recorder.tell("finished")
    except Diverged as error:
        recorder.tell("diverged", message=str(error))
        kept = next(folder.checkpoints.newest(), None)
        good = f"The last good checkpoint is {kept}" if kept else "There is no checkpoint yet"
        raise Stop(f"{error}. {good}") from error
    except WorldFailed as error:
        recorder.tell("failed", message=str(error))
        raise Stop(f"the run stopped {error}; {_intact(folder)}") from error
    except OSError as error:
        recorder.tell_if_possible("stopped", message=str(error))
        raise Stop(
            f"the run stopped at step {recorder.step:,}: {error.filename or folder} could not be written "
            f"({error.strerror or error}); {_intact(folder)}: make room, then `sadapt resume {folder}`"
        ) from error
    finally:
        recorder.close()


def _intact(folder: RunFolder) -> str:
    kept = next(folder.checkpoints.newest(), None)
    return f"checkpoint {kept} is intact" if kept else "there is no checkpoint yet"


def _place(settings: Settings, out: str | Path | None, num_seeds: int) -> Path:
    if out is None:
        return default_path(settings)
    return Path(out) / f"s{settings.seed}" if num_seeds > 1 else Path(out)


def former_options(folder: RunFolder) -> Options:
    """How the run was kept before."""
    given = config.read_record(folder.config).get("options", {})
    try:
        return Options(**{name: given[name] for name in Options.__dataclass_fields__ if name in given})
    except (TypeError, UserError) as error:
        raise UserError(f"{folder.config}: options: {error}") from error
