"""Writes a film of docs/pictures: the episodes of several trained agents side by side, a row for each world.

    python docs/build_film.py NAME RUN...

The runs may be given in any order, with others among them. README's film, for example, is made by

    for world in maze-small butterflies-small; do
      for agent in s-min s-max s-adapt; do sadapt train $world --objective $agent; done
    done
    python docs/build_film.py agents runs/maze-small/* runs/butterflies-small/*
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import reduce
from itertools import chain, repeat
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from sadapt import load
from sadapt.film import beside, caption, save
from sadapt.motivation.objectives import ARMS, OBJECTIVES
from sadapt.registry import import_modules
from sadapt.runs.agent import Agent
from sadapt.runs.playback import moments

HERE = Path(__file__).parent
REST, SEED = 15, 3
"""Frames that the last one of an episode stays, the seed of all of them."""
SIDE = 240
"""Pixels of a world's picture, about."""
CRAFTAX = "craftax:Craftax-Classic-Symbolic-v1"


class Film(NamedTuple):
    """Who is filmed."""

    rows: tuple[tuple[tuple[str, str], ...], ...]
    """Rows of (world, agent)."""
    counts: dict[str, tuple[str, str]]
    """By world: what is told of an episode so far, and what it is called."""
    steps: int = 100
    fps: int = 12


def row(world: str, *agents: str) -> tuple[tuple[str, str], ...]:
    return tuple((world, agent) for agent in agents)


FILMS = {
    "agents": Film(
        (row("maze-small", "s-min", "s-max", "s-adapt"), row("butterflies-small", "s-min", "s-max", "s-adapt")),
        {"maze-small": ("return", "goal"), "butterflies-small": ("return", "caught")},
    ),
    "noisy-tv": Film(
        (row("house", "s-min", "s-max", "s-adapt"), row("house-tv", "s-min", "s-max", "s-adapt")),
        {"house": ("return", "way out"), "house-tv": ("watching", "steps at the screen")},
    ),
    "dark-room": Film(
        (row("house-flicker", "s-min", "s-max", "s-adapt"),),
        {"house-flicker": ("in_the_dark", "steps in the dark")},
    ),
    "craftax": Film(
        (row(CRAFTAX, "s-min", "s-max", "extrinsic"),), {CRAFTAX: ("achievements", "achievements")}, steps=80, fps=8
    ),
}


def scenes(agent: Agent, counted: tuple[str, str], steps: int) -> Iterator[np.ndarray]:
    """One episode: the world, and below it who plays, what has been counted so far and how much entropy was made."""
    entropy = jax.jit(agent.program.marginal.entropy)
    arm, (measure, unit) = agent.arm(None), counted
    chose = f", which chose {OBJECTIVES[ARMS[arm]].title}" if agent.program.parts.objective.adaptive else ""
    for step, moment in enumerate(moments(agent, arm, seed=SEED)):
        picture = moment.picture()
        scale = max(1, round(SIDE / len(picture)))
        found = float(moment.episode.so_far[measure])
        facts = f"{unit} {found:g}   entropy {float(entropy(moment.episode.marginal)):.1f}"
        yield caption(np.kron(picture, np.ones((scale, scale, 1), np.uint8)), f"{agent.title}{chose}\n{facts}", size=13)
        if step == steps:
            return


def lasting(frames: Iterator[np.ndarray], total: int) -> Iterator[np.ndarray]:
    """The same, whose last picture stays until the film is over."""
    shown = list(frames)
    yield from chain(shown, repeat(shown[-1], total - len(shown)))


def frames(film: Film, agents: dict[tuple[str, str], Agent]) -> Iterator[np.ndarray]:
    """Every agent's episode at once."""
    total = film.steps + 1 + REST
    shown = [
        [list(lasting(scenes(agents[who], film.counts[who[0]], film.steps), total)) for who in line]
        for line in film.rows
    ]
    for pictures in zip(*(zip(*line, strict=True) for line in shown), strict=True):
        yield np.concatenate([reduce(beside, line) for line in pictures])


def main() -> None:
    if len(sys.argv) < 3 or sys.argv[1] not in FILMS:
        raise SystemExit(f"{__doc__}\nfilms: {', '.join(FILMS)}")
    name, film = sys.argv[1], FILMS[sys.argv[1]]
    sys.path.insert(0, str(HERE.parent / "examples"))
    import_modules(["house"])
    wanted = [who for line in film.rows for who in line]
    runs = [path for path in map(Path, sys.argv[2:]) if (path / "config.json").exists()]
    found = {(agent.settings.env, agent.settings.objective): agent for agent in map(load, runs)}
    if missing := [" ".join(who) for who in wanted if who not in found]:
        raise SystemExit(f"these runs are missing: {', '.join(missing)}\n{__doc__}")
    target = HERE / "pictures" / f"{name}.gif"
    target.parent.mkdir(exist_ok=True)
    save(frames(film, found), target, fps=film.fps)
    print(f"{target}: {target.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
