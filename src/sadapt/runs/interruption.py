"""Ctrl-C and SIGTERM as a polite request that the training loop answers; a second Ctrl-C ends the process at once."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator

ASKS_TO_STOP = (signal.SIGINT, signal.SIGTERM)


class Requests:
    """Which signal has come, if any."""

    received: int | None = None


@contextlib.contextmanager
def requests() -> Iterator[Requests]:
    """Within it the signals only leave a note.

    A compiled chunk holds the main thread, and with it Python's own handlers; the system's wake-up pipe does not wait,
    so a thread that reads it hears every signal at once.
    """
    asked = Requests()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def listen() -> None:
        while number := int.from_bytes(os.read(reader, 1), "little"):
            if number not in ASKS_TO_STOP:
                continue
            if asked.received is not None and number == signal.SIGINT:
                os._exit(128 + number)
            asked.received = number
            print("\nstopping after this chunk of steps; Ctrl-C again to stop at once", file=sys.stderr, flush=True)

    listener = threading.Thread(target=listen, daemon=True)
    former = {number: signal.signal(number, lambda *_: None) for number in ASKS_TO_STOP}
    pipe_before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    listener.start()
    try:
        yield asked
    finally:
        signal.set_wakeup_fd(pipe_before)
        for number, handler in former.items():
            signal.signal(number, handler)
        os.write(writer, b"\0")
        listener.join()
        os.close(reader)
        os.close(writer)
