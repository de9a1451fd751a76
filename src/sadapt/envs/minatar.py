"""MinAtar's five games (Young and Tian, 2019): Asterix, Breakout, Freeway, Seaquest, Space Invaders.

Actions: the game's minimal set; with probability 0.1 the action before is repeated instead. Channels: MinAtar's, in its
order; the marginal sees them all. Each game's rules are in a module of its own, without sticky actions.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import asterix, breakout, freeway, screen, scripted, seaquest, space_invaders
from sadapt.envs.base import Env, Step
from sadapt.envs.tiles import paint_channels

Array = jax.Array
STICKY = 0.1
"""How often an action is replaced by the one before it."""


class Game(NamedTuple):
    """A game's rules and what there is to know about it."""

    module: ModuleType
    """Its rules: `reset(key) -> state`, `step(key, state, action) -> (state, reward, ended)`, `observe(state)`."""
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
        breakout,
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
        "bring divers up before the air runs out",
    ),
    "minatar-space-invaders": Game(
        space_invaders,
        ("no-op", "left", "right", "fire"),
        ("cannon", "alien", "alien left", "alien right", "bullet", "alien bullet"),
        0,
        "shoot rows of aliens that shoot back",
    ),
}


class ArcadeState(NamedTuple):
    """The game's own state and the action that it was last given."""

    game: Any
    last_action: Array


def minatar(*, name: str, horizon: int = 500) -> Env:
    """The MinAtar game called `name`.

    A lost game begins anew while the episode goes on (`on_death="soft"`): entropies of episodes can only be compared if
    all of them are equally long, and a random agent loses most of these games within a hundred steps.
    """
    game = GAMES[name]
    begin, advance, look = map(jax.jit, (game.module.reset, game.module.step, game.module.observe))

    def reset(key: Array) -> tuple[ArcadeState, Array]:
        state = ArcadeState(begin(key), jnp.int32(0))
        return state, look(state.game)

    def step(key: Array, state: ArcadeState, action: Array) -> tuple[ArcadeState, Step]:
        key_sticky, key_game = jax.random.split(key)
        taken = jnp.where(jax.random.bernoulli(key_sticky, STICKY), state.last_action, jnp.int32(action))
        after, reward, ended = advance(key_game, state.game, taken)
        state = ArcadeState(after, taken)
        return state, Step(look(state.game), reward, ended, {})

    def render(state: ArcadeState) -> np.ndarray:
        return paint_channels(np.asarray(look(state.game)))

    return Env(
        name=name,
        reset=reset,
        step=step,
        render=render,
        obs_shape=(screen.SIZE, screen.SIZE, len(game.channels)),
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
