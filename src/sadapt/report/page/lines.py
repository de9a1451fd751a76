"""What the plots show, as data for the page: per panel and curve the middle of its seeds, an interval, every seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from sadapt.motivation.objectives import OBJECTIVES
from sadapt.report.drawing import middle_half
from sadapt.report.page.colours import dash, of_curve
from sadapt.report.page.gather import Block, Columns, Curve, Study

PANELS = {"return": "return of an episode", "entropy": "final entropy, nats", "alpha": "share of S-Min episodes"}
MOVED = "final entropy minus a random agent's, nats"
"""What the panel of entropy shows where runs have several marginals, whose entropies are of different things."""
NUMBERS = 400_000
"""Numbers that a page holds, about: more runs are drawn with fewer points each."""
POINTS = (24, 120)
"""Points of a line, at least and at most."""
DIGITS = 5
"""Significant ones; a plot shows no more."""


def plots(study: Study) -> list[dict[str, Any]]:
    """One entry per block: its curves, and its panels with their lines."""
    points = _points(study)
    return [_block(block, points) for block in study.blocks]


def columns_of(block: Block) -> list[str]:
    """The panels of a block: the arms only where somebody chooses them."""
    adaptive = any(OBJECTIVES[curve.objective].adaptive for curve in block.curves)
    return [name for name in PANELS if name != "alpha" or adaptive]


def panel_title(block: Block, column: str) -> str:
    """What a panel of a block shows."""
    return MOVED if column == "entropy" and _several_marginals(block) else PANELS[column]


def shares(curve: Curve, stretches: int) -> list[float | None]:
    """The share of S-Min episodes in equal stretches of the planned steps, mean over seeds; None where none is."""
    edges = np.linspace(0, max(run.total for run in curve.runs), stretches + 1)
    found = []
    for low, high in pairwise(edges):
        parts = [
            run.columns["alpha"][(run.columns["step"] > low) & (run.columns["step"] <= high)] for run in curve.begun
        ]
        known = np.concatenate([*parts, np.empty(0)])
        known = known[np.isfinite(known)]
        found.append(float(known.mean()) if len(known) else None)
    return found


def _points(study: Study) -> int:
    """Points a line, so that all lines together stay within what a page may hold."""
    lines = sum((2 * len(curve.begun) + 4) * len(PANELS) for block in study.blocks for curve in block.curves)
    low, high = POINTS
    return int(np.clip(NUMBERS // max(lines, 1), low, high))


def _block(block: Block, points: int) -> dict[str, Any]:
    return {
        "curves": [
            {"name": curve.name, "colours": of_curve(curve.objective, curve.variant), "dash": dash(curve.variant)}
            for curve in block.curves
        ],
        "panels": [
            {
                "column": column,
                "title": panel_title(block, column),
                "random": _random(block) if column == "entropy" else None,
                "lines": list(_lines(block, column, points)),
            }
            for column in columns_of(block)
        ],
    }


def _random(block: Block) -> float | None:
    """The random agent's entropy, where all runs agree about it within a hundredth; 0 where it is subtracted."""
    if _several_marginals(block):
        return 0.0
    levels = [float(run.columns["h_random"][-1]) for run in block.runs if run.columns]
    known = [level for level in levels if np.isfinite(level)]
    if not known or np.ptp(known) > 0.01 * max(abs(level) for level in known):
        return None
    return _short(np.array([np.mean(known)]))[0]


def _several_marginals(block: Block) -> bool:
    return len({str(run.settings["marginal"]["kind"]) for run in block.runs}) > 1


def _lines(block: Block, column: str, points: int) -> Iterator[dict[str, Any]]:
    for number, curve in enumerate(block.curves):
        if column == "alpha" and not OBJECTIVES[curve.objective].adaptive:
            continue
        drawn = [run.columns for run in curve.begun]
        if column == "entropy" and _several_marginals(block):
            drawn = [{**each, column: each[column] - each["h_random"]} for each in drawn]
        seeds = [_known(columns, column) for columns in drawn]
        seeds = [(steps, values) for steps, values in seeds if len(steps)]
        if not seeds:
            continue
        steps, values = _together(seeds)
        kept = thinned(len(steps), points)
        middle, low, high = _middle(values[:, kept])
        line = {"curve": number, "x": _short(steps[kept], 9), "y": _short(middle)}
        if len(seeds) > 1:
            line |= {"low": _short(low), "high": _short(high), "seeds": [_seed(each, points) for each in seeds]}
        yield line


def thinned(length: int, points: int) -> np.ndarray:
    """Which of many points are kept: evenly spaced ones, always the first and the last."""
    if length <= points:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, points).round().astype(int))


def _known(columns: Columns, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps and values where there is a value."""
    values = columns.get(name, np.full(len(columns["step"]), np.nan))
    known = np.isfinite(values)
    return columns["step"][known], values[known]


def _together(seeds: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The steps that all seeds have come to, and their values there [seeds, steps]."""
    steps = seeds[0][0]
    for other, _ in seeds[1:]:
        steps = np.intersect1d(steps, other)
    return steps, np.array([values[np.searchsorted(own, steps)] for own, values in seeds]).reshape(len(seeds), -1)


def _middle(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Interquartile mean over seeds with its 95 % interval; a page that is built again asks only for what is new."""
    if not values.shape[1]:
        return values[0], values[0], values[0]
    return _resampled(values.tobytes(), values.shape[0])


@lru_cache(maxsize=4096)
def _resampled(data: bytes, seeds: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return middle_half(np.frombuffer(data, np.float64).reshape(seeds, -1))


def _seed(line: tuple[np.ndarray, np.ndarray], points: int) -> dict[str, Any]:
    kept = thinned(len(line[0]), points)
    return {"x": _short(line[0][kept], 9), "y": _short(line[1][kept])}


def _short(values: np.ndarray, digits: int = DIGITS) -> list[Any]:
    """Numbers as the page keeps them: rounded, whole where they are whole."""
    rounded = [float(f"{value:.{digits}g}") for value in values.tolist()]
    return [int(value) if value.is_integer() else value for value in rounded]
