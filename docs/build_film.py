"""Writes docs/pictures/agents.gif, README's film: every agent's episode side by side, a row for each world.

It films trained runs, two worlds by three agents, given as folders in any order:

    for world in maze-small butterflies-small; do
      for agent in s-min s-max s-adapt; do sadapt train $world --objective $agent; done
    done
    python docs/build_film.py runs/maze-small/* runs/butterflies-small/*
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import reduce
from itertools import chain, repeat
from pathlib import Path

import jax
import numpy as np

from sadapt import load
from sadapt.film import beside, caption, save
from sadapt.motivation.objectives import ARMS, OBJECTIVES
from sadapt.runs.agent import Agent
from sadapt.runs.playback import moments

TARGET = Path(__file__).parent / "pictures" / "agents.gif"
WORLDS = {"maze-small": "goal", "butterflies-small": "caught"}
AGENTS = ("s-min", "s-max", "s-adapt")
STEPS, REST, SEED, FPS = 100, 15, 3, 12
"""Steps of an episode that are shown, frames that its last one stays, the seed of all of them, frames a second."""
SIDE = 240
"""Pixels of a world's picture, about."""


def scenes(agent: Agent) -> Iterator[np.ndarray]:
    """One episode: the world, and below it who plays, what the task pays so far and how much entropy it has made."""
    entropy = jax.jit(agent.program.marginal.entropy)
    unit, arm = WORLDS[agent.settings.env], agent.arm(None)
    chose = f", which chose {OBJECTIVES[ARMS[arm]].title}" if agent.program.parts.objective.adaptive else ""
    for step, moment in enumerate(moments(agent, arm, seed=SEED)):
        picture = moment.picture()
        scale = max(1, SIDE // len(picture))
        found = float(moment.episode.so_far["return"])
        facts = f"{unit} {found:g}   entropy {float(entropy(moment.episode.marginal)):.1f}"
        yield caption(np.kron(picture, np.ones((scale, scale, 1), np.uint8)), f"{agent.title}{chose}\n{facts}", size=13)
        if step == STEPS:
            return


def lasting(frames: Iterator[np.ndarray], total: int) -> Iterator[np.ndarray]:
    """The same, whose last picture stays until the film is over."""
    shown = list(frames)
    yield from chain(shown, repeat(shown[-1], total - len(shown)))


def film(agents: list[Agent]) -> Iterator[np.ndarray]:
    """Every agent's episode at once."""
    by_name = {(agent.settings.env, agent.settings.objective): agent for agent in agents}
    rows = [[list(lasting(scenes(by_name[world, name]), STEPS + 1 + REST)) for name in AGENTS] for world in WORLDS]
    for frames in zip(*(zip(*row, strict=True) for row in rows), strict=True):
        yield np.concatenate([reduce(beside, line) for line in frames])


def main() -> None:
    runs = [path for path in map(Path, sys.argv[1:]) if (path / "config.json").exists()]
    agents = [agent for agent in map(load, runs) if agent.settings.objective in AGENTS]
    missing = {(world, name) for world in WORLDS for name in AGENTS}
    missing -= {(agent.settings.env, agent.settings.objective) for agent in agents}
    if missing:
        raise SystemExit(f"these runs are missing: {', '.join(' '.join(each) for each in sorted(missing))}\n{__doc__}")
    TARGET.parent.mkdir(exist_ok=True)
    save(film(agents), TARGET, fps=FPS)
    print(f"{TARGET}: {TARGET.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
