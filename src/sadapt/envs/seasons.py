"""Seasons: one garden, calm and wild by turns; nobody is told when that changes.

Actions: stay, left, up, right, down; walls and the map's edge block. In a calm season there is one goal, a lantern,
which blinks. Reaching it pays 1, and it moves on to another cell. In a wild season there is none, but a swarm of shy
butterflies; those in the agent's cell and around it are caught. Two steps after the agent has moved the others flutter
as in Butterflies, and one that moves on may leave a young one behind, as long as there are not too many; where none is
left, another flies in. While the agent stands still they sit. Every step costs the share that they have of those that
the garden holds. The world never ends. Channels: wall, agent, goal (the lantern and, every other step, the cells around
it, which it lights), butterfly; the marginal sees all of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
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
SWARM, YOUNG = 3, 8
"""Coins that must all fall heads: for a butterfly in a cell when the wild season begins, and for a young one."""
CROWD = 8
"""Free cells for each butterfly that the garden holds."""
REACH = 1
"""Cells in every direction that the lantern lights, and that the agent's net reaches."""
NOWHERE = -1
BLINK = 2
"""Steps from one light of the lantern to the next."""


class Ground(NamedTuple):
    """The part of a garden that never changes."""

    wall: np.ndarray
    open: np.ndarray
    """bool[H, W]: cells that can be walked to."""
    spots: np.ndarray
    """Their numbers, row by row."""
    rank: np.ndarray
    """Of every cell, how many of them come before it."""
    moves: np.ndarray
    start: np.int32
    most: int
    """Butterflies that there is room for."""


class Chance(NamedTuple):
    """All that is drawn in a step; boards have a bit for every cell."""

    low: Array
    high: Array
    """Directions of the butterflies: 0 left, 1 up, 2 right, 3 down."""
    swarm: Array
    """Where butterflies are if the wild season begins now."""
    young: Array
    """Where a butterfly that moves on leaves a young one."""
    place: Array
    """uint32: which of the free cells is next for a lantern, or for a butterfly that flies in."""


class SeasonsState(NamedTuple):
    """The calendar, the cell numbers of agent and goal (-1: none), bool[H, W] of butterflies, and a clock.

    It counts steps since the butterflies were stirred up (0: they sit), or since the lantern was lit.
    """

    calendar: Calendar
    agent: Array
    goal: Array
    butterflies: Array
    clock: Array

    @property
    def catcher(self) -> Array:
        """The agent, as it is called among butterflies."""
        return self.agent


