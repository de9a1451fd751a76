"""MinAtar's Seaquest: a submarine shoots fish and submarines, and brings divers up before its air runs out.

Actions: no-op, left, up, right, down, fire. A hit pays 1; coming up with six divers pays 1 for every 20 steps of air
that are left. Contact, torpedoes, an empty tank and coming up without a diver end the game; whoever comes up gives a
diver away, gets a full tank, and meets more and faster enemies. Channels: submarine, stern, torpedo, trail (behind
whatever swims), enemy torpedo, fish, enemy submarine, oxygen gauge, diver gauge, diver.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs import screen
from sadapt.envs.screen import number

Array = jax.Array
SURFACE, SEABED = 0, 8
LEFT, UP, RIGHT, DOWN, FIRE = 1, 2, 3, 4, 5

FULL_TANK, FULL_LOAD = 200, 6
RELOAD, ENEMY_RELOAD = 5, 10
SPAWN_INTERVAL, DIVER_SPAWN_INTERVAL = 20, 30
MOVE_INTERVAL, DIVER_MOVE_INTERVAL = 5, 5
SHORTEST_SPAWN_INTERVAL, SHORTEST_MOVE_INTERVAL = 1, 2

TORPEDOES, DIVERS, ENEMIES = 3, 3, 32
"""Slots, newest first: a newcomer takes the first one and the others move on. There are enough for the last to be free:
a torpedo is gone after 10 steps, a diver after 60, an enemy before 31 newer ones have come."""


class Torpedoes(NamedTuple):
    """What the player has fired."""

    alive: Array
    x: Array
    y: Array
    right: Array


class Swimmers(NamedTuple):
    """What swims from one side to the other, a cell whenever `wait` has run down."""

    alive: Array
    x: Array
    y: Array
    right: Array
    wait: Array


class Enemies(NamedTuple):
    """Fish, and submarines: those are armed, and shoot whenever `reload` has run down."""

    body: Swimmers
    armed: Array
    reload: Array


class SeaquestState(NamedTuple):
    """Everything but chance; enemy torpedoes are two planes, as only their places matter."""

    x: Array
    y: Array
    right: Array
    oxygen: Array
    divers_aboard: Array
    surfaced: Array
    reload: Array
    torpedoes: Torpedoes
    enemies: Enemies
    shots_left: Array
    shots_right: Array
    divers: Swimmers
    spawn_wait: Array
    diver_wait: Array
    spawn_interval: Array
    move_interval: Array
    times_surfaced: Array


class Chance(NamedTuple):
    """Who would come next, were it time: the side that it comes from, its row, and whether an enemy is armed."""

    right: Array
    row: Array
    armed: Array
    diver_right: Array
    diver_row: Array


def draw(key: Array) -> Chance:
    """Sides and rows 1 to 8 uniformly; one enemy in three is armed."""
    few, many = jax.random.bits(key, (2,), jnp.uint32)
    rows = [1 + ((few >> place) & 7).astype(jnp.int32) for place in (2, 5)]
    return Chance((few & 1) > 0, rows[0], many < np.uint32(2**32 // 3), (few & 2) > 0, rows[1])


def reset(key: Array) -> SeaquestState:
    """The submarine on the surface of an empty sea."""
    enemies = Enemies(_empty(Swimmers, ENEMIES), jnp.zeros(ENEMIES, bool), jnp.zeros(ENEMIES, jnp.int32))
    no_shots = jnp.zeros(screen.SIZE, jnp.uint32)
    return SeaquestState(
        x=jnp.int32(5),
        y=jnp.int32(SURFACE),
        right=jnp.bool_(False),
        oxygen=jnp.int32(FULL_TANK),
        divers_aboard=jnp.int32(0),
        surfaced=jnp.bool_(True),
        reload=jnp.int32(0),
        torpedoes=_empty(Torpedoes, TORPEDOES),
        enemies=enemies,
        shots_left=no_shots,
        shots_right=no_shots,
        divers=_empty(Swimmers, DIVERS),
        spawn_wait=jnp.int32(SPAWN_INTERVAL),
        diver_wait=jnp.int32(DIVER_SPAWN_INTERVAL),
        spawn_interval=jnp.int32(SPAWN_INTERVAL),
        move_interval=jnp.int32(MOVE_INTERVAL),
        times_surfaced=jnp.int32(0),
    )


def step(key: Array, state: SeaquestState, action: Array) -> tuple[SeaquestState, Array, Array]:
    """`(state, reward, ended)` after an action."""
    return rules(state, action, draw(key))


def rules(state: SeaquestState, action: Array, chance: Chance) -> tuple[SeaquestState, Array, Array]:
    """One step, in MinAtar's order; chance counts only where it is time for somebody new."""
    state = _steer(_spawn(state, chance), action)
    torpedoes, enemies, early_hits = _strike(_fly(state.torpedoes), state.enemies, late=False)
    state = _fetch_divers(state._replace(torpedoes=torpedoes, enemies=enemies))
    state, late_hits, caught = _enemies(state)
    state, shot = _shots(state)
    state, bonus, drowned = _breathe(_tick(state))
    reward = (early_hits + late_hits + bonus).astype(jnp.float32)
    return state, reward, caught | shot | drowned


