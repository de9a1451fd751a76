"""`metrics.csv`: one row per interval, written as it happens; a checkpoint knows what the file was when it was made."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from sadapt.errors import UserError
from sadapt.runs.belongings import PARTIAL, no_link

if TYPE_CHECKING:
    from sadapt.training.metrics import Row


COLUMNS = ("step", "episodes", "return", "surprise", "entropy", "h_random", "alpha")
"""What every run has written."""
LARGEST = 3.5e38
"""No number of a run is larger: they are 32 bits long."""


class MetricsFile:
    """Rows appended to a CSV file; the header comes with the first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: TextIO | None = None
        there = path.read_bytes() if path.exists() else b""
        self._lines, self._bytes, self._digest = there.count(b"\n"), len(there), hashlib.sha256(there)

    def append(self, row: Row) -> None:
        """Writes a row through to the system."""
        if self._file is None:
            self._file = open(self.path, "a", encoding="ascii", newline="")  # noqa: SIM115 (open as long as the run is)
        text = io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        if not self._bytes:
            out.writerow(row)
        out.writerow(map(_cell, row.values()))
        self._file.write(text.getvalue())
        self._file.flush()
        written = text.getvalue().encode("ascii")
        self._lines, self._bytes = self._lines + written.count(b"\n"), self._bytes + len(written)
        self._digest.update(written)

    def known(self) -> dict[str, Any]:
        """What the file is now, to be compared when the run is taken up."""
        return {"rows": max(self._lines - 1, 0), "bytes": self._bytes, "sha256": self._digest.hexdigest()}

    def sync(self) -> None:
        """Makes what was written last through a power cut."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def trouble(path: Path, known: dict[str, Any] | None) -> str | None:
    """What has happened to a file since a checkpoint knew it, if anything; older checkpoints know nothing."""
    if known is None or not known["bytes"]:
        return None
    try:
        with open(path, "rb") as file:
            there = file.read(known["bytes"])
    except OSError as error:
        return f"cannot be read ({error.strerror}), and {known['rows']} rows should be there"
    if len(there) < known["bytes"]:
        rows = max(there.count(b"\n") - 1, 0)
        return f"has {rows} whole rows, and {known['rows']} should be there"
    if hashlib.sha256(there).hexdigest() != known["sha256"]:
        return f"has changed: its first {known['rows']} rows are not those that were written"
    return None


def cut_to(path: Path, known: dict[str, Any] | None, step: int) -> None:
    """Drops what was written after a checkpoint that is in step with the file, or after `step` if it knows nothing."""
    if known is None:
        cut(path, step)
    elif path.exists():
        os.truncate(path, known["bytes"])


def cut(path: Path, step: int) -> None:
    """Drops the rows after `step`, and a last line that was not finished."""
    if not path.exists():
        return
    lines = path.read_text(encoding="ascii", errors="replace").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    kept = whole[:1] + [line for line in whole[1:] if 0 <= _step(line) <= step]
    if len(kept) < 2:
        kept = []
    if kept != lines:
        replace_text(path, "".join(kept))


def replace_text(path: Path, text: str) -> None:
    """Writes a text to the side and renames it, so that the file is whole at any moment."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        no_link(partial).write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def read(path: Path) -> list[dict[str, Any]]:
    """Rows of a `metrics.csv`; what is empty or not finite there is None here."""
    try:
        with open(path, encoding="ascii", newline="") as file:
            rows = [{name: _number(text) for name, text in row.items()} for row in csv.DictReader(file, strict=True)]
    except (ValueError, TypeError, AttributeError, csv.Error) as error:
        raise UserError(f"{path} is damaged ({error}); expected rows of numbers as a run writes them") from error
    if rows and (missing := [name for name in COLUMNS if name not in rows[0]]):
        raise UserError(f"{path} is damaged (it has no column {', '.join(missing)}); expected those that a run writes")
    if not all(isinstance(row["step"], int) for row in rows):
        raise UserError(f"{path} is damaged (not every row has a step); expected rows of numbers as a run writes them")
    return rows


def hole(rows: list[dict[str, Any]], planned: int | None = None) -> str | None:
    """What tells that rows are missing: they come at equal distances, but for the last, which may come sooner.

    In a run that was extended there may be one more, where it was `planned` to end.
    """
    steps = [row["step"] for row in rows]
    found = _hole(steps)
    if found is None or planned is None:
        return found
    end = next((step for step in steps if step >= planned), None)
    return _hole([step for step in steps if step != end])


def _hole(steps: list[int]) -> str | None:
    """Where equal distances end too soon."""
    every = steps[0] if steps else 1
    for number, step in enumerate(steps, 1):
        if step != number * every and not (number == len(steps) and (number - 1) * every < step < number * every):
            return f"has a hole before step {step:,}: its rows come every {every:,} steps"
    return None


def _step(line: str) -> int:
    """The step of a line, -1 if it has none."""
    first = line.partition(",")[0]
    return int(first) if first.isascii() and first.isdigit() else -1


def _cell(value: float | int | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.7g}"


def _number(text: str | None) -> float | int | None:
    if not text:
        return None
    value = int(text) if text.lstrip("-").isdigit() else float(text)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if abs(value) > LARGEST:
        raise ValueError(f"{text[:20]}... is more than a run can count")
    return value
