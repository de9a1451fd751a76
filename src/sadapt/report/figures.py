"""The paper's figures from stored runs: return beside surprise, mean over seeds, one standard deviation shaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sadapt.errors import UserError, nearest
from sadapt.motivation.objectives import COLOURS, OBJECTIVES
from sadapt.report import pictures
from sadapt.report.drawing import (
    AGENTS,
    DASHES,
    FIVE,
    PAGE,
    STYLE,
    Look,
    draw_agent,
    finish,
    legend,
    page,
    spoken_count,
)
from sadapt.report.statistics import bootstrap, interquartile_mean
from sadapt.report.stored import Group, Results

ACROSS = 5
"""Worlds beside each other in a figure as wide as a page."""
MARGINALS = {"auto": ("Bernoulli", "#009E73", "-"), "gaussian": ("Gaussian", "#E69F00", (0, (5, 1.5)))}


def agents(worlds: Sequence[str], columns: Sequence[str] = ("return", "surprise")) -> Callable[[Look], Any]:
    """A figure with a row per world: the agents' curves, Random as a line."""

    def draw(look: Look) -> Any:
        present = [world for world in worlds if _groups(look, world)]
        if not present:
            return None
        figure, panels = page(len(present), len(columns))
        for world, row in zip(present, panels, strict=True):
            groups = _groups(look, world)
            for column, axes in zip(columns, row, strict=True):
                for name in AGENTS:
                    if name in groups:
                        draw_agent(axes, look, groups[name], column, COLOURS[name], OBJECTIVES[name].title)
                if "random" in groups and column in groups["random"].columns:
                    level = float(np.mean(groups["random"].final(column)))
                    axes.axhline(
                        level, color=COLOURS["random"], linewidth=1, linestyle=DASHES, label="Random", zorder=1
                    )
                finish(axes, column, last=world == present[-1])
            row[0].set_title(f"{world}: {spoken_count(_all(look, groups.values()))}", loc="left")
        legend(figure, panels, 5)
        return figure

    return draw


def _groups(look: Look, world: str) -> dict[str, Group]:
    found = {name: look.results.get(world, name, learner=look.learner) for name in FIVE}
    return {name: group for name, group in found.items() if group is not None}


def _all(look: Look, groups: Iterable[Group]) -> list[Group]:
    """Those groups, and the same agents' of other settings."""
    return [each for group in groups for each in look.results.variants(group)]


def marginals(look: Look) -> Any:
    """S-Adapt under the two marginals: surprise is not comparable between them, so the arm stands beside the return."""
    pairs = {
        world: [(kind, look.results.get(world, "s-adapt", marginal=kind, learner=look.learner)) for kind in MARGINALS]
        for world in look.results.worlds(look.learner)
    }
    present = {world: pair for world, pair in pairs.items() if all(group is not None for _, group in pair)}
    if not present:
        return None
    figure, panels = page(len(present), 2)
    for (world, pair), row in zip(present.items(), panels, strict=True):
        groups = [group for _, group in pair if group is not None]
        for column, axes in zip(("return", "alpha"), row, strict=True):
            for kind, group in pair:
                name, colour, style = MARGINALS[kind]
                if group is not None:
                    draw_agent(axes, look, group, column, colour, name, style)
            finish(axes, column, last=world == list(present)[-1])
        row[0].set_title(f"{world}: {spoken_count(_all(look, groups))}", loc="left")
    legend(figure, panels, 2)
    return figure


def adaptive(worlds: Sequence[str] | None, columns: Sequence[str]) -> Callable[[Look], Any]:
    """S-Adapt alone: a row per world, or small panels of one column where there are many worlds."""

    def draw(look: Look) -> Any:
        wanted = look.results.worlds(look.learner) if worlds is None else worlds
        groups = {world: look.results.get(world, "s-adapt", learner=look.learner) for world in wanted}
        present = {world: group for world, group in groups.items() if group is not None}
        if not present:
            return None
        figure, panels = page(-(-len(present) * len(columns) // 2), 2)
        places = iter(np.ravel(panels))
        colour = COLOURS["s-adapt"]
        for index, (world, group) in enumerate(present.items()):
            for column in columns:
                axes = next(places)
                draw_agent(axes, look, group, column, colour, "S-Adapt")
                random = look.results.get(world, "random", learner=look.learner)
                if column == "return" and random is not None:
                    axes.axhline(float(np.mean(random.final(column))), color=COLOURS["random"], linestyle=DASHES)
                finish(axes, column, last=index >= len(present) - (1 if len(columns) > 1 else 2))
                if column == columns[0]:
                    axes.set_title(f"{world}\n{spoken_count(_all(look, [group]))}", loc="left")
        for axes in places:
            axes.set_visible(False)
        if any(len(look.results.variants(group)) > 1 for group in present.values()):
            legend(figure, panels, 2)
        return figure

    return draw


def between(look: Look) -> Any:
    """S-Adapt between its two single objectives: entropy against a random agent's, the share of S-Min below it."""
    names = ("s-max", "s-min", "s-adapt")
    found = {world: _groups(look, world) for world in look.results.worlds(look.learner)}
    present = {world: groups for world, groups in found.items() if all(name in groups for name in names)}
    if not present:
        return None
    columns = min(len(present), ACROSS)
    blocks = -(-len(present) // columns)
    figure, panels = page(2 * blocks, columns, width=PAGE * columns / ACROSS, heights=(1.0, 0.45) * blocks)
    for place in range(blocks * columns):
        above, below = panels[2 * (place // columns) : 2 * (place // columns) + 2, place % columns]
        if place >= len(present):
            above.set_visible(False)
            below.set_visible(False)
            continue
        world = list(present)[place]
        groups = {name: present[world][name] for name in names}
        for name, group in groups.items():
            draw_agent(above, look, group, "entropy", COLOURS[name], OBJECTIVES[name].title)
        level = float(np.mean(groups["s-adapt"].columns["h_random"]))
        above.axhline(level, color=COLOURS["random"], linewidth=1, linestyle=DASHES, label="Random", zorder=1)
        draw_agent(below, look, groups["s-adapt"], "alpha", COLOURS["s-adapt"], OBJECTIVES["s-adapt"].title)
        above.set_title(f"{world}\n{spoken_count(_all(look, groups.values()))}", loc="left")
        finish(above, "entropy", last=False)
        finish(below, "alpha", last=True)
        above.tick_params(labelbottom=False)
        for axes in (above, below):
            axes.set_ylabel(axes.get_ylabel() if place % columns == 0 else "")
    legend(figure, panels, 4)
    return figure


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
    "F11": between,
}
"""Every figure of the paper, and F10 and F11, which are ours."""


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
    figure, panels = page(1, 1)
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
