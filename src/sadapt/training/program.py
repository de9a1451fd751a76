"""The training program: a world and its parts composed into pure functions over one state.

The compiled driver scans them whole; the host driver calls them one by one around worlds that are not written in JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from sadapt.envs.base import AnyEnv
from sadapt.learners.base import Learner, LearnerState
from sadapt.motivation.bandits import BanditState
from sadapt.motivation.episode import Answer, Episode, EpisodeRules, Fresh
from sadapt.motivation.feedback import RandomAgent, with_units
from sadapt.motivation.marginals import Marginal
from sadapt.motivation.normalisation import NormaliserState
from sadapt.motivation.objectives import payment
from sadapt.registry import Own, is_foreign
from sadapt.training import contracts
from sadapt.training.parts import Parts, Sizes, env_of
from sadapt.training.parts import parts as find_parts
from sadapt.training.settings import Settings
from sadapt.training.tally import Tally, add_episodes, add_update, empty_tally

Array = jax.Array


class TrainState(NamedTuple):
    """All of a run: what is not in here does not influence what comes next."""

    key: Array
    world_key: Array
    """Chance of the worlds in the step under way."""
    step: Array
    """Environment steps so far."""
    ended: Array
    """Episodes that have ended so far."""
    random: RandomAgent
    episodes: Episode
    bandit: BanditState
    normaliser: NormaliserState
    learner: LearnerState
    tally: Tally


class Program(NamedTuple):
    """One run as pure functions; `N` worlds side by side, those that act at random last."""

    env: AnyEnv
    parts: Parts
    init: Callable[[Array, Fresh, RandomAgent], TrainState]
    """`init(key, N fresh worlds, random agent) -> state`."""
    act: Callable[[TrainState], tuple[TrainState, Array]]
    observe: Callable[[TrainState, Array, Answer], TrainState]
    update: Callable[[TrainState], TrainState]
    refresh: Callable[[TrainState], TrainState]

    @property
    def learner(self) -> Learner:
        return self.parts.learner

    @property
    def rules(self) -> EpisodeRules:
        return self.parts.rules

    @property
    def marginal(self) -> Marginal:
        return self.parts.marginal

    @property
    def sizes(self) -> Sizes:
        return self.parts.sizes

    @property
    def worlds(self) -> int:
        """All worlds side by side, those of a stream that act at random among them."""
        return worlds(self.parts)


def compose(env: AnyEnv, parts: Parts) -> Program:
    """Joins a world and its parts."""
    return Program(
        env=env,
        parts=parts,
        init=partial(init, parts),
        act=partial(act, parts),
        observe=partial(observe, parts),
        update=partial(update, parts),
        refresh=lambda state: state._replace(learner=parts.learner.refresh(state.learner)),
    )


def build(settings: Settings, own: Own | None = None) -> Program:
    """The program that the settings ask for, after everything about it that can be refused has been."""
    own = own or {}
    env = env_of(settings, own)
    prog = compose(env, find_parts(env, settings, own))
    if prog.learner.policy is not None and is_foreign("learner", settings.learner, own):
        contracts.check_learner(settings.learner.name, prog)
    return prog


def worlds(parts: Parts) -> int:
    """All worlds side by side."""
    stream = parts.rules.stream
    return parts.sizes.num_envs + (0 if stream is None else stream.random_envs)


def learned(parts: Parts, tree: Any) -> Any:
    """Of what all worlds have, what those have that are learned in."""
    if parts.rules.stream is None:
        return tree
    return jax.tree.map(lambda x: x[: parts.sizes.num_envs], tree)


def views(parts: Parts, episodes: Episode) -> Any:
    """What the learner's network keeps of the augmented observations of the worlds that are learned in."""
    return jax.vmap(lambda episode: parts.learner.view(parts.rules.look(episode)))(learned(parts, episodes))


def init(parts: Parts, key: Array, fresh: Fresh, random: RandomAgent) -> TrainState:
    """The state before the first step."""
    key_learner, key_arms, key_run, key_world = jax.random.split(key, 4)
    rules, learner = parts.rules, parts.learner
    bandit, arms = rules.choose(key_arms, rules.bandit(), jnp.ones(parts.sizes.num_envs, bool))
    if rules.stream is not None:
        random = rules.stream.unheard()
        arms = jnp.concatenate([arms, jnp.zeros(rules.stream.random_envs, arms.dtype)])
    begun = jax.vmap(rules.begin)(fresh, arms)
    return TrainState(
        key=key_run,
        world_key=key_world,
        step=jnp.zeros((), jnp.int32),
        ended=jnp.zeros((), jnp.int32),
        random=with_units(jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), random), jnp),
        episodes=begun,
        bandit=bandit,
        normaliser=parts.normaliser.init(),
        learner=learner.init(key_learner, learned(parts, begun), views(parts, begun)),
        tally=empty_tally((measure.name for measure in rules.measures), learner.reports),
    )


def act(parts: Parts, state: TrainState) -> tuple[TrainState, Array]:
    """The learner's actions, and chance for the worlds' answer."""
    key, key_act, key_world = jax.random.split(state.key, 3)
    acted, actions = parts.learner.act(key_act, state.learner, views(parts, state.episodes), state.step)
    if parts.rules.stream is not None:
        lots = jax.random.uniform(jax.random.fold_in(key_act, 1), (parts.rules.stream.random_envs,))
        actions = jnp.concatenate([actions, (lots * parts.task.env.num_actions).astype(actions.dtype)])
    return state._replace(key=key, world_key=key_world, learner=acted), actions


def observe(parts: Parts, state: TrainState, actions: Array, answer: Answer) -> TrainState:
    """What the worlds answered: surprise and theta, episodes that end and begin, what the learner remembers."""
    rules, num_envs = parts.rules, parts.sizes.num_envs
    key, key_shock, key_arms = jax.random.split(state.key, 3)
    shocks = jax.random.split(key_shock, worlds(parts))
    after, transition = jax.vmap(rules.absorb)(shocks, state.episodes, answer)
    bandit, begun, summary = rules.settle(key_arms, state.bandit, state.random, after, transition.closed, answer.fresh)
    # Where nothing is reset, a step on one arm is still not followed by one on another.
    transition = learned(parts, transition._replace(closed=transition.closed | (begun.arm != transition.arm)))
    if rules.stream is not None:
        transition = transition._replace(surprise=rules.stream.paid(state.random, transition.surprise))
    raw = payment(parts.objective, transition.arm, transition.surprise, transition.extrinsic)
    return state._replace(
        key=key,
        step=state.step + num_envs,
        ended=state.ended + jnp.sum(summary.closed, dtype=jnp.int32),
        random=state.random if summary.random is None else summary.random,
        episodes=begun,
        bandit=bandit,
        normaliser=parts.normaliser.update(state.normaliser, transition.arm, transition.t, raw),
        learner=parts.learner.observe(state.learner, learned(parts, actions), transition, learned(parts, begun)),
        tally=add_episodes(state.tally, summary),
    )


def update(parts: Parts, state: TrainState) -> TrainState:
    """As many updates as the learner makes at a time."""
    learner = parts.learner

    def once(state: TrainState, _: None) -> tuple[TrainState, None]:
        key, key_update = jax.random.split(state.key)
        wiser, report = learner.update(key_update, state.learner, views(parts, state.episodes), state.normaliser)
        return state._replace(key=key, learner=wiser, tally=add_update(state.tally, report)), None

    if learner.updates_per_turn == 1:
        return once(state, None)[0]
    return jax.lax.scan(once, state, None, length=learner.updates_per_turn)[0]
