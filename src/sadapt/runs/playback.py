"""A trained agent at play, step by step, in worlds on either side of XLA."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Env, HostEnv, Step
from sadapt.keys import from_seed
from sadapt.motivation.episode import Answer, Episode, Fresh, Transition
from sadapt.motivation.rollout import advance, begin
from sadapt.runs.agent import Agent

Array = jax.Array


class Moment(NamedTuple):
    """An episode after one more step; before the first there is no transition."""

    episode: Episode
    transition: Transition | None
    picture: Callable[[], np.ndarray]


Episodes = Callable[[int, int], Iterator[Moment]]
"""By arm and seed: one episode from its first observation to its end."""


def moments(agent: Agent, arm: int, *, seed: int, epsilon: float = 0.0) -> Iterator[Moment]:
    """One episode from its first observation to its end."""
    return episodes(agent, epsilon)(arm, seed)


def episodes(agent: Agent, epsilon: float = 0.0) -> Episodes:
    """As many as are asked for, by functions that are compiled once for all of them."""
    env = agent.env
    play = _outside(agent, env, epsilon) if isinstance(env, HostEnv) else _inside(agent, env, epsilon)

    def one(arm: int, seed: int) -> Iterator[Moment]:
        key_begin, key_play = jax.random.split(from_seed(seed))
        return play(jnp.int32(arm), key_begin, jax.random.split(key_play, agent.program.rules.horizon))

    return one


def _inside(agent: Agent, env: Env, epsilon: float) -> Callable[[Array, Array, Array], Iterator[Moment]]:
    rules = agent.program.rules
    start = jax.jit(lambda key, arm: begin(env, rules, key, arm))
    step = jax.jit(advance(env, rules, lambda key, episode: agent.act_in(key, episode, epsilon)))

    def play(arm: Array, key_begin: Array, keys: Array) -> Iterator[Moment]:
        episode = start(key_begin, arm)
        yield Moment(episode, None, partial(env.render, episode.world))
        for key in keys:
            episode, transition = step(key, episode)
            yield Moment(episode, transition, partial(env.render, episode.world))
            if transition.closed:
                return

    return play


def _outside(agent: Agent, env: HostEnv, epsilon: float) -> Callable[[Array, Array, Array], Iterator[Moment]]:
    rules, one = agent.program.rules, np.ones(1, bool)
    start, absorb = jax.jit(rules.begin), jax.jit(rules.absorb)
    act = jax.jit(lambda key, episode: agent.act_in(key, episode, epsilon))

    def play(arm: Array, key_begin: Array, keys: Array) -> Iterator[Moment]:
        with closing(env.open(1)) as worlds:
            episode = start(Fresh((), jnp.asarray(worlds.restart(key_begin, one)[0])), arm)
            yield Moment(episode, None, worlds.render)
            for key in keys:
                key_act, key_step, key_reset, key_shock = jax.random.split(key, 4)
                answer = worlds.step(key_step, np.asarray(act(key_act, episode))[None])
                step: Step = jax.tree.map(lambda x: jnp.asarray(x[0]), answer)
                restarts = bool(rules.restarts(int(episode.t), bool(step.terminated)))
                picture = worlds.render
                fresh = worlds.restart(key_reset, one)[0] if restarts else answer.obs[0]
                episode, transition = absorb(key_shock, episode, Answer((), step, Fresh((), jnp.asarray(fresh))))
                yield Moment(episode, transition, picture)
                if transition.closed:
                    return

    return play
