"""`metrics.csv`: one row per interval, written as it happens, cut back to the checkpoint when a run is resumed."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from sadapt.errors import UserError

if TYPE_CHECKING:
    from sadapt.training.metrics import Row


class MetricsFile:
    """Rows appended to a CSV file; the header comes with the first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: TextIO | None = None

    def append(self, row: Row) -> None:
        """Writes a row through to the system."""
        fresh = not self.path.exists() or self.path.stat().st_size == 0
        if self._file is None:
            self._file = open(self.path, "a", encoding="ascii", newline="")  # noqa: SIM115 (open as long as the run is)
        out = csv.writer(self._file, lineterminator="\n")
        if fresh:
            out.writerow(row)
        out.writerow(map(_cell, row.values()))
        self._file.flush()

    def sync(self) -> None:
        """Makes what was written last through a power cut."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def cut(path: Path, step: int) -> None:
    """Drops the rows after `step`, and a last line that was not finished."""
    if not path.exists():
        return
    lines = path.read_text(encoding="ascii", errors="replace").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    try:
        kept = whole[:1] + [line for line in whole[1:] if int(line.partition(",")[0]) <= step]
    except ValueError as error:
        raise UserError(f"{path} is damaged ({error}); expected rows of numbers as a run writes them") from error
    if len(kept) < 2:
        kept = []
    if kept != lines:
        replace_text(path, "".join(kept))


def replace_text(path: Path, text: str) -> None:
    """Writes a text to the side and renames it, so that the file is whole at any moment."""
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def read(path: Path) -> list[dict[str, Any]]:
    """Rows of a `metrics.csv`; what is empty there is None here."""
    try:
        with open(path, encoding="ascii", newline="") as file:
            return [{name: _number(text) for name, text in row.items()} for row in csv.DictReader(file)]
    except (ValueError, TypeError, AttributeError, csv.Error) as error:  # whatever a damaged file makes of a row
        raise UserError(f"{path} is damaged ({error}); expected rows of numbers as a run writes them") from error


def _cell(value: float | int | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.7g}"


def _number(text: str | None) -> float | int | None:
    if not text:
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)
