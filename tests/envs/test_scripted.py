"""Scripted policies: hand-computed moves, and that they push entropy the way that they are meant to."""

from __future__ import annotations

from collections import deque
from functools import cache
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.envs import make, scripted
from sadapt.envs.butterflies import ButterfliesState
from sadapt.envs.layout import parse
from sadapt.envs.maze import MazeState
from sadapt.envs.tetris import TetrisState, place

STAY, LEFT, UP, RIGHT, DOWN = range(5)
STEPS = ((0, 0), (0, -1), (-1, 0), (0, 1), (1, 0))
BAR, CORNER = 0, 1


def layout_of(kind: str, *rows: str):
    return parse("\n".join(rows), "map", kind)


def every_lot(policy, world, theta, draws: int = 40) -> set[int]:
    """All actions that a policy takes in one situation."""
    keys = jax.random.split(jax.random.key(5), draws)
    return set(jax.jit(jax.vmap(lambda key: policy(key, world, theta)))(keys).tolist())


# Maze

CROSSING = ("#.#G", "..A.", "#.##")


def at(cell: int) -> MazeState:
    return MazeState(jnp.int32(cell), jnp.asarray(True))


def visited(*counts: tuple[int, int, int]) -> jax.Array:
    """theta of the crossing after ten observations, from (row, column, visits)."""
    theta = np.zeros((3, 4, 3), np.float32)
    for row, column, visits in counts:
        theta[row, column, 1] = visits / 10
    return jnp.asarray(theta)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([(1, 0, 1), (0, 1, 2), (1, 2, 3), (2, 1, 4)], {LEFT}),
        ([(1, 0, 4), (0, 1, 2), (1, 2, 3), (2, 1, 1)], {DOWN}),
        ([(1, 0, 1), (0, 1, 0), (1, 2, 3), (2, 1, 1)], {UP}),
        ([(1, 0, 1), (0, 1, 1), (1, 2, 0), (2, 1, 1)], {RIGHT}),
        ([(1, 0, 2), (0, 1, 1), (1, 2, 1), (2, 1, 2)], {UP, RIGHT}),
        ([(1, 1, 10)], {LEFT, UP, RIGHT, DOWN}),
    ],
)
def test_walker_takes_the_least_visited_neighbour(counts, expected):
    walker = scripted.maze(layout_of("maze", *CROSSING))["walker"]
    assert every_lot(walker, at(5), visited(*counts)) == expected


def test_walker_never_waits_at_a_wall():
    walker = scripted.maze(layout_of("maze", *CROSSING))["walker"]
    assert every_lot(walker, at(1), visited((1, 1, 9))) == {DOWN}
    assert every_lot(walker, at(6), visited((1, 1, 5), (1, 3, 5))) == {LEFT, RIGHT}


def test_still_stays():
    for policies in (scripted.maze(layout_of("maze", *CROSSING)), scripted.butterflies(layout_of("butterflies", "Ab"))):
        assert every_lot(policies["still"], at(5), visited()) == {STAY}


# Butterflies


def scene(*rows: str):
    """A layout, its scripted policies and its first state."""
    layout = layout_of("butterflies", *rows)
    width = layout.wall.shape[1]
    catcher = jnp.int32(layout.agent[0] * width + layout.agent[1])
    return (
        layout,
        scripted.butterflies(layout),
        ButterfliesState(jnp.asarray(layout.butterflies), catcher, jnp.zeros((), jnp.int32)),
    )


NO_THETA = jnp.zeros((1, 1, 2))


def test_chaser_walks_around_walls():
    layout, policies, world = scene("A.#b", ".##.", "....")
    width, taken = layout.wall.shape[1], []
    while not world.butterflies.ravel()[world.catcher]:
        (action,) = every_lot(policies["chaser"], world, NO_THETA, draws=3)
        down, right = STEPS[action]
        taken.append(action)
        world = world._replace(catcher=world.catcher + jnp.int32(down * width + right))
    assert taken == [DOWN, DOWN, RIGHT, RIGHT, RIGHT, UP, UP]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["b.A.", "....", "...b"], {LEFT}),
        (["..A#b", ".##..", "....b", "b...."], {LEFT}),
        (["b#A..", ".#...", "....b"], {RIGHT, DOWN}),
        (["..b", "bAb", ".b."], {LEFT, RIGHT, DOWN}),
        ([".b.", "..A", "#b."], {UP, LEFT, DOWN}),
    ],
)
def test_chaser_goes_for_the_nearest_by_path(rows, expected):
    _, policies, world = scene(*rows)
    assert every_lot(policies["chaser"], world, NO_THETA) == expected


