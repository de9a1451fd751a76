"""Which way can a world's entropy be pushed? Scripted policies against a random one, before any training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np

from sadapt.envs.base import Env
from sadapt.errors import UserError
from sadapt.motivation.baseline import play, play_constants, random_policy
from sadapt.motivation.marginals import Marginal
from sadapt.motivation.objectives import feedback, usable_baseline
from sadapt.motivation.rollout import Played

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class PolicyRow:
    """One policy's episodes: means, and the mean entropy after every observation."""

    name: str
    entropy: float
    entropy_std: float
    task_return: float
    deaths: float
    length: float
    curve: np.ndarray


@dataclass(frozen=True)
class Report:
    """What `sadapt probe` tells about a world."""

    env: str
    episodes: int
    horizon: int
    h_random: float
    h_random_std: float
    h_low: float
    h_high: float
    low_policy: str
    high_policy: str
    feedback_low: float
    feedback_high: float
    favours: str
    """The arm with more room: s-max, s-min, or neither."""
    rows: tuple[PolicyRow, ...]


def probe(
    env: Env,
    marginal: Marginal,
    *,
    episodes: int = 100,
    seed: int = 0,
    on_death: str | None = None,
    on_progress: Progress | None = None,
) -> Report:
    """Plays every scripted policy, the best constant action and a random agent, and compares final entropies."""
    if episodes < 1:
        raise UserError(f"probe needs at least one episode; got {episodes}")
    treatment = on_death or env.on_death
    policies = {"random": random_policy(env), **env.scripted}
    constants = "still" not in policies
    keys = jax.random.split(jax.random.key(seed), episodes)
    rows = []
    for done, (name, policy) in enumerate(policies.items()):
        if on_progress:
            on_progress(name, done / (len(policies) + constants))
        rows.append(_row(name, jax.device_get(play(env, marginal, policy, on_death=treatment)(keys))))
    if constants:
        if on_progress:
            on_progress("constant actions", len(policies) / (len(policies) + 1))
        rows.append(_best_constant(env, jax.device_get(play_constants(env, marginal, on_death=treatment)(keys))))
    if on_progress:
        on_progress("done", 1.0)
    return _compare(env, episodes, tuple(rows))


def _row(name: str, played: Played) -> PolicyRow:
    measures = played.summary.measures
    final = measures["entropy"].astype(np.float64)
    return PolicyRow(
        name=name,
        entropy=float(final.mean()),
        entropy_std=float(final.std()),
        task_return=float(measures["return"].mean()),
        deaths=float(measures["deaths"].mean()),
        length=float(measures["length"].mean()),
        curve=np.asarray(played.entropy_curve).mean(axis=0),
    )


def _best_constant(env: Env, played: Played) -> PolicyRow:
    """The constant action with the lowest entropy."""
    best = int(np.argmin(played.summary.measures["entropy"].mean(axis=1)))
    return _row(f"always {env.actions[best]}", jax.tree.map(lambda x: x[best], played))


def _compare(env: Env, episodes: int, rows: tuple[PolicyRow, ...]) -> Report:
    random = next(row for row in rows if row.name == "random")
    low, high = min(rows, key=lambda row: row.entropy), max(rows, key=lambda row: row.entropy)
    h_random = usable_baseline(random.entropy, env.name)
    f_low, f_high = (float(feedback(row.entropy, h_random)) for row in (low, high))
    return Report(
        env=env.name,
        episodes=episodes,
        horizon=env.horizon,
        h_random=h_random,
        h_random_std=random.entropy_std,
        h_low=low.entropy,
        h_high=high.entropy,
        low_policy=low.name,
        high_policy=high.name,
        feedback_low=f_low,
        feedback_high=f_high,
        favours="neither" if f_low == f_high else "s-max" if f_high > f_low else "s-min",
        rows=rows,
    )
