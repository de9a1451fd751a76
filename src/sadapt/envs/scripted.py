"""Hand-written policies: how far a world's entropy can be pushed, up and down, by one who knows its rules.

Each is `(key, world state, theta) -> action` for one world; theta are the means of the observations so far, over the
channels that the marginal sees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from sadapt.envs.base import Policy, State
from sadapt.envs.grid import next_cells
from sadapt.envs.layout import Layout

Array = jax.Array
Place = Callable[[Array, Array, Array], tuple[Array, Array, Array]]
"""The rules of a placement: `place(board, piece, action) -> (board, rows cleared, lost)`."""

MAZE_AGENT, TETRIS_BOARD = 1, 0
"""Channels of theta that the policies read."""

HOLE, STEP = 4, 1
"""What a buried cell and a step between neighbouring columns cost the tidy player, in cells of height."""


def maze(layout: Layout) -> dict[str, Policy]:
    """`still` never moves; `walker` always goes on to the neighbouring cell that it has visited least."""
    table = next_cells(layout.wall)

    def walker(key: Array, world: State, theta: Array) -> Array:
        neighbours = jnp.asarray(table)[world.agent]
        visits = jnp.ravel(theta[..., MAZE_AGENT])[neighbours]
        return _cheapest(key, jnp.where(neighbours == world.agent, jnp.inf, visits))

    return {"still": _still, "walker": walker}


def butterflies(layout: Layout) -> dict[str, Policy]:
    """`still` never moves; `chaser` takes a shortest way to the nearest butterfly; `avoider` strolls past them all."""
    table = next_cells(layout.wall)

    def chaser(key: Array, world: State, theta: Array) -> Array:
        neighbours = jnp.asarray(table)[world.catcher]

        def reached(wave: Array) -> Array:
            return jnp.ravel(wave)[neighbours] & (neighbours != world.catcher)

        def goes_on(front: tuple[Array, Array]) -> Array:
            before, wave = front
            return jnp.any(before != wave) & ~jnp.any(reached(wave))

        def spread(front: tuple[Array, Array]) -> tuple[Array, Array]:
            _, wave = front
            return wave, _grown(wave) & ~layout.wall

        nowhere = jnp.zeros_like(world.butterflies)
        _, wave = jax.lax.while_loop(goes_on, spread, (nowhere, world.butterflies))
        return _one_of(key, reached(wave))

    def avoider(key: Array, world: State, theta: Array) -> Array:
        neighbours = jnp.asarray(table)[world.catcher]
        safe = (neighbours != world.catcher) & ~jnp.ravel(world.butterflies)[neighbours]
        return _one_of(key, safe)

    return {"still": _still, "chaser": chaser, "avoider": avoider}


def seasons(layout: Layout) -> dict[str, Policy]:
    """The maze's and the butterflies'; `gardener`, who is told the season, walks while it is calm and else is still."""
    walker = maze(layout)["walker"]

    def gardener(key: Array, world: State, theta: Array) -> Array:
        calm = world.calendar.season == 0
        return jnp.where(calm, walker(key, world, theta), _still(key, world, theta))

    return {"still": _still, "walker": walker, **butterflies(layout), "gardener": gardener}


def tetris(place: Place, actions: int = 12) -> dict[str, Policy]:
    """Both look one placement ahead: `tidy` keeps the pile low, flat and solid; `messy` fills what was mostly empty."""

    def outcomes(world: State) -> tuple[Array, Array]:
        every = jax.vmap(place, in_axes=(None, None, 0))
        boards, _, lost = every(world.board, world.piece, jnp.arange(actions))
        return boards, lost

    def tidy(key: Array, world: State, theta: Array) -> Array:
        boards, lost = outcomes(world)
        return _cheapest(key, jnp.where(lost, jnp.inf, jax.vmap(_untidiness)(boards)))

    def messy(key: Array, world: State, theta: Array) -> Array:
        boards, lost = outcomes(world)
        mostly_full = 2 * theta[..., TETRIS_BOARD] - 1
        return _cheapest(key, jnp.where(lost, jnp.inf, jnp.tensordot(boards.astype(theta.dtype), mostly_full, 2)))

    return {"tidy": tidy, "messy": messy}


def arcade(actions: Sequence[str]) -> dict[str, Policy]:
    """Each holds one direction for ever: `still` none, the others as they are called, as far as the game has them."""
    held = {name: _always(actions.index(name)) for name in ("left", "up") if name in actions}
    return {"still": _still, **held}


def _always(action: int) -> Policy:
    return lambda key, world, theta: jnp.full((), action, jnp.int32)


def _still(key: Array, world: State, theta: Array) -> Array:
    return jnp.zeros((), jnp.int32)


def _one_of(key: Array, allowed: Array) -> Array:
    """An action drawn from those allowed; the first of all where none is."""
    lots = jax.random.uniform(key, allowed.shape)
    return jnp.argmax(jnp.where(allowed, lots, -1.0)).astype(jnp.int32)


def _cheapest(key: Array, cost: Array) -> Array:
    """An action of least cost, ties by lot; the first of all where every cost is infinite."""
    return _one_of(key, (cost == jnp.min(cost)) & jnp.isfinite(cost))


def _grown(plane: Array) -> Array:
    """The cells of a plane and their four neighbours."""
    rows, columns = jnp.pad(plane, ((1, 1), (0, 0))), jnp.pad(plane, ((0, 0), (1, 1)))
    return plane | rows[:-2] | rows[2:] | columns[:, :-2] | columns[:, 2:]


def _untidiness(board: Array) -> Array:
    """sum of heights + HOLE * cells buried below others + STEP * steps between neighbouring columns."""
    covered = jnp.cumsum(board, axis=0) > 0
    heights = jnp.sum(covered, axis=0)
    holes = jnp.sum(covered & ~board)
    untidiness = jnp.sum(heights) + HOLE * holes + STEP * jnp.sum(jnp.abs(jnp.diff(heights)))
    return untidiness.astype(jnp.float32)