def observe(state: SeaquestState) -> Array:
    """uint8[10, 10, 10]."""
    fish, boats = ~state.enemies.armed, state.enemies.armed
    body, gauge = state.enemies.body, screen.ROWS == screen.SIZE - 1
    stern = state.x + jnp.where(state.right, -1, 1)
    planes = [
        screen.cell(state.x, state.y),
        screen.cell(stern, state.y),
        _cells(state.torpedoes),
        _trail(body) | _trail(state.divers),
        state.shots_left | state.shots_right,
        _cells(body, fish),
        _cells(body, boats),
        jnp.where(gauge, screen.first(state.oxygen * screen.SIZE // FULL_TANK), screen.NOTHING),
        jnp.where(gauge, screen.first(jnp.int32(9)) & ~screen.first(9 - state.divers_aboard), screen.NOTHING),
        _cells(state.divers),
    ]
    return screen.picture(planes)


def _empty(kind: type[Any], slots: int) -> Any:
    """Slots of a kind, all of them free."""
    flags = {"alive", "right"}
    return kind(*(jnp.zeros(slots, bool if name in flags else jnp.int32) for name in kind._fields))


def _enter(slots: Any, newcomer: Any, when: Array) -> Any:
    """Puts a newcomer into the first slot, if it is time; the others move on by one."""

    def field(old: Array, new: Array) -> Array:
        return jnp.where(when, jnp.concatenate([jnp.asarray(new, old.dtype)[None], old[:-1]]), old)

    return jax.tree.map(field, slots, newcomer)


def _spawn(state: SeaquestState, chance: Chance) -> SeaquestState:
    """A new enemy and a new diver, if it is time; no enemy enters a row in which others swim towards it."""
    body = state.enemies.body
    due, diver_due = state.spawn_wait == 0, state.diver_wait == 0
    opposed = jnp.any(body.alive & (body.y == chance.row) & (body.right != chance.right))
    enemy = Swimmers(jnp.bool_(True), _edge(chance.right), chance.row, chance.right, state.move_interval)
    diver = Swimmers(
        jnp.bool_(True), _edge(chance.diver_right), chance.diver_row, chance.diver_right, jnp.int32(DIVER_MOVE_INTERVAL)
    )
    return state._replace(
        enemies=_enter(state.enemies, Enemies(enemy, chance.armed, jnp.int32(ENEMY_RELOAD)), due & ~opposed),
        divers=_enter(state.divers, diver, diver_due),
        spawn_wait=jnp.where(due, state.spawn_interval, state.spawn_wait),
        diver_wait=jnp.where(diver_due, DIVER_SPAWN_INTERVAL, state.diver_wait),
    )


def _edge(right: Array) -> Array:
    """The column where somebody enters that swims to the right or to the left."""
    return jnp.where(right, 0, screen.SIZE - 1)


def _steer(state: SeaquestState, action: Array) -> SeaquestState:
    """Moves the player's submarine, or fires if it has reloaded."""
    x = screen.moved(state.x, action == RIGHT, action == LEFT, 0, screen.SIZE - 1)
    y = screen.moved(state.y, action == DOWN, action == UP, SURFACE, SEABED)
    right = jnp.where(action == RIGHT, True, jnp.where(action == LEFT, False, state.right))
    fires = (action == FIRE) & (state.reload == 0)
    torpedo = Torpedoes(jnp.bool_(True), x, y, right)
    return state._replace(
        x=x,
        y=y,
        right=right,
        torpedoes=_enter(state.torpedoes, torpedo, fires),
        reload=jnp.where(fires, RELOAD, state.reload),
    )


def _fly(torpedoes: Torpedoes) -> Torpedoes:
    x = torpedoes.x + jnp.where(torpedoes.right, 1, -1)
    return torpedoes._replace(x=x, alive=torpedoes.alive & screen.on_screen(x))


def _strike(torpedoes: Torpedoes, enemies: Enemies, *, late: bool) -> tuple[Torpedoes, Enemies, Array]:
    """Each torpedo destroys one enemy in its cell: `(torpedoes, enemies, hits)`.

    When torpedoes have moved, the newest strikes first, at fish before submarines and at the oldest; late, when enemies
    have moved into them, all of this is the other way round.
    """
    body = enemies.body
    age = np.arange(1, ENEMIES + 1, dtype=np.int32)
    worth = jnp.where(enemies.armed == late, ENEMIES, 0) + (age[::-1] if late else age)
    alive, hits = body.alive, [jnp.bool_(False)] * TORPEDOES
    for torpedo in range(TORPEDOES)[:: -1 if late else 1]:
        here = alive & (body.x == torpedoes.x[torpedo]) & (body.y == torpedoes.y[torpedo]) & torpedoes.alive[torpedo]
        found = jnp.where(here, worth, 0)
        best = jnp.max(found)
        alive &= ~(here & (found == best))
        hits[torpedo] = best > 0
    hit = jnp.stack(hits)
    left = torpedoes._replace(alive=torpedoes.alive & ~hit)
    return left, enemies._replace(body=body._replace(alive=alive)), jnp.sum(hit)


def _swim(swimmers: Swimmers, interval: Array | int) -> Swimmers:
    ready = swimmers.wait == 0
    x = swimmers.x + jnp.where(ready, jnp.where(swimmers.right, 1, -1), 0)
    wait = jnp.where(ready, interval, swimmers.wait - 1)
    return swimmers._replace(x=x, wait=wait, alive=swimmers.alive & screen.on_screen(x))


def _at_player(state: SeaquestState, swimmers: Swimmers) -> Array:
    return swimmers.alive & (swimmers.x == state.x) & (swimmers.y == state.y)


def _fetch_divers(state: SeaquestState) -> SeaquestState:
    """Takes divers aboard that are met before or after they move, the newest first, while there is room."""
    moved = _swim(state.divers, DIVER_MOVE_INTERVAL)
    met = _at_player(state, state.divers) | _at_player(state, moved)
    room = jnp.maximum(FULL_LOAD - state.divers_aboard, 0)
    taken = met & (jnp.cumsum(met, dtype=jnp.int32) <= room)
    return state._replace(
        divers=moved._replace(alive=moved.alive & ~taken),
        divers_aboard=state.divers_aboard + jnp.sum(taken),
    )


def _enemies(state: SeaquestState) -> tuple[SeaquestState, Array, Array]:
    """Moves enemies into torpedoes and perhaps into the player: `(state, hits, caught)`.

    Submarines shoot if it is time, even one that a torpedo destroys in this very moment.
    """
    moved = _swim(state.enemies.body, state.move_interval)
    caught = jnp.any(_at_player(state, state.enemies.body) | _at_player(state, moved))
    torpedoes, enemies, hits = _strike(state.torpedoes, state.enemies._replace(body=moved), late=True)
    shoots = moved.alive & enemies.armed & (enemies.reload == 0)
    enemies = enemies._replace(reload=jnp.where(shoots, ENEMY_RELOAD, jnp.maximum(enemies.reload - 1, 0)))
    state = state._replace(
        torpedoes=torpedoes,
        enemies=enemies,
        shots_left=state.shots_left | _cells(moved, shoots & ~moved.right),
        shots_right=state.shots_right | _cells(moved, shoots & moved.right),
    )
    return state, hits, caught


def _shots(state: SeaquestState) -> tuple[SeaquestState, Array]:
    """Moves the enemies' torpedoes: `(state, whether one meets the player before or after)`."""
    player = screen.cell(state.x, state.y)
    moved = state._replace(shots_left=state.shots_left >> 1, shots_right=state.shots_right << 1 & screen.FULL_ROW)
    everywhere = state.shots_left | state.shots_right | moved.shots_left | moved.shots_right
    return moved, screen.meet(everywhere, player)


def _tick(state: SeaquestState) -> SeaquestState:
    return state._replace(
        spawn_wait=jnp.maximum(state.spawn_wait - 1, 0),
        diver_wait=jnp.maximum(state.diver_wait - 1, 0),
        reload=jnp.maximum(state.reload - 1, 0),
    )


def _breathe(state: SeaquestState) -> tuple[SeaquestState, Array, Array]:
    """Uses air below and refills at the surface: `(state, bonus, whether the air or the divers were missing)`."""
    below = state.y > SURFACE
    emerges, alone, full = ~below & ~state.surfaced, state.divers_aboard == 0, state.divers_aboard == FULL_LOAD
    ended = (state.oxygen <= 0) | (emerges & alone)
    comes_up = emerges & ~alone
    bonus = jnp.where(comes_up & full, state.oxygen * screen.SIZE // FULL_TANK, 0)
    oxygen = jnp.where(comes_up, FULL_TANK, state.oxygen - number(below))
    kept = jnp.where(full, 0, state.divers_aboard) - 1
    state = state._replace(oxygen=oxygen, divers_aboard=jnp.where(comes_up, kept, state.divers_aboard), surfaced=~below)
    return _ramp(state, comes_up), bonus, ended


def _ramp(state: SeaquestState, when: Array) -> SeaquestState:
    """Brings enemies one step more often and, every second time, one step faster."""
    can_spawn_faster = state.spawn_interval > SHORTEST_SPAWN_INTERVAL
    can_move_faster = state.move_interval > SHORTEST_MOVE_INTERVAL
    odd = state.times_surfaced % 2 == 1
    return state._replace(
        spawn_interval=state.spawn_interval - number(when & can_spawn_faster),
        move_interval=state.move_interval - number(when & can_move_faster & odd),
        times_surfaced=state.times_surfaced + number(when & (can_spawn_faster | can_move_faster)),
    )


def _cells(things: Torpedoes | Swimmers, which: Array | bool = True) -> Array:
    """The plane of those things that are alive."""
    return screen.cells(things.alive & which, things.x, things.y)


def _trail(swimmers: Swimmers) -> Array:
    """The cells behind swimmers, as far as those are on the board."""
    return _cells(swimmers, swimmers.right) >> 1 | _cells(swimmers, ~swimmers.right) << 1
