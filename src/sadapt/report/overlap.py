"""Curves that lie on each other: each is made to show through, and a note in the panel names them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Points = tuple[np.ndarray, np.ndarray]
"""Steps and values."""
CLOSE = 0.01
"""Share of a panel's height within which two curves cannot be told apart."""
MOSTLY = 0.5
"""Share of the steps for which they have to be that close."""
DASH = 4
"""Points of colour before the next curve's turn, in widths of the line."""
NOTE = "#666666"


def coincident(curves: Sequence[Points], height: float) -> list[list[int]]:
    """Which curves (steps, values) cannot be told apart in a panel of that height: groups of two and more."""
    groups: list[list[int]] = []
    for index, curve in enumerate(curves):
        for group in groups:
            if _together(curves[group[0]], curve, height):
                group.append(index)
                break
        else:
            groups.append([index])
    return [group for group in groups if len(group) > 1]


def _together(one: Points, other: Points, height: float) -> bool:
    start, end = max(one[0][0], other[0][0]), min(one[0][-1], other[0][-1])
    steps = np.union1d(one[0], other[0])
    steps = steps[(steps >= start) & (steps <= end)]
    if not len(steps):
        return False
    apart = np.abs(np.interp(steps, *one) - np.interp(steps, *other))
    return bool(np.mean(apart <= CLOSE * height) > MOSTLY)


def reveal(axes: Any, lines: Mapping[str, Any], *, size: float, letters: int, below: float) -> int:
    """Lets the lines of a panel that hide each other take turns, colour by colour, and names them in a note below it.

    `letters` is the length of the note's rows, and `below` how many points under the panel it begins; how many rows it
    has is returned.
    """
    names = [name for name, line in lines.items() if len(line.get_xdata()) > 1]
    low, high = axes.get_ylim()
    sides = axes.get_xlim()
    curves = [_points(lines[name], *sides) for name in names]
    notes: list[str] = []
    for group in coincident(curves, high - low):
        _take_turns(axes, [lines[names[index]] for index in group], [curves[index] for index in group], high - low)
        notes += textwrap.wrap(f"one line: {' = '.join(names[index] for index in group)}", letters)
    if notes:
        words: Any = {"xycoords": "axes fraction", "textcoords": "offset points", "color": NOTE, "fontsize": size}
        axes.annotate("\n".join(notes), (0, 0), (0, -below), va="top", ha="left", **words)
    axes.set(xlim=sides, ylim=(low, high))
    return len(notes)


def _take_turns(axes: Any, lines: Sequence[Any], curves: Sequence[Points], height: float) -> None:
    """Where the lines are one, a piece of each after the other; where they part, they stay as they were."""
    steps = max((curve[0] for curve in curves), key=len)
    heights = np.array([np.interp(steps, *curve, left=np.nan, right=np.nan) for curve in curves])
    one = np.where(np.ptp(heights, axis=0) <= 2 * CLOSE * height, heights[0], np.nan)
    top = max(line.get_zorder() for line in lines) + 0.1
    for turn, line in enumerate(lines):
        dashes = (-DASH * turn, (DASH, DASH * (len(lines) - 1)))
        words: Any = {"color": line.get_color(), "linewidth": line.get_linewidth(), "zorder": top}
        axes.plot(steps, one, linestyle=dashes, dash_capstyle="butt", label="_nolegend_", **words)


def _points(line: Any, left: float, right: float) -> Points:
    """Steps and values of a line; of one that goes across the panel, from side to side."""
    steps, values = (np.asarray(part, np.float64) for part in (line.get_xdata(), line.get_ydata()))
    return (np.array([left, right]), values) if len(steps) == 2 and tuple(steps) == (0, 1) else (steps, values)
