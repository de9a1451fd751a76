"""Fills the tables of docs/stories/ from stored runs.

python docs/build_stories.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from build_results import fill

from sadapt.motivation.objectives import OBJECTIVES
from sadapt.registry import import_modules
from sadapt.report.stored import Group, Results, load

HERE = Path(__file__).parent
STUDIES = HERE.parent / "studies"
HOUSE = {"return": "way out found", "watching": "steps at the screen", "in_the_dark": "steps in the dark"}
CRAFTAX = {"achievements": "achievements", "deaths": "deaths", "return": "task's return"}
AGENTS = ("s-min", "s-max", "s-adapt", "extrinsic", "random")


def spoken(group: Group, column: str) -> str:
    """Each seed's mean over the last tenth; of equal ones only one."""
    values = group.final(column) if column in group.columns else np.array([np.nan])
    if not np.isfinite(values).all():
        return ""
    told = [f"{round(value, 2) + 0.0:.4g}" for value in values]
    return told[0] if len(set(told)) == 1 else ", ".join(told)


def agents(results: Results, worlds: tuple[str, ...], columns: dict[str, str]) -> str:
    """What every agent comes to, seed by seed."""
    shown = {**columns, "entropy": "final entropy", "h_random": "of a random agent", "alpha": "share of S-Min"}
    lines = [f"| {'world | ' if len(worlds) > 1 else ''}agent | {' | '.join(shown.values())} | seeds |"]
    lines.append("|---" * (1 + (len(worlds) > 1)) + "|" + "---:|" * (len(shown) + 1))
    for world in worlds:
        for name in AGENTS:
            if (group := results.get(world, name)) is None:
                continue
            first = [f"`{world}`"] if len(worlds) > 1 else []
            cells = [*first, OBJECTIVES[name].title, *(spoken(group, column) for column in shown)]
            lines.append(f"| {' | '.join(cells)} | {len(group.seeds)} |")
    return "\n".join(lines) + "\n"


def unlocked(file: Path) -> str:
    """In which share of episodes each achievement was unlocked; those that nobody unlocked are named below."""
    told = json.loads(file.read_text(encoding="utf-8"))
    shares, names = told["shares"], [name for name in AGENTS if name in told["shares"]]
    every = list(next(iter(shares.values())))
    some = [each for each in every if max(shares[name][each] for name in names) > 0]
    some.sort(key=lambda each: -max(shares[name][each] for name in names))
    lines = [f"| achievement | {' | '.join(OBJECTIVES[name].title for name in names)} |"]
    lines.append("|---|" + "---:|" * len(names))
    for each in some:
        cells = [f"{shares[name][each]:.2f}" if shares[name][each] else "" for name in names]
        lines.append(f"| {each.replace('_', ' ')} | {' | '.join(cells)} |")
    never = ", ".join(each.replace("_", " ") for each in every if each not in some)
    return "\n".join(lines) + f"\n\nUnlocked by nobody: {never}.\n"


def main() -> None:
    sys.path.insert(0, str(HERE.parent / "examples"))
    import_modules(["house"])
    house, craftax = load(STUDIES / "house"), load(STUDIES / "craftax")
    fill(HERE / "stories" / "noisy-tv.md", {"house": agents(house, ("house", "house-tv"), HOUSE)})
    fill(HERE / "stories" / "dark-room.md", {"house": agents(house, ("house", "house-flicker"), HOUSE)})
    fill(
        HERE / "stories" / "craftax.md",
        {
            "agents": agents(craftax, tuple(craftax.worlds("pqn")), CRAFTAX),
            "unlocked": unlocked(STUDIES / "craftax" / "unlocked.json"),
        },
    )


if __name__ == "__main__":
    main()
