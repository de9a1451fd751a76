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
from sadapt.envs.tiles import paint

Array = jax.Array
HEIGHT, WIDTH, ACTIONS = 10, 4, 12
BAR, CORNER = 0, 1
LOSS = -100.0


class TetrisState(NamedTuple):
    """bool[10, 4] of filled cells, and the piece to be placed."""

    board: Array
    piece: Array


def draw(key: Array) -> Array:
    """A piece, uniformly."""
    return jax.random.randint(key, (), 0, 2)


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


def _drops() -> np.ndarray:
    """bool[piece, action, drop, 10, 4]: every piece at every depth; below the floor it is marked impossible."""
    drops = np.zeros((2, ACTIONS, HEIGHT, HEIGHT, WIDTH), bool)
    for piece in (BAR, CORNER):
        for action in range(ACTIONS):
            tall = int(SHAPES[piece, action].any(axis=1).sum())
            for depth in range(HEIGHT - tall + 1):
                drops[piece, action, depth] = np.roll(SHAPES[piece, action], depth, axis=0)
    return drops


DROPS = _drops()


def place(board: Array, piece: Array, action: Array) -> tuple[Array, Array, Array]:
    """The board after a placement, rows cleared, and whether the piece did not fit."""
    drops = jnp.asarray(DROPS)[piece, action]
    free = jnp.any(drops, axis=(1, 2)) & ~jnp.any(drops & board[None], axis=(1, 2))
    reached = jnp.cumprod(free.astype(jnp.int32))
    lost = reached[0] == 0
    depth = jnp.maximum(jnp.sum(reached) - 1, 0)
    placed = board | (drops[depth] & ~lost)
    full = jnp.all(placed, axis=1)
    order = jnp.argsort(~full, stable=True)
    cleared = jnp.where(jnp.arange(HEIGHT)[:, None] < jnp.sum(full), False, placed[order])
    return cleared, jnp.sum(full).astype(jnp.int32), lost


def tetris(*, name: str = "tetris", horizon: int = 200) -> Env:
    """The well."""

    def observe(state: TetrisState) -> Array:
        return jnp.stack([state.board, jnp.asarray(PREVIEW)[state.piece]], axis=-1).astype(jnp.uint8)

    def reset(key: Array) -> tuple[TetrisState, Array]:
        state = TetrisState(jnp.zeros((HEIGHT, WIDTH), bool), draw(key))
        return state, observe(state)

    def rules(state: TetrisState, action: Array, piece: Array) -> tuple[TetrisState, Step]:
        board, rows, lost = place(state.board, state.piece, action)
        state = TetrisState(board, piece)
        reward = jnp.where(lost, jnp.float32(LOSS), jnp.float32(0))
        return state, Step(observe(state), reward, lost, {"rows": rows})

    def step(key: Array, state: TetrisState, action: Array) -> tuple[TetrisState, Step]:
        return rules(state, action, draw(key))

    def render(state: TetrisState) -> np.ndarray:
        strip = np.zeros((3, WIDTH), bool)
        ghost = np.concatenate([PREVIEW[int(state.piece)][:3], np.zeros((HEIGHT, WIDTH), bool)])
        return paint([(np.concatenate([strip, np.asarray(state.board)]), "block"), (ghost, "ghost")], floor="well")

    names = tuple(f"rotation {a // 3}, column {a % 3}" for a in range(ACTIONS))
    return Env(
        name=name,
        reset=reset,
        step=step,
        render=render,
        obs_shape=(HEIGHT, WIDTH, 2),
        obs_dtype=np.uint8,
        channels=("board", "piece"),
        actions=names,
        horizon=horizon,
        marginal_channels=(0,),
        on_death="shock",
        counters=("rows",),
        scripted=scripted.tetris(place),
        about="keep a small well from filling up",
    )