def test_chaser_stays_when_no_butterfly_can_be_reached():
    layout, policies, world = scene("Ab#.", "..#.")
    beyond = np.zeros_like(layout.butterflies)
    for butterflies in (beyond.copy(), beyond):
        assert every_lot(policies["chaser"], world._replace(butterflies=jnp.asarray(butterflies)), NO_THETA) == {STAY}
        beyond[0, 3] = True


def path_lengths(wall: np.ndarray, butterflies: np.ndarray) -> np.ndarray:
    """Steps from every cell to the nearest butterfly, breadth first."""
    lengths = np.full(wall.shape, np.inf)
    lengths[butterflies] = 0
    queue = deque(map(tuple, np.argwhere(butterflies)))
    while queue:
        row, column = queue.popleft()
        for down, right in STEPS[1:]:
            there = row + down, column + right
            inside = 0 <= there[0] < wall.shape[0] and 0 <= there[1] < wall.shape[1]
            if inside and not wall[there] and np.isinf(lengths[there]):
                lengths[there] = lengths[row, column] + 1
                queue.append(there)
    return lengths


@pytest.mark.parametrize("seed", range(3))
def test_every_step_of_the_chaser_brings_it_nearer(seed):
    rng = np.random.default_rng(seed)
    wall = rng.random((9, 8)) < 0.35
    free = np.argwhere(~wall)
    butterflies = np.zeros((60, *wall.shape), bool)
    catchers = free[rng.integers(len(free), size=60)]
    for plane, catcher in zip(butterflies, catchers, strict=True):
        plane[tuple(free[rng.integers(len(free), size=3)].T)] = True
        plane[tuple(catcher)] = False

    chaser = scripted.butterflies(SimpleNamespace(wall=wall))["chaser"]
    worlds = ButterfliesState(
        jnp.asarray(butterflies), jnp.asarray(catchers @ (wall.shape[1], 1), jnp.int32), jnp.zeros(60, jnp.int32)
    )
    actions = jax.jit(jax.vmap(chaser, (0, 0, None)))(jax.random.split(jax.random.key(seed), 60), worlds, NO_THETA)
    for plane, catcher, action in zip(butterflies, catchers, actions.tolist(), strict=True):
        lengths = path_lengths(wall, plane)
        here, there = tuple(catcher), tuple(catcher + STEPS[action])
        if np.isinf(lengths[here]):
            assert action == STAY
        else:
            assert lengths[there] == lengths[here] - 1


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["..b", ".Ab", ".#."], {LEFT, UP}),
        (["#b#", "bA.", "#b#"], {RIGHT}),
        (["#b#", "bAb", "..b"], {DOWN}),
        (["bAb", ".b."], {STAY}),
    ],
)
def test_avoider_steps_on_no_butterfly(rows, expected):
    _, policies, world = scene(*rows)
    assert every_lot(policies["avoider"], world, NO_THETA) == expected


# Tetris


def well(*rows: str) -> jax.Array:
    """A board from its lowest rows."""
    empty = ["...."] * (10 - len(rows))
    return jnp.asarray(np.array([list(row) for row in [*empty, *rows]]) == "x")


EMPTY_THETA = jnp.zeros((10, 4, 1))
LAST_GAP = well(*["xxx."] * 10)
"""Only an upright bar in the right column fits."""


@pytest.mark.parametrize(
    ("rows", "piece", "expected"),
    [
        (["...x"], BAR, {0, 6}),
        (["x..."], BAR, {1, 7}),
        (["x.xx", "x.xx", "x.xx"], BAR, {3, 9}),
        (["xx..", "xxx."], CORNER, {11}),
        ([".xxx", "..xx"], CORNER, {0}),
    ],
)
def test_tidy_clears_rows(rows, piece, expected):
    tidy = scripted.tetris(place)["tidy"]
    assert every_lot(tidy, TetrisState(well(*rows), jnp.int32(piece)), EMPTY_THETA) == expected


def test_tidy_lays_the_first_bar_flat_in_a_corner():
    tidy = scripted.tetris(place)["tidy"]
    assert every_lot(tidy, TetrisState(well(), jnp.int32(BAR)), EMPTY_THETA) == {0, 1, 6, 7}


@pytest.mark.parametrize("name", ["tidy", "messy"])
def test_tetris_players_lose_only_when_they_must(name):
    policy = scripted.tetris(place)[name]
    for theta in (EMPTY_THETA, jnp.ones_like(EMPTY_THETA)):
        assert every_lot(policy, TetrisState(LAST_GAP, jnp.int32(BAR)), theta) == {5, 11}
        assert every_lot(policy, TetrisState(LAST_GAP, jnp.int32(CORNER)), theta) == {0}


