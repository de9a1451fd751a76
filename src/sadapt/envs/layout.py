"""Maps as text: `#` wall, `A` agent, `G` goal, `b` butterfly, `.` free; the map's edge blocks as a wall does."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sadapt.errors import UserError

MEANING = {"#": "wall", "A": "agent", "G": "goal", "b": "butterfly", ".": "free cell"}
ALLOWED = {"maze": "#AG.", "butterflies": "#Ab.", "seasons": "#A."}
"""Characters that each kind of map may hold."""


MOST = 250_000
"""Cells of a map; no world is played on a larger one."""


class Layout(NamedTuple):
    """A map that has been checked."""

    wall: np.ndarray
    agent: tuple[int, int]
    goal: tuple[int, int] | None
    butterflies: np.ndarray
    source: str


def parse(text: str, source: str, kind: str) -> Layout:
    """Reads a map; an error names the source, line and column, counted from 1."""
    rows = text.splitlines()
    while rows and not rows[-1].strip():
        rows.pop()
    if not rows:
        raise UserError(f"{source} is empty; a map has one character per cell, of {_legend(kind)}")
    if (count := sum(map(len, rows))) > MOST:
        raise UserError(f"{source} has {count:,} cells; a map can have at most {MOST:,}")
    for number, row in enumerate(rows, 1):
        for column, character in enumerate(row, 1):
            if character not in ALLOWED[kind]:
                raise _error(
                    source, number, column, f"{_name(character)} has no place in a {kind} map; use {_legend(kind)}"
                )
        if len(row) != len(rows[0]):
            column = min(len(row), len(rows[0])) + 1
            raise _error(
                source,
                number,
                column,
                f"this row has {len(row)} cells, the first has {len(rows[0])}; all must be equal",
            )
    cells = np.array([list(row) for row in rows])
    agent = _single(cells, "A", source)
    goal = _single(cells, "G", source) if kind == "maze" else None
    butterflies = cells == "b"
    if kind == "butterflies" and not butterflies.any():
        raise _error(source, 1, 1, "there is no butterfly in this map; mark at least one cell with 'b'")
    layout = Layout(cells == "#", agent, goal, butterflies, source)
    _require_reachable(layout)
    return layout


def load(path: str | Path, kind: str) -> Layout:
    """Reads a user's map."""
    return parse(read(path, _legend(kind)), str(path), kind)


def read(path: str | Path, legend: str = "a map, one character per cell") -> str:
    """The text of a user's map."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not a text file: byte {error.start + 1} is not UTF-8; expected {legend}") from None
    except OSError as error:
        raise UserError(f"cannot read the map {path}: {error.strerror}") from None


def packaged(name: str, kind: str) -> Layout:
    """Reads a map that comes with the package."""
    file = resources.files("sadapt.envs") / "layouts" / f"{name}.txt"
    return parse(file.read_text(encoding="utf-8"), f"{name}.txt", kind)


def _error(source: str, line: int, column: int, message: str) -> UserError:
    return UserError(f"{source}, line {line}, column {column}: {message}")


def _legend(kind: str) -> str:
    return ", ".join(f"{c!r} {MEANING[c]}" for c in ALLOWED[kind])


def _name(character: str) -> str:
    return f"a {MEANING[character]} ({character!r})" if character in MEANING else f"the character {character!r}"


def _single(cells: np.ndarray, character: str, source: str) -> tuple[int, int]:
    places = np.argwhere(cells == character)
    what = MEANING[character]
    if not len(places):
        raise _error(source, 1, 1, f"there is no {what} in this map; mark exactly one cell with {character!r}")
    if len(places) > 1:
        row, column = places[1]
        first = f"line {places[0][0] + 1}, column {places[0][1] + 1}"
        raise _error(
            source, row + 1, column + 1, f"a second {what}; the first is at {first}, and there can be one only"
        )
    return int(places[0][0]), int(places[0][1])


def _require_reachable(layout: Layout) -> None:
    reached = reachable(layout.wall, layout.agent)
    wanted = [] if layout.goal is None else [("goal", layout.goal)]
    wanted += [("butterfly", (int(row), int(column))) for row, column in np.argwhere(layout.butterflies)]
    for what, place in wanted:
        if not reached[place]:
            row, column = place
            message = f"the agent cannot reach this {what}: walls or the map's edge cut it off; open a way to it"
            raise _error(layout.source, row + 1, column + 1, message)


def reachable(wall: np.ndarray, start: tuple[int, int]) -> np.ndarray:
    """bool[H, W]: the cells that can be walked to."""
    reached, todo = np.zeros_like(wall), [start]
    while todo:
        row, column = todo.pop()
        inside = 0 <= row < wall.shape[0] and 0 <= column < wall.shape[1]
        if inside and not wall[row, column] and not reached[row, column]:
            reached[row, column] = True
            todo += [(row + down, column + right) for down, right in ((0, -1), (-1, 0), (0, 1), (1, 0))]
    return reached


def chosen(name: str, layout: str | None, kind: str) -> Layout:
    """A world's own map, or the user's: a file, or the map's text itself."""
    if layout is None:
        return packaged(name, kind)
    return parse(layout, "the stored map", kind) if "\n" in layout else load(layout, kind)
