"""A trained agent played greedily: means over whole episodes, and the same world at random beside it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Env, HostEnv
from sadapt.errors import UserError
from sadapt.motivation.measures import EndFacts, Values, finished
from sadapt.motivation.objectives import ARMS, feedback
from sadapt.motivation.rollout import UNHEARD, play
from sadapt.runs.agent import Agent
from sadapt.runs.playback import moments

BATCH = 64
"""Episodes side by side."""


class Spread(NamedTuple):
    """One measure over the episodes."""

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
    measures: dict[str, Spread]
    """Return, length, deaths, surprise, entropy, feedback, and the world's own counters."""

    def as_dict(self) -> dict[str, Any]:
        """In the types that JSON knows."""
        return {**self._asdict(), "measures": {name: value._asdict() for name, value in self.measures.items()}}


def evaluate(
    agent: Agent, *, episodes: int = 100, arm: str | None = None, seed: int = 0, epsilon: float = 0.0
) -> Evaluation:
    """Plays `episodes` whole episodes, greedily but for a share `epsilon` of random actions."""
    if episodes < 1:
        raise UserError(f"--episodes must be at least 1; got {episodes}")
    if not 0 <= epsilon <= 1:
        raise UserError(f"--epsilon must lie between 0 and 1; got {epsilon:g}")
    chosen = agent.arm(arm)

    play_all = _outside if isinstance(agent.env, HostEnv) else _inside
    found = play_all(agent, chosen, episodes, seed, epsilon)
    found["feedback"] = feedback(found["entropy"], agent.h_random)
    names = [measure.name for measure in agent.program.rules.measures]
    return Evaluation(
        source=agent.source,
        env=agent.settings.env,
        objective=agent.settings.objective,
        arm=ARMS[chosen],
        step=agent.step,
        episodes=episodes,
        h_random=agent.h_random,
        measures={name: Spread(float(np.mean(found[name])), float(np.std(found[name]))) for name in names},
    )


def _inside(agent: Agent, arm: int, episodes: int, seed: int, epsilon: float) -> Values:
    """Many at once, in a world written in JAX."""
    prog, env = agent.program, agent.env
    assert isinstance(env, Env)

    def one(key: jax.Array) -> Values:
        act = lambda key, episode: agent.act_in(key, episode, epsilon)  # noqa: E731
        return play(key, env, prog.marginal, prog.rules, act, jnp.int32(arm)).summary.measures

    player = jax.jit(jax.vmap(one))
    keys = jax.random.split(jax.random.key(seed), -(-episodes // BATCH) * BATCH if episodes > BATCH else episodes)
    parts = [jax.device_get(player(keys[at : at + BATCH])) for at in range(0, len(keys), BATCH)]
    return jax.tree.map(lambda *rows: np.concatenate(rows)[:episodes].astype(np.float64), *parts)


def _outside(agent: Agent, arm: int, episodes: int, seed: int, epsilon: float) -> Values:
    """One after another, in a world that is not."""
    rows = []
    for number in range(episodes):
        *_, last = moments(agent, arm, seed=seed * episodes + number, epsilon=epsilon)
        entropy = agent.program.marginal.entropy(last.episode.marginal)
        end = EndFacts(length=last.episode.t, entropy=entropy, feedback=UNHEARD)
        rows.append(finished(agent.program.rules.measures, last.episode.so_far, end))
    return jax.tree.map(lambda *each: np.asarray(each, np.float64), *rows)
