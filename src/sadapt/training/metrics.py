"""What a run reports: one row per interval, means over the episodes and updates that ended in it."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.training.program import Program, TrainState

Row = dict[str, float | int | None]
"""Columns by name; None where there is nothing to say, never zero."""


CLOCK = "steps_per_second"
"""The only column that two equal runs do not share."""


def row(prog: Program, state: TrainState, *, steps_per_second: float | None = None) -> Row:
    """The interval that ends in `state`, summed up in its tally."""
    tally, bandit = jax.device_get((state.tally, state.bandit))
    ended, updates = int(tally.episodes), int(tally.updates)
    adaptive = prog.settings.objective == "s-adapt"

    def mean(total: Any, count: int) -> float | None:
        return float(total) / count if count and math.isfinite(total) else None

    def arm(values: np.ndarray, index: int) -> float | None:
        return float(values[index]) if adaptive and bandit.counts[index] else None

    found: Row = {
        "step": int(state.step),
        "episodes": int(state.ended),
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
    found[CLOCK] = steps_per_second
    return found


def cleared(state: TrainState) -> TrainState:
    """The same state at the start of a new interval."""
    return state._replace(tally=jax.tree.map(jnp.zeros_like, state.tally))
