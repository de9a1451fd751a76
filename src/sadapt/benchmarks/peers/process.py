"""A peer as a process of its own, asked in lines: it says `ready STEPS`, and after each `go` the seconds it took."""

from __future__ import annotations

import math
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO

SET_UP, ANSWER = 300.0, 60.0
"""Seconds that a peer may take to import, compile and warm up, and then for a single stretch."""


class Absent(Exception):
    """Why there is no number of a peer, in a line."""


class Peer:
    """A peer that is being asked."""

    def __init__(self, process: subprocess.Popen[str], said: IO[bytes], *, set_up: float, answer: float) -> None:
        self._process, self._said, self._limit = process, said, answer
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        line = self._next(set_up)
        word, _, number = line.partition(" ")
        if word != "ready" or not number.isdecimal() or int(number) < 1:
            raise Absent(f"it said {line!r} instead of `ready STEPS`")
        self.steps = int(number)
        """Environment steps of a stretch."""

    def timed(self) -> float:
        """Seconds of one stretch, as the peer measures them."""
        assert self._process.stdin is not None
        with suppress(OSError):  # a peer that has ended says so by its silence
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
        line = self._next(self._limit)
        try:
            seconds = float(line)
        except ValueError:
            seconds = math.nan
        if not 0 < seconds < math.inf:
            raise Absent(f"it said {line!r} instead of the seconds that it took")
        return seconds

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with suppress(OSError), self._process.stdout as lines:
            for line in lines:
                self._lines.put(line.strip())
        self._lines.put(None)

    def _next(self, limit: float) -> str:
        try:
            line = self._lines.get(timeout=limit)
        except queue.Empty:
            raise Absent(f"it did not answer within {limit:g} s") from None
        if line is None:
            raise Absent(f"it ended with {_last_line(self._said) or 'no word'}")
        return line


@contextmanager
def asked(
    command: Sequence[str],
    *,
    set_up: float = SET_UP,
    answer: float = ANSWER,
    variables: Mapping[str, str] | None = None,
) -> Iterator[Peer]:
    """A peer that is warm, on this process's core, with `variables` in its environment; it ends with the block."""
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                errors="replace",
                env={**os.environ, **(variables or {})},
            )
        except OSError as error:
            raise Absent(f"it could not be started: {error.strerror}") from error
        try:
            yield Peer(process, said, set_up=set_up, answer=answer)
        finally:
            process.kill()
            process.wait()
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()


def _last_line(said: IO[bytes]) -> str:
    said.seek(0)
    return said.read().decode(errors="replace").strip().rpartition("\n")[2].strip()
