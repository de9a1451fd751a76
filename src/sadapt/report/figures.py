"""The paper's figures from stored runs: return beside surprise, mean over seeds, one standard deviation shaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError, nearest
from sadapt.motivation.objectives import COLOURS, OBJECTIVES
from sadapt.report import pictures
from sadapt.report.statistics import bootstrap, interquartile_mean
from sadapt.report.stored import Group, Results

COLUMN = 3.4
"""Inches; the width of a column of text, for which everything is drawn."""
ROW = 1.35
"""Inches of height of a row of panels."""
DASHES = (0, (4, 3))
AGENTS = ("s-adapt", "s-max", "s-min", "extrinsic")
"""The paper's that have a curve; Random is a line."""
FIVE = (*AGENTS, "random")
MARGINALS = {"auto": ("Bernoulli", "#009E73", "-"), "gaussian": ("Gaussian", "#E69F00", (0, (5, 1.5)))}
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


def _draw(axes: Any, line: Curve | None, colour: str, label: str, style: Any = "-") -> None:
    if line is None:
        return
    axes.fill_between(line.steps, line.low, line.high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(line.steps, line.middle, color=colour, linewidth=1.1, label=label, linestyle=style)


def _finish(axes: Any, column: str, *, last: bool) -> None:
    axes.set_ylabel(SPOKEN.get(column, column), labelpad=2)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter(_steps)
    axes.locator_params(axis="both", nbins=4)
    axes.margins(x=0.01)
    if column == "alpha":
        axes.set_ylim(-0.04, 1.04)
        axes.set_yticks([0, 0.5, 1])
    if last:
        axes.set_xlabel("steps", labelpad=1)


def _steps(value: float, _: Any) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if abs(value) >= 1e3 else f"{value:g}"


def _count(groups: Sequence[Group]) -> str:
    """`5 seeds, 1M steps`, or the range where agents differ."""

    def span(values: set[int], text: Callable[[int], str]) -> str:
        low, high = min(values), max(values)
        return text(low) if low == high else f"{text(low)} to {text(high)}"

    seeds = span({len(group.seeds) for group in groups}, str)
    steps = span({group.total for group in groups}, lambda total: _steps(float(f"{total:.2g}"), None))
    return f"{seeds} seed{'' if seeds == '1' else 's'}, {steps} steps"


def _page(rows: int, columns: int, *, width: float = COLUMN) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, ROW * rows + 0.35), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _legend(figure: Any, panels: Any, columns: int) -> None:
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


def agents(worlds: Sequence[str], columns: Sequence[str] = ("return", "surprise")) -> Callable[[Look], Any]:
    """A figure with a row per world: the agents' curves, Random as a line."""

    def draw(look: Look) -> Any:
        present = [world for world in worlds if _groups(look, world)]
        if not present:
            return None
        figure, panels = _page(len(present), len(columns))
        for world, row in zip(present, panels, strict=True):
            groups = _groups(look, world)
            for column, axes in zip(columns, row, strict=True):
                for name in AGENTS:
                    if name in groups:
                        line = curve(groups[name], column, aggregate=look.aggregate)
                        _draw(axes, line, COLOURS[name], OBJECTIVES[name].title)
                if "random" in groups and column in groups["random"].columns:
                    level = float(np.mean(groups["random"].final(column)))
                    axes.axhline(
                        level, color=COLOURS["random"], linewidth=1, linestyle=DASHES, label="Random", zorder=1
                    )
                _finish(axes, column, last=world == present[-1])
            row[0].set_title(f"{world}: {_count(list(groups.values()))}", loc="left")
        _legend(figure, panels, 5)
        return figure

    return draw


def _groups(look: Look, world: str) -> dict[str, Group]:
    found = {name: look.results.get(world, name, learner=look.learner) for name in FIVE}
    return {name: group for name, group in found.items() if group is not None}


def marginals(look: Look) -> Any:
    """S-Adapt under the two marginals: surprise is not comparable between them, so the arm stands beside the return."""
    pairs = {
        world: [(kind, look.results.get(world, "s-adapt", marginal=kind, learner=look.learner)) for kind in MARGINALS]
        for world in look.results.worlds(look.learner)
    }
    present = {world: pair for world, pair in pairs.items() if all(group is not None for _, group in pair)}
    if not present:
        return None
    figure, panels = _page(len(present), 2)
    for (world, pair), row in zip(present.items(), panels, strict=True):
        groups = [group for _, group in pair if group is not None]
        for column, axes in zip(("return", "alpha"), row, strict=True):
            for kind, group in pair:
                name, colour, style = MARGINALS[kind]
                if group is not None:
                    _draw(axes, curve(group, column, aggregate=look.aggregate), colour, name, style)
            _finish(axes, column, last=world == list(present)[-1])
        row[0].set_title(f"{world}: {_count(groups)}", loc="left")
    _legend(figure, panels, 2)
    return figure


