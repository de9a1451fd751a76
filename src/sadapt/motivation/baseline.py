"""Whole episodes under a hand-written policy, and the random agent that the bandit compares with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Env, Policy
from sadapt.motivation.bandits import fixed
from sadapt.motivation.episode import EpisodeRules, episodes
from sadapt.motivation.feedback import RandomAgent, summed_up
from sadapt.motivation.marginals import Marginal
from sadapt.motivation.rollout import Act, Played
from sadapt.motivation.rollout import play as played

Array = jax.Array


Player = Callable[[Array], Played]
FIRST: Any = np.int32(0)
"""The arm of episodes in which nobody looks at it."""


def random_policy(env: Env) -> Policy:
    """Uniform over the actions, blind to everything."""
    return lambda key, world, theta: (jax.random.uniform(key) * env.num_actions).astype(jnp.int32)


def constant_policies(env: Env) -> dict[str, Policy]:
    """Always the same action, by the name that `probe` gives it."""

    def always(action: int) -> Policy:
        return lambda key, world, theta: jnp.int32(action)

    return {f"always {name}": always(action) for action, name in enumerate(env.actions)}


def play(env: Env, marginal: Marginal, policy: Policy, *, on_death: str, horizon: int | None = None) -> Player:
    """A compiled function that plays one episode of `policy` per key."""
    rules = _rules(env, marginal, on_death, horizon)
    return jax.jit(jax.vmap(lambda key: played(key, env, marginal, rules, _acting(policy, marginal), FIRST)))


def play_constants(env: Env, marginal: Marginal, *, on_death: str, horizon: int | None = None) -> Player:
    """A compiled function that plays one episode of every constant action per key: fields lead with [action, key]."""
    rules = _rules(env, marginal, on_death, horizon)

    def one(action: Array, key: Array) -> Played:
        return played(key, env, marginal, rules, lambda key, episode: action, FIRST)

    every_key = jax.vmap(one, in_axes=(None, 0))
    return jax.jit(lambda keys: jax.vmap(every_key, in_axes=(0, None))(jnp.arange(env.num_actions), keys))


def _rules(env: Env, marginal: Marginal, on_death: str, horizon: int | None) -> EpisodeRules:
    return episodes(env, marginal, fixed(0), on_death=on_death, horizon=horizon)


def _acting(policy: Policy, marginal: Marginal) -> Act:
    return lambda key, episode: policy(key, episode.world, marginal.features(episode.marginal))


def random_agent(
    env: Env, marginal: Marginal, *, on_death: str, horizon: int | None = None, count: int = 100
) -> Callable[[Array], RandomAgent]:
    """A function `key -> measures`: means and deviations over `count` episodes of the random policy."""
    player = play(env, marginal, random_policy(env), on_death=on_death, horizon=horizon)

    def measured(key: Array) -> RandomAgent:
        return summed_up(jax.device_get(player(jax.random.split(key, count)).measures))

    return measured
