"""The paper's figures from stored runs: return beside surprise, mean over seeds, one standard deviation shaded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError, nearest
from sadapt.motivation.objectives import ARMS, COLOURS, OBJECTIVES
from sadapt.report import pictures
from sadapt.report.drawing import DASHES, FIVE, STYLE, Look, draw_agent, finish, legend, page, spoken_count, worlds_grid
from sadapt.report.statistics import bootstrap, interquartile_mean
from sadapt.report.stored import Group, Results

MARGINALS = {"auto": ("Bernoulli", "#009E73", "-"), "gaussian": ("Gaussian", "#E69F00", (0, (5, 1.5)))}


class Figure(NamedTuple):
    """A picture of stored runs."""

    title: str
    caption: str
    """What to see in it."""
    draw: Callable[[Look], Any]
    """None where there are no runs for it."""


def agents(
    worlds: Sequence[str] = (),
    columns: Sequence[str] = ("return", "surprise"),
    *,
    names: Sequence[str] = FIVE,
    needed: Sequence[str] = (),
    heights: Sequence[float] = (),
) -> Callable[[Look], Any]:
    """The agents' curves, Random as a line, in these worlds or in all that have runs of the needed agents."""

    def draw(look: Look) -> Any:
        found = {world: _groups(look, world, names) for world in worlds or look.results.worlds(look.learner)}
        present = {
            world: groups for world, groups in found.items() if groups and all(name in groups for name in needed)
        }
        if not present:
            return None
        figure, grid = worlds_grid(list(present), columns, heights)
        for world, groups in present.items():
            for column, axes in zip(columns, grid.panels[world], strict=True):
                for name, group in groups.items():
                    if name != "random":
                        draw_agent(axes, look, group, column, COLOURS[name], OBJECTIVES[name].title)
                _draw_random(axes, groups, column)
                finish(axes, column)
        grid.label({world: spoken_count(_all(look, groups.values())) for world, groups in present.items()})
        legend(figure, grid.rows, 5)
        return figure

    return draw


def _groups(look: Look, world: str, names: Sequence[str] = FIVE) -> dict[str, Group]:
    found = {name: look.results.get(world, name, learner=look.learner) for name in names}
    return {name: group for name, group in found.items() if group is not None}


def _all(look: Look, groups: Iterable[Group]) -> list[Group]:
    """Those groups, and the same agents' of other settings."""
    return [each for group in groups for each in look.results.variants(group)]


def _draw_random(axes: Any, groups: Mapping[str, Group], column: str) -> None:
    """Random's level: of its runs, or as every run measures it before training."""
    if "random" in groups:
        levels = groups["random"].final(column) if column in groups["random"].columns else np.array([np.nan])
    elif column == "entropy":
        levels = next(iter(groups.values())).columns["h_random"]
    else:
        return
    if np.isfinite(level := float(np.mean(levels))):
        axes.axhline(level, color=COLOURS["random"], linewidth=1, linestyle=DASHES, label="Random", zorder=1)


def marginals(look: Look) -> Any:
    """S-Adapt under the two marginals: surprise is not comparable between them, so the arm stands beside the return."""
    pairs = {
        world: {kind: look.results.get(world, "s-adapt", marginal=kind, learner=look.learner) for kind in MARGINALS}
        for world in look.results.worlds(look.learner)
    }
    present = {world: pair for world, pair in pairs.items() if all(group is not None for group in pair.values())}
    if not present:
        return None
    figure, grid = worlds_grid(list(present), ("return", "alpha"))
    heads = {}
    for world, pair in present.items():
        groups = {kind: group for kind, group in pair.items() if group is not None}
        for column, axes in zip(("return", "alpha"), grid.panels[world], strict=True):
            for kind, group in groups.items():
                name, colour, style = MARGINALS[kind]
                draw_agent(axes, look, group, column, colour, name, style)
            finish(axes, column)
        heads[world] = spoken_count(_all(look, groups.values()))
    grid.label(heads)
    legend(figure, grid.rows, 2)
    return figure


MAZES = ("maze-small", "maze-large")
DENSITIES = tuple(f"butterflies-{name}" for name in ("very-high", "high", "medium", "low", "very-low"))
MINATAR = tuple(f"minatar-{name}" for name in ("asterix", "breakout", "freeway", "seaquest", "space-invaders"))

