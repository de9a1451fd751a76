"""What a run reports: one row per interval, means over the episodes and updates that ended in it."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np

from sadapt.train.program import Program, Tally, TrainState

Row = dict[str, float | int | None]
"""Columns by name; None where there is nothing to say, never zero."""


def add(a: Tally, b: Tally) -> Tally:
    """The tallies of two intervals together."""
    return jax.tree.map(lambda x, y: x + y, a, b)


def row(
    prog: Program, state: TrainState, tally: Tally, *, episodes_before: int = 0, seconds: float | None = None
) -> Row:
    """The interval that `tally` sums up and that ends in `state`; `seconds` is how long it took."""
    tally = jax.device_get(tally)
    bandit, step = jax.device_get(state.bandit), int(state.step)
    ended, updates = int(tally.episodes), int(tally.updates)
    adaptive = prog.settings.objective == "s-adapt"

    def mean(total: Any, count: int) -> float | None:
        return float(total) / count if count and math.isfinite(total) else None

    def arm(values: np.ndarray, index: int) -> float | None:
        return float(values[index]) if adaptive and bandit.counts[index] else None

    found: Row = {
        "step": step,
        "episodes": episodes_before + ended,
        "return": mean(tally.reward, ended),
        "length": mean(tally.length, ended),
        "deaths": mean(tally.deaths, ended),
        "surprise": mean(tally.surprise, ended),
        "entropy": mean(tally.entropy, ended),
        "h_random": float(state.h_random),
        "alpha": mean(tally.arm, ended) if adaptive else None,
        "feedback": mean(tally.feedback, ended),
        "mu_max": arm(bandit.means, 0),
        "mu_min": arm(bandit.means, 1),
        "n_max": arm(bandit.counts, 0),
        "n_min": arm(bandit.counts, 1),
        "loss": mean(tally.loss, updates),
        "q": mean(tally.q, updates),
        "epsilon": float(prog.learner.epsilon(state.step)),
    }
    found |= {name: mean(total, ended) for name, total in tally.counters.items()}
    found["seconds"] = seconds
    return found
