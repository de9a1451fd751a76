"""What must not happen, whatever the input is."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Mapping
from pathlib import Path, PurePath

from tools.fuzz.cases import Case
from tools.fuzz.trial import ALLOWED, ORDINARY, Outcome

CODES = (0, 1, 2, 130, 143)
REFUSED = 2
FAULTS = ("Traceback (most recent call last)", "Fatal Python error", "Exception ignored in")
NO_MEMORY = "not enough memory"
"""How the program tells that an allocation has failed, which it should not have tried."""
ALWAYS = (".lock", "status.json", ".sadapt")
"""What of a run may change even if it is refused."""
MINE = "notes.txt"


def contents(folder: Path) -> dict[str, str]:
    """A digest of every file below a folder, by its path; of a link, where it leads."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in [*files, *folders]:
            path = Path(root) / name
            if path.is_symlink():
                told = f"link to {os.readlink(path)}"
            elif path.is_file():
                told = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                continue
            found[str(path.relative_to(folder))] = told
    return found


def findings(case: Case, outcome: Outcome, before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Everything that is wrong with how an input was met."""
    found = []
    if outcome.code is None:
        found.append(
            f"hangs: not at an end after {outcome.seconds:.0f} s" + (", Ctrl-C or not" if outcome.stopped else "")
        )
    elif outcome.code not in CODES:
        found.append(f"exit code {outcome.code}")
    found += [f"says {fault!r}" for fault in FAULTS if fault in outcome.said]
    if outcome.peak > ORDINARY + ALLOWED or NO_MEMORY in outcome.said:
        found.append(f"asks for too much memory ({outcome.peak / 1e9:.1f} GB at most)")
    if wrong := changes(case, outcome.code, before, after):
        found.append(f"changes what it should not: {', '.join(wrong[:5])}")
    return found


def changes(case: Case, code: int | None, before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Files that are not as they were although the command may not write there."""
    touched = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return [name for name in touched if not _may_change(case, code, PurePath(name), new=name not in before)]


def _may_change(case: Case, code: int | None, path: PurePath, *, new: bool) -> bool:
    if path.name == MINE:
        return False
    if any(path.is_relative_to(place) for place in case.command.writes):
        return new or code != REFUSED or path.name in ALWAYS
    return new and any(path.is_relative_to(place) for place in _named(case))


def _named(case: Case) -> list[str]:
    """Where the words themselves ask for something new, and where it goes if they do not."""
    words = case.words
    after = [word for option, word in itertools.pairwise(words) if option == "--out"]
    joined = [word.partition("=")[2] for word in words if word.startswith("--out=")]
    usual = ["runs", "run/videos", "run/curve.png", "run/policy.safetensors", "results", "policy"]
    return [*after, *joined, *(usual if case.words != tuple(case.command.line.split()) else [])]
