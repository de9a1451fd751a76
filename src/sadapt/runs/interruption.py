"""Ctrl-C, SIGTERM and a terminal that hangs up: obeyed at once, or between chunks where there is something to save."""

from __future__ import annotations

import _thread
import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

ASKS_TO_STOP = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
AGAIN = 1.0
"""Seconds after which a signal that went unheeded is repeated."""


class Requests:
    """Which signal has come, if any; it is a `KeyboardInterrupt` where it hits, unless somebody will look here."""

    received: int | None = None
    answered: bool = False
    """Whether whoever is at work looks here now and then, so that nothing has to be broken off."""
    obeyed: bool = False
    """Whether whoever was at work is stopping, so that nothing more has to be said or broken off."""
    open: bool = False
    """Whether there is something to stop yet, and still."""

    @property
    def code(self) -> int:
        """The exit code of a program that this has stopped."""
        return 128 + (self.received or signal.SIGINT)

    def require_none(self) -> None:
        """Raises what a library may have swallowed."""
        if self.received is not None:
            raise KeyboardInterrupt


_active: list[Requests] = []


@contextlib.contextmanager
def requests() -> Iterator[Requests]:
    """Within it the signals are heard; the innermost shares what the outermost hears.

    A compiled chunk holds the main thread, and with it Python's own handlers; the system's wake-up pipe does not wait,
    so a thread that reads it hears every signal at once, and ends the process at the second Ctrl-C.
    """
    if _active or threading.current_thread() is not threading.main_thread():
        yield _active[0] if _active else Requests()
        return
    asked = Requests()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def heard(number: int, _: FrameType | None) -> None:
        asked.received = asked.received or number
        if asked.open and not (asked.answered or asked.obeyed):
            raise KeyboardInterrupt

    listener = threading.Thread(target=_listen, args=(reader, asked), daemon=True)
    former = {number: signal.signal(number, heard) for number in ASKS_TO_STOP if not _kept_away(number)}
    pipe_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    listener.start()
    _active.append(asked)
    try:
        with _no_word_of_swallowed_interruptions():
            asked.open = True
            yield asked
    finally:
        asked.open = False
        _active.clear()
        signal.set_wakeup_fd(pipe_before)
        for number, handler in former.items():
            signal.signal(number, handler)
        os.write(writer, b"\0")
        listener.join()
        os.close(reader)
        os.close(writer)


def _kept_away(number: int) -> bool:
    """Whether the run was started to outlive its terminal, as by nohup."""
    return number == getattr(signal, "SIGHUP", None) and signal.getsignal(number) is signal.SIG_IGN


def _listen(reader: int, asked: Requests) -> None:
    """Notes signals as they come, until the pipe says 0; repeats one that a library has swallowed."""
    before = False
    while True:
        unheeded = before and asked.open and not (asked.answered or asked.obeyed)
        if not select.select([reader], [], [], AGAIN if unheeded else None)[0]:
            _thread.interrupt_main(signal.SIGTERM)
            continue
        number = int.from_bytes(os.read(reader, 1), "little")
        if not number:
            return
        if number not in ASKS_TO_STOP:
            continue
        if before and number == signal.SIGINT:
            os._exit(128 + number)
        if asked.open and asked.answered and not (asked.obeyed or before):
            with contextlib.suppress(OSError, ValueError):  # nobody is there to read it
                print("\nstopping after this chunk of steps; Ctrl-C again to stop at once", file=sys.stderr, flush=True)
        asked.received, before = asked.received or number, True


@contextlib.contextmanager
def _no_word_of_swallowed_interruptions() -> Iterator[None]:
    """Python prints what is raised where nobody can catch it; an interruption there is repeated instead."""
    former = sys.unraisablehook

    def tell(what: sys.UnraisableHookArgs) -> None:
        if not isinstance(what.exc_value, KeyboardInterrupt):
            former(what)

    sys.unraisablehook = tell
    try:
        yield
    finally:
        sys.unraisablehook = former
