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
from sadapt.envs.table import MINATAR, WorldSettings
from sadapt.envs.tiles import paint_channels

Array = jax.Array
STICKY = 0.1
"""How often an action is replaced by the one before it."""


RULES: dict[str, ModuleType] = {
    "asterix": asterix,
    "breakout": breakout,
    "freeway": freeway,
    "seaquest": seaquest,
    "space-invaders": space_invaders,
}
"""Each game's rules: `reset(key) -> state`, `step(key, state, action) -> (state, reward, ended)`, `observe(state)`."""
AGENT = 0
"""The channel of the player, in every game."""


class ArcadeState(NamedTuple):
    """The game's own state and the action that it was last given."""

    game: Any
    last_action: Array


def minatar(*, name: str, horizon: int = 500) -> Env:
    """The MinAtar game called `name`.

    A lost game begins anew while the episode goes on (`on_death="soft"`): entropies of episodes can only be compared if
    all of them are equally long, and a random agent loses most of these games within a hundred steps.
    """
    title = name.removeprefix("minatar-")
    game, rules = MINATAR[title], RULES[title]
    begin, advance, look = map(jax.jit, (rules.reset, rules.step, rules.observe))

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
        marginal_channels=game.marginal_channels,
        agent_channel=AGENT,
        on_death="soft",
        scripted=scripted.arcade(game.actions),
        about=game.about,
    )


def arcade(name: str, settings: WorldSettings = WorldSettings()) -> Env:
    """The game of the catalogue called `name`."""
    return minatar(name=name)
