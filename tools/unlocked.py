"""Writes which achievements of Craftax-Classic trained agents unlock, as shares of greedy episodes.

python -m tools.unlocked RUN... --out studies/craftax/unlocked.json [--episodes 20]

Every run, which must still have its checkpoints, is played on the arm that it prefers; an achievement counts once for
an episode, in whichever of its lives. The shares of an agent are means over its runs.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from sadapt import load
from sadapt.runs.agent import Agent
from sadapt.runs.playback import episodes


def names() -> list[str]:
    """Craftax-Classic's achievements, in the order of its states."""
    from craftax.craftax_classic.constants import Achievement

    return [each.name.lower() for each in Achievement]


def shares(agent: Agent, count: int) -> np.ndarray:
    """Of every achievement, in which share of episodes it was unlocked."""
    play, arm, found = episodes(agent), agent.arm(None), []
    for seed in range(1000, 1000 + count):
        seen = [np.asarray(moment.episode.world.inner.achievements) for moment in play(arm, seed)]
        found.append(np.any(seen, axis=0))
    return np.mean(found, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--episodes", type=int, default=20)
    given = parser.parse_args()
    by_agent: dict[str, list[np.ndarray]] = {}
    seeds: dict[str, list[int]] = {}
    for run in given.runs:
        agent = load(run)
        name = agent.settings.objective
        by_agent.setdefault(name, []).append(shares(agent, given.episodes))
        seeds.setdefault(name, []).append(agent.settings.seed)
        print(f"{run}: {by_agent[name][-1].sum():.2f} achievements an episode", flush=True)
    told = {
        "episodes_per_run": given.episodes,
        "seeds": seeds,
        "shares": {
            name: {each: round(float(share), 3) for each, share in zip(names(), np.mean(found, axis=0), strict=True)}
            for name, found in by_agent.items()
        },
    }
    given.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
