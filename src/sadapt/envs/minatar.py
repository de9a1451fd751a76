"""MinAtar's five games (Young and Tian, 2019): Asterix, Breakout, Freeway, Seaquest, Space Invaders.

Actions: the game's minimal set; with probability 0.1 the action before is repeated instead. Channels: MinAtar's, in its
order; the marginal sees them all. The rules of Breakout and Space Invaders are gymnax's, the others our own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import asterix, freeway, scripted, seaquest
from sadapt.envs.base import Env, Step
from sadapt.envs.tiles import paint_channels

Array = jax.Array
SIZE = 10
STICKY = 0.1
"""How often an action is replaced by the one before it."""


class Game(NamedTuple):
    """What is known about a game without its rules."""

    engine: ModuleType | str
    """Where its rules are: a module of ours, or the name of a class of gymnax."""
    actions: tuple[str, ...]
    channels: tuple[str, ...]
    agent_channel: int | None
    about: str


GAMES = {
    "minatar-asterix": Game(
        asterix,
        ("no-op", "left", "up", "right", "down"),
        ("player", "enemy", "trail", "gold"),
        0,
        "collect gold that drifts by among enemies",
    ),
    "minatar-breakout": Game(
        "MinBreakout",
        ("no-op", "left", "right"),
        ("paddle", "ball", "trail", "brick"),
        0,
        "keep a ball in the air that breaks bricks",
    ),
    "minatar-freeway": Game(
        freeway,
        ("no-op", "up", "down"),
        ("chicken", "car", "speed 1", "speed 2", "speed 3", "speed 4", "speed 5"),
        0,
        "cross a road of eight lanes",
    ),
    "minatar-seaquest": Game(
        seaquest,
        ("no-op", "left", "up", "right", "down", "fire"),
        (
            "submarine",
            "stern",
            "torpedo",
            "trail",
            "enemy torpedo",
            "fish",
            "enemy submarine",
            "oxygen gauge",
            "diver gauge",
            "diver",
        ),
        0,
        "rescue divers among fish and submarines before the air runs out",
    ),
    "minatar-space-invaders": Game(
        "MinSpaceInvaders",
        ("no-op", "left", "right", "fire"),
        ("cannon", "alien", "alien left", "alien right", "bullet", "alien bullet"),
        0,
        "shoot rows of aliens that come down shooting",
    ),
}


class ArcadeState(NamedTuple):
    """The game's own state and the action that it was last given."""

    game: Any
    last_action: Array


class Rules(NamedTuple):
    """A game's rules, without sticky actions and without an end of time; each function is compiled as a whole."""

    reset: Callable[[Array], Any]
    """`reset(key) -> game`."""
    step: Callable[[Array, Any, Array], tuple[Any, Array, Array]]
    """`step(key, game, action) -> (game, reward, ended)`."""
    observe: Callable[[Any], Array]
    """`observe(game) -> [10, 10, channels]` of zeros and ones."""


def minatar(*, name: str, horizon: int = 500) -> Env:
    """The MinAtar game called `name`; its rules are fetched when they are first used.

    A lost game begins anew while the episode goes on (`on_death="soft"`): entropies of episodes can only be compared if
    all of them are equally long, and a random agent loses most of these games within a hundred steps.
    """
    game = GAMES[name]

    def reset(key: Array) -> tuple[ArcadeState, Array]:
        state = ArcadeState(_rules(name).reset(key), jnp.int32(0))
        return state, observe(state)

    def step(key: Array, state: ArcadeState, action: Array) -> tuple[ArcadeState, Step]:
        key_sticky, key_game = jax.random.split(key)
        done = jnp.where(jax.random.bernoulli(key_sticky, STICKY), state.last_action, jnp.int32(action))
        after, reward, ended = _rules(name).step(key_game, state.game, done)
        state = ArcadeState(after, done)
        return state, Step(observe(state), reward.astype(jnp.float32), ended.astype(bool), {})

    def observe(state: ArcadeState) -> Array:
        return _rules(name).observe(state.game).astype(jnp.uint8)

    def render(state: ArcadeState) -> np.ndarray:
        return paint_channels(np.asarray(observe(state)))

    return Env(
        name=name,
        reset=reset,
        step=step,
        render=render,
        obs_shape=(SIZE, SIZE, len(game.channels)),
        obs_dtype=np.uint8,
        channels=game.channels,
        actions=game.actions,
        horizon=horizon,
        marginal_channels=tuple(range(len(game.channels))),
        agent_channel=game.agent_channel,
        on_death="soft",
        scripted=scripted.arcade(game.actions),
        about=game.about,
    )


@cache
def _rules(name: str) -> Rules:
    engine = GAMES[name].engine
    rules = _gymnax(engine) if isinstance(engine, str) else Rules(engine.reset, engine.step, engine.observe)
    return Rules(*(jax.jit(function) for function in rules))


def _gymnax(engine: str) -> Rules:
    """The rules of a game of gymnax: neither its time limit nor its automatic reset, and states of lasting types."""
    from gymnax.environments import minatar as games

    with jax.ensure_compile_time_eval():
        game = getattr(games, engine)()
    params = game.default_params

    def reset(key: Array) -> Any:
        with _lenient():
            _, state = game.reset_env(key, params)
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.asarray(leaf).dtype), state)

    def step(key: Array, state: Any, action: Array) -> tuple[Any, Array, Array]:
        with _lenient():
            _, after, reward, ended, _ = game.step_env(key, state, action, params)
        return jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), after, state), reward, ended

    def observe(state: Any) -> Array:
        with _lenient():
            return game.get_obs(state)

    return Rules(reset, step, observe)


@contextmanager
def _lenient() -> Iterator[None]:
    """Lets gymnax mix types and ranks, whatever its caller has asked of JAX."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield
