"""Whole episodes in a world outside XLA, by policies that see nothing: some steps are played, then judged at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import HostEnv, HostWorlds
from sadapt.motivation.bandits import fixed
from sadapt.motivation.baseline import FIRST, Player
from sadapt.motivation.death import treatment
from sadapt.motivation.episode import Answer, Fresh, ended_measures, episodes
from sadapt.motivation.marginals import Marginal
from sadapt.motivation.rollout import Played
from sadapt.motivation.sharing import select

Array = jax.Array
Blind = Callable[[np.random.Generator], int]
"""A policy that sees nothing: `(chance) -> action`."""
CHUNK = 128
"""Steps that are played before the marginal hears of them."""
FEW = 18
"""Actions, each of which can be tried in every episode; Atari's joystick has as many."""


def uniform(env: HostEnv) -> Blind:
    """All actions alike."""
    return lambda chance: int(chance.integers(env.num_actions))


def constants(env: HostEnv) -> dict[str, Blind]:
    """Always the same action, by the name that `probe` gives it."""
    return {f"always {name}": lambda chance, action=action: action for action, name in enumerate(env.actions)}  # type: ignore[misc]


def play_constants(env: HostEnv, marginal: Marginal, *, on_death: str) -> Player:
    """A function that plays one episode of every constant action per key: fields lead with [action, key]."""
    players = [play(env, marginal, act, on_death=on_death) for act in constants(env).values()]
    return lambda keys: jax.tree.map(lambda *each: np.stack(each), *(player(keys) for player in players))


def play(env: HostEnv, marginal: Marginal, act: Blind, *, on_death: str) -> Player:
    """A function that plays one episode of a policy per key, one after another."""
    rules, ends = episodes(env, marginal, fixed(0), on_death=on_death), treatment(env, on_death).ends

    @jax.jit
    def absorb(carry: tuple[Any, Array], keys: Array, answers: Answer) -> tuple[tuple[Any, Array], Array]:
        def one(carry: tuple[Any, Array], item: tuple[Array, Answer]) -> tuple[tuple[Any, Array], Array]:
            (episode, ended), (key, answer) = carry, item
            after, transition = rules.absorb(key, episode, answer)
            episode = select(ended, episode, after)
            return (episode, ended | transition.closed), marginal.entropy(episode.marginal)

        return jax.lax.scan(one, carry, (keys, answers))

    @jax.jit
    def begin(obs: Array) -> tuple[Any, Array]:
        episode = rules.begin(Fresh((), obs), jnp.asarray(FIRST))
        return episode, marginal.entropy(episode.marginal)

    def one(worlds: HostWorlds, key: Array) -> Played:
        key_begin, key = jax.random.split(key)
        chance = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        episode, entropy = begin(jnp.asarray(worlds.restart(key_begin, np.ones(1, bool))[0]))
        curve, t, closed = [np.asarray(entropy)[None]], 0, jnp.zeros((), bool)
        while t < rules.horizon and not closed:
            key, key_worlds, key_shock = jax.random.split(key, 3)
            answers = _answers(worlds, act, chance, key_worlds, rules.horizon - t, ends)
            (episode, closed), heard = absorb((episode, closed), jax.random.split(key_shock, CHUNK), answers)
            curve.append(np.asarray(heard))
            t += CHUNK
        told: Any = np.concatenate(curve)[: rules.horizon + 1]
        told = np.append(told, np.full(rules.horizon + 1 - len(told), told[-1], told.dtype))
        return Played(jax.device_get(ended_measures(rules.measures, episode, jnp.asarray(told[-1]))), told)

    def player(keys: Array) -> Played:
        with closing(env.open(1)) as worlds:
            return jax.tree.map(lambda *each: np.stack(each), *(one(worlds, key) for key in keys))

    return player


def _answers(worlds: HostWorlds, act: Blind, chance: np.random.Generator, key: Array, left: int, ends: bool) -> Answer:
    """The world's answers to the next steps; once the episode has ended, the last one again and again."""
    answers: list[Answer] = []
    for key_step in jax.random.split(key, CHUNK):
        if answers and (len(answers) >= left or (ends and answers[-1].step.terminated)):
            answers.append(answers[-1])
            continue
        answer = worlds.step(key_step, np.array([act(chance)]))
        step: Any = jax.tree.map(lambda x: np.asarray(x)[0], answer)
        fresh = step.obs
        if step.terminated and not ends:
            fresh = worlds.restart(jax.random.fold_in(key_step, 1), np.ones(1, bool))[0]
        answers.append(Answer((), step, Fresh((), fresh)))
    return jax.tree.map(lambda *each: np.stack(each), *answers)
