"""Planes of bits, a row in words of 32 cells: what moves over a whole map at once moves in a few instructions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array
WORD = 32


def words(width: int) -> int:
    """Words per row."""
    return -(-width // WORD)


def pack(plane: Array) -> Array:
    """bool[H, W] -> uint32[H, words]; cell c of a row is bit c % 32 of word c // 32."""
    bits = plane.astype(jnp.uint32)
    places = np.arange(plane.shape[1], dtype=np.uint32)[None] % WORD
    parts = [
        jnp.sum(bits[:, at : at + WORD] << jnp.asarray(places[:, at : at + WORD]), axis=1, dtype=jnp.uint32)
        for at in range(0, plane.shape[1], WORD)
    ]
    return jnp.stack(parts, axis=1)


def draw(key: Array, boards: int, shape: tuple[int, int]) -> Array:
    """uint32[boards, H, words]: every cell set with probability 1/2; bits beyond the map's width may be set too."""
    height, width = shape
    half = width <= WORD // 2
    bits = jax.random.bits(key, (boards, height, words(width)), jnp.uint16 if half else jnp.uint32)
    return bits.astype(jnp.uint32)


def count(board: Array) -> Array:
    """int32: cells that are set."""
    return jnp.sum(jax.lax.population_count(board), dtype=jnp.uint32).astype(jnp.int32)


def single(row: Array, column: Array, shape: tuple[int, int]) -> Array:
    """The board with one cell set."""
    rows, columns = np.arange(shape[0])[:, None], np.arange(words(shape[1]))[None]
    here = (rows == row) & (columns == column // WORD)
    return jnp.where(here, jnp.uint32(1) << (column % WORD).astype(jnp.uint32), jnp.uint32(0))


def unpack(board: Array, width: int) -> Array:
    """uint32[H, words] -> bool[H, W]."""
    used = min(width, WORD)
    bits = (board[:, :, None] >> jnp.arange(used, dtype=jnp.uint32)[None, None]) & 1
    return bits.reshape(board.shape[0], -1)[:, :width].astype(bool)


def left(board: Array) -> Array:
    """Every cell moved one column to the left; what leaves the map is gone."""
    moved = board >> 1
    return moved if board.shape[1] == 1 else moved | jnp.pad(board[:, 1:], ((0, 0), (0, 1))) << 31


def right(board: Array) -> Array:
    """One column to the right; may fill bits beyond the map's width."""
    moved = board << 1
    return moved if board.shape[1] == 1 else moved | jnp.pad(board[:, :-1], ((0, 0), (1, 0))) >> 31


def up(board: Array) -> Array:
    """One row up."""
    return jnp.pad(board[1:], ((0, 1), (0, 0)))


def down(board: Array) -> Array:
    """One row down."""
    return jnp.pad(board[:-1], ((1, 0), (0, 0)))
