"""A trained agent played greedily: means over whole episodes, and the same world at random beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Env, HostEnv
from sadapt.errors import UserError
from sadapt.motivation.episode import Summary
from sadapt.motivation.objectives import ARMS, feedback
from sadapt.motivation.playing import play, summarised
from sadapt.runs.agent import Agent, load
from sadapt.runs.playing import moments

BATCH = 64
"""Episodes side by side."""


class Measure(NamedTuple):
    """One quantity over the episodes."""

    mean: float
    std: float


class Evaluation(NamedTuple):
    """What an agent did."""

    source: str
    env: str
    objective: str
    arm: str
    step: int
    """Environment steps that it had been trained for."""
    episodes: int
    h_random: float
    measures: dict[str, Measure]
    """Return, length, deaths, surprise, entropy, feedback, and the world's own counters."""

    def as_dict(self) -> dict[str, Any]:
        """In the types that JSON knows."""
        return {**self._asdict(), "measures": {name: value._asdict() for name, value in self.measures.items()}}


def evaluate(
    agent: Agent | str | Path, *, episodes: int = 100, arm: str | None = None, seed: int = 0, epsilon: float = 0.0
) -> Evaluation:
    """Plays `episodes` whole episodes, greedily but for a share `epsilon` of random actions."""
    if episodes < 1:
        raise UserError(f"--episodes must be at least 1; got {episodes}")
    if not 0 <= epsilon <= 1:
        raise UserError(f"--epsilon must lie between 0 and 1; got {epsilon:g}")
    agent = agent if isinstance(agent, Agent) else load(agent)
    chosen = agent.arm(arm)

    play_all = _outside if isinstance(agent.env, HostEnv) else _inside
    found = play_all(agent, chosen, episodes, seed, epsilon)
    columns = {
        "return": found.reward,
        "length": found.length,
        "deaths": found.deaths,
        "surprise": found.surprise,
        "entropy": found.entropy,
        "feedback": feedback(found.entropy, agent.h_random),
        **found.counters,
    }
    return Evaluation(
        source=agent.source,
        env=agent.settings.env,
        objective=agent.settings.objective,
        arm=ARMS[chosen],
        step=agent.step,
        episodes=episodes,
        h_random=agent.h_random,
        measures={name: Measure(float(np.mean(values)), float(np.std(values))) for name, values in columns.items()},
    )


def _inside(agent: Agent, arm: int, episodes: int, seed: int, epsilon: float) -> Summary:
    """Many at once, in a world written in JAX."""
    prog, env = agent.program, agent.env
    assert isinstance(env, Env)

    def one(key: jax.Array) -> Summary:
        act = lambda key, episode: agent.act_in(key, episode, epsilon)  # noqa: E731
        return play(key, env, prog.marginal, prog.rules, act, jnp.int32(arm)).summary

    player = jax.jit(jax.vmap(one))
    keys = jax.random.split(jax.random.key(seed), -(-episodes // BATCH) * BATCH if episodes > BATCH else episodes)
    parts = [jax.device_get(player(keys[at : at + BATCH])) for at in range(0, len(keys), BATCH)]
    return jax.tree.map(lambda *rows: np.concatenate(rows)[:episodes].astype(np.float64), *parts)


def _outside(agent: Agent, arm: int, episodes: int, seed: int, epsilon: float) -> Summary:
    """One after another, in a world that is not."""
    rows = []
    for number in range(episodes):
        *_, last = moments(agent, arm, seed=seed * episodes + number, epsilon=epsilon)
        entropy = agent.program.marginal.entropy(last.episode.marginal)
        rows.append(summarised(last.episode, entropy, jnp.asarray(True)))
    return jax.tree.map(lambda *each: np.asarray(each, np.float64), *rows)
