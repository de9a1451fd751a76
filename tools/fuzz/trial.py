"""One input met by the program, in a process that cannot take the machine down with it."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ORDINARY, ALLOWED = 1 << 29, 2 << 30
"""Bytes that the program takes for itself, and those that an input may make it take."""
SHOWN = 1 << 20
"""Bytes of output that are looked at."""
REACTION = 0.25
"""Share of the patience after which work that may be long is asked to stop."""
LOADING = """
import sys
from sadapt import load
from sadapt.errors import UserError
try:
    load(sys.argv[1] if len(sys.argv) > 1 else "")
except (UserError, OSError) as error:
    sys.exit(f"refused: {error}".encode("ascii", "backslashreplace").decode())
"""
"""`load` as a program; it refuses with exit code 1."""


WARM = (
    "api", "runs.display", "experiments.claims", "experiments.executors", "experiments.plan", "experiments.sweep",
    "report.adaptation", "report.agreement", "report.curves", "report.figures", "report.table", "runs.restoring",
    "runs.session", "training.memory",
)  # fmt: skip
"""Modules that commands import when they are called."""


class Outcome(NamedTuple):
    """How it went."""

    code: int | None
    """None if it did not end by itself; negative if a signal has ended it."""
    seconds: float
    busy: float
    """Seconds of a core."""
    peak: int
    """Bytes of memory, at most."""
    said: str
    """Standard output and error."""
    stopped: bool
    """Whether it was asked to stop."""


def run(action: Callable[[], int], folder: Path, log: Path, *, patience: float, stops: bool = False) -> Outcome:
    """Does something in a process of its own, in `folder`; if it `stops`, Ctrl-C after a while."""
    began = time.monotonic()
    process = os.fork()
    if not process:
        _be_child(action, folder, log)
    stopped, done = False, 0
    while True:
        done, status, used = os.wait4(process, os.WNOHANG)
        gone = time.monotonic() - began
        if done or gone > patience:
            break
        if stops and not stopped and gone > REACTION * patience:
            stopped = True
            with suppress(ProcessLookupError):
                os.killpg(process, signal.SIGINT)
        time.sleep(0.005)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)
    if not done:
        _, status, used = os.wait4(process, 0)
    with open(log, "rb") as file:
        said = file.read(SHOWN).decode("utf-8", "replace")
    code = os.waitstatus_to_exitcode(status) if done else None
    busy = used.ru_utime + used.ru_stime
    return Outcome(code, time.monotonic() - began, busy, used.ru_maxrss * 1024, said, stopped)


def _be_child(action: Callable[[], int], folder: Path, log: Path) -> None:
    """Does the action with its output in a file and its memory limited; never returns."""
    code = 1
    try:
        os.setsid()
        os.chdir(folder)
        for number, path in enumerate((Path(os.devnull), log, log)):
            where = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            os.dup2(where, number)
            os.close(where)
        resource.setrlimit(resource.RLIMIT_DATA, (ORDINARY + ALLOWED, ORDINARY + ALLOWED))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = action()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code & 0xFF)


def warm() -> None:
    """Imports what the commands need, but starts nothing: a fork has only one thread, and the backend has many."""
    from sadapt.cli import COMMANDS

    for row in COMMANDS.values():
        import_module(f"sadapt.cli.{row.module}")
    for name in WARM:
        import_module(f"sadapt.{name}")
    import matplotlib.pyplot  # noqa: F401


def forked(words: tuple[str, ...]) -> Callable[[], int]:
    """The program as it is once everything is imported."""

    def action() -> int:
        from sadapt.cli import main

        sys.argv = ["sadapt", *words]
        if words[:1] == ("load",):
            sys.argv = ["load", *words[1:]]
            exec(compile(LOADING, "load", "exec"), {"__name__": "load"})
            return 0
        return main()

    return action


def executed(words: tuple[str, ...]) -> Callable[[], int]:
    """The program as the shell starts it."""
    loading = words[:1] == ("load",)
    line = [sys.executable, "-c", LOADING, *words[1:]] if loading else [sys.executable, "-m", "sadapt", *words]

    def action() -> int:
        os.execv(sys.executable, line)

    return action
