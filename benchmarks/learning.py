"""Does it learn, and how soon? One row per task and seed, on one core: `python benchmarks/learning.py [TASK ...]`."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple

from sadapt.runs.cores import one_core

one_core()

from sadapt.composite import all_changed  # noqa: E402
from sadapt.training import loop  # noqa: E402
from sadapt.training.driver import driver  # noqa: E402
from sadapt.training.metrics import Row  # noqa: E402
from sadapt.training.presets import preset  # noqa: E402
from sadapt.training.program import build  # noqa: E402
from sadapt.training.settings import Settings  # noqa: E402

LAST = 0.1
"""Share of the run, at its end, over which the result is averaged."""
RANDOM_STEPS = 500_000
"""Steps of random play that a bar is measured by, where it compares with Random."""


class Task(NamedTuple):
    """What has to hold at the end of a run, and within how many minutes."""

    env: str
    objective: str
    minutes: float
    column: str
    holds: Callable[[float, float], bool]
    """`holds(result, reference)`."""
    bar: str
    preset: str = "fast"
    learner: str | None = None
    """None leaves it to the preset."""
    steps: int | None = None
    against_random: bool = False
    """The reference is the same column of the random agent, measured before; 0 where there is none."""


TASKS = {
    "tetris-s-min": Task("tetris", "s-min", 3, "deaths", lambda x, _: x < 2, "under 2 deaths per 200 steps"),
    "maze-small-s-max": Task("maze-small", "s-max", 4, "return", lambda x, _: x >= 0.9, "goal in 90 % of episodes",
        steps=1_000_000,
    ),
    "maze-small-s-min": Task(
        "maze-small", "s-min", 3, "entropy", lambda x, random: x < random / 5, "entropy under H_rand / 5",
        steps=1_000_000, against_random=True,
    ),
    "butterflies-large-extrinsic": Task(
        "butterflies-large", "extrinsic", 4, "return", lambda x, _: x >= 0.8 * 109, "80 % of 109 caught",
        steps=1_000_000,
    ),
    "butterflies-large-s-min": Task(
        "butterflies-large", "s-min", 10, "return", lambda x, random: x >= 2 * random, "twice Random's catch",
        steps=3_000_000, against_random=True,
    ),
    "maze-large-s-max": Task("maze-large", "s-max", 15, "return", lambda x, _: x >= 0.8, "goal in 80 % of episodes",
        steps=3_000_000,
    ),
    "minatar-breakout-extrinsic": Task(
        "minatar-breakout", "extrinsic", 10, "per_life", lambda x, random: x >= 5 * random, "five times Random's",
        against_random=True,
    ),
    "tetris-s-min-dqn": Task(
        "tetris", "s-min", 30, "deaths", lambda x, random: x < random / 2, "deaths under half of Random's",
        preset="paper", steps=500_000, against_random=True,
    ),
    "tetris-s-min-ppo": Task(
        "tetris", "s-min", 5, "deaths", lambda x, _: x < 1, "under 1 death per 200 steps", learner="ppo",
    ),
    "maze-small-s-max-ppo": Task(
        "maze-small", "s-max", 5, "return", lambda x, _: x >= 0.9, "goal in 90 % of episodes", learner="ppo",
        steps=1_000_000,
    ),
}  # fmt: skip


def per_life(row: Row) -> float | None:
    """Mean return of a life in worlds where an episode has several."""
    return None if row["return"] is None else row["return"] / max(row["deaths"] or 0.0, 1.0)


def trained(settings: Settings, task: Task, on_value: Callable[[float], None] = lambda value: None) -> float:
    """Trains once; the mean of the task's column over the last tenth, or over all of a random agent's run."""
    begin = 0.0 if settings.objective == "random" else (1 - LAST) * settings.total_timesteps
    last: list[float] = []

    def on_row(row: Row) -> None:
        value = {**row, "per_life": per_life(row)}[task.column]
        if value is None:
            return
        on_value(value)
        if (row["step"] or 0) > begin:
            last.append(value)

    prog = build(settings)
    with closing(driver(prog, [settings.seed])) as drive:
        for turn in loop.turns(prog, drive.launch(), drive.advance, every=1 if task.preset == "fast" else 10):
            for row in turn.rows:
                on_row(row)
    return sum(last) / max(len(last), 1)


def reference(task: Task) -> float:
    """What the random agent reaches, if the task asks for it."""
    if not task.against_random:
        return 0.0
    settings = all_changed(preset(task.env), {"objective": "random", "total_timesteps": RANDOM_STEPS})
    return trained(settings, task._replace(preset="fast"))


def run(task: Task, random: float, seed: int, steps: int | None) -> dict[str, object]:
    """Trains once and reports the mean of the last tenth, and when the bar was first passed."""
    usual = preset(task.env, task.preset, learner=task.learner)
    length = steps or task.steps or usual.total_timesteps
    settings = all_changed(usual, {"objective": task.objective, "seed": seed, "total_timesteps": length})
    begin, first = time.perf_counter(), None

    def on_value(value: float) -> None:
        nonlocal first
        if first is None and task.holds(value, random):
            first = time.perf_counter() - begin

    result = trained(settings, task, on_value)
    seconds = time.perf_counter() - begin
    return {
        "env": task.env,
        "objective": task.objective,
        "preset": task.preset,
        "learner": settings.learner.name,
        "seed": seed,
        "steps": settings.total_timesteps,
        task.column: round(result, 3),
        "random": round(random, 3) if task.against_random else None,
        "bar": task.bar,
        "holds": task.holds(result, random) and seconds <= 60 * task.minutes,
        "minutes": round(seconds / 60, 2),
        "allowed": task.minutes,
        "first_minutes": None if first is None else round(first / 60, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", default=list(TASKS), metavar="TASK", help=f"of {', '.join(TASKS)}")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=None, help="environment steps instead of the preset's")
    args = parser.parse_args()
    for name in args.tasks:
        random = reference(TASKS[name])
        for seed in args.seeds:
            print(json.dumps(run(TASKS[name], random, seed, args.steps)), flush=True)


if __name__ == "__main__":
    main()
