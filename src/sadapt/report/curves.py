"""Learning curves of stored runs: return, entropy against a random agent's, and the share of S-Min episodes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.motivation.objectives import ARMS, COLOURS, MAXIMISE, MINIMISE, OBJECTIVES
from sadapt.report.drawing import DASHES, Curve, draw_curve, mean_and_deviation, spoken_steps, variant
from sadapt.report.naming import labels
from sadapt.report.overlap import reveal
from sadapt.runs import config, metrics_file
from sadapt.runs.folder import RunFolder, find

PANELS = {"return": "return of an episode", "entropy": "final entropy, nats", "alpha": "share of S-Min episodes"}
STRIP = 0.06
"""Height of the strip that tells the arms, as a share of the panel's."""
RANDOM = "a random agent"
LETTERS = 110
"""Of a legend's row, about."""
STYLE: Any = {"font.size": 8, "axes.titlesize": 9, "axes.linewidth": 0.7, "svg.hashsalt": "sadapt"}
Columns = dict[str, np.ndarray]
"""A run's metrics; not a number where a cell is empty."""


class Line(NamedTuple):
    """What is drawn as one curve: a run, or the seeds of the same settings."""

    objective: str
    name: str
    """Who learned, and by which settings it differs from its like."""
    seeds: str
    style: Any
    colour: str
    runs: tuple[Columns, ...]

    @property
    def label(self) -> str:
        return f"{self.name}, {self.seeds}"


def plot(runs: Sequence[str | Path], out: str | Path | None = None, *, each: bool = False) -> Path:
    """Draws the runs of one world into one picture (.png, .svg or .pdf); RUN/curve.png if not said otherwise.

    Seeds of the same settings are one curve, their mean, with one standard deviation shaded; `each` draws every run.
    """
    folders = list({folder.path.resolve(): folder for folder in map(find, runs)}.values())
    if not folders:
        raise UserError("name at least one run to plot")
    path = folders[0].path / "curve.png" if out is None else Path(out)
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UserError(f"a figure must end in .png, .svg or .pdf; got {str(path)!r}")
    world, lines = grouped(folders, each=each)
    path.parent.mkdir(parents=True, exist_ok=True)
    import matplotlib

    with matplotlib.rc_context(STYLE):
        undated = {"Date": None} if path.suffix.lower() == ".svg" else None
        drawn(world, lines).savefig(path, dpi=160, metadata=undated)
    return path


def grouped(folders: Sequence[RunFolder], *, each: bool) -> tuple[str, list[Line]]:
    """The runs' world, and what is drawn as one curve: seeds of the same settings, unless each run is asked for."""
    settings = [config.to_dict(config.read(folder.config)) for folder in folders]
    if len(worlds := sorted({one["env"] for one in settings})) > 1:
        raise UserError(f"the runs are from several worlds ({', '.join(worlds)}); plot one")
    alike: dict[str, list[int]] = {}
    for index, one in enumerate(settings):
        alike.setdefault(str(index) if each else json.dumps({**one, "seed": 0}, sort_keys=True), []).append(index)
    members = list(alike.values())
    names = labels([settings[group[0]] for group in members])
    objectives = [str(settings[group[0]]["objective"]) for group in members]
    lines = []
    for number, (group, name) in enumerate(zip(members, names, strict=True)):
        seeds = sorted({settings[index]["seed"] for index in group})
        counted = f"{len(group)} seeds" if len(group) > 1 else f"seed {seeds[0]}"
        style, colour = variant(COLOURS[objectives[number]], objectives[:number].count(objectives[number]))
        rows = tuple(_columns(folders[index]) for index in group)
        lines.append(Line(objectives[number], name, counted, style, colour, rows))
    return worlds[0], lines


def _columns(folder: RunFolder) -> Columns:
    rows = metrics_file.read(folder.metrics) if folder.metrics.exists() else []
    if not rows:
        raise UserError(f"{folder} has no metrics yet: there is nothing to draw")
    return {
        name: np.array([np.nan if row[name] is None else row[name] for row in rows], np.float64) for name in rows[0]
    }


