"""Learning curves of stored runs: return, entropy against a random agent's, and the share of S-Min episodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sadapt.errors import UserError
from sadapt.motivation.objectives import COLOURS, OBJECTIVES
from sadapt.runs import config, metrics_file
from sadapt.runs.folder import RunFolder, find


def plot(runs: Sequence[str | Path], out: str | Path | None = None) -> Path:
    """Draws the runs of one world into one picture (.png, .svg or .pdf); RUN/curve.png if not said otherwise."""
    from matplotlib.figure import Figure

    folders = [find(run) for run in runs]
    if not folders:
        raise UserError("name at least one run to plot")
    settings = [config.read(folder.config) for folder in folders]
    if len({each.env for each in settings}) > 1:
        raise UserError(
            f"the runs are of several worlds ({', '.join(sorted({each.env for each in settings}))}); plot one"
        )
    path = folders[0].path / "curve.png" if out is None else Path(out)
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UserError(f"a picture must end in .png, .svg or .pdf; got {str(path)!r}")
    adaptive = any(each.objective == "s-adapt" for each in settings)
    figure = Figure(figsize=(10.5 if adaptive else 7.5, 3.2), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, 3 if adaptive else 2))
    for folder, each in zip(folders, settings, strict=True):
        rows = _rows(folder)
        label = f"{OBJECTIVES[each.objective].title}, seed {each.seed}"
        for name, panel in zip(("return", "entropy", "alpha"), axes, strict=False):
            _line(panel, rows, name, COLOURS[each.objective], label)
        axes[1].axhline(rows[-1]["h_random"], color=COLOURS["random"], linewidth=1, linestyle=(0, (4, 3)))
    titles = ("return of an episode", "final entropy, nats", "share of S-Min episodes")
    for panel, title in zip(axes, titles, strict=False):
        panel.set_title(title, loc="left", fontsize=10)
        panel.set_xlabel("steps")
        panel.spines[["top", "right"]].set_visible(False)
        panel.xaxis.set_major_formatter(_steps)
    axes[1].annotate(
        "random", (1, rows[-1]["h_random"]), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8,
        color=COLOURS["random"],
    )  # fmt: skip
    if adaptive:
        axes[2].set_ylim(-0.03, 1.03)
    figure.suptitle(settings[0].env, x=0.01, ha="left", fontsize=11, weight="bold")
    handles, labels = axes[0].get_legend_handles_labels()
    if len(folders) > 1:
        figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)
    return path


def _rows(folder: RunFolder) -> list[dict[str, Any]]:
    rows = metrics_file.read(folder.metrics) if folder.metrics.exists() else []
    if not rows:
        raise UserError(f"{folder} has no metrics yet: there is nothing to draw")
    return rows


def _line(panel: Any, rows: list[dict[str, Any]], name: str, colour: str, label: str) -> None:
    points = [(row["step"], row[name]) for row in rows if row.get(name) is not None]
    if points:
        panel.plot(*zip(*points, strict=True), color=colour, linewidth=1.6, label=label)


def _steps(value: float, _: Any) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value >= 1e3 else f"{value:g}"
