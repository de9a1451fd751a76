"""Surprise, arm and season over the last ten changes of every run, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sadapt.errors import UserError
from sadapt.motivation.objectives import COLOURS
from sadapt.report.drawing import PAGE, STYLE
from sadapt.report.stored import Group

CHANGES = 10
HEIGHT = 1.15
"""Inches of a run."""
WILD = "#F3D9B1"
"""Behind the second season."""


def last_changes(changes: np.ndarray, count: int = CHANGES) -> slice:
    """The rows from just before the last `count` changes to the end; a change may lie in two rows."""
    inside = changes > 0
    begins = np.flatnonzero(inside & ~np.concatenate([[False], inside[:-1]]))
    return slice(max(0, int(begins[-count]) - 2) if len(begins) >= count else 0, len(changes))


def draw(groups: Mapping[str, Group], out: Path, agent: str = "S-Adapt") -> Path:
    """Writes the picture of every seed of `agent`, whose runs must be there: mean surprise, and the share of S-Min."""
    if agent not in groups:
        raise UserError(f"there are no runs of {agent} in a stream to draw; there are: {', '.join(groups)}")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    group = groups[agent]
    count = len(group.seeds)
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(
            count, 2, figsize=(PAGE, 0.6 + count * HEIGHT), layout="constrained", squeeze=False
        )
        for place, seed in enumerate(group.seeds):
            columns = {name: values[place] for name, values in group.columns.items()}
            _run(panels[place], columns, agent)
            panels[place, 0].set_ylabel(f"seed {seed}")
        panels[0, 0].set_title("mean surprise, nats", loc="left")
        panels[0, 1].set_title("share of S-Min", loc="left")
        for axes in panels[-1]:
            axes.set_xlabel("steps, millions (second season shaded)")
        handles, names = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, frameon=False, ncols=2, loc="outside upper right")
        figure.savefig(out, dpi=150, metadata={"Date": None} if out.suffix == ".svg" else None)
        plt.close(figure)
    return out


def _run(panels: Any, columns: Mapping[str, np.ndarray], agent: str) -> None:
    """Surprise on the left, the arm on the right."""
    rows = last_changes(columns["changes"])
    steps = columns["step"][rows] / 1e6
    season = (columns["season"] / columns["length"])[rows]
    for axes in panels:
        _shade(axes, steps, season)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(steps[0], steps[-1])
    left, right = panels
    left.plot(steps, columns["surprise_random"][rows], color=COLOURS["random"], lw=0.9, label="Random")
    left.plot(steps, columns["surprise"][rows], color=COLOURS["s-adapt"], lw=1.1, label=agent)
    right.plot(steps, columns["alpha"][rows], color=COLOURS["s-adapt"], lw=1.1)
    right.set_ylim(-0.05, 1.05)


def _shade(axes: Any, steps: np.ndarray, season: np.ndarray) -> None:
    edges = np.concatenate([[steps[0]], (steps[1:] + steps[:-1]) / 2, [steps[-1]]])
    for place, share in enumerate(np.nan_to_num(season)):
        if share > 0.5:
            axes.axvspan(edges[place], edges[place + 1], color=WILD, lw=0)
