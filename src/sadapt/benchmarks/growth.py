"""How cost grows: seconds per environment step against worlds, cells, replay, seeds and cores, and the fitted slopes.

A slope is that of log(seconds per step) over log(size): 0 where the size must not matter, 1 where a step may take as
long as there are cells, -1 where so many cores share the work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from sadapt.benchmarks.learners import dqn_rates, going_on
from sadapt.benchmarks.roofline import turn
from sadapt.benchmarks.row import Row
from sadapt.benchmarks.timing import Call, best_of
from sadapt.benchmarks.worlds import random_play
from sadapt.composite import all_changed
from sadapt.envs import make
from sadapt.envs.butterflies import butterflies
from sadapt.envs.layout import parse
from sadapt.envs.maze import maze
from sadapt.errors import UserError
from sadapt.experiments.executors import Process
from sadapt.experiments.worker import Job
from sadapt.motivation.feedback import nobody
from sadapt.runs import config
from sadapt.training import compiled
from sadapt.training.presets import preset
from sadapt.training.program import build
from sadapt.training.settings import Settings

Rates = Callable[[Sequence[int], float], list[float]]
"""`rates(sizes, seconds)`: environment steps per second at every size."""
SPARE = 0.15
"""How much a slope may be above its bound: caches fill up, machines have moods."""
WIDTHS = (16, 64, 256, 1_024, 4_096)
SIDES = (10, 16, 25, 40, 64)
REPLAYS = (10_000, 100_000, 1_000_000)
SEEDS = (1, 2, 4, 8)
SHORT = 16
"""Steps of every world in a timed call of random play."""
ROUNDS = 3
"""How often processes on several cores are timed."""
FEW = 8
"""Steps of every world between updates where thousands are trained."""


class Case(NamedTuple):
    """Something that is measured at several sizes."""

    axis: str
    """What the sizes count."""
    what: str
    sizes: tuple[int, ...]
    bound: float
    """The largest slope that it may have."""
    rates: Rates
    least: float = -math.inf
    """A slope below it cannot be: then the machine was not quiet, and nothing is shown."""


def cases(cores: Sequence[int]) -> list[Case]:
    """Everything that is measured; `cores` are those that may be used."""
    cells = tuple(side * side for side in SIDES)
    found = [
        Case("worlds", "maze-small, random play", WIDTHS, 0.0, partial(_playing, make("maze-small"))),
        Case("worlds", "maze-small, pqn", WIDTHS, 0.0, _widths),
        Case("cells", "maze, random play", cells, 1.0, partial(_maps, "maze")),
        Case("cells", "butterflies, random play", cells, 1.0, partial(_maps, "butterflies")),
        Case("cells", "butterflies, pqn", cells, 1.0, _learning_on_maps),
        Case("replay", "maze-small, dqn", REPLAYS, 0.0, _replays),
        Case("seeds", "maze-small, pqn", SEEDS, 0.0, _seeds),
    ]
    if len(cores) > 1:
        numbers = tuple(range(1, len(cores) + 1))
        found.append(Case("cores", "maze-small, pqn", numbers, -1.0, partial(_cores, cores), least=-1.0))
    return found


def rows(cores: Sequence[int], *, seconds: float) -> Iterator[Row]:
    """One row a case, with its rates, slope and bound."""
    for case in cases(cores):
        rates = case.rates(case.sizes, seconds)
        slope = fitted_slope(case.sizes, rates)
        yield {
            "axis": case.axis,
            "what": case.what,
            "sizes": list(case.sizes),
            "steps_per_second": rates,
            "slope": slope,
            "bound": case.bound,
            "keeps": case.least - SPARE <= slope <= case.bound + SPARE,
        }


def fitted_slope(sizes: Sequence[int], rates: Sequence[float]) -> float:
    """Of log(seconds per step) over log(size), least squares."""
    return float(np.polyfit(np.log(sizes), -np.log(rates), 1)[0])


def square_map(kind: str, side: int) -> str:
    """A map of `side` x `side` cells without walls: one goal, or a butterfly in every tenth cell."""
    cells = np.full(side * side, ".")
    cells[-1:] = "G" if kind == "maze" else "b"
    if kind == "butterflies":
        cells[5::10] = "b"
    cells[0] = "A"
    return "\n".join(map("".join, cells.reshape(side, side))) + "\n"


def training(settings: Settings, seeds: int = 1) -> tuple[Call, int]:
    """Steps and an update of so many seeds at once, again and again; and the environment steps of a call."""
    prog = build(settings)
    (run, steps), begin = turn(prog), partial(compiled.start, prog, random=nobody())
    keys = jax.random.split(jax.random.key(0), seeds)
    if seeds == 1:
        return going_on(run, jax.jit(begin)(keys[0])), steps
    return going_on(jax.vmap(run), jax.jit(jax.vmap(begin))(keys)), seeds * steps


def _rates(calls: Sequence[tuple[Call, int]], seconds: float) -> list[float]:
    taken = best_of(*(call for call, _ in calls), seconds=seconds)
    return [steps / each for (_, steps), each in zip(calls, taken, strict=True)]


def _playing(env: Any, sizes: Sequence[int], seconds: float) -> list[float]:
    return _rates([(random_play(env, count, steps=SHORT), count * SHORT) for count in sizes], seconds)


def _maps(kind: str, sizes: Sequence[int], seconds: float) -> list[float]:
    make_world = {"maze": maze, "butterflies": butterflies}[kind]
    envs = [make_world(parse(square_map(kind, round(cells**0.5)), "a square", kind)) for cells in sizes]
    return _rates([(random_play(env, 64, steps=SHORT), 64 * SHORT) for env in envs], seconds)


def _fast(world: str, **changes: Any) -> Settings:
    return all_changed(preset(world, "fast"), {"objective": "s-min", **changes})


def _widths(sizes: Sequence[int], seconds: float) -> list[float]:
    return _rates([training(_fast("maze-small", num_envs=count, num_steps=FEW)) for count in sizes], seconds)


def _learning_on_maps(sizes: Sequence[int], seconds: float) -> list[float]:
    maps = [square_map("butterflies", round(cells**0.5)) for cells in sizes]
    return _rates([training(_fast("butterflies-large", layout=each)) for each in maps], seconds)


def _replays(sizes: Sequence[int], seconds: float) -> list[float]:
    return dqn_rates(*sizes, steps=250, seconds=seconds)


def _seeds(sizes: Sequence[int], seconds: float) -> list[float]:
    return _rates([training(_fast("maze-small"), count) for count in sizes], seconds)


def _cores(cores: Sequence[int], sizes: Sequence[int], seconds: float) -> list[float]:
    """All together, each as a sweep's worker says its pace, over a time of its own; the best of a few rounds."""
    rounds = [[sum(_paces(cores[:count])) for count in sizes] for _ in range(ROUNDS)]
    return [max(each) for each in zip(*rounds, strict=True)]


def _paces(cores: Sequence[int]) -> list[float]:
    job = Job("", config.to_dict(_fast("maze-small")), measure=True)
    working, paces = [Process(job, core) for core in cores], list[float]()
    try:
        while working:
            time.sleep(0.1)
            for process in list(working):
                if (ended := process.outcome()) is not None:
                    working.remove(process)
                    if ended.code:
                        raise UserError(f"a worker of the benchmark failed: {ended.message}")
                    paces.append(float(ended.message))
    finally:
        for process in working:
            process.stop()
    return paces
