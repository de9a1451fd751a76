"""MinAtar's Asterix: gold and enemies drift across eight lanes; gold pays 1, an enemy ends the game.

Actions: no-op, left, up, right, down. Channels: player, enemy, trail (behind everything that drifts), gold. At most one
thing is in a lane; the lane of a new one is drawn from those that are free. Every 102 steps things begin to come more
often, and every second time they also begin to drift faster.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import screen
from sadapt.envs.screen import number

Array = jax.Array
LEFT, UP, RIGHT, DOWN = 1, 2, 3, 4
LANES = 8
LANE = np.arange(1, LANES + 1, dtype=np.int32)
"""The row of each lane."""

SPAWN_INTERVAL, MOVE_INTERVAL, RAMP_INTERVAL = 10, 5, 100
LOT_BITS = 24


class Things(NamedTuple):
    """What drifts in each of the lanes, if anything."""

    there: Array
    x: Array
    right: Array
    gold: Array


class AsterixState(NamedTuple):
    """The player's place, the lanes, and clocks that run down."""

    x: Array
    y: Array
    things: Things
    spawn_wait: Array
    move_wait: Array
    ramp_wait: Array
    spawn_interval: Array
    move_interval: Array
    ramps: Array


class Chance(NamedTuple):
    """What would come next, were it time; `lot` of 2**24 lots decides among the free lanes."""

    right: Array
    gold: Array
    lot: Array


def draw(key: Array) -> Chance:
    """Sides and lots uniformly; one thing in three is gold."""
    few, many = jax.random.bits(key, (2,), jnp.uint32)
    return Chance((few & 1) > 0, many < np.uint32(2**32 // 3), few >> (32 - LOT_BITS))


def reset(key: Array) -> AsterixState:
    """The player in the middle of empty lanes."""
    nothing = jnp.zeros(LANES, bool)
    return AsterixState(
        x=jnp.int32(5),
        y=jnp.int32(5),
        things=Things(nothing, jnp.zeros(LANES, jnp.int32), nothing, nothing),
        spawn_wait=jnp.int32(SPAWN_INTERVAL),
        move_wait=jnp.int32(MOVE_INTERVAL),
        ramp_wait=jnp.int32(RAMP_INTERVAL),
        spawn_interval=jnp.int32(SPAWN_INTERVAL),
        move_interval=jnp.int32(MOVE_INTERVAL),
        ramps=jnp.int32(0),
    )


def step(key: Array, state: AsterixState, action: Array) -> tuple[AsterixState, Array, Array]:
    """`(state, reward, ended)` after an action."""
    return rules(state, action, draw(key))


def rules(state: AsterixState, action: Array, chance: Chance) -> tuple[AsterixState, Array, Array]:
    """One step: the player, something new, what drifts, clocks; chance counts only if it is time for something new."""
    spawns, moves = state.spawn_wait == 0, state.move_wait == 0
    state = state._replace(
        x=screen.moved(state.x, action == RIGHT, action == LEFT, 0, screen.SIZE - 1),
        y=screen.moved(state.y, action == DOWN, action == UP, 1, LANES),
    )
    things, collected, caught = _meet(state, _spawn(state.things, chance, spawns))
    things, collected_later, caught_later = _meet(state, _drift(things, moves))
    state = state._replace(
        things=things,
        spawn_wait=jnp.where(spawns, state.spawn_interval, state.spawn_wait) - 1,
        move_wait=jnp.where(moves, state.move_interval, state.move_wait) - 1,
    )
    return _ramp(state), (collected + collected_later).astype(jnp.float32), caught | caught_later


def observe(state: AsterixState) -> Array:
    """uint8[10, 10, 4]."""
    things = state.things
    body = jnp.where(things.there, screen.bit(things.x), screen.NOTHING)
    trail = jnp.where(things.right, body >> 1, body << 1)
    enemy, gold = (jnp.where(things.gold == golden, body, screen.NOTHING) for golden in (False, True))
    return screen.picture([screen.cell(state.x, state.y), *(jnp.pad(plane, 1) for plane in (enemy, trail, gold))])


def _spawn(things: Things, chance: Chance, when: Array) -> Things:
    """Something new in a free lane, if it is time and there is one."""
    free = ~things.there
    count = jnp.sum(free, dtype=jnp.uint32)
    rank = (chance.lot * count) >> LOT_BITS
    new = when & free & (jnp.cumsum(free, dtype=jnp.uint32) == rank + 1)
    return Things(
        there=things.there | new,
        x=jnp.where(new, jnp.where(chance.right, 0, screen.SIZE - 1), things.x),
        right=jnp.where(new, chance.right, things.right),
        gold=jnp.where(new, chance.gold, things.gold),
    )


def _drift(things: Things, when: Array) -> Things:
    x = things.x + jnp.where(when, jnp.where(things.right, 1, -1), 0)
    return things._replace(x=x, there=things.there & screen.on_screen(x))


def _meet(state: AsterixState, things: Things) -> tuple[Things, Array, Array]:
    """Takes the gold where the player is: `(things, gold, whether an enemy is there)`."""
    met = things.there & (things.x == state.x) & (state.y == LANE)
    taken = met & things.gold
    return things._replace(there=things.there & ~taken), jnp.sum(taken), jnp.any(met & ~things.gold)


def _ramp(state: AsterixState) -> AsterixState:
    """Makes the game harder when its clock has run out, as long as it can get harder."""
    can_spawn_faster, can_move_faster = state.spawn_interval > 1, state.move_interval > 1
    running = can_spawn_faster | can_move_faster
    now = running & (state.ramp_wait < 0)
    return state._replace(
        ramp_wait=jnp.where(now, RAMP_INTERVAL, state.ramp_wait - number(running)),
        spawn_interval=state.spawn_interval - number(now & can_spawn_faster),
        move_interval=state.move_interval - number(now & can_move_faster & (state.ramps % 2 == 1)),
        ramps=state.ramps + number(now),
    )
