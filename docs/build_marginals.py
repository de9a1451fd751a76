"""Fills the table of docs/marginals.md from the runs in studies/marginals, and draws its picture.

python docs/build_marginals.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from build_results import fill
from build_stories import HERE, STUDIES, spoken

from sadapt.motivation.objectives import OBJECTIVES
from sadapt.report.drawing import PAGE, STYLE
from sadapt.report.stored import Group, Results, load

MARGINALS = ("bernoulli", "kt", "categorical", "gaussian", "features", "neighbours")
ARMS = ("s-min", "s-max")
PICTURE = HERE / "pictures" / "marginals.png"
ACROSS = 3
"""Panels beside each other."""
HEIGHT = 1.5
"""Inches of a row of panels."""


class Trial(NamedTuple):
    """Both single objectives and S-Adapt, in one world with one marginal."""

    world: str
    marginal: str
    groups: dict[str, Group]


def trials(results: Results) -> Iterator[Trial]:
    """Those whose runs are there."""
    for world in results.worlds("pqn"):
        for marginal in MARGINALS:
            found = {name: results.get(world, name, marginal=marginal) for name in (*ARMS, "s-adapt")}
            groups = {name: group for name, group in found.items() if group is not None}
            if groups.keys() == found.keys():
                yield Trial(world, marginal, groups)


def moved(group: Group) -> np.ndarray:
    """(H - H_rand) / |H_rand| over the last tenth, of every seed."""
    random = group.columns["h_random"][:, -1]
    return (group.final("entropy") - random) / np.abs(random)


def table(every: list[Trial]) -> str:
    """By world and marginal: how far single objectives move entropy, what S-Adapt chose, and what the task paid it."""
    lines = ["| world | marginal | S-Min: entropy moved | S-Max: entropy moved | S-Adapt: share of S-Min | "]
    lines[0] += "return: S-Min | S-Max | S-Adapt | seeds |"
    lines.append("|---|---|" + "---:|" * 7)
    for world, marginal, groups in every:
        cells = [world, f"`{marginal}`"]
        cells += [", ".join(f"{value:+.2f}" for value in moved(groups[arm])) for arm in ARMS]
        cells += [spoken(groups["s-adapt"], "alpha")]
        cells += [spoken(groups[name], "return") for name in (*ARMS, "s-adapt")]
        seeds = min(len(group.seeds) for group in groups.values())
        lines.append(f"| {' | '.join(cells)} | {seeds} |")
    return "\n".join(lines) + "\n"


def draw(every: list[Trial], out: Path) -> None:
    """A panel for each world: how far each arm moves entropy with each marginal, over the farther of the two."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    worlds = sorted({trial.world for trial in every})
    rows = -(-len(worlds) // ACROSS)
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(
            rows, ACROSS, figsize=(PAGE, 0.3 + rows * HEIGHT), layout="constrained", sharey=True, squeeze=False
        )
        for axes in panels.flat[len(worlds) :]:
            axes.set_visible(False)
        for axes, world in zip(panels.flat, worlds, strict=False):
            _panel(axes, [trial for trial in every if trial.world == world])
            axes.set_title(world, loc="left")
        for axes in panels[:, 0]:
            axes.set_ylabel("entropy moved, relative")
        handles, names = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, frameon=False, ncols=3, loc="outside upper right")
        figure.savefig(out, dpi=150)
        plt.close(figure)


def _panel(axes: Any, every: list[Trial]) -> None:
    """Bars for both arms, and for every seed a dot where S-Adapt ended."""
    for place, trial in enumerate(every):
        far = max(np.abs(moved(trial.groups[arm])).mean() for arm in ARMS)
        for arm in ARMS:
            row = OBJECTIVES[arm]
            label = row.title if place == 0 else None
            axes.bar(place, moved(trial.groups[arm]).mean() / far, color=row.colour, width=0.6, alpha=0.75, label=label)
        ended = moved(trial.groups["s-adapt"]) / far
        row = OBJECTIVES["s-adapt"]
        across = place + np.linspace(-0.12, 0.12, len(ended)) if len(ended) > 1 else [place]
        look: Any = {"ls": "", "marker": "o", "ms": 3.5, "color": row.colour, "mec": "white", "mew": 0.5}
        axes.plot(across, ended, label=row.title if place == 0 else None, **look)
    axes.axhline(0, color="#444444", lw=0.6)
    axes.set_xticks(range(len(every)), [trial.marginal for trial in every], rotation=30, ha="right")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_ylim(-1.45, 1.45)


def main() -> None:
    every = list(trials(load(STUDIES / "marginals")))
    fill(HERE / "marginals.md", {"ablation": table(every)})
    draw(every, PICTURE)


if __name__ == "__main__":
    main()
