"""What figures are drawn with: curves with bands, panels, legends, and their style."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sadapt.motivation.objectives import OBJECTIVES
from sadapt.report.naming import labels
from sadapt.report.overlap import reveal
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


VARIANTS: tuple[tuple[Any, float], ...] = (
    ("-", 0.0),
    ((0, (5, 1.5)), -0.45),
    ((0, (1.5, 1.2)), 0.4),
    ((0, (6, 1.5, 1.5, 1.5)), -0.7),
    ("-", 0.55),
    ((0, (1, 1)), -0.6),
)
"""How variants of one agent differ: the line's style, and how much darker or lighter its colour is."""


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


def variant(colour: str, number: int) -> tuple[Any, str]:
    """Style and colour of the variants of one agent, which has that colour."""
    from matplotlib.colors import to_hex, to_rgb

    style, change = VARIANTS[number % len(VARIANTS)]
    towards = np.ones(3) if change > 0 else np.zeros(3)
    mixed: Any = (1 - abs(change)) * np.array(to_rgb(colour)) + abs(change) * towards
    return style, to_hex(mixed)


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


def draw_curve(axes: Any, line: Curve | None, colour: str, label: str, style: Any = "-", *, width: float = 1.1) -> None:
    """A line, and its band in the same colour."""
    if line is None:
        return
    axes.fill_between(line.steps, line.low, line.high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(line.steps, line.middle, color=colour, linewidth=width, label=label, linestyle=style)


def draw_agent(axes: Any, look: Look, group: Group, column: str, colour: str, title: str, style: Any = "-") -> None:
    """An agent's curve; where it is there under several settings, one of each, named by what differs."""
    variants = look.results.variants(group)
    names = labels([each.settings for each in variants]) if len(variants) > 1 else [title]
    for number, (each, name) in enumerate(zip(variants, names, strict=True)):
        dashes, shade = variant(colour, number)
        draw_curve(axes, curve(each, column, aggregate=look.aggregate), shade, name, dashes if number else style)


def uncover(figure: Any, panels: Any) -> None:
    """Shows which curves lie on each other, panel by panel, and makes room for the notes that say so."""
    for row in panels:
        notes = []
        for axes in row:
            lines = {str(line.get_label()): line for line in axes.lines if not str(line.get_label()).startswith("_")}
            below = 21 if axes.get_xlabel() else 13
            letters = int(30 * figure.get_figwidth() / COLUMN * 2 / len(row))
            notes.append(reveal(axes, lines, size=5.5, letters=letters, below=below) if axes.get_visible() else 0)
        figure.set_figheight(figure.get_figheight() + 0.09 * max(notes))


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
    """One legend for all panels, on top, in as many columns as there is room for; then what is hidden is uncovered."""
    named: dict[str, Any] = {}
    for axes in np.ravel(panels):
        handles, names = axes.get_legend_handles_labels()
        named |= dict(zip(names, handles, strict=True))
    order = [OBJECTIVES[name].title for name in FIVE]
    known = sorted(named, key=lambda label: next((i for i, name in enumerate(order) if label.startswith(name)), 9))
    fitting = int(68 * figure.get_figwidth() / COLUMN / (max(map(len, known), default=1) + 4))
    figure.legend(
        [named[label] for label in known],
        known,
        loc="outside upper center",
        ncols=max(1, min(columns, fitting)),
        frameon=False,
        handlelength=1.4,
        columnspacing=1.1,
        handletextpad=0.5,
    )
    figure.set_figheight(figure.get_figheight() + 0.13 * (-(-len(known) // max(1, min(columns, fitting))) - 1))
    uncover(figure, panels)
