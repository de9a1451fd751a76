"""A trained agent played greedily: means over whole episodes, and the same world at random beside it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Env, HostEnv
from sadapt.fields import Count, Share, checked, field_of
from sadapt.keys import from_seed
from sadapt.motivation.episode import compared, ended_measures
from sadapt.motivation.measures import Values
from sadapt.motivation.objectives import ARMS
from sadapt.motivation.rollout import play
from sadapt.runs import playback
from sadapt.runs.agent import Agent
from sadapt.training.parts import at_random
from sadapt.training.program import compose

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
    random: dict[str, Spread]
    """The same of a random agent in as many episodes of the same world; empty if it was not asked for."""
    warnings: tuple[str, ...] = ()
    """What was doubtful about its training."""

    def as_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return {**self._asdict(), "measures": _plain(self.measures), "random": _plain(self.random)}


def _plain(measures: dict[str, Spread]) -> dict[str, dict[str, float | None]]:
    return {
        name: {part: value if math.isfinite(value) else None for part, value in spread._asdict().items()}
        for name, spread in measures.items()
    }


def evaluate(
    agent: Agent,
    *,
    episodes: int = 100,
    arm: str | None = None,
    seed: int = 0,
    epsilon: float = 0.0,
    random: bool = True,
) -> Evaluation:
    """Plays `episodes` whole episodes, greedily but for a share `epsilon` of random actions.

    As many are played by a random agent, for comparison, unless `random` is false.
    """
    episodes, epsilon = checked(field_of(Count), "episodes", episodes), checked(field_of(Share), "epsilon", epsilon)
    chosen = agent.arm(arm)

    found = _measured(agent, chosen, episodes, seed, epsilon)
    idle = agent.program.learner.policy is None
    beside = {} if not random else found if idle else _measured(_at_random(agent), chosen, episodes, seed, 0.0)
    return Evaluation(
        source=agent.source,
        env=agent.settings.env,
        objective=agent.settings.objective,
        arm=ARMS[chosen],
        step=agent.step,
        episodes=episodes,
        h_random=agent.h_random,
        measures=found,
        random=beside,
        warnings=agent.warnings,
    )


def _at_random(agent: Agent) -> Agent:
    """Who acts uniformly in the same world, and is measured alike."""
    prog = agent.program
    return Agent(compose(prog.env, at_random(prog.parts)), agent.settings, agent.params, agent.facts, agent.source)


def _measured(agent: Agent, arm: int, episodes: int, seed: int, epsilon: float) -> dict[str, Spread]:
    """Every measure over the episodes."""
    play_all = _outside if isinstance(agent.env, HostEnv) else _inside
    prog, on = agent.program, jnp.int32(arm)
    found = play_all(agent, arm, episodes, seed, epsilon)
    heard = jax.vmap(prog.parts.feedback.hear, in_axes=(0, None, None))(found, agent.random, on)
    found = compared(prog.rules.measures, found, agent.random, heard, on)
    return {name: Spread(float(np.mean(values)), float(np.std(values))) for name, values in found.items()}


def _inside(agent: Agent, arm: int, episodes: int, seed: int, epsilon: float) -> Values:
    """Many at once, in a world written in JAX."""
    prog, env = agent.program, agent.env
    assert isinstance(env, Env)

    def one(key: jax.Array, on: jax.Array) -> Values:
        act = lambda key, episode: agent.act_in(key, episode, epsilon)  # noqa: E731
        return play(key, env, prog.marginal, prog.rules, act, on).measures

    player = jax.jit(jax.vmap(one, in_axes=(0, None)))  # the arm is told, so that both arms are one program
    keys = jax.random.split(from_seed(seed), -(-episodes // BATCH) * BATCH if episodes > BATCH else episodes)
    parts = [jax.device_get(player(keys[at : at + BATCH], jnp.int32(arm))) for at in range(0, len(keys), BATCH)]
    return jax.tree.map(lambda *rows: np.concatenate(rows)[:episodes].astype(np.float64), *parts)


def _outside(agent: Agent, arm: int, episodes: int, seed: int, epsilon: float) -> Values:
    """One after another, in a world that is not."""
    rows, play = [], playback.episodes(agent, epsilon)
    for number in range(episodes):
        *_, last = play(arm, (seed * episodes + number) % 2**64)
        entropy = agent.program.marginal.entropy(last.episode.marginal)
        rows.append(ended_measures(agent.program.rules.measures, last.episode, entropy))
    return jax.tree.map(lambda *each: np.asarray(each, np.float64), *rows)
