"""MinAtar's Freeway: a chicken crosses eight lanes, each with one car; the other side pays 1.

Actions: no-op, up, down; the chicken can move every third step. A car sends it back to where it started. Whenever it
has crossed the road, it starts again and all cars get new speeds. Channels: chicken, car, and five for the cell behind
a car, one per speed (1 moves every second step, 5 every sixth). The game does not end.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import screen

Array = jax.Array
UP, DOWN = 1, 2
START, COLUMN = 9, 4
"""The row where the chicken starts, and the column where it walks."""

LANES, SPEEDS = 8, 5
LANE = np.arange(1, LANES + 1, dtype=np.int32)
"""The row of each lane."""

WALK_INTERVAL = 3


class Speeds(NamedTuple):
    """Where each lane's car drives to, and how many steps it rests in a cell."""

    right: Array
    interval: Array


class FreewayState(NamedTuple):
    """The chicken's row, the cars' columns and speeds, and clocks that run down."""

    y: Array
    walk_wait: Array
    cars: Array
    car_wait: Array
    speeds: Speeds


def draw(key: Array) -> Speeds:
    """Speeds 1 to 5 and sides, uniformly."""
    bits = jax.random.bits(key, (LANES,), jnp.uint16).astype(jnp.uint32)
    return Speeds((bits & 1) > 0, 1 + (((bits >> 1) * SPEEDS) >> 15).astype(jnp.int32))


def reset(key: Array) -> FreewayState:
    """All cars at the left edge."""
    speeds = draw(key)
    return FreewayState(
        jnp.int32(START), jnp.int32(WALK_INTERVAL), jnp.zeros(LANES, jnp.int32), speeds.interval, speeds
    )


def step(key: Array, state: FreewayState, action: Array) -> tuple[FreewayState, Array, Array]:
    """`(state, reward, ended)` after an action."""
    return rules(state, action, draw(key))


def rules(state: FreewayState, action: Array, chance: Speeds) -> tuple[FreewayState, Array, Array]:
    """One step: the chicken, then the cars; `chance` are the cars' speeds if it has crossed the road."""
    walks = (state.walk_wait == 0) & ((action == UP) | (action == DOWN))
    y = jnp.where(walks, jnp.clip(state.y + jnp.where(action == UP, -1, 1), 0, START), state.y)
    crossed = y == 0
    y = jnp.where(crossed, START, y)
    speeds = jax.tree.map(lambda new, old: jnp.where(crossed, new, old), chance, state.speeds)
    wait = jnp.where(crossed, speeds.interval, state.car_wait)
    cars = jnp.where(wait == 0, _beside(state.cars, speeds.right), state.cars)
    hit = jnp.any((y == LANE) & ((state.cars == COLUMN) | (cars == COLUMN)))
    state = FreewayState(
        y=jnp.where(hit, START, y),
        walk_wait=jnp.maximum(jnp.where(walks, WALK_INTERVAL, state.walk_wait) - 1, 0),
        cars=cars,
        car_wait=jnp.where(wait == 0, speeds.interval, wait - 1),
        speeds=speeds,
    )
    return state, crossed.astype(jnp.float32), jnp.bool_(False)


def observe(state: FreewayState) -> Array:
    """uint8[10, 10, 7]."""
    behind = screen.bit(_beside(state.cars, ~state.speeds.right))
    trails = [jnp.where(state.speeds.interval == speed, behind, screen.NOTHING) for speed in range(1, SPEEDS + 1)]
    lanes = [jnp.pad(plane, 1) for plane in (screen.bit(state.cars), *trails)]
    return screen.picture([screen.cell(jnp.int32(COLUMN), state.y), *lanes])


def _beside(cars: Array, right: Array) -> Array:
    """The columns to one side of cars; the road's ends meet."""
    return (cars + jnp.where(right, 1, -1)) % screen.SIZE
