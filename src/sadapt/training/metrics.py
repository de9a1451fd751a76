"""What a run reports: one row per interval, means over the episodes and updates that ended in it."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.motivation.measures import HEARD
from sadapt.training.program import Program, TrainState

Row = dict[str, float | int | None]
"""Columns by name; None where there is nothing to say, never zero."""


CLOCK = "steps_per_second"
"""The only column that two equal runs do not share."""


CHARTS = {
    "episodes": "charts/episodes",
    "decisions": "bandit/decisions",
    CLOCK: "charts/SPS",
    "h_random": "surprise/h_random",
    "surprise_random": "surprise/mean_random",
    "alpha": "bandit/share_s_min",
    "mu_max": "bandit/mean_s_max",
    "mu_min": "bandit/mean_s_min",
    "n_max": "bandit/pulls_s_max",
    "n_min": "bandit/pulls_s_min",
}
"""Charts of what is told of the run itself; CleanRL's names where it has one."""


def charts(prog: Program) -> dict[str, str]:
    """The chart of every column that does not simply go by its name."""
    return {**CHARTS, **prog.learner.reports, **{measure.name: measure.chart for measure in prog.rules.measures}}


def row(prog: Program, state: TrainState, *, steps_per_second: float | None = None) -> Row:
    """The interval that ends in `state`, summed up in its tally."""
    told_of = prog.parts.bandit.standing(prog.rules.told(state.bandit)), prog.rules.told(state.random)
    tally, standing, random = jax.device_get((state.tally, *told_of))
    ended, updates = int(tally.episodes), int(tally.updates)
    adaptive = prog.parts.objective.adaptive

    def mean(total: Any, count: int) -> float | None:
        return float(total) / count if count and math.isfinite(total) else None

    def arm(values: np.ndarray, index: int) -> float | None:
        return float(values[index]) if adaptive and standing.counts[index] else None

    told = {each.name: mean(tally.measures[each.name], ended) for each in prog.rules.measures}
    counted = {name: told.pop(name) for name in sorted(prog.env.counters)}
    heard = {each.name: told.pop(each.name) for each in prog.rules.measures if each.over == HEARD}
    return {
        "step": int(state.step),
        "episodes": int(state.ended),
        **({} if prog.rules.stream is None else {"decisions": int(state.ended)}),
        **told,
        "h_random": float(random.mean["entropy"]),
        "surprise_random": float(random.mean["surprise"]),
        "alpha": mean(tally.arm, ended) if adaptive else None,
        **heard,
        "mu_max": arm(standing.means, 0),
        "mu_min": arm(standing.means, 1),
        "n_max": arm(standing.counts, 0),
        "n_min": arm(standing.counts, 1),
        **{name: mean(tally.reports[name], updates) for name in prog.learner.reports},
        **{name: float(value) for name, value in prog.learner.schedule(state.step).items()},
        **counted,
        CLOCK: steps_per_second,
    }


def cleared(state: TrainState) -> TrainState:
    """The same state at the start of a new interval."""
    return state._replace(tally=jax.tree.map(jnp.zeros_like, state.tally))
