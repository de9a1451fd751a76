"""Surprise, arm and season over the last ten changes of a run, one below the other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sadapt.errors import UserError
from sadapt.motivation.objectives import COLOURS
from sadapt.report.drawing import PAGE, ROW, STYLE
from sadapt.report.stored import Group

CHANGES = 10
WILD = "#F3D9B1"
"""Behind the second season."""


def last_changes(changes: np.ndarray, count: int = CHANGES) -> slice:
    """The rows from just before the last `count` changes to the end; a change may lie in two rows."""
    inside = changes > 0
    begins = np.flatnonzero(inside & ~np.concatenate([[False], inside[:-1]]))
    return slice(max(0, int(begins[-count]) - 2) if len(begins) >= count else 0, len(changes))


def draw(groups: Mapping[str, Group], out: Path, agent: str = "S-Adapt") -> Path:
    """Writes the picture of the first seed of `agent`, whose runs must be there."""
    if agent not in groups:
        raise UserError(f"there are no runs of {agent} in a stream to draw; there are: {', '.join(groups)}")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    columns = {name: values[0] for name, values in groups[agent].columns.items()}
    rows = last_changes(columns["changes"])
    steps = columns["step"][rows] / 1e6
    season = (columns["season"] / columns["length"])[rows]
    with plt.rc_context(STYLE):
        figure, (above, below) = plt.subplots(2, 1, figsize=(PAGE, 2 * ROW), sharex=True, layout="constrained")
        for axes in (above, below):
            _shade(axes, steps, season)
            axes.spines[["top", "right"]].set_visible(False)
            axes.set_xlim(steps[0], steps[-1])
        above.plot(steps, columns["surprise_random"][rows], color=COLOURS["random"], lw=0.9, label="Random")
        above.plot(steps, columns["surprise"][rows], color=COLOURS["s-adapt"], lw=1.1, label=agent)
        above.set_ylabel("surprise, nats")
        above.legend(frameon=False, ncols=2, loc="upper right")
        below.plot(steps, columns["alpha"][rows], color=COLOURS["s-adapt"], lw=1.1)
        below.set_ylim(-0.05, 1.05)
        below.set_ylabel("share of S-Min")
        below.set_xlabel("steps, millions (second season shaded)")
        figure.savefig(out, dpi=200, metadata={"Date": None} if out.suffix == ".svg" else None)
        plt.close(figure)
    return out


def _shade(axes: Any, steps: np.ndarray, season: np.ndarray) -> None:
    edges = np.concatenate([[steps[0]], (steps[1:] + steps[:-1]) / 2, [steps[-1]]])
    for place, share in enumerate(np.nan_to_num(season)):
        if share > 0.5:
            axes.axvspan(edges[place], edges[place + 1], color=WILD, lw=0)
