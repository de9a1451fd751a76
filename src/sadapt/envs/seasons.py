"""Seasons: one garden, calm and wild by turns; nobody is told when that changes.

Actions: stay, left, up, right, down; walls and the map's edge block. In a calm season there is one goal. Reaching it
pays 1, and it moves on to another cell. In a wild season there is none, but a swarm of butterflies; one in the agent's
cell is caught. Every third step they flutter as in Butterflies, and each that moves on may leave a young one behind, as
long as there are not too many; where none is left, another flies in. Every step costs the share of those that the
garden can hold. The world never ends. Channels: wall, agent, goal, butterfly; the marginal sees all of them.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import bitboard, scripted
from sadapt.envs.base import Env, Step
from sadapt.envs.butterflies import FLUTTER_EVERY, flutter
from sadapt.envs.calendar import COUNTERS, Calendar, Seasons, held, seasons, tinted, told
from sadapt.envs.grid import next_cells
from sadapt.envs.layout import Layout, chosen, reachable
from sadapt.envs.table import SEASONS, SeasonMapSettings
from sadapt.envs.tiles import paint
from sadapt.errors import UserError
from sadapt.registry import find

Array = jax.Array
CALM, WILD = 0, 1
NAMES = ("calm", "wild")
SWARM, YOUNG = 4, 5
"""Coins that must all fall heads: for a butterfly in a cell when the wild season begins, and for a young one."""
CROWD = 4
"""The garden holds a butterfly for so many free cells."""
NOWHERE = -1
LIGHT = 1


class Chance(NamedTuple):
    """All that is drawn in a step; boards have a bit for every cell."""

    low: Array
    high: Array
    """Directions of the butterflies: 0 left, 1 up, 2 right, 3 down."""
    swarm: Array
    """Where butterflies would be if the wild season began now."""
    young: Array
    """Where a butterfly that moves on would leave a young one."""
    place: Array
    """uint32: which of the free cells is next for a goal, or for a butterfly that flies in."""


class SeasonsState(NamedTuple):
    """The calendar, the cell numbers of agent and goal (-1: none), bool[H, W] of butterflies, steps since a flutter."""

    calendar: Calendar
    agent: Array
    goal: Array
    butterflies: Array
    clock: Array

    @property
    def catcher(self) -> Array:
        """The agent, as it is called among butterflies."""
        return self.agent


def draw(key: Array, shape: tuple[int, int]) -> Chance:
    """Directions uniformly; a swarm in one of 2^SWARM cells, young in one of 2^YOUNG."""
    key_boards, key_place = jax.random.split(key)
    low, high, *coins = bitboard.draw(key_boards, 2 + max(SWARM, YOUNG), shape)
    swarm, young = (reduce(jnp.bitwise_and, coins[:n]) for n in (SWARM, YOUNG))
    return Chance(low, high, swarm, young, jax.random.bits(key_place, (), jnp.uint32))


def multiply(flying: Array, free: Array, chance: Chance, most: int) -> Array:
    """Butterflies after a flutter, and the young that some leave in the cells that they left; never beyond `most`."""
    moved = flutter(flying, free, chance.low, chance.high)
    born = flying & ~moved & chance.young
    return jnp.where(bitboard.count(moved | born) <= most, moved | born, moved)


def garden(layout: Layout, times: Seasons, *, name: str = "seasons", horizon: int = 500) -> Env:
    """A garden with the walls of `layout` and the seasons of `times`."""
    height, width = layout.wall.shape
    open_cells = reachable(layout.wall, layout.agent)
    spots = np.flatnonzero(open_cells).astype(np.int32)
    if len(spots) < 2:
        raise UserError(f"{layout.source} leaves the agent a single cell; a garden needs two for a goal to move on")
    most = max(1, len(spots) // CROWD)
    start = np.int32(layout.agent[0] * width + layout.agent[1])
    rank = np.searchsorted(spots, np.arange(height * width)).astype(np.int32)
    table = next_cells(layout.wall)
    cells = np.arange(height * width, dtype=np.int32).reshape(height, width)

    rows, columns = np.divmod(cells, np.int32(width))

    def board(cell: Array) -> Array:
        return bitboard.single(cell // width, cell % width, (height, width))

    def elsewhere(agent: Array, place: Array) -> Array:
        """Any free cell but the agent's."""
        beyond = (place % jnp.uint32(len(spots) - 1)).astype(jnp.int32)
        return jnp.asarray(spots)[(jnp.asarray(rank)[agent] + 1 + beyond) % len(spots)]

    def arrive(season: Array, agent: Array, chance: Chance) -> tuple[Array, Array]:
        """The goal and the butterflies with which a season begins."""
        wild = season == WILD
        swarm = chance.swarm & bitboard.pack(jnp.asarray(open_cells)) & ~board(agent)
        goal = jnp.where(wild, jnp.int32(NOWHERE), elsewhere(agent, chance.place))
        return goal, jnp.where(wild, swarm, jnp.uint32(0))

    def lit(goal: Array) -> Array:
        near = (jnp.abs(rows - goal // width) <= LIGHT) & (jnp.abs(columns - goal % width) <= LIGHT)
        return near & (goal >= 0)

    def observe(state: SeasonsState) -> Array:
        planes = [jnp.asarray(layout.wall), cells == state.agent, lit(state.goal), state.butterflies]
        return jnp.stack(planes, axis=-1).astype(jnp.uint8)

    def reset(key: Array) -> tuple[SeasonsState, Array]:
        key_season, key_chance = jax.random.split(key)
        calendar, agent = times.begin(key_season), jnp.asarray(start)
        goal, swarm = arrive(calendar.season, agent, draw(key_chance, (height, width)))
        state = SeasonsState(calendar, agent, goal, bitboard.unpack(swarm, width), jnp.zeros((), jnp.int32))
        return state, observe(state)

    def advance(
        state: SeasonsState, action: Array, calendar: Calendar, changed: Array, chance: Chance
    ) -> tuple[SeasonsState, Step]:
        wild = calendar.season == WILD
        fresh_goal, swarm = arrive(calendar.season, state.agent, chance)
        goal = jnp.where(changed, fresh_goal, state.goal)
        flying = jnp.where(changed, swarm, bitboard.pack(state.butterflies))
        agent = jnp.asarray(table)[state.agent, action]
        here, there = board(agent), elsewhere(agent, chance.place)
        reached, caught = agent == goal, jnp.any((flying & here) > 0)
        clock = (state.clock + 1) % FLUTTER_EVERY
        left = flying & ~here
        after = multiply(left, bitboard.pack(jnp.asarray(open_cells)) & ~here, chance, most)
        after = jnp.where(wild & ~jnp.any(after > 0), board(there), after)
        left = jnp.where(clock == 0, after, left)
        state = SeasonsState(
            calendar, agent, jnp.where(reached, there, goal), bitboard.unpack(left, width), clock
        )
        crowd = bitboard.count(left).astype(jnp.float32) / most
        counters = told(calendar, changed) | {"goals": reached.astype(jnp.int32), "caught": caught.astype(jnp.int32)}
        return state, Step(observe(state), reached.astype(jnp.float32) - crowd, jnp.zeros((), bool), counters)

    def step(key: Array, state: SeasonsState, action: Array) -> tuple[SeasonsState, Step]:
        key_season, key_chance = jax.random.split(key)
        calendar, changed = times.tick(key_season, state.calendar)
        return advance(state, action, calendar, changed, draw(key_chance, (height, width)))

    def render(state: SeasonsState) -> np.ndarray:
        who = "catcher" if int(state.calendar.season) == WILD else "agent"
        flying = np.asarray(state.butterflies)
        layers = [
            (layout.wall, "wall"),
            (cells == int(state.goal), "goal"),
            (flying, "butterfly"),
            (cells == int(state.agent), who),
        ]
        return tinted(paint(layers, tile=16 if max(height, width) > 20 else 24), state.calendar)

    return Env(
        name=name,
        reset=reset,
        step=step,
        render=render,
        obs_shape=(height, width, len(SEASONS.channels)),
        obs_dtype=np.uint8,
        channels=SEASONS.channels,
        actions=SEASONS.actions,
        horizon=horizon,
        marginal_channels=SEASONS.marginal_channels,
        agent_channel=1,
        counters=(*COUNTERS, "goals", "caught"),
        scripted=scripted.seasons(layout),
        about=SEASONS.about,
    )


def on_map(name: str, settings: SeasonMapSettings = SeasonMapSettings()) -> Env:
    """The world of the catalogue, on its own map or on the user's."""
    from dataclasses import replace

    layout, horizon = chosen(name, settings.layout, "seasons"), find("env", name).hints["horizon"]
    regimes = {each: garden(layout, held(n), name=f"{name}, {each}", horizon=horizon) for n, each in enumerate(NAMES)}
    return replace(garden(layout, seasons(settings), name=name, horizon=horizon), regimes=regimes)
