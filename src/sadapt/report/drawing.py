"""What figures are drawn with: curves with bands, panels, legends, and their style."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sadapt.motivation.objectives import OBJECTIVES
from sadapt.report.statistics import bootstrap, interquartile_mean
from sadapt.report.stored import Group, Results

COLUMN = 3.4
"""Inches; the width of a column of text, for which everything is drawn."""
PAGE = 7.0
"""Inches; the width of a page of two columns."""
ROW = 1.35
"""Inches of height of a row of panels."""
DASHES = (0, (4, 3))
AGENTS = ("s-adapt", "s-max", "s-min", "extrinsic")
"""The paper's that have a curve; Random is a line."""
FIVE = (*AGENTS, "random")
STYLE: Any = {
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "xtick.labelsize": 6,
    "ytick.labelsize": 6,
    "legend.fontsize": 6.5,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "figure.constrained_layout.w_pad": 0.02,
    "figure.constrained_layout.h_pad": 0.03,
    "svg.hashsalt": "sadapt",
    "svg.fonttype": "none",
}
SPOKEN = {
    "return": "return",
    "surprise": "surprise, nats",
    "entropy": "entropy, nats",
    "alpha": "share of S-Min",
    "deaths": "deaths",
}


class Curve(NamedTuple):
    """A line with a band."""

    steps: np.ndarray
    middle: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Look(NamedTuple):
    """How a drawing was asked for."""

    results: Results
    learner: str
    aggregate: bool


def mean_and_deviation(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over seeds [seeds, rows], and one standard deviation to each side."""
    middle, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    return middle, middle - spread, middle + spread


def middle_half(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Interquartile mean over seeds, and its 95 % bootstrap interval."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    found: tuple[np.ndarray, np.ndarray, np.ndarray] = bootstrap([values.T], interquartile_mean)
    return found


def curve(group: Group, column: str, *, aggregate: bool) -> Curve | None:
    """A column over steps; None where no run has it."""
    if column not in group.columns:
        return None
    values = group.columns[column]
    known = np.isfinite(values).all(axis=0)
    if not known.any():
        return None
    summed = (middle_half if aggregate else mean_and_deviation)(values[:, known])
    return Curve(group.columns["step"][0, known], *summed)


def draw_curve(axes: Any, line: Curve | None, colour: str, label: str, style: Any = "-") -> None:
    """A line, and its band in the same colour."""
    if line is None:
        return
    axes.fill_between(line.steps, line.low, line.high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(line.steps, line.middle, color=colour, linewidth=1.1, label=label, linestyle=style)


def finish(axes: Any, column: str, *, last: bool) -> None:
    """Labels, ticks and limits of a panel."""
    axes.set_ylabel(SPOKEN.get(column, column), labelpad=2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter(spoken_steps)
    axes.locator_params(axis="both", nbins=4)
    axes.margins(x=0.01)
    if column == "alpha":
        axes.set_ylim(-0.04, 1.04)
        axes.set_yticks([0, 0.5, 1])
    if last:
        axes.set_xlabel("steps", labelpad=1)


def spoken_steps(value: float, _: Any) -> str:
    """`20k`, `1.5M`."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if abs(value) >= 1e3 else f"{value:g}"


def spoken_count(groups: Sequence[Group]) -> str:
    """`5 seeds, 1M steps`, or the range where agents differ."""

    def span(values: set[int], text: Callable[[int], str]) -> str:
        low, high = min(values), max(values)
        return text(low) if low == high else f"{text(low)} to {text(high)}"

    seeds = span({len(group.seeds) for group in groups}, str)
    steps = span({group.total for group in groups}, lambda total: spoken_steps(float(f"{total:.2g}"), None))
    return f"{seeds} seed{'' if seeds == '1' else 's'}, {steps} steps"


def page(rows: int, columns: int, *, width: float = COLUMN, heights: Sequence[float] = ()) -> tuple[Any, Any]:
    """A figure and its panels; `heights` in rows of panels, where they are not all the same."""
    from matplotlib.figure import Figure

    heights = heights or (1.0,) * rows
    figure = Figure(figsize=(width, ROW * sum(heights) + 0.35), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, height_ratios=heights)


def legend(figure: Any, panels: Any, columns: int) -> None:
    """One legend for all panels, on top."""
    named: dict[str, Any] = {}
    for axes in np.ravel(panels):
        handles, labels = axes.get_legend_handles_labels()
        named |= dict(zip(labels, handles, strict=True))
    order = [OBJECTIVES[name].title for name in FIVE]
    labels = sorted(named, key=lambda label: order.index(label) if label in order else len(order))
    figure.legend(
        [named[label] for label in labels],
        labels,
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        handlelength=1.4,
        columnspacing=1.1,
        handletextpad=0.5,
    )
