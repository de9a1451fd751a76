"""The one error that a user's mistake may raise: a paragraph, never a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """Says what was given, what was expected and what to do; the command line prints it and exits with 2."""


def nearest(given: object, valid: Iterable[str]) -> str:
    """A hint naming the valid spelling closest to `given`, or all of them when none is close."""
    names = sorted(valid)
    close = difflib.get_close_matches(str(given), names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else "choose one of: " + ", ".join(names)


class Stop(Exception):
    """A run ended before its time, through no mistake of the user's; `code` is what the program exits with."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code
