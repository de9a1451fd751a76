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
FEW = 2
"""Worlds that are drawn in a column of text, a row each; more of them lie beside each other across a page."""
ACROSS = 5
"""Worlds beside each other on a page."""
DASHES = (0, (4, 3))
FIVE = ("s-adapt", "s-max", "s-min", "extrinsic", "random")
"""The paper's agents; Random is a line."""
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


class Grid(NamedTuple):
    """Panels by world, and the rows in which they lie."""

    panels: dict[str, list[Any]]
    """Of a world, one for each column of metrics."""
    rows: Any
    across: int
    """Worlds beside each other; 0 where each has a row."""

    def label(self, heads: dict[str, str]) -> None:
        """Titles by world, and axes named once where neighbours share them."""
        worlds = list(self.panels)
        for place, (world, panels) in enumerate(self.panels.items()):
            panels[0].set_title(f"{world}{chr(10) if self.across else ': '}{heads[world]}", loc="left")
            for axes in panels:
                lowest = place + max(self.across, 1) >= len(worlds) and (axes is panels[-1] or not self.across)
                axes.set_xlabel("steps" if lowest else "", labelpad=1)
                if self.across:
                    axes.set_ylabel(axes.get_ylabel() if place % self.across == 0 else "", labelpad=2)
                    axes.tick_params(labelbottom=axes is panels[-1])


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
            ticks = axes.xaxis.get_tick_params().get("labelbottom", True)
            below = 21 if axes.get_xlabel() else 13 if ticks else 4
            letters = int(30 * figure.get_figwidth() / COLUMN * 2 / len(row))
            notes.append(reveal(axes, lines, size=5.5, letters=letters, below=below) if axes.get_visible() else 0)
        figure.set_figheight(figure.get_figheight() + 0.09 * max(notes))


def finish(axes: Any, column: str) -> None:
    """Label, ticks and limits of a panel."""
    axes.set_ylabel(SPOKEN.get(column, column), labelpad=2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter(spoken_steps)
    axes.locator_params(axis="both", nbins=4)
    axes.margins(x=0.01)
    if column == "alpha":
        axes.set_ylim(-0.04, 1.04)
        axes.set_yticks([0, 0.5, 1])


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


def worlds_grid(worlds: Sequence[str], columns: Sequence[str], heights: Sequence[float] = ()) -> tuple[Any, Grid]:
    """A figure with panels for every world: a row each, or on a page beside each other with the columns below."""
    if len(worlds) <= FEW:
        figure, rows = page(len(worlds), len(columns))
        return figure, Grid({world: list(row) for world, row in zip(worlds, rows, strict=True)}, rows, 0)
    blocks = -(-len(worlds) // ACROSS)
    across = -(-len(worlds) // blocks)
    deep = len(columns)
    figure, rows = page(deep * blocks, across, width=PAGE, heights=tuple(heights or (1.0,) * deep) * blocks)
    places = [list(rows[deep * block : deep * (block + 1), at]) for block in range(blocks) for at in range(across)]
    for panels in places[len(worlds) :]:
        for axes in panels:
            axes.set_visible(False)
    return figure, Grid(dict(zip(worlds, places, strict=False)), rows, across)


def legend(figure: Any, panels: Any, columns: int) -> None:
    """One legend for all panels, on top, in as many columns as there is room for; then what is hidden is uncovered.

    One curve alone needs none.
    """
    named: dict[str, Any] = {}
    for axes in np.ravel(panels):
        handles, names = axes.get_legend_handles_labels()
        named |= dict(zip(names, handles, strict=True))
    order = [OBJECTIVES[name].title for name in FIVE]
    known = sorted(named, key=lambda label: next((i for i, name in enumerate(order) if label.startswith(name)), 9))
    fitting = int(68 * figure.get_figwidth() / COLUMN / (max(map(len, known), default=1) + 4))
    fitting = max(1, min(columns, fitting))
    if len(known) > 1:
        figure.legend(
            [named[label] for label in known],
            known,
            loc="outside upper center",
            ncols=fitting,
            frameon=False,
            handlelength=1.4,
            columnspacing=1.1,
            handletextpad=0.5,
        )
        figure.set_figheight(figure.get_figheight() + 0.13 * (-(-len(known) // fitting) - 1))
    uncover(figure, panels)
