"""A run from chunk to chunk: rows of metrics where an interval ends, and a stop when learning has gone wrong."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import NamedTuple

import jax
import jax.numpy as jnp

from sadapt.motivation.feedback import COMPARED
from sadapt.training import metrics
from sadapt.training.driver import driver
from sadapt.training.memory import require_memory
from sadapt.training.program import Program, TrainState, build
from sadapt.training.settings import Settings

EXPLODED = 1e6
"""A mean loss beyond this is no learning any more; rewards are normalised to about one."""

ROWS = 200
"""Rows of metrics in a run that does not say."""

Advance = Callable[[TrainState], TrainState]


class Diverged(RuntimeError):
    """Learning has gone wrong; the message names the step and what to try."""


class Turn(NamedTuple):
    """A run after a chunk."""

    state: TrainState
    rows: tuple[metrics.Row, ...]
    """One per seed where an interval of metrics ends here; else none."""
    steps_per_second: float
    """In this chunk."""


def require_sane(prog: Program, state: TrainState) -> None:
    """Stops a run whose bandit has heard what is not a number, or whose loss is none or has exploded."""
    _require_finite_feedback(prog, state)
    updates, total = float(state.tally.updates), state.tally.reports.get("loss")
    if not updates or total is None or prog.learner.policy is None:
        return
    loss = float(total) / updates
    if math.isfinite(loss) and loss < EXPLODED:
        return
    what = f"has exploded to {loss:.3g}" if math.isfinite(loss) else "is not a number"
    raise Diverged(
        f"the loss {what} at step {int(state.step):,} of {prog.env.name} ({prog.parts.objective.title}): learning has "
        f"diverged. Try {prog.learner.remedy}, or a --reward-clip of 5"
    )


def _require_finite_feedback(prog: Program, state: TrainState) -> None:
    """A bandit that has once heard such feedback never chooses again."""
    tally, ended = state.tally, int(state.tally.episodes)
    if not prog.parts.objective.adaptive or not ended or math.isfinite(tally.measures["feedback"]):
        return
    what = "is not a number" if math.isnan(tally.measures["feedback"]) else "is infinite"
    means = {name: float(tally.measures[name]) / ended for name in COMPARED}
    random = prog.rules.told(state.random)
    told = ", ".join(f"{name} {mean:g} (random {float(random.mean[name]):g})" for name, mean in means.items())
    raise Diverged(
        f"the feedback of an episode among the last {ended:,} (up to episode {int(state.ended):,}, step "
        f"{int(state.step):,}) {what}: their means are {told} in {prog.env.name}. A bandit cannot continue from there; "
        "use another --feedback, or another --marginal if these are not finite either"
    )


def unstack(state: TrainState, seeds: int) -> list[TrainState]:
    """The states of the seeds that a vmapped run trains at once."""
    if seeds == 1:
        return [state]
    return [jax.tree.map(lambda x, i=index: x[i], state) for index in range(seeds)]


def chunks_per_row(prog: Program) -> int:
    """Whole chunks between rows of metrics, as near to the settings' interval as they come."""
    interval = prog.sizes.rows_every or prog.sizes.planned_steps / ROWS
    return max(1, round(interval / prog.learner.chunk_steps))


def steps_trained(prog: Program) -> int:
    """Environment steps that a run will make: whole chunks, at least as many steps as were asked for.

    One that has another length than was planned ends with a whole interval of rows, from where it can be extended again
    with rows at the same steps as if it had been that long from its beginning.
    """
    chunk, sizes = prog.learner.chunk_steps, prog.sizes
    unit = chunk if sizes.total_steps == sizes.planned_steps else chunk * chunks_per_row(prog)
    return whole(sizes.total_steps, unit)


def whole(steps: int, unit: int) -> int:
    """The first multiple of `unit` that is no less than `steps`."""
    return -(-steps // unit) * unit


def turns(prog: Program, state: TrainState, advance: Advance, *, every: int = 1, seeds: int = 1) -> Iterator[Turn]:
    """Drives a run to its last step, with rows after every `every` chunks, where it was to end, and after the last."""
    chunk, last = prog.learner.chunk_steps, steps_trained(prog)
    planned = whole(prog.sizes.planned_steps, chunk)
    step = interval_step = int(jnp.max(state.step))
    now = interval_began = time.perf_counter()
    while step < last:
        state = advance(state)
        before, began, step, now = step, now, int(jnp.max(state.step)), time.perf_counter()
        rows: tuple[metrics.Row, ...] = ()
        for alone in unstack(state, seeds):
            require_sane(prog, alone)
        if step // chunk % every == 0 or step >= last or step == planned:
            pace = (step - interval_step) / (now - interval_began)
            rows = tuple(metrics.row(prog, alone, steps_per_second=round(pace, 1)) for alone in unstack(state, seeds))
            state = metrics.cleared(state)
            interval_step, interval_began = step, now
        yield Turn(state, rows, (step - before) / (now - began))


def train(settings: Settings, *, every: int = 1, on_row: Callable[[metrics.Row], None] | None = None) -> TrainState:
    """Trains in memory from the seed to the last step; calls `on_row` with each row of metrics."""
    prog = build(settings)
    require_memory(prog)
    with closing(driver(prog, [settings.seed])) as drive:
        state = drive.launch()
        for turn in turns(prog, state, drive.advance, every=every):
            state = turn.state
            for row in turn.rows:
                if on_row is not None:
                    on_row(row)
    return state