@pytest.mark.parametrize(("column", "expected"), [(0, {2, 8}), (1, {3, 9}), (2, {4, 10}), (3, {5, 11})])
def test_messy_fills_what_was_empty(column, expected):
    theta = jnp.ones((10, 4, 1)).at[:, column].set(0.1)
    messy = scripted.tetris(place)["messy"]
    assert every_lot(messy, TetrisState(well(), jnp.int32(BAR)), theta) == expected


# In the worlds themselves


def random_policy(num_actions: int):
    return lambda key, world, theta: jax.random.randint(key, (), 0, num_actions)


@cache
def played(name: str, policy_name: str, episodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Final entropies and returns of whole episodes; a lost game is seen as coin flips and begins anew."""
    env = make(name)
    policy = random_policy(env.num_actions) if policy_name == "random" else env.scripted[policy_name]

    def advance(carry, key):
        world, ones, count, ended, total = carry
        key_act, key_step, key_reset, key_shock = jax.random.split(key, 4)
        action = policy(key_act, world, ones / count)
        world, step = env.step(key_step, world, action)
        seen = env.seen(step.obs).astype(jnp.float32)
        died = step.terminated
        if env.on_death == "shock":
            seen = jnp.where(died, jax.random.bernoulli(key_shock, 0.5, seen.shape).astype(jnp.float32), seen)
            world = jax.tree.map(lambda new, old: jnp.where(died, new, old), env.reset(key_reset)[0], world)
            died = jnp.zeros((), bool)
        going = 1 - ended.astype(jnp.float32)
        return (world, ones + going * seen, count + going, ended | died, total + going * step.reward), action

    def episode(key):
        world, obs = env.reset(key)
        first = (world, env.seen(obs).astype(jnp.float32), jnp.float32(1), jnp.zeros((), bool), jnp.float32(0))
        (_, ones, count, _, total), actions = jax.lax.scan(advance, first, jax.random.split(key, env.horizon))
        return ones / count, total, actions

    keys = jax.random.split(jax.random.key(3), episodes)
    theta, total, actions = jax.device_get(jax.jit(jax.vmap(episode))(keys))
    assert actions.min() >= 0
    assert actions.max() < env.num_actions
    p = np.clip(theta.astype(np.float64), 1e-4, 1 - 1e-4)
    return -(p * np.log(p) + (1 - p) * np.log1p(-p)).sum(axis=(1, 2, 3)), total


@pytest.mark.parametrize("name", ["maze-small", "maze-large"])
def test_walker_reaches_the_goal_of_the_packaged_mazes(name):
    entropy, reward = played(name, "walker", 16)
    random, unrewarded = played(name, "random", 16)
    assert reward.tolist() == [1.0] * 16
    assert unrewarded.tolist() == [0.0] * 16
    assert entropy.min() > random.max() + 1


def test_large_butterflies_have_more_room_below_than_above():
    (random, caught_by_chance), (low, caught), (high, touched) = (
        played("butterflies-large", name, 4) for name in ("random", "chaser", "avoider")
    )
    assert caught.min() > 95
    assert touched.tolist() == [0.0] * 4
    assert 5 < caught_by_chance.mean() < 30
    assert random.mean() - low.mean() > 3 * (high.mean() - random.mean()) > 0


def test_small_butterflies_have_as_much_room_below_as_above():
    (random, caught_by_chance), (low, caught), (high, touched) = (
        played("butterflies-small", name, 64) for name in ("random", "chaser", "avoider")
    )
    assert caught.tolist() == [6.0] * 64
    assert touched.tolist() == [0.0] * 64
    assert caught_by_chance.mean() > 3
    assert 0.7 < (high.mean() - random.mean()) / (random.mean() - low.mean()) < 1.4


def test_tidy_survives_and_messy_does_not():
    (random, _), (low, unharmed), (high, losses) = (played("tetris", name, 16) for name in ("random", "tidy", "messy"))
    assert unharmed.tolist() == [0.0] * 16
    assert losses.max() < 0
    assert low.max() < random.min()
    assert high.min() > random.max()


# One world or many, compiled or not


@pytest.mark.parametrize("name", ["maze-small", "butterflies-small", "tetris"])
def test_plain_compiled_and_vmapped_agree(name):
    env = make(name)
    keys = jax.random.split(jax.random.key(11), 4)
    world, obs = env.reset(jax.random.key(2))
    theta = env.seen(obs).astype(jnp.float32)
    for policy in env.scripted.values():
        plain = [policy(key, world, theta) for key in keys]
        compiled = [jax.jit(policy)(key, world, theta) for key in keys]
        vmapped = jax.vmap(policy, (0, None, None))(keys, world, theta)
        assert {action.dtype for action in plain} == {jnp.dtype("int32")}
        assert {action.shape for action in plain} == {()}
        assert plain == compiled == vmapped.tolist()