def adaptive(worlds: Sequence[str] | None, columns: Sequence[str]) -> Callable[[Look], Any]:
    """S-Adapt alone: a row per world, or small panels of one column where there are many worlds."""

    def draw(look: Look) -> Any:
        wanted = look.results.worlds(look.learner) if worlds is None else worlds
        groups = {world: look.results.get(world, "s-adapt", learner=look.learner) for world in wanted}
        present = {world: group for world, group in groups.items() if group is not None}
        if not present:
            return None
        figure, panels = _page(-(-len(present) * len(columns) // 2), 2)
        places = iter(np.ravel(panels))
        colour = COLOURS["s-adapt"]
        for index, (world, group) in enumerate(present.items()):
            for column in columns:
                axes = next(places)
                _draw(axes, curve(group, column, aggregate=look.aggregate), colour, "S-Adapt")
                random = look.results.get(world, "random", learner=look.learner)
                if column == "return" and random is not None:
                    axes.axhline(float(np.mean(random.final(column))), color=COLOURS["random"], linestyle=DASHES)
                _finish(axes, column, last=index >= len(present) - (1 if len(columns) > 1 else 2))
                if column == columns[0]:
                    axes.set_title(f"{world}\n{_count([group])}", loc="left")
        for axes in places:
            axes.set_visible(False)
        return figure

    return draw


MAZES = ("maze-small", "maze-large")
DIDACTIC = (*MAZES, "butterflies-small", "butterflies-large", "tetris")
DENSITIES = tuple(f"butterflies-{name}" for name in ("very-high", "high", "medium", "low", "very-low"))
MINATAR = tuple(f"minatar-{name}" for name in ("asterix", "breakout", "freeway", "seaquest", "space-invaders"))

FIGURES: dict[str, Callable[[Look], Any]] = {
    "F1": lambda look: pictures.behaviours(look.results, look.learner),
    "F2": agents(MAZES),
    "F3": agents(("butterflies-small", "butterflies-large")),
    "F4": agents(("tetris",), ("deaths", "surprise")),
    "F5": agents(MINATAR),
    "F6": agents(("atari-freeway",)),
    "F7": marginals,
    "F8": lambda look: pictures.maps(MAZES),
    "F9": adaptive(DENSITIES, ("return", "alpha")),
    "F10": adaptive(None, ("alpha",)),
}
"""Every figure of the paper, and F10, which is ours."""


def draw(
    results: Results,
    out: Path,
    *,
    only: Sequence[str] = (),
    learner: str = "pqn",
    aggregate: bool = False,
    tell: Callable[[str, float], None] | None = None,
) -> dict[str, list[Path]]:
    """Draws the figures for which there are runs, as PNG and SVG; an empty list for each that has none."""
    import matplotlib

    for name in only:
        if name not in FIGURES:
            raise UserError(f"unknown figure {name!r}: {nearest(name, FIGURES)}")
    out.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, list[Path]] = {}
    wanted = [name for name in FIGURES if not only or name in only]
    with matplotlib.rc_context(STYLE):
        for done, name in enumerate(wanted, 1):
            figure = FIGURES[name](Look(results, learner, aggregate))
            drawn[name] = [] if figure is None else _save(figure, out, name, learner, aggregate)
            if tell is not None:
                tell(name, done / len(wanted))
        if aggregate and (figure := summary(results, learner)) is not None:
            drawn["aggregate"] = _save(figure, out, "aggregate", learner, False)
    return drawn


def _save(figure: Any, out: Path, name: str, learner: str, aggregate: bool) -> list[Path]:
    stem = name + ("" if learner == "pqn" else f"-{learner}") + ("-aggregate" if aggregate else "")
    paths = [out / f"{stem}.{kind}" for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=300, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths


def summary(results: Results, learner: str) -> Any:
    """Interquartile mean of final returns over worlds and seeds, Random's at 0 and each world's best agent's at 1."""
    scores: dict[str, list[np.ndarray]] = {name: [] for name in FIVE}
    worlds = 0
    for world in results.worlds(learner):
        finals = {
            name: group.final("return")
            for name in FIVE
            if (group := results.get(world, name, learner=learner)) is not None
        }
        if len(finals) < len(FIVE):
            continue
        floor = float(np.mean(finals["random"]))
        best = max(float(np.mean(values)) for values in finals.values())
        if best > floor:
            worlds += 1
            for name, values in finals.items():
                scores[name].append((values - floor) / (best - floor))
    if not worlds:
        return None
    figure, panels = _page(1, 1)
    axes = panels[0, 0]
    names = [*FIVE]
    for place, name in enumerate(reversed(names)):
        middle, low, high = bootstrap([np.concatenate(scores[name])], interquartile_mean)
        axes.plot([low, high], [place, place], color=COLOURS[name], linewidth=5, alpha=0.3, solid_capstyle="butt")
        axes.plot(middle, place, "o", color=COLOURS[name], markersize=3.5)
    axes.set_yticks(range(len(names)), [OBJECTIVES[name].title for name in reversed(names)])
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("final return, Random = 0, best agent = 1")
    axes.set_title(f"interquartile mean over {worlds} worlds and their seeds, 95 % interval", loc="left")
    return figure
