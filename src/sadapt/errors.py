"""The one error that a user's mistake may raise: a paragraph, never a traceback."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path


class UserError(ValueError):
    """Says what was given, what was expected and what to do; the command line prints it and exits with 2."""


def nearest(given: object, valid: Iterable[str]) -> str:
    """A hint naming the valid spelling closest to `given`, or all of them when none is close."""
    names = sorted(valid)
    close = difflib.get_close_matches(str(given), names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else "choose one of: " + ", ".join(names)


def installing(extra: str) -> str:
    """The command that adds an extra of ours to the Python that runs this, whose `pip` may not be the shell's."""
    found, own = shutil.which("pip"), Path(sys.executable)
    shown = min(os.path.relpath(own), str(own), key=len) if own.anchor == Path.cwd().anchor else str(own)
    pip = "pip" if found is not None and Path(found).parent == own.parent else f"{shown} -m pip"
    return f"{pip} install 'sadapt[{extra}]'"


class Stop(Exception):
    """A run ended before its time, through no mistake of the user's; `code` is what the program exits with."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code
