"""Writes which achievements of Craftax-Classic trained agents unlock, as shares of greedy episodes.

python -m tools.unlocked studies/craftax [--episodes 20]

Every run below the folder that still has its checkpoints is played on the arm that it prefers; an achievement counts
once for an episode, in whichever of its lives. The shares of an agent are means over its seeds.
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
    parser.add_argument("folder", type=Path)
    parser.add_argument("--episodes", type=int, default=20)
    given = parser.parse_args()
    by_agent: dict[str, list[np.ndarray]] = {}
    for file in sorted(given.folder.rglob("config.json")):
        if (file.parent / "checkpoints").is_dir():
            agent = load(file.parent)
            by_agent.setdefault(agent.settings.objective, []).append(shares(agent, given.episodes))
            print(f"{file.parent}: {by_agent[agent.settings.objective][-1].sum():.2f} achievements an episode")
    told = {
        "episodes_per_run": given.episodes,
        "runs": {name: len(found) for name, found in by_agent.items()},
        "shares": {
            name: {each: round(float(share), 3) for each, share in zip(names(), np.mean(found, axis=0), strict=True)}
            for name, found in by_agent.items()
        },
    }
    (given.folder / "unlocked.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
