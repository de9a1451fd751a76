"""Training as one call: builds the program, drives it, reports rows, and stops when learning has gone wrong."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from sadapt.envs import make
from sadapt.train import compiled, metrics
from sadapt.train.memory import require_memory
from sadapt.train.program import Program, TrainState, program
from sadapt.train.settings import Settings

EXPLODED = 1e6
"""A mean loss beyond this is no learning any more; rewards are normalised to about one."""


class Diverged(RuntimeError):
    """Learning has gone wrong; the message names the step and what to try."""


def require_sane(row: metrics.Row, settings: Settings, updates: float) -> None:
    """Stops a run whose loss is not a number or has exploded."""
    loss = row["loss"]
    if not updates or settings.objective == "random" or (loss is not None and loss < EXPLODED):
        return
    what = "is not a number" if loss is None or not math.isfinite(loss) else f"has exploded to {loss:.3g}"
    raise Diverged(
        f"the loss {what} at step {row['step']:,} of {settings.env} ({settings.objective}): learning has diverged. "
        f"Try a smaller --learning-rate (it is {settings.learner.learning_rate:g}), or a --reward-clip of 5"
    )


def intervals(prog: Program, state: TrainState, *, every: int = 1) -> Iterator[tuple[TrainState, metrics.Row]]:
    """Drives a run and yields its state with a row after every `every` chunks, and after the last."""
    total, episodes, since = None, 0, time.perf_counter()
    for number, after in enumerate(compiled.run(prog, state), 1):
        total = after.tally if total is None else metrics.add(total, after.tally)
        if number % every and int(after.step) < prog.settings.total_timesteps:
            continue
        now = time.perf_counter()
        row = metrics.row(prog, after, total, episodes_before=episodes, seconds=now - since)
        require_sane(row, prog.settings, float(total.updates))
        episodes, since, total = int(row["episodes"] or 0), now, None
        yield after, row


def train(settings: Settings, *, every: int = 1, on_row: Callable[[metrics.Row], None] | None = None) -> TrainState:
    """Trains from the seed to the last step; calls `on_row` with each row of metrics."""
    prog = program(make(settings.env, settings.layout), settings)
    require_memory(prog)
    state = compiled.launch(prog)
    for after, row in intervals(prog, state, every=every):
        state = after
        if on_row is not None:
            on_row(row)
    return state
