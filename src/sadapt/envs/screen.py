"""Screens of ten by ten cells, as MinAtar's games have them: a plane is uint32[10], a row each, a bit per column."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array
SIZE = 10
ROWS = np.arange(SIZE, dtype=np.int32)
COLUMNS = np.arange(SIZE, dtype=np.uint32)
NOTHING, FULL_ROW = np.uint32(0), np.uint32(2**SIZE - 1)


def bit(x: Array) -> Array:
    """The bits of columns."""
    return jnp.uint32(1) << x.astype(jnp.uint32)


def first(n: Array) -> Array:
    """A row with its first `n` cells set; none if `n` is negative."""
    return bit(jnp.maximum(n, 0)) - 1


def cell(x: Array, y: Array) -> Array:
    """A plane with one cell set."""
    return jnp.where(y == ROWS, bit(x), NOTHING)


def cells(shown: Array, x: Array, y: Array) -> Array:
    """A plane with a cell set for each of several things that is shown."""
    rows = jnp.where(y[:, None] == ROWS[None], jnp.where(shown, bit(x), NOTHING)[:, None], NOTHING)
    return jnp.bitwise_or.reduce(rows, axis=0)


def number(condition: Array) -> Array:
    """1 where it holds, else 0."""
    return condition.astype(jnp.int32)


def moved(x: Array, forward: Array, back: Array, low: int, high: int) -> Array:
    """A coordinate after a step forward, back or neither, kept within its bounds."""
    return jnp.clip(x + number(forward) - number(back), low, high)


def on_screen(x: Array) -> Array:
    """Which columns exist."""
    return (x >= 0) & (x < SIZE)


def meet(plane: Array, other: Array) -> Array:
    """Whether two planes have a cell in common."""
    return jnp.any((plane & other) > 0)


def count(plane: Array) -> Array:
    """How many cells of a plane are set."""
    return jnp.sum(jax.lax.population_count(plane)).astype(jnp.int32)


def picture(planes: Sequence[Array]) -> Array:
    """uint8[10, 10, planes] of zeros and ones."""
    words = jnp.stack(planes, axis=-1)
    return ((words[:, None] >> COLUMNS[None, :, None]) & 1).astype(jnp.uint8)
