"""Training into folders: begins or takes up runs, writes metrics and checkpoints, and stops without losing anything."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path

from sadapt.envs.base import WorldFailed
from sadapt.errors import Stop, UserError
from sadapt.fields import Count, checked, field_of
from sadapt.registry import Own
from sadapt.runs import config, extending, metrics_file, sinks, starting
from sadapt.runs.baselines import recall
from sadapt.runs.folder import RunFolder, default_path, find, layout_text
from sadapt.runs.interruption import Requests, requests
from sadapt.runs.recorder import Display, Options, Progress, Recorder
from sadapt.runs.restoring import is_complete, restore
from sadapt.runs.starting import Start
from sadapt.training import doubts, loop
from sadapt.training.driver import Driver, driver
from sadapt.training.loop import Diverged
from sadapt.training.memory import require_memory
from sadapt.training.program import Program, TrainState, build
from sadapt.training.settings import Settings, foreign_modules

log = logging.getLogger(__name__)
First = Callable[[Driver], TrainState]
"""Makes the state that a run begins or goes on from, and opens its recorder."""


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
    if out is not None and not str(out):
        raise UserError("--out is empty: name a folder, or leave it out for runs/ENV/OBJECTIVE-LEARNER-sSEED")
    settings = replace(settings, imports=foreign_modules(settings))
    all_settings = [replace(settings, seed=settings.seed + index) for index in range(num_seeds)]
    folders = [RunFolder(_place(each, out, num_seeds)) for each in all_settings]
    for folder in folders:
        folder.require_free(overwrite=overwrite)
    agents = starting.policies(all_settings, own)
    settings = starting.shown_as(settings, agents)
    all_settings = [starting.shown_as(each, agents) for each in all_settings]
    prog = prepare(settings, options, own, seeds=num_seeds)
    starts = [starting.fitted(agent, prog, settings) for agent in agents]
    recorder = Recorder(prog, folders, options)
    with ExitStack() as stack:
        for folder in folders:
            stack.enter_context(folder.claimed())
            folder.require_free(overwrite=overwrite)
        told = {"options": asdict(options), "seeds_at_once": num_seeds, "steps": loop.steps_trained(prog)}
        records = [{**config.record(each), **told} for each in all_settings]
        for record, start, agent in zip(records, starts, agents, strict=False):
            record["started_from"] = start.told
            log.warning("%s", starting.spoken(agent, settings))
        layout, replacing = layout_text(settings), any(folder.config.exists() for folder in folders)

        def begin() -> None:
            for folder, record in zip(folders, records, strict=True):
                folder.begin(record, layout, state="running", step=0, total=settings.total_timesteps, seconds=0.0)
            recorder.begun = True

        def first(drive: Driver) -> TrainState:
            state = _launched(settings, drive, recorder, own, starts)
            if replacing:
                begin()
            recorder.open(0)
            return state

        if not replacing:
            begin()
        _drive(prog, [each.seed for each in all_settings], first, recorder, display)
    return folders


def resume(
    path: str | Path,
    *,
    options: Options | None = None,
    display: Display | None = None,
    own: Own | None = None,
    trust: bool = False,
    total_timesteps: int | None = None,
) -> RunFolder:
    """Takes a run up from its newest good checkpoint; one that has finished is left as it is.

    Modules that the run needs are imported only if they are trusted, or have been imported already. More steps than
    the run has, `total_timesteps`, extend it.
    """
    folder = find(path)
    settings = former = folder.read_settings(trust=trust)
    if total_timesteps is not None:
        settings = extending.extended(former, total_timesteps, str(folder))
    if options is None:
        options = former_options(folder)
    prog = prepare(settings, options, own)
    longer = settings != former
    if longer:
        extending.require_learning(prog, str(folder))
    recorder = Recorder(prog, [folder], options)

    def extend(step: int) -> None:
        if longer:
            extending.record(folder, settings, prog, step)
            log.warning("%s %s", folder, extending.spoken(prog, step))

    def first(drive: Driver) -> TrainState:
        found = restore(folder, drive.shapes, settings)
        if found is None:
            log.warning("%s has no checkpoint yet: it starts again from its seed", folder)
            metrics_file.cut(folder.metrics, 0)
            extend(0)
            recorder.open(0)
            return _launched(settings, drive, recorder, own, _starts_again(folder, settings, prog, own))
        extend(int(found.state.step))
        rounds = drive.measured() if longer else 0
        recorder.warn([doubts.at_start(settings, prog, found.state.random, rounds) if rounds else folder.warnings])
        known = found.metrics or folder.read_status().get("metrics")
        recorder.notes = {} if known is None else {"metrics": known}
        recorder.open(int(found.state.step), found.seconds)
        return drive.revive(found.state)

    with folder.claimed():
        if not is_complete(folder) or longer:
            _tell_alone(folder)
            _drive(prog, [settings.seed], first, recorder, display)
    return folder


def _starts_again(folder: RunFolder, settings: Settings, prog: Program, own: Own | None) -> list[Start]:
    """The policy that a run began with, if it did with one, which must be the same as then."""
    agents = starting.policies([settings], own)
    for agent in agents:
        starting.require_same(agent, config.read_record(folder.config).get("started_from"), str(folder))
    return [starting.fitted(agent, prog, settings) for agent in agents]


def _launched(
    settings: Settings, drive: Driver, recorder: Recorder, own: Own | None, starts: Sequence[Start]
) -> TrainState:
    """A run's first state, after what is doubtful about it has been said."""
    state = drive.launch(recall(settings, own))
    state = starting.put(state, starts) if starts else state
    alone = loop.unstack(state, len(recorder.folders))
    recorder.warn([doubts.at_start(settings, recorder.prog, each.random, drive.measured()) for each in alone])
    return state