def ground_of(layout: Layout) -> Ground:
    """What the rules need to know of a map."""
    free = reachable(layout.wall, layout.agent)
    spots = np.flatnonzero(free).astype(np.int32)
    if len(spots) < 2:
        raise UserError(f"{layout.source} leaves the agent a single cell; a moving goal needs a second one")
    return Ground(
        wall=layout.wall,
        open=free,
        spots=spots,
        rank=np.searchsorted(spots, np.arange(free.size)).astype(np.int32),
        moves=next_cells(layout.wall),
        start=np.int32(np.ravel_multi_index(layout.agent, free.shape)),
        most=max(1, len(spots) // CROWD),
    )


def draw(key: Array, shape: tuple[int, int]) -> Chance:
    """Directions uniformly; a swarm in one of 2^SWARM cells, young in one of 2^YOUNG."""
    key_boards, key_place = jax.random.split(key)
    low, high, *coins = bitboard.draw(key_boards, 2 + max(SWARM, YOUNG), shape)
    swarm, young = (reduce(jnp.bitwise_and, coins[:number]) for number in (SWARM, YOUNG))
    return Chance(low, high, swarm, young, jax.random.bits(key_place, (), jnp.uint32))


def elsewhere(ground: Ground, agent: Array, place: Array) -> Array:
    """Any free cell but the agent's."""
    beyond = (place % jnp.uint32(len(ground.spots) - 1)).astype(jnp.int32)
    return jnp.asarray(ground.spots)[(jnp.asarray(ground.rank)[agent] + 1 + beyond) % len(ground.spots)]


def board(ground: Ground, cell: Array) -> Array:
    """The board of one cell."""
    width = ground.wall.shape[1]
    return bitboard.single(cell // width, cell % width, ground.wall.shape)


def arrive(ground: Ground, season: Array, agent: Array, chance: Chance) -> tuple[Array, Array]:
    """The goal and the board of butterflies with which a season begins."""
    wild = season == WILD
    swarm = chance.swarm & bitboard.pack(jnp.asarray(ground.open)) & ~board(ground, agent)
    goal = jnp.where(wild, jnp.int32(NOWHERE), elsewhere(ground, agent, chance.place))
    return goal, jnp.where(wild, swarm, jnp.uint32(0))


def multiply(flying: Array, free: Array, chance: Chance, most: int) -> Array:
    """Butterflies after a flutter, with young in cells that some of them left; none are born beyond `most`."""
    moved = flutter(flying, free, chance.low, chance.high)
    born = flying & ~moved & chance.young
    return jnp.where(bitboard.count(moved | born) <= most, moved | born, moved)


def observe(ground: Ground, state: SeasonsState) -> Array:
    """uint8[H, W, 4]."""
    cells = np.arange(ground.wall.size, dtype=np.int32).reshape(ground.wall.shape)
    light = around(ground, state.goal) & ((state.clock == 0) | (cells == state.goal))
    planes = [jnp.asarray(ground.wall), cells == state.agent, light, state.butterflies]
    return jnp.stack(planes, axis=-1).astype(jnp.uint8)


def around(ground: Ground, cell: Array) -> Array:
    """bool[H, W]: a cell and those within reach of it; none of nowhere."""
    rows, columns = (axis.astype(np.int32) for axis in np.indices(ground.wall.shape))
    width = ground.wall.shape[1]
    near = (abs(rows - cell // width) <= REACH) & (abs(columns - cell % width) <= REACH)
    return near & (cell != NOWHERE)


def advance(
    ground: Ground, state: SeasonsState, action: Array, calendar: Calendar, changed: Array, chance: Chance
) -> tuple[SeasonsState, Step]:
    """One step in the season of `calendar`, which begins with it if `changed`."""
    fresh_goal, swarm = arrive(ground, calendar.season, state.agent, chance)
    goal = jnp.where(changed, fresh_goal, state.goal)
    flying = jnp.where(changed, swarm, bitboard.pack(state.butterflies))
    agent = jnp.asarray(ground.moves)[state.agent, action]
    here, there = board(ground, agent), elsewhere(ground, agent, chance.place)
    net = bitboard.pack(around(ground, agent))
    reached, caught = agent == goal, bitboard.count(flying & net)
    wild = calendar.season == WILD
    stirred = (agent != state.agent) | (state.clock > 0)
    clock = jnp.where(wild & ~stirred, 0, (state.clock + 1) % jnp.where(wild, FLUTTER_EVERY, BLINK))
    left = flying & ~net
    after = multiply(left, bitboard.pack(jnp.asarray(ground.open)) & ~here, chance, ground.most)
    gone = wild & ~jnp.any(after > 0)
    left = jnp.where(stirred & (clock == 0), jnp.where(gone, board(ground, there), after), left)
    crowd = bitboard.count(left).astype(jnp.float32) / ground.most
    goal, butterflies = jnp.where(reached, there, goal), bitboard.unpack(left, ground.wall.shape[1])
    state = SeasonsState(calendar, agent, goal, butterflies, clock)
    counters = told(calendar, changed) | {"goals": reached.astype(jnp.int32), "caught": caught}
    reward = reached.astype(jnp.float32) - crowd
    return state, Step(observe(ground, state), reward, jnp.zeros((), bool), counters)


def picture(ground: Ground, state: SeasonsState) -> np.ndarray:
    """The garden in the season's light."""
    cells = np.arange(ground.wall.size).reshape(ground.wall.shape)
    layers = [
        (ground.wall, "wall"),
        (np.asarray(around(ground, state.goal)), "light"),
        (cells == int(state.goal), "goal"),
        (np.asarray(state.butterflies), "butterfly"),
        (cells == int(state.agent), "catcher" if int(state.calendar.season) == WILD else "agent"),
    ]
    return tinted(paint(layers, tile=16 if max(ground.wall.shape) > 20 else 24), state.calendar)


def garden(layout: Layout, times: Seasons, *, name: str = "seasons", horizon: int = 500) -> Env:
    """A garden with the walls of `layout`, in the seasons of `times`."""
    ground = ground_of(layout)

    def begun(key: Array, calendar: Calendar) -> tuple[SeasonsState, Array]:
        agent = jnp.asarray(ground.start)
        goal, swarm = arrive(ground, calendar.season, agent, draw(key, ground.wall.shape))
        butterflies = bitboard.unpack(swarm, ground.wall.shape[1])
        state = SeasonsState(calendar, agent, goal, butterflies, jnp.zeros((), jnp.int32))
        return state, observe(ground, state)

    def reset(key: Array, group: Array | None = None) -> tuple[SeasonsState, Array]:
        key_season, key_chance = jax.random.split(key)
        return begun(key_chance, times.begin(key_season, group))

    def step(key: Array, state: SeasonsState, action: Array) -> tuple[SeasonsState, Step]:
        key_season, key_chance = jax.random.split(key)
        calendar, changed = times.tick(key_season, state.calendar)
        return advance(ground, state, action, calendar, changed, draw(key_chance, ground.wall.shape))

    return Env(
        name=name,
        reset=reset,
        step=step,
        render=partial(picture, ground),
        obs_shape=(*ground.wall.shape, len(SEASONS.channels)),
        obs_dtype=np.uint8,
        channels=SEASONS.channels,
        actions=SEASONS.actions,
        horizon=horizon,
        marginal_channels=SEASONS.marginal_channels,
        agent_channel=SEASONS.channels.index("agent"),
        counters=(*COUNTERS, "goals", "caught"),
        scripted=scripted.seasons(layout),
        about=SEASONS.about,
        reset_in=reset,
        reset_on=lambda key, state: begun(key, state.calendar),
    )


def on_map(name: str, settings: SeasonMapSettings = SeasonMapSettings()) -> Env:
    """The world of the catalogue, on its own map or on the user's."""
    layout, horizon = chosen(name, settings.layout, "seasons"), find("env", name).hints["horizon"]
    one = partial(garden, layout, horizon=horizon)
    regimes = {season: one(held(number), name=f"{name}, {season}") for number, season in enumerate(NAMES)}
    alone = None if settings.calendar is None else one(seasons(replace(settings, calendar=None)), name=name)
    return replace(one(seasons(settings), name=name), regimes=regimes, alone=alone)
