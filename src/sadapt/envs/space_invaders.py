"""MinAtar's Space Invaders: a cannon shoots at four rows of aliens, which come down and shoot back; an alien pays 1.

Actions: no-op, left, right, fire. Aliens move to one side, and at the edge down and the other way, the faster the fewer
there are; the one nearest to the cannon's column shoots. A shot or an alien in the cannon's cell ends the game, and so
does an alien that would move below the ground. A new and faster wave follows the last alien. Channels: cannon, alien,
alien left and alien right (the way that all of them move), bullet, alien bullet.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import screen
from sadapt.envs.screen import number

Array = jax.Array
LEFT, RIGHT, FIRE = 1, 2, 3
GROUND = 9
RELOAD, SHOT_INTERVAL = 5, 10
SLOWEST, FASTEST = 12, 6
"""Steps that a whole wave rests, the first wave and the later ones."""

WAVE = np.where(screen.ROWS < 4, np.uint32(0b0011111100), screen.NOTHING)
EDGES = np.uint32(1), np.uint32(1 << (screen.SIZE - 1))
"""The first and the last column."""


class InvadersState(NamedTuple):
    """The cannon's column, three planes, and clocks that run down."""

    x: Array
    aliens: Array
    bullets: Array
    shots: Array
    right: Array
    reload: Array
    move_wait: Array
    shot_wait: Array
    move_interval: Array


def reset(key: Array) -> InvadersState:
    """The first wave."""
    nothing = jnp.zeros(screen.SIZE, jnp.uint32)
    return InvadersState(
        x=jnp.int32(5),
        aliens=jnp.asarray(WAVE),
        bullets=nothing,
        shots=nothing,
        right=jnp.bool_(False),
        reload=jnp.int32(0),
        move_wait=jnp.int32(SLOWEST),
        shot_wait=jnp.int32(SHOT_INTERVAL),
        move_interval=jnp.int32(SLOWEST),
    )


def step(key: Array, state: InvadersState, action: Array) -> tuple[InvadersState, Array, Array]:
    """`(state, reward, ended)` after an action; there is no chance in it."""
    state, hit = _fly(_steer(state, action))
    state, reached = _march(state)
    state = _shoot(state)
    destroyed = state.aliens & state.bullets
    state = state._replace(
        aliens=state.aliens & ~destroyed,
        bullets=state.bullets & ~destroyed,
        reload=jnp.maximum(state.reload - 1, 0),
        move_wait=state.move_wait - 1,
        shot_wait=state.shot_wait - 1,
    )
    return _next_wave(state), screen.count(destroyed).astype(jnp.float32), hit | reached


def observe(state: InvadersState) -> Array:
    """uint8[10, 10, 6]."""
    left, right = (jnp.where(state.right == way, state.aliens, screen.NOTHING) for way in (False, True))
    return screen.picture([_cannon(state), state.aliens, left, right, state.bullets, state.shots])


def _cannon(state: InvadersState) -> Array:
    return screen.cell(state.x, jnp.int32(GROUND))


def _steer(state: InvadersState, action: Array) -> InvadersState:
    """Moves the cannon, or fires if it has reloaded."""
    fires = (action == FIRE) & (state.reload == 0)
    return state._replace(
        x=screen.moved(state.x, action == RIGHT, action == LEFT, 0, screen.SIZE - 1),
        bullets=jnp.where(fires, state.bullets | _cannon(state), state.bullets),
        reload=jnp.where(fires, RELOAD, state.reload),
    )


def _fly(state: InvadersState) -> tuple[InvadersState, Array]:
    """Moves bullets up and shots down: `(state, whether a shot hits the cannon)`."""
    bullets, shots = jnp.pad(state.bullets[1:], (0, 1)), jnp.pad(state.shots[:-1], (1, 0))
    state = state._replace(bullets=bullets, shots=shots)
    return state, screen.meet(shots, _cannon(state))


def _march(state: InvadersState) -> tuple[InvadersState, Array]:
    """Moves the aliens, if it is time: `(state, whether they have reached the cannon or the ground)`."""
    moves = state.move_wait == 0
    first, last = EDGES
    turns = moves & jnp.any((state.aliens & jnp.where(state.right, last, first)) > 0)
    beside = jnp.where(state.right, state.aliens << 1, state.aliens >> 1)
    aliens = jnp.where(turns, jnp.roll(state.aliens, 1), jnp.where(moves, beside, state.aliens))
    landed = turns & (state.aliens[GROUND] > 0)
    met = screen.meet(state.aliens | aliens, _cannon(state))
    wait = jnp.minimum(screen.count(state.aliens), state.move_interval)
    state = state._replace(aliens=aliens, right=state.right ^ turns, move_wait=jnp.where(moves, wait, state.move_wait))
    return state, landed | met


def _shoot(state: InvadersState) -> InvadersState:
    """Lets an alien shoot, if it is time: the lowest of the nearest column, of two such columns the left one."""
    columns = jnp.arange(screen.SIZE)
    there = (jnp.bitwise_or.reduce(state.aliens) & screen.bit(columns)) > 0
    distance = 2 * jnp.abs(columns - state.x) + number(columns > state.x)
    column = jnp.argmin(jnp.where(there, distance, 2 * screen.SIZE))
    row = jnp.max(jnp.where((state.aliens & screen.bit(column)) > 0, screen.ROWS, -1))
    due = state.shot_wait == 0
    return state._replace(
        shots=jnp.where(due, state.shots | screen.cell(column, row), state.shots),
        shot_wait=jnp.where(due, SHOT_INTERVAL, state.shot_wait),
    )


def _next_wave(state: InvadersState) -> InvadersState:
    """A new wave when no alien is left, faster as long as that is possible."""
    over = ~jnp.any(state.aliens > 0)
    return state._replace(
        aliens=jnp.where(over, WAVE, state.aliens),
        move_interval=jnp.where(over, jnp.maximum(state.move_interval - 1, FASTEST), state.move_interval),
    )
