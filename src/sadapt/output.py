"""Results on standard output: a table for people, JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

UNFOLDED = 10_000
"""A width in which every line fits."""


@dataclass(frozen=True)
class Column:
    """One column of a table: which entry of a record it shows, and how."""

    key: str
    title: str
    text: Callable[[Any], str] = str
    right: bool = False
    """Aligned to the right, as numbers are."""
    spare: bool = False
    """Left out, the rightmost first, where the terminal is too narrow for all of them."""
    folds: bool = False
    """Continues on the next line where the terminal is too narrow even so."""


def console() -> Console:
    """Standard output; lines that go into a pipe or a file are never folded."""
    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else UNFOLDED)


def show(records: Iterable[Mapping[str, Any]], columns: Iterable[Column]) -> None:
    """Prints one row per record."""
    rows, shown = list(records), list(columns)
    out = console()
    spare = [column for column in shown if column.spare]
    while spare and _width(_table(rows, shown), out) > out.width:
        shown.remove(spare.pop())
    out.print(_table(rows, shown))


def show_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Prints one JSON document, an entry to a line; a number that is missing or not finite is null."""
    plain = _plain(value)
    if isinstance(plain, dict):
        lines, brackets = [f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in plain.items()], "{}"
    else:
        lines, brackets = [json.dumps(entry) for entry in plain], "[]"
    print("\n".join([brackets[0], ",\n".join(f"  {line}" for line in lines), brackets[1]]))


def _width(table: Table, out: Console) -> int:
    """Characters that a table takes if nothing is folded."""
    return Measurement.get(out, out.options.update(max_width=UNFOLDED), table).maximum


def _table(rows: list[Mapping[str, Any]], columns: list[Column]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column.title, justify="right" if column.right else "left", no_wrap=not column.folds)
    for row in rows:
        table.add_row(*(Text(column.text(row[column.key])) for column in columns))
    return table


def _plain(value: Any) -> Any:
    """The same value in the types that JSON knows."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
