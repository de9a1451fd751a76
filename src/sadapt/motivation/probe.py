"""Which way can a world's entropy be pushed? Scripted policies against a random one, before any training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import jax
import numpy as np

from sadapt.envs.base import AnyEnv, HostEnv
from sadapt.errors import UserError
from sadapt.keys import from_seed
from sadapt.motivation import outside
from sadapt.motivation.baseline import Player, play, play_constants, random_policy
from sadapt.motivation.feedback import COMPARED, RandomAgent, away_from_random, summed_up, usable
from sadapt.motivation.marginals import Marginal
from sadapt.motivation.objectives import MAXIMISE, MINIMISE
from sadapt.motivation.rollout import Played

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class PolicyRow:
    """One policy's episodes: means, and the mean entropy after every observation."""

    name: str
    entropy: float
    entropy_std: float
    surprise: float
    """Mean over an episode's steps."""
    task_return: float
    deaths: float
    length: float
    curve: np.ndarray


@dataclass(frozen=True)
class Room:
    """How far one measure can be pushed away from a random agent's."""

    random: float
    random_std: float
    low: float
    high: float
    low_policy: str
    high_policy: str
    feedback_low: float
    feedback_high: float
    favours: str
    """The arm with more room: s-max, s-min, or neither."""


@dataclass(frozen=True)
class Report:
    """What `sadapt probe` tells about a world."""

    env: str
    episodes: int
    horizon: int
    rooms: dict[str, Room]
    """By entropy and by mean surprise, the two that feedback can go by."""
    rows: tuple[PolicyRow, ...]
    regimes: dict[str, Report] = field(default_factory=dict)
    """The same of the world held in each of its regimes, by name; empty where it has none."""
    marginal: str = ""
    """Which marginal was picked and why, where the user named none."""

    @property
    def h_random(self) -> float:
        """The random agent's final entropy."""
        return self.rooms["entropy"].random


def probe(
    env: AnyEnv,
    marginal: Marginal,
    *,
    episodes: int = 100,
    seed: int = 0,
    on_death: str | None = None,
    on_progress: Progress | None = None,
) -> Report:
    """Plays every scripted policy, constant actions and a random agent, and compares final entropies.

    A world that changes between regimes is played as it is, and then held in each of them.
    """
    if episodes < 1:
        raise UserError(f"probe needs at least one episode; got {episodes}")
    ask = partial(_report, marginal=marginal, episodes=episodes, seed=seed, on_death=on_death, on_progress=on_progress)
    held = {} if isinstance(env, HostEnv) else env.regimes
    regimes = {name: ask(replace(regime, horizon=env.horizon)) for name, regime in held.items()}
    return replace(ask(env), regimes=regimes)


def _report(
    env: AnyEnv, *, marginal: Marginal, episodes: int, seed: int, on_death: str | None, on_progress: Progress | None
) -> Report:
    """What is told of one world, or of one regime."""
    players, constants = _players(env, marginal, on_death or env.on_death)
    keys = jax.random.split(from_seed(seed), episodes)
    turns = len(players) + (constants is not None)
    rows = []
    for done, (name, player) in enumerate(players.items()):
        if on_progress:
            on_progress(name, done / turns)
        played = jax.device_get(player(keys))
        rows.append(_row(name, played))
        if name == "random":
            random = summed_up(played.measures)
    if constants is not None:
        if on_progress:
            on_progress("constant actions", len(players) / turns)
        lively = isinstance(env, HostEnv) or not env.scripted
        rows.extend(_constants(env, jax.device_get(constants(keys)), lively=lively))
    if on_progress:
        on_progress("done", 1.0)
    rooms = {of: _room(of, usable(random, of, env.name), rows) for of in COMPARED}
    return Report(
        env=env.name, episodes=episodes, horizon=env.horizon, rooms=rooms, rows=tuple(rows), marginal=marginal.told
    )


def _players(env: AnyEnv, marginal: Marginal, on_death: str) -> tuple[dict[str, Player], Player | None]:
    """Whoever plays, the random agent among them, and the constant actions where they may be calmer than all others."""
    if isinstance(env, HostEnv):
        players = {"random": outside.play(env, marginal, outside.uniform(env), on_death=on_death)}
        few = env.num_actions <= outside.FEW
        return players, outside.play_constants(env, marginal, on_death=on_death) if few else None
    policies = {"random": random_policy(env), **env.scripted}
    players = {name: play(env, marginal, policy, on_death=on_death) for name, policy in policies.items()}
    return players, None if "still" in policies else play_constants(env, marginal, on_death=on_death)


def _row(name: str, played: Played) -> PolicyRow:
    measures = played.measures
    final = measures["entropy"].astype(np.float64)
    return PolicyRow(
        name=name,
        entropy=float(final.mean()),
        entropy_std=float(final.std()),
        surprise=float(measures["surprise"].astype(np.float64).mean()),
        task_return=float(measures["return"].mean()),
        deaths=float(measures["deaths"].mean()),
        length=float(measures["length"].mean()),
        curve=np.asarray(played.entropy_curve).mean(axis=0),
    )


def _constants(env: AnyEnv, played: Played, *, lively: bool) -> list[PolicyRow]:
    """The constant action with the lowest entropy, and where nobody has scripted a lively policy the highest too."""
    entropy = played.measures["entropy"].mean(axis=1)
    ends = [int(np.argmin(entropy)), *([int(np.argmax(entropy))] if lively else [])]
    return [
        _row(f"always {env.actions[end]}", jax.tree.map(lambda x, at=end: x[at], played)) for end in dict.fromkeys(ends)
    ]


def _room(of: str, random: RandomAgent, rows: list[PolicyRow]) -> Room:
    """The policies that push a measure furthest, and what a bandit would hear of them."""
    low, high = (end(rows, key=lambda row: getattr(row, of)) for end in (min, max))
    hear = away_from_random(of, xp=np).hear
    f_low = float(hear({of: getattr(low, of)}, random, MINIMISE))
    f_high = float(hear({of: getattr(high, of)}, random, MAXIMISE))
    return Room(
        random=float(random.mean[of]),
        random_std=float(random.std[of]),
        low=getattr(low, of),
        high=getattr(high, of),
        low_policy=low.name,
        high_policy=high.name,
        feedback_low=f_low,
        feedback_high=f_high,
        favours="neither" if f_low == f_high else "s-max" if f_high > f_low else "s-min",
    )
