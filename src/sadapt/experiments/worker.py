"""One run in a process of its own: `python -m sadapt.experiments.worker`, with the job as JSON on standard input.

The process lives as long as whoever started it: when its standard input closes, it saves the run and ends, so that
another worker can take it up.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

CHECKPOINT_INTERVAL = 60.0
"""Seconds of work that a lost worker may cost."""
PATIENCE = 60.0
"""Seconds to wait for a predecessor that is still saving the run."""
SIGN = 60.0
"""Seconds between signs of life: as many workers as there are on a cluster share one file system."""
MEASURED = 3.0
"""Seconds over which a pace is measured."""


class Job(NamedTuple):
    """What a worker is asked to do; plain values, so that it can travel to another machine."""

    path: str
    """The run's folder."""
    settings: dict[str, Any]
    words: tuple[str, ...] = ()
    """Those after `sadapt` on the command line that asked for the run."""
    measure: bool = False
    """Print the steps per second instead of training."""
    imports: tuple[str, ...] = ()
    """Modules of the user's own that whoever asked for the run had imported."""
    home: str = ""
    """The folder that these are found from."""


def sign_of_life(job: Job) -> Path:
    """The file that a worker touches as long as it makes steps."""
    return Path(job.path) / "status.json"


def signs_of_life(job: Job) -> Callable[[], None]:
    """To be called after every chunk of steps: touches that file, but not more often than it must."""
    last = time.monotonic()

    def touch() -> None:
        nonlocal last
        if time.monotonic() - last < SIGN:
            return
        last = time.monotonic()
        with suppress(FileNotFoundError):
            os.utime(sign_of_life(job))

    return touch


def main() -> int:
    """Does the job; the exit code is that of `sadapt train`."""
    from sadapt.runs.interruption import requests

    with requests() as asked:
        try:
            return _main()
        except BaseException:
            if asked.received is None:
                raise
            return asked.code


def _main() -> int:
    core = int(sys.argv[1]) if len(sys.argv) > 1 else None
    job = Job(**json.loads(sys.stdin.readline()))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _prepare(job, core)
    from sadapt.errors import Stop, UserError
    from sadapt.registry import import_modules

    try:
        import_modules(job.imports)
        if job.measure:
            print(pace(job))
        else:
            carry_out(job)
    except UserError as mistake:
        print(mistake, file=sys.stderr)
        return 2
    except Stop as stop:
        print(stop, file=sys.stderr)
        return stop.code
    return 0


def _end_with_parent() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _prepare(job: Job, core: int | None) -> None:
    """One core, programs that are compiled once for all seeds, and the command as the run's `config.json` tells it."""
    sys.argv = ["sadapt", *job.words]
    if job.home and job.home not in sys.path:
        sys.path.insert(0, job.home)
    from sadapt.runs.cores import one_core
    from sadapt.runs.programs import keep_programs

    if os.environ.get("JAX_PLATFORMS", "cpu") == "cpu":
        one_core(core)
    keep_programs()


def carry_out(job: Job) -> None:
    """Trains the run, or goes on with what is there of it."""
    from sadapt.errors import UserError
    from sadapt.runs import config, session
    from sadapt.runs.folder import Claimed, RunFolder
    from sadapt.runs.recorder import Options, Progress

    settings = config.from_dict(job.settings, job.path)
    folder = RunFolder(Path(job.path))
    options = Options(checkpoint_interval=CHECKPOINT_INTERVAL, tensorboard=False, clock=False)

    touch = signs_of_life(job)

    def shown(progress: Progress) -> None:
        touch()

    give_up = time.monotonic() + PATIENCE
    while True:
        try:
            if not folder.config.exists():
                session.train(settings, folder.path, options=options, display=shown)
            elif found := config.unasked(config.to_dict(config.read(folder.config)), job.settings):
                raise UserError(
                    f"{folder} holds a run with other settings (its own first): {'; '.join(found)}: "
                    "remove the folder or use another --out"
                )
            else:
                session.resume(folder.path, options=options, display=shown)
            return
        except Claimed:
            if time.monotonic() > give_up:
                raise
            time.sleep(1.0)


def pace(job: Job) -> float:
    """Steps per second of a run's program once it is compiled and learning."""
    from sadapt.runs import config
    from sadapt.runs.session import prepare
    from sadapt.training import loop
    from sadapt.training.driver import driver

    settings = config.from_dict(job.settings, job.path)
    prog = prepare(settings)
    drive = driver(prog, [settings.seed])
    chunk, paces = prog.learner.chunk_steps, [0.0]
    seconds = 0.0
    for number, turn in enumerate(loop.turns(prog, drive.launch(), drive.advance), 1):
        if number > 2 and number * chunk > prog.learner.warmup_steps + chunk:
            paces.append(turn.steps_per_second)
            seconds += chunk / turn.steps_per_second
        else:
            paces[0] = turn.steps_per_second
        if seconds > MEASURED:
            break
    drive.close()
    return paces[0] if len(paces) == 1 else (len(paces) - 1) / sum(1 / each for each in paces[1:])


if __name__ == "__main__":
    raise SystemExit(main())
