"""Does it learn, and how soon? One row per task and seed, on one core: `python benchmarks/learning.py [TASK ...]`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Callable
from typing import NamedTuple

from sadapt.runs.cores import one_core

one_core()

from sadapt.training import loop  # noqa: E402
from sadapt.training.metrics import Row  # noqa: E402
from sadapt.training.presets import preset  # noqa: E402

LAST = 0.1
"""Share of the run, at its end, over which the result is averaged."""


class Task(NamedTuple):
    """What has to hold at the end of a run, and within how many minutes."""

    env: str
    objective: str
    minutes: float
    column: str
    holds: Callable[[float, Row], bool]
    bar: str
    preset: str = "fast"
    steps: int | None = None


RANDOM_CATCH, RANDOM_DEATHS, RANDOM_PER_LIFE = 16.5, 23.0, 0.5
"""The random agent's return in butterflies-large, deaths in tetris, return of a life in Breakout (`sadapt probe`)."""

TASKS = {
    "tetris-s-min": Task("tetris", "s-min", 3, "deaths", lambda x, _: x < 2, "under 2 deaths per 200 steps"),
    "maze-small-s-max": Task("maze-small", "s-max", 4, "return", lambda x, _: x >= 0.9, "goal in 90 % of episodes",
        steps=1_000_000,
    ),
    "maze-small-s-min": Task(
        "maze-small", "s-min", 3, "entropy", lambda x, row: x < (row["h_random"] or 0) / 5, "entropy under H_rand / 5",
        steps=1_000_000,
    ),
    "butterflies-large-extrinsic": Task(
        "butterflies-large", "extrinsic", 4, "return", lambda x, _: x >= 0.8 * 109, "80 % of 109 caught",
        steps=1_000_000,
    ),
    "butterflies-large-s-min": Task(
        "butterflies-large", "s-min", 10, "return", lambda x, _: x >= 2 * RANDOM_CATCH, "twice Random's catch",
        steps=3_000_000,
    ),
    "maze-large-s-max": Task("maze-large", "s-max", 15, "return", lambda x, _: x >= 0.8, "goal in 80 % of episodes",
        steps=3_000_000,
    ),
    "minatar-breakout-extrinsic": Task(
        "minatar-breakout", "extrinsic", 10, "per_life", lambda x, _: x >= 5 * RANDOM_PER_LIFE, "five times Random's"
    ),
    "tetris-s-min-dqn": Task(
        "tetris", "s-min", 30, "deaths", lambda x, _: x < RANDOM_DEATHS / 2, "deaths under half of Random's",
        preset="paper", steps=500_000,
    ),
}  # fmt: skip


def per_life(row: Row) -> float | None:
    """Mean return of a life in worlds where an episode has several."""
    return None if row["return"] is None else row["return"] / max(row["deaths"] or 0.0, 1.0)


def run(task: Task, seed: int, steps: int | None) -> dict[str, object]:
    """Trains once and reports the mean of the last tenth, and when the bar was first passed."""
    settings = dataclasses.replace(preset(task.env, task.preset), objective=task.objective, seed=seed)
    wanted = steps or task.steps
    if wanted:
        settings = dataclasses.replace(settings, total_timesteps=wanted)
    rows: list[Row] = []
    begin, first = time.perf_counter(), None

    def on_row(row: Row) -> None:
        nonlocal first
        row = {**row, "per_life": per_life(row)}
        rows.append(row)
        value = row[task.column]
        if first is None and value is not None and task.holds(value, row):
            first = time.perf_counter() - begin

    loop.train(settings, every=1 if task.preset == "fast" else 10, on_row=on_row)
    seconds = time.perf_counter() - begin
    last = [row for row in rows if (row["step"] or 0) > (1 - LAST) * settings.total_timesteps]
    values = [float(row[task.column] or 0) for row in last if row[task.column] is not None]
    result = sum(values) / max(len(values), 1)
    return {
        "env": task.env,
        "objective": task.objective,
        "preset": task.preset,
        "seed": seed,
        "steps": settings.total_timesteps,
        task.column: round(result, 3),
        "bar": task.bar,
        "holds": task.holds(result, rows[-1]) and seconds <= 60 * task.minutes,
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
        for seed in args.seeds:
            print(json.dumps(run(TASKS[name], seed, args.steps)), flush=True)


if __name__ == "__main__":
    main()