FIGURES: dict[str, Figure] = {
    "F1": Figure(
        "Maze and Butterflies; what S-Max and S-Min do there",
        "The start, and the end of an episode with the agent's path drawn in: in the maze S-Max goes everywhere and "
        "S-Min stays put; among butterflies S-Max keeps away and S-Min catches them.",
        lambda look: pictures.behaviours(look.results, look.learner),
    ),
    "F2": Figure(
        "Maze, small and large",
        "Return is the share of episodes that reach the goal. Agents that seek surprise, S-Max and with it S-Adapt, "
        "get there; Extrinsic stays at 0, since it hardly ever meets the reward it would learn from.",
        agents(MAZES),
    ),
    "F3": Figure(
        "Butterflies, small and large",
        "Return is the number of butterflies caught. Agents that avoid surprise catch them: S-Adapt gets down to "
        "S-Min's surprise and nearly up to Extrinsic's return; S-Max catches fewer than Random.",
        agents(("butterflies-small", "butterflies-large")),
    ),
    "F4": Figure(
        "Tetris",
        "Deaths in 200 steps instead of the return, which is -100 times that. S-Min and S-Adapt get down to "
        "Extrinsic's deaths, with much less surprise than Extrinsic.",
        agents(("tetris",), ("deaths", "surprise")),
    ),
    "F5": Figure(
        "MinAtar",
        "Return above, surprise below. S-Adapt's curve joins S-Max's or S-Min's in every game; only where surprise "
        "and score go together, in Breakout and Freeway, does that also earn what Extrinsic earns, or nearly.",
        agents(MINATAR),
    ),
    "F6": Figure(
        "Atari Freeway",
        "Return is the number of crossings: does an agent that only seeks surprise cross at all, and as often as "
        "one that is rewarded for it?",
        agents(("atari-freeway",)),
    ),
    "F7": Figure(
        "Gaussian against Bernoulli marginal, S-Adapt",
        "Return above, share of S-Min episodes below. In the paper S-Adapt stays undecided with the Gaussian on "
        "binary worlds; here it decides with either, for the same arm.",
        marginals,
    ),
    "F8": Figure(
        "The two mazes",
        "The maps at the start of an episode: the way to the goal is longer than it looks, and a random walk hardly "
        "ever finds it.",
        lambda look: pictures.maps(MAZES),
    ),
    "F9": Figure(
        "Five densities of butterflies, the densest first",
        "Butterflies caught above, share of S-Min episodes below. The paper's S-Adapt goes to S-Max where "
        "butterflies are dense; here the share goes to 1 at every density.",
        agents(DENSITIES, ("return", "alpha")),
    ),
    "F10": Figure(
        "The share of S-Min episodes over time",
        "S-Adapt's decision in every world: from one half, where the arms take turns, to 1 (S-Min) or 0 (S-Max). "
        "The sooner it gets there, the fewer episodes are spent on the other arm.",
        agents(columns=("alpha",), names=("s-adapt",)),
    ),
    "F11": Figure(
        "S-Adapt between its two single objectives",
        "Entropy above, share of S-Min episodes below. As soon as the share has left one half, S-Adapt's curve "
        "joins that of the arm further from Random.",
        agents(columns=("entropy", "alpha"), names=(*ARMS, "s-adapt"), needed=(*ARMS, "s-adapt"), heights=(1.0, 0.45)),
    ),
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
    figures: Mapping[str, Figure] = FIGURES,
) -> dict[str, list[Path]]:
    """Draws the figures for which there are runs, as PNG and SVG; an empty list for each that has none."""
    import matplotlib

    for name in only:
        if name not in figures:
            raise UserError(f"unknown figure {name!r}: {nearest(name, figures)}")
    out.mkdir(parents=True, exist_ok=True)
    drawn: dict[str, list[Path]] = {}
    wanted = [name for name in figures if not only or name in only]
    with matplotlib.rc_context(STYLE):
        for done, name in enumerate(wanted, 1):
            figure = figures[name].draw(Look(results, learner, aggregate))
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
