"""Butterflies: a catcher and butterflies that flutter about.

Actions: stay, left, up, right, down; walls and the map's edge block the catcher. A butterfly in its cell is caught and
pays 1. Every third step each butterfly draws a direction; the four directions are resolved one after another (left, up,
right, down), and a butterfly moves if its target held no wall, butterfly or catcher when its direction's turn came.
The world ends when none is left. Channels: wall, butterfly, catcher; the marginal sees the first two.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import bitboard, scripted
from sadapt.envs.base import Env, Step
from sadapt.envs.grid import next_cells
from sadapt.envs.layout import Layout, chosen
from sadapt.envs.table import BUTTERFLIES, MapSettings
from sadapt.envs.tiles import paint
from sadapt.rarely import rarely
from sadapt.registry import find

Array = jax.Array
FLUTTER_EVERY = 3
CELLS_PER_WORD = 16
"""Two random bits are enough for a cell."""


class ButterfliesState(NamedTuple):
    """bool[H, W] of butterflies, the catcher's cell number (row by row), steps since the start."""

    butterflies: Array
    catcher: Array
    clock: Array


def draw(key: Array, shape: tuple[int, int]) -> Array:
    """uint8[H, W]: a direction for every cell, uniformly; 0 left, 1 up, 2 right, 3 down."""
    height, width = shape
    words = jax.random.bits(key, (height, -(-width // CELLS_PER_WORD)), jnp.uint32)
    halves = jax.lax.bitcast_convert_type(words, jnp.uint16)[..., None]
    bits = halves >> jnp.arange(CELLS_PER_WORD, dtype=jnp.uint16)[None, None, None] & 1
    low, high = (bits[:, :, half].reshape(height, -1)[:, :width].astype(jnp.uint8) for half in (0, 1))
    return low + 2 * high


def flutter(flying: Array, free: Array, low: Array, high: Array) -> Array:
    """Moves every butterfly in its cell's direction where the target is free; all arguments are bit boards."""
    groups = (flying & ~low & ~high, flying & low & ~high, flying & ~low & high, flying & low & high)
    ahead = (bitboard.left, bitboard.up, bitboard.right, bitboard.down)
    back = (bitboard.right, bitboard.down, bitboard.left, bitboard.up)
    for group, go, come in zip(groups, ahead, back, strict=True):
        moving = group & come(free & ~flying)
        flying = (flying & ~moving) | go(moving)
    return flying


def butterflies(layout: Layout, *, name: str = "butterflies", horizon: int = 100) -> Env:
    """A garden with the walls, catcher and butterflies of `layout`."""
    height, width = layout.wall.shape
    start = np.int32(layout.agent[0] * width + layout.agent[1])
    table = next_cells(layout.wall)
    cells = np.arange(height * width, dtype=np.int32).reshape(height, width)

    def observe(state: ButterfliesState) -> Array:
        planes = jnp.stack([jnp.asarray(layout.wall), state.butterflies, cells == state.catcher])
        return jnp.moveaxis(planes.astype(jnp.uint8), 0, -1)

    def reset(key: Array) -> tuple[ButterfliesState, Array]:
        state = ButterfliesState(jnp.asarray(layout.butterflies), jnp.asarray(start), jnp.zeros((), jnp.int32))
        return state, observe(state)

    def fluttered(key: Array, flying: Array, here: Array) -> Array:
        direction = draw(key, (height, width))
        free = bitboard.pack(jnp.asarray(~layout.wall)) & ~here
        return flutter(flying, free, bitboard.pack(direction & 1), bitboard.pack(direction >> 1))

    def step(key: Array, state: ButterfliesState, action: Array) -> tuple[ButterfliesState, Step]:
        catcher = jnp.asarray(table)[state.catcher, action]
        here = bitboard.single(catcher // width, catcher % width, (height, width))
        flying = bitboard.pack(state.butterflies)
        caught = jnp.any((flying & here) > 0)
        clock = state.clock + 1
        left = flying & ~here
        left = rarely(clock % FLUTTER_EVERY == 0, fluttered, left, key, left, here)
        state = ButterfliesState(bitboard.unpack(left, width), catcher, clock)
        return state, Step(observe(state), caught.astype(jnp.float32), ~jnp.any(left > 0), {})

    def render(state: ButterfliesState) -> np.ndarray:
        flying = np.asarray(state.butterflies)
        layers = [(layout.wall, "wall"), (flying, "butterfly"), (cells == int(state.catcher), "catcher")]
        return paint(layers, tile=16 if max(height, width) > 20 else 24)

    return Env(
        name=name,
        reset=reset,
        step=step,
        render=render,
        obs_shape=(height, width, 3),
        obs_dtype=np.uint8,
        channels=BUTTERFLIES.channels,
        actions=BUTTERFLIES.actions,
        horizon=horizon,
        marginal_channels=BUTTERFLIES.marginal_channels,
        agent_channel=2,
        runs_down=True,
        scripted=scripted.butterflies(layout),
        about=BUTTERFLIES.about,
    )


def on_map(name: str, settings: MapSettings = MapSettings()) -> Env:
    """The world of the catalogue called `name`, on its own map or on the user's."""
    horizon = find("env", name).hints["horizon"]
    return butterflies(chosen(name, settings.layout, "butterflies"), name=name, horizon=horizon)
