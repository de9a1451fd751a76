"""Episodes played outside training: step by step for a film, or whole for statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from sadapt.envs.base import Env
from sadapt.motivation.episode import Answer, Episode, EpisodeRules, Fresh, Transition, ended_measures
from sadapt.motivation.marginals import Marginal
from sadapt.motivation.sharing import select
from sadapt.rarely import one_by_one

Array = jax.Array
Act = Callable[[Array, Episode], Array]
"""`act(key, episode) -> action`, for one world."""
Advance = Callable[[Array, Episode], tuple[Episode, Transition]]


class Played(NamedTuple):
    """An episode: its measures, and the entropy after every observation (constant once ended)."""

    measures: dict[str, Array]
    entropy_curve: Array


def begin(env: Env, rules: EpisodeRules, key: Array, arm: Array) -> Episode:
    """A fresh world at the start of an episode on `arm`."""
    return rules.begin(Fresh(*env.reset(key)), arm)


def fresh_where(env: Env, needed: Array, key: Array, world: Any, obs: Array) -> Fresh:
    """A fresh start where one is needed, else whatever is there, for worlds whose resets cost too much to be idle."""
    return Fresh(*one_by_one(needed, env.reset, (world, obs), key))


def advance(env: Env, rules: EpisodeRules, act: Act) -> Advance:
    """One step of an episode, `(key, episode) -> (episode, transition)`."""

    def one(key: Array, episode: Episode) -> tuple[Episode, Transition]:
        key_act, key_step, key_reset, key_shock = jax.random.split(key, 4)
        world, step = env.step(key_step, episode.world, act(key_act, episode))
        if env.costly_reset:
            fresh = fresh_where(env, rules.restarts(episode.t, step.terminated), key_reset, world, step.obs)
        else:
            fresh = Fresh(*env.reset(key_reset))
        return rules.absorb(key_shock, episode, Answer(world, step, fresh))

    return one


def play(key: Array, env: Env, marginal: Marginal, rules: EpisodeRules, act: Act, arm: Array) -> Played:
    """One whole episode."""
    key_begin, key_play = jax.random.split(key)
    first = begin(env, rules, key_begin, arm)
    step = advance(env, rules, act)

    def one(carry: tuple[Episode, Array], key: Array) -> tuple[tuple[Episode, Array], Array]:
        episode, ended = carry
        after, transition = step(key, episode)
        episode = select(ended, episode, after)
        return (episode, ended | transition.closed), marginal.entropy(episode.marginal)

    keys = jax.random.split(key_play, rules.horizon)
    (episode, _), curve = jax.lax.scan(one, (first, jnp.zeros((), bool)), keys)
    told = ended_measures(rules.measures, episode, curve[-1])
    return Played(told, jnp.concatenate([marginal.entropy(first.marginal)[None], curve]))
