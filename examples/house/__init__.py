"""A house seen from above: a television in one room, a closet without light, a way out at the end of a corridor.

cd examples
sadapt probe house-tv --import house
sadapt train house-tv --import house

Actions: stay, left, up, right, down. Whoever reaches the way out is paid 1 once. The screen's cells flip coins in every
step: in `house-tv` they are seen from its room, in `house-flicker` from everywhere but the closet, in `house` never. In
the closet nothing is seen. Channels: wall, agent, goal, screen; the marginal sees all but the walls. Counted: steps in
sight of the screen, steps in the dark.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import Env, Step
from sadapt.envs.base import Policy
from sadapt.envs.grid import next_cells
from sadapt.envs.tiles import paint
from sadapt.fields import Checked, Count
from sadapt.registry import register

PLAN = """
TTTTTT######
TTTTTT######
TTTTTT######
tttttt######
#####t######
:####.######
A...........
###########.
............
.###########
......G.....
###########.
............
"""
"""`#` wall, `T` screen, `t` where it is seen from, `:` the closet, `A` the agent's place, `G` the way out."""
CELLS = np.array([list(row) for row in PLAN.split()])
HEIGHT, WIDTH = CELLS.shape
WALL, SCREEN, DARK = np.isin(CELLS, ["#", "T"]), CELLS == "T", CELLS == ":"
NEXT = next_cells(WALL)
START, GOAL, SOFA = (int(np.flatnonzero(CELLS.ravel() == letter)[0]) for letter in "AGt")
CLOSET = int(np.flatnonzero(DARK.ravel())[0])


SEEN_FROM = {"house": np.zeros_like(DARK), "house-tv": CELLS == "t", "house-flicker": ~DARK}
"""Where the screen can be seen from, by the name of the world."""


@dataclass(frozen=True)
class HouseSettings(Checked):
    """The house."""

    horizon: Count = 100
    """Steps in an episode."""


class House(NamedTuple):
    """Where the agent is (cell number, row by row), whether it may still leave, and what the screen shows."""

    agent: jax.Array
    goal: jax.Array
    screen: jax.Array


def house(name: str, settings: HouseSettings = HouseSettings()) -> Env:
    """The house as a world."""
    seen_from = SEEN_FROM[name].ravel()
    goal_plane = (np.arange(HEIGHT * WIDTH) == GOAL).reshape(HEIGHT, WIDTH)

    def observe(world: House) -> jax.Array:
        agent = (jnp.arange(HEIGHT * WIDTH) == world.agent).reshape(HEIGHT, WIDTH)
        screen = world.screen & jnp.asarray(seen_from)[world.agent]
        planes = jnp.stack([jnp.asarray(WALL & ~SCREEN), agent, goal_plane & world.goal, screen], axis=-1)
        return (planes & ~jnp.asarray(DARK.ravel())[world.agent]).astype(jnp.uint8)

    def shown(key: jax.Array) -> jax.Array:
        return jax.random.bernoulli(key, 0.5, (HEIGHT, WIDTH)) & SCREEN

    def reset(key: jax.Array) -> tuple[House, jax.Array]:
        world = House(jnp.int32(START), jnp.asarray(True), shown(key))
        return world, observe(world)

    def step(key: jax.Array, world: House, action: jax.Array) -> tuple[House, Step]:
        agent = jnp.asarray(NEXT)[world.agent, action]
        out = world.goal & (agent == GOAL)
        world = House(agent, world.goal & ~out, shown(key))
        counters = {
            "watching": jnp.asarray(seen_from)[agent].astype(jnp.float32),
            "in_the_dark": jnp.asarray(DARK.ravel())[agent].astype(jnp.float32),
        }
        return world, Step(observe(world), out.astype(jnp.float32), jnp.zeros((), bool), counters)

    def render(world: House) -> np.ndarray:
        agent = (np.arange(HEIGHT * WIDTH) == int(world.agent)).reshape(HEIGHT, WIDTH)
        on = np.asarray(world.screen) & seen_from.any()
        layers = [(WALL & ~SCREEN, "wall"), (SCREEN, "well"), (on, "light"), (DARK, "well")]
        return paint([*layers, (goal_plane & bool(world.goal), "goal"), (agent, "agent")])

    return Env(
        name=name,
        reset=reset,
        step=step,
        render=render,
        obs_shape=(HEIGHT, WIDTH, 4),
        obs_dtype=np.uint8,
        channels=("wall", "agent", "goal", "screen"),
        actions=("stay", "left", "up", "right", "down"),
        horizon=settings.horizon,
        marginal_channels=(1, 2, 3),
        counters=("watching", "in_the_dark"),
        scripted={
            "still": going_to(START),
            "walker": walker,
            "to the television": going_to(SOFA),
            "to the closet": going_to(CLOSET),
            "to the way out": going_to(GOAL),
        },
        about="a house with a television, a dark closet and a way out",
    )


def going_to(place: int) -> Policy:
    """Takes a shortest way to a cell and stays there."""
    ways = np.zeros(HEIGHT * WIDTH, np.int32)
    known, queue = {place}, deque([place])
    while queue:
        cell = queue.popleft()
        for before, action in zip(*np.nonzero(cell == NEXT), strict=True):
            if before not in known and not WALL.ravel()[before]:
                known.add(int(before))
                queue.append(int(before))
                ways[before] = action
    return lambda key, world, theta: jnp.asarray(ways)[world.agent]


def walker(key: jax.Array, world: House, theta: jax.Array) -> jax.Array:
    """Goes on to the neighbouring cell, other than the closet, that it has been in least."""
    neighbours = jnp.asarray(NEXT)[world.agent]
    visits = jnp.ravel(theta[..., 0])[neighbours] + 1e-6 * jax.random.uniform(key, neighbours.shape)
    barred = (neighbours == world.agent) | jnp.asarray(DARK.ravel())[neighbours]
    return jnp.argmin(jnp.where(barred, jnp.inf, visits)).astype(jnp.int32)


for _name in SEEN_FROM:
    register("env", _name, house, settings=HouseSettings, fast_steps=1_000_000)
