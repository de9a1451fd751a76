"""Tetris, small: a well 4 wide and 10 high, two pieces of three cells (bar and corner).

Twelve actions: the bar takes them modulo 6 (two horizontal placements, then four vertical), the corner as
rotation * 3 + column. A piece drops straight down; full rows vanish; one that does not fit at the top loses: -100.
Channels: board, piece (drawn at the top left); the marginal sees the board.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import scripted
from sadapt.envs.base import Env, Step
from sadapt.envs.table import TETRIS, WorldSettings
from sadapt.envs.tiles import paint

Array = jax.Array
HEIGHT, WIDTH, ACTIONS = 10, 4, 12
HEIGHTS = np.arange(HEIGHT, dtype=np.int32)
BAR, CORNER = 0, 1
LOSS = -100.0


class TetrisState(NamedTuple):
    """bool[10, 4] of filled cells, and the piece to be placed."""

    board: Array
    piece: Array


def draw(key: Array) -> Array:
    """A piece, uniformly."""
    return (jax.random.bits(key) & 1).astype(jnp.int32)


def shape_of(piece: int, action: int) -> np.ndarray:
    """bool[10, 4]: the cells of a piece as it enters at the top."""
    cells = np.zeros((HEIGHT, WIDTH), bool)
    if piece == BAR:
        placement = action % 6
        if placement < 2:
            cells[0, placement : placement + 3] = True
        else:
            cells[:3, placement - 2] = True
        return cells
    rotation, column = divmod(action, 3)
    box = np.ones((2, 2), bool)
    box[((0, 1), (1, 1), (1, 0), (0, 0))[rotation]] = False
    cells[:2, column : column + 2] = box
    return cells


SHAPES = np.stack([np.stack([shape_of(piece, action) for action in range(ACTIONS)]) for piece in (BAR, CORNER)])
PREVIEW = np.zeros((2, HEIGHT, WIDTH), bool)
PREVIEW[BAR, 0, :3] = True
PREVIEW[CORNER, [0, 1, 1], [0, 0, 1]] = True


COLUMN = 2 ** np.arange(WIDTH, dtype=np.uint32)
"""A row as one number: the value of a filled cell in each column."""
FULL = int(COLUMN.sum())
PIECE_ROWS = (SHAPES[:, :, :3] @ COLUMN).astype(np.uint32)
"""uint32[piece, action, 3]: the top rows of `SHAPES`, as numbers."""


def place(board: Array, piece: Array, action: Array) -> tuple[Array, Array, Array]:
    """The board after a placement, rows cleared, and whether the piece did not fit."""
    rows = jnp.sum(board.astype(jnp.uint32) * COLUMN[None], axis=1, dtype=jnp.uint32)
    cells = jnp.asarray(PIECE_ROWS)[piece, action]
    depth = _depth(rows, cells)
    lost = depth < 0
    for row in range(3):
        rows |= jnp.where(~lost & (depth + row == HEIGHTS), cells[row], jnp.uint32(0))
    cleared = jnp.sum(rows == FULL, dtype=jnp.int32)
    for _ in range(3):
        rows = _without_lowest_full(rows)
    return (rows[:, None] & COLUMN[None]) > 0, cleared, lost


def _depth(rows: Array, cells: Array) -> Array:
    """How far a piece falls: one less than the first depth at which it overlaps, so -1 if it does not fit at all."""
    ground = jnp.pad(rows, (0, 3), constant_values=FULL)
    overlaps = [(ground[row : row + HEIGHT + 1] & cells[row]) > 0 for row in range(3)]
    return jnp.argmax(overlaps[0] | overlaps[1] | overlaps[2]).astype(jnp.int32) - 1


def _without_lowest_full(rows: Array) -> Array:
    """Takes the lowest full row out, if there is one; what is above moves down."""
    lowest = jnp.max(jnp.where(rows == FULL, HEIGHTS, -1))
    return jnp.where(lowest >= HEIGHTS, jnp.pad(rows[:-1], (1, 0)), rows)


def tetris(*, name: str = "tetris", horizon: int = 200) -> Env:
    """The well."""

    def observe(state: TetrisState) -> Array:
        return jnp.stack([state.board, jnp.asarray(PREVIEW)[state.piece]], axis=-1).astype(jnp.uint8)

    def reset(key: Array) -> tuple[TetrisState, Array]:
        state = TetrisState(jnp.zeros((HEIGHT, WIDTH), bool), draw(key))
        return state, observe(state)

    def advance(state: TetrisState, action: Array, piece: Array) -> tuple[TetrisState, Step]:
        board, rows, lost = place(state.board, state.piece, action)
        state = TetrisState(board, piece)
        reward = jnp.where(lost, jnp.float32(LOSS), jnp.float32(0))
        return state, Step(observe(state), reward, lost, {"rows": rows})

    def step(key: Array, state: TetrisState, action: Array) -> tuple[TetrisState, Step]:
        return advance(state, action, draw(key))

    def render(state: TetrisState) -> np.ndarray:
        strip = np.zeros((3, WIDTH), bool)
        ghost = np.concatenate([PREVIEW[int(state.piece)][:3], np.zeros((HEIGHT, WIDTH), bool)])
        return paint([(np.concatenate([strip, np.asarray(state.board)]), "block"), (ghost, "ghost")], floor="well")

    return Env(
        name=name,
        reset=reset,
        step=step,
        render=render,
        obs_shape=(HEIGHT, WIDTH, 2),
        obs_dtype=np.uint8,
        channels=TETRIS.channels,
        actions=TETRIS.actions,
        horizon=horizon,
        marginal_channels=TETRIS.marginal_channels,
        on_death="shock",
        counters=("rows",),
        scripted=scripted.tetris(place),
        about=TETRIS.about,
    )


def well(name: str, settings: WorldSettings = WorldSettings()) -> Env:
    """The world of the catalogue."""
    return tetris(name=name)
