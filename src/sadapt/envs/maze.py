"""Maze: static walls and one goal.

Actions: stay, left, up, right, down; walls and the map's edge block. Reaching the goal pays 1 once and removes it; the
episode goes on to the horizon. There is no chance in it. Channels: wall, agent, goal.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import scripted
from sadapt.envs.base import Env, Step
from sadapt.envs.grid import next_cells
from sadapt.envs.layout import Layout, chosen
from sadapt.envs.table import MAZE, MapSettings
from sadapt.envs.tiles import paint
from sadapt.registry import find

Array = jax.Array


class MazeState(NamedTuple):
    """Where the agent is (cell number, row by row) and whether the goal is still there."""

    agent: Array
    goal: Array


def maze(layout: Layout, *, name: str = "maze", horizon: int = 100) -> Env:
    """A maze with the walls, start and goal of `layout`."""
    height, width = layout.wall.shape
    assert layout.goal is not None, "a maze's layout has a goal"
    start, goal = (np.int32(row * width + column) for row, column in (layout.agent, layout.goal))
    table = next_cells(layout.wall)
    cells = np.arange(height * width, dtype=np.int32).reshape(height, width)
    nobody = np.zeros_like(layout.wall)
    without_goal = np.stack([layout.wall, nobody, nobody], axis=-1).astype(np.uint8)
    with_goal = np.stack([layout.wall, nobody, cells == goal], axis=-1).astype(np.uint8)

    def observe(state: MazeState) -> Array:
        scene = jnp.where(state.goal, with_goal, without_goal)
        return scene.at[state.agent // width, state.agent % width, 1].set(1)

    def reset(key: Array) -> tuple[MazeState, Array]:
        state = MazeState(jnp.asarray(start), jnp.asarray(True))
        return state, observe(state)

    def step(key: Array, state: MazeState, action: Array) -> tuple[MazeState, Step]:
        agent = jnp.asarray(table)[state.agent, action]
        reached = state.goal & (agent == goal)
        state = MazeState(agent, state.goal & ~reached)
        return state, Step(observe(state), reached.astype(jnp.float32), jnp.zeros((), bool), {})

    def render(state: MazeState) -> np.ndarray:
        goal_plane = (cells == goal) & bool(state.goal)
        layers = [(layout.wall, "wall"), (goal_plane, "goal"), (cells == int(state.agent), "agent")]
        return paint(layers, tile=16 if max(height, width) > 20 else 24)

    return Env(
        name=name,
        reset=reset,
        step=step,
        render=render,
        obs_shape=(height, width, 3),
        obs_dtype=np.uint8,
        channels=MAZE.channels,
        actions=MAZE.actions,
        horizon=horizon,
        marginal_channels=MAZE.marginal_channels,
        agent_channel=1,
        scripted=scripted.maze(layout),
        about=MAZE.about,
    )


def on_map(name: str, settings: MapSettings = MapSettings()) -> Env:
    """The world of the catalogue called `name`, on its own map or on the user's."""
    horizon = find("env", name).hints["horizon"]
    return maze(chosen(name, settings.layout, "maze"), name=name, horizon=horizon)
