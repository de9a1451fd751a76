"""What stands between the program and whoever started it: streams that outlive their readers, failures of the machine.

A terminal that has gone or knows only ASCII, and a machine without the memory or the device that was asked for, are no
faults of the program: none of them ends in a traceback.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

GONE = (errno.EPIPE, errno.EIO, errno.EBADF, errno.ESHUTDOWN)
"""What a write is answered with when nobody reads any more: a closed pipe, a terminal that hung up."""


class Patient:
    """A text stream that shows letters which it does not have as escapes, and falls silent when its reader has gone."""

    def __init__(self, inner: TextIO) -> None:
        self._inner = inner

    def write(self, text: str) -> int:
        encoding = self._inner.encoding or "utf-8"
        with self._tolerated():
            self._inner.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        with self._tolerated():
            self._inner.flush()

    @contextmanager
    def _tolerated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in GONE:
                raise
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._inner.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Spoken(logging.Handler):
    """Messages on standard error as it is at that moment: a panel that lives there puts itself between."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):
            print(self.format(record), file=sys.stderr, flush=True)


@contextmanager
def patient_streams() -> Iterator[None]:
    """Standard output and error that can always be written to, also where they were closed before the program began."""
    _fill_closed()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (Patient(stream) for stream in before)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        sys.stdout, sys.stderr = before


def _fill_closed() -> None:
    """Opens what was closed, so that no file of ours gets its number and with it what others write there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (open as long as the program is)


def told_failure(failure: Exception) -> str | None:
    """A failure of the machine in one sentence; None if it is the program's."""
    text = str(failure)
    if isinstance(failure, MemoryError) or "RESOURCE_EXHAUSTED" in text or "Out of memory" in text:
        return (
            f"not enough memory ({_first_line(text) or 'no details are known'}): "
            "lower --num-envs, --episodes or the size of the network"
        )
    return _told_platform() if "jax" in sys.modules and os.environ.get("JAX_PLATFORMS") else None


def _told_platform() -> str | None:
    """Why the platform that was asked for cannot be had; None if it can."""
    import jax

    try:
        jax.devices()
    except Exception as missing:  # which one depends on the platform and on JAX's version
        why = _first_line(str(missing)) or "this machine has no such device"
        return (
            f"JAX_PLATFORMS is {os.environ['JAX_PLATFORMS']!r}, which cannot be used here ({why}): unset it, or name a "
            "platform that this machine and its JAX have, such as cpu"
        )
    return None


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].partition(" (")[0].rstrip(".")
