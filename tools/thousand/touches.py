"""What a process does to files, counted as it happens."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGING = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.utime", "os.truncate", "os.chmod")
LOOKING = ("os.listdir", "os.scandir")
WRITTEN, LOOKED = "written", "looked at"

Touches = Counter[tuple[str, str]]
"""How often a file below the root, by its name there, was written or looked at."""


def counted(root: Path) -> Touches:
    """From here on, what this process and those that it forks do below `root`; cannot be undone.

    Python tells of everything but of `stat`, which is wrapped.
    """
    found: Touches = Counter()
    base = str(root.resolve()) + os.sep

    def add(kind: str, path: Any) -> None:
        if isinstance(path, str | os.PathLike) and (name := os.path.abspath(path)).startswith(base):
            found[kind, name.removeprefix(base)] += 1

    def heard(event: str, given: tuple[Any, ...]) -> None:
        if event == "open":
            add(WRITTEN if given[2] & CHANGES else LOOKED, given[0])
        elif event in CHANGING:
            add(WRITTEN, given[1] if event == "os.rename" else given[0])
        elif event in LOOKING:
            add(LOOKED, given[0])

    sys.addaudithook(heard)
    _wrap_stat(lambda path: add(LOOKED, path))
    return found


def _wrap_stat(told: Callable[[Any], None]) -> None:
    for name in ("stat", "lstat"):
        asked = getattr(os, name)

        def stat(path: Any, *rest: Any, asked: Any = asked, **named: Any) -> Any:
            told(path)
            return asked(path, *rest, **named)

        setattr(os, name, stat)


def total(touches: Touches, kind: str) -> int:
    """All touches of a kind."""
    return sum(times for (each, _), times in touches.items() if each == kind)


def bytes_written() -> int:
    """Bytes that this process has handed to the system; 0 where it does not say."""
    try:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))