def drawn(world: str, lines: Sequence[Line]) -> Any:
    """The figure: a panel per column, and in that of one adaptive agent the arms that it was on."""
    from matplotlib.figure import Figure

    adaptive = any(OBJECTIVES[line.objective].adaptive for line in lines)
    columns = list(PANELS)[: 3 if adaptive else 2]
    figure = Figure(figsize=(3.4 * len(columns), 2.9), layout="constrained")
    panels = figure.subplots(1, len(columns))
    arms = adaptive and len(lines) == 1
    for name, axes in zip(columns, panels, strict=True):
        _panel(axes, name, lines)
        if arms and name != "alpha":
            _tell_arms(axes, lines[0])
    title = f"{world}: {lines[0].label}" if len(lines) == 1 else world
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, weight="bold")
    rows = _legend(figure, panels, curves=len(lines) > 1, arms=arms)
    names = [line.name for line in lines]
    told = {line.label: line.name if names.count(line.name) == 1 else line.label for line in lines}
    notes = []
    for axes in panels:
        mine = {told[each.get_label()]: each for each in axes.lines if each.get_label() in told}
        notes.append(reveal(axes, mine, size=7, letters=48, below=29))
    figure.set_figheight(2.5 + 0.17 * rows + 0.13 * max(notes))
    return figure


def _panel(axes: Any, name: str, lines: Sequence[Line]) -> None:
    for line in lines:
        steps, values = _together(line.runs, name)
        if len(steps):
            draw_curve(axes, Curve(steps, *mean_and_deviation(values)), line.colour, line.label, line.style, width=1.5)
        for run in line.runs if len(line.runs) > 1 else ():
            _rest(axes, run, name, steps[-1] if len(steps) else -np.inf, line.colour)
        if name == "entropy":
            level = float(np.nanmean([run["h_random"][-1] for run in line.runs]))
            style = {"color": COLOURS["random"], "linewidth": 1, "linestyle": DASHES, "zorder": 1}
            axes.axhline(level, label=RANDOM, **style)
    axes.set_title(PANELS[name], loc="left")
    axes.set_xlabel("steps")
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter(spoken_steps)
    axes.locator_params(axis="x", nbins=5)
    axes.margins(x=0.01)
    if name == "alpha":
        axes.set_ylim(-0.03, 1.03)


def _together(runs: Sequence[Columns], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps that all of the runs have come to, and their values there [runs, steps]."""
    found = [dict(zip(run["step"].tolist(), run.get(name, ()), strict=False)) for run in runs]
    known = [{step for step, value in each.items() if np.isfinite(value)} for each in found]
    steps = np.array(sorted(set.intersection(*known)))
    return steps, np.array([[each[step] for step in steps] for each in found]).reshape(len(runs), -1)


def _rest(axes: Any, run: Columns, name: str, after: float, colour: str) -> None:
    """What a run has beyond the steps that its fellows have come to, as a thin line of its own."""
    late = (run["step"] > after) & np.isfinite(run.get(name, np.full(len(run["step"]), np.nan)))
    if late.any():
        axes.plot(run["step"][late], run[name][late], color=colour, linewidth=0.6, alpha=0.7)


def _tell_arms(axes: Any, line: Line) -> None:
    """A strip below the curve: the arms' shares of the episodes, one above the other in the arms' colours."""
    steps, shares = _together(line.runs, "alpha")
    if len(steps) < 2:
        return
    low, high = axes.get_ylim()
    axes.set_ylim(low - 1.8 * STRIP * (high - low), high)
    share, words = STRIP * shares.mean(axis=0), {"transform": axes.get_xaxis_transform(), "linewidth": 0, "zorder": 0.5}
    axes.fill_between(steps, 0, share, color=COLOURS[ARMS[MINIMISE]], **words)
    axes.fill_between(steps, share, STRIP, color=COLOURS[ARMS[MAXIMISE]], **words)


def _legend(figure: Any, panels: Sequence[Any], *, curves: bool, arms: bool) -> int:
    """One legend below all panels: the curves, where there are several, and what else is drawn; its rows' number."""
    from matplotlib.patches import Patch

    named: dict[str, Any] = {}
    for axes in panels:
        handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        named |= {label: handle for label, handle in handles.items() if curves or label == RANDOM}
    if arms:
        named |= {f"episodes on {OBJECTIVES[arm].title}": Patch(color=COLOURS[arm]) for arm in ARMS}
    columns = max(1, min(len(named), LETTERS * len(panels) // 3 // (max(map(len, named), default=1) + 6)))
    words: Any = {"ncols": columns, "frameon": False, "fontsize": 8, "handlelength": 2.2}
    figure.legend(list(named.values()), list(named), loc="outside lower left", **words)
    return -(-len(named) // columns)