def _tell_alone(folder: RunFolder) -> None:
    """Says that seeds which were trained in one program are now trained alone."""
    seeds = config.read_record(folder.config).get("seeds_at_once", 1)
    if seeds != 1:
        log.warning(
            "%s began in one program with other seeds (--num-seeds %s) and continues alone: its numbers will differ in "
            "their last digits from those of a run that was never stopped",
            folder,
            seeds,
        )


def prepare(settings: Settings, options: Options | None = None, own: Own | None = None, *, seeds: int = 1) -> Program:
    """A run's program, after everything that can be refused has been."""
    if options is not None and options.track:
        sinks.require_wandb()
    prog = build(settings, own)
    require_memory(prog, seeds=seeds)
    return prog


def _drive(prog: Program, seeds: Sequence[int], first: First, recorder: Recorder, display: Display | None) -> None:
    """From the first state to the last step, or to whatever stops it."""
    shown = _onlooker(display)
    shown(Progress(0, loop.steps_trained(prog), 0.0, None, prog.marginal.told))
    with requests() as asked:
        try:
            with closing(driver(prog, seeds)) as drive:
                _advance(prog, drive, first(drive), recorder, shown, asked)
            recorder.tell("finished")
        except BaseException as error:
            asked.obeyed = True
            ending = _ending(error, recorder, asked)
            if ending is None:
                raise
            raise ending from error
        finally:
            asked.answered, asked.obeyed = False, asked.received is not None
            recorder.close()


def _advance(
    prog: Program, drive: Driver, state: TrainState, recorder: Recorder, shown: Display, asked: Requests
) -> None:
    """Chunk after chunk; from the first one on there is something to save, so that signals wait until it is."""
    asked.require_none()
    every, last = loop.chunks_per_row(prog), loop.steps_trained(prog)
    for turn in loop.turns(prog, state, drive.advance, every=every, seeds=len(recorder.folders)):
        asked.answered = True
        state = turn.state
        recorder.add(turn)
        shown(Progress(recorder.step, loop.steps_trained(prog), turn.steps_per_second, recorder.row))
        finished = recorder.step >= last
        if finished or asked.received is not None or recorder.due():
            recorder.save(state)
        if not finished:
            asked.require_none()
    recorder.warn([doubts.at_end(prog, alone) for alone in loop.unstack(state, len(recorder.folders))])


def _onlooker(display: Display | None) -> Display:
    """Shows a run until nobody is there to see it: a closed pipe, a terminal that is gone."""
    watching = display

    def show(progress: Progress) -> None:
        nonlocal watching
        if watching is None:
            return
        try:
            watching(progress)
        except OSError as error:
            log.debug("the display is gone: %s", error)
            watching = None

    return show


def _ending(error: BaseException, recorder: Recorder, asked: Requests) -> Stop | None:
    """Writes down how a run ended before its time; what is to be told of it, if more than the error itself."""
    folder = recorder.folders[0]
    if isinstance(error, OSError) and recorder.writing and (asked.received is None or asked.answered):
        recorder.tell_if_possible("stopped", message=str(error))
        return Stop(
            f"the run stopped at step {recorder.step:,}: {error.filename or folder} could not be written "
            f"({error.strerror or error}); {_intact(folder)}: make room, then `sadapt resume {folder.named}`"
        )
    if asked.received is not None or isinstance(error, KeyboardInterrupt):
        recorder.tell_if_possible("stopped")
        return Stop(_stopped(recorder), asked.code)
    if isinstance(error, Diverged):
        recorder.tell_if_possible("diverged", message=str(error))
        kept = next(folder.checkpoints.newest(), None)
        return Stop(f"{error}. " + (f"The last good checkpoint is {kept}" if kept else "There is no checkpoint yet"))
    recorder.tell_if_possible("failed", message=str(error) or type(error).__name__)
    if isinstance(error, WorldFailed):
        began = recorder.step > 0
        return Stop(f"the run stopped {error}; {_intact(folder)}" if began else f"the run could not start: {error}")
    return None


def _stopped(recorder: Recorder) -> str:
    """What is told of a run that was asked to stop."""
    folders, total = recorder.folders, recorder.prog.sizes.total_steps
    if not recorder.begun:
        return f"stopped before its first step; {folders[0]} is as it was"
    where = f"stopped at step {recorder.step:,} of {total:,}" if recorder.step else "stopped before its first step"
    return f"{where}; " + ", ".join(f"`sadapt resume {folder.named}`" for folder in folders) + " continues"


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
