"""Scripted policies: hand-computed moves, and that they push entropy the way that they are meant to."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.envs import make, scripted
from sadapt.envs.butterflies import ButterfliesState
from sadapt.envs.maze import MazeState
from sadapt.envs.tetris import TetrisState, place

STAY, LEFT, UP, RIGHT, DOWN = range(5)
STEPS = ((0, 0), (0, -1), (-1, 0), (0, 1), (1, 0))
BAR, CORNER = 0, 1


def characters(rows) -> np.ndarray:
    return np.array([list(row) for row in rows])


def compiled(policies):
    """Policies for many keys in one situation, each compiled once."""
    return {name: jax.jit(jax.vmap(policy, in_axes=(0, None, None))) for name, policy in policies.items()}


def every_lot(policy, world, theta) -> set[int]:
    """All actions that a policy takes in one situation."""
    return set(policy(jax.random.split(jax.random.key(5), 40), world, theta).tolist())


# Maze

CROSSING = compiled(scripted.maze(SimpleNamespace(wall=characters(["#.#.", "....", "#.##"]) == "#")))


def at(row: int, column: int) -> MazeState:
    return MazeState(jnp.int32(4 * row + column), jnp.asarray(True))


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
    assert every_lot(CROSSING["walker"], at(1, 1), visited(*counts)) == expected


def test_walker_never_waits_at_a_wall_or_the_edge():
    assert every_lot(CROSSING["walker"], at(0, 1), visited((1, 1, 9))) == {DOWN}
    assert every_lot(CROSSING["walker"], at(1, 0), visited((1, 1, 9))) == {RIGHT}
    assert every_lot(CROSSING["walker"], at(1, 2), visited((1, 1, 5), (1, 3, 5))) == {LEFT, RIGHT}


def test_still_stays():
    assert every_lot(CROSSING["still"], at(1, 1), visited()) == {STAY}


# Butterflies

CHASES = [
    (["b.A.", "....", "...b"], {LEFT}),
    (["..A#b", ".##..", "....b", "b...."], {LEFT}),
    (["b#A..", ".#...", "....b"], {RIGHT, DOWN}),
    (["..b", "bAb", ".b."], {LEFT, RIGHT, DOWN}),
    ([".b.", "..A", "#b."], {UP, LEFT, DOWN}),
    (["A.", ".."], {STAY}),
]
STROLLS = [
    (["..b", ".Ab", ".#."], {LEFT, UP}),
    (["#b#", "bA.", "#b#"], {RIGHT}),
    (["#b#", "bAb", "..b"], {DOWN}),
    (["bAb", ".b."], {STAY}),
]
DETOUR = ["A.#b", ".##.", "...."]
NO_THETA = jnp.zeros((1, 1, 2))


def garden(scenes: list[list[str]]) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """All scenes as rooms of one map, so that one compilation serves them all; and where each catcher is."""
    rows = [row.ljust(5, "#") for scene in scenes for row in [*scene, "#####"]]
    grid = characters(rows)
    return grid, [(int(row), int(column)) for row, column in np.argwhere(grid == "A")]


ROOMS, CATCHERS = garden([DETOUR, *(rows for rows, _ in CHASES), *(rows for rows, _ in STROLLS)])
GARDEN = compiled(scripted.butterflies(SimpleNamespace(wall=ROOMS == "#")))


def in_room(row: int, column: int) -> ButterfliesState:
    """The garden with its catcher in one of the rooms."""
    return ButterfliesState(jnp.asarray(ROOMS == "b"), jnp.int32(5 * row + column), jnp.int32(0))


def test_chaser_walks_around_walls():
    (row, column), taken = CATCHERS[0], []
    while ROOMS[row, column] != "b":
        (action,) = every_lot(GARDEN["chaser"], in_room(row, column), NO_THETA)
        taken.append(action)
        row, column = row + STEPS[action][0], column + STEPS[action][1]
    assert taken == [DOWN, DOWN, RIGHT, RIGHT, RIGHT, UP, UP]


@pytest.mark.parametrize("scene", range(len(CHASES)))
def test_chaser_goes_for_the_nearest_by_path(scene):
    world = in_room(*CATCHERS[1 + scene])
    assert every_lot(GARDEN["chaser"], world, NO_THETA) == CHASES[scene][1]


@pytest.mark.parametrize("scene", range(len(STROLLS)))
def test_avoider_steps_on_no_butterfly(scene):
    world = in_room(*CATCHERS[1 + len(CHASES) + scene])
    assert every_lot(GARDEN["avoider"], world, NO_THETA) == STROLLS[scene][1]


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


@pytest.mark.parametrize("seed", range(2))
def test_every_step_of_the_chaser_brings_it_nearer(seed):
    rng = np.random.default_rng(seed)
    wall = rng.random((9, 8)) < 0.35
    free = np.argwhere(~wall)
    butterflies = np.zeros((100, *wall.shape), bool)
    catchers = free[rng.integers(len(free), size=100)]
    for plane, catcher in zip(butterflies, catchers, strict=True):
        plane[tuple(free[rng.integers(len(free), size=3)].T)] = True
        plane[tuple(catcher)] = False

    chaser = scripted.butterflies(SimpleNamespace(wall=wall))["chaser"]
    numbers = jnp.asarray(catchers @ (wall.shape[1], 1), jnp.int32)
    worlds = ButterfliesState(jnp.asarray(butterflies), numbers, jnp.zeros(100, jnp.int32))
    keys = jax.random.split(jax.random.key(seed), 100)
    actions = jax.jit(jax.vmap(chaser, (0, 0, None)))(keys, worlds, NO_THETA).tolist()
    for plane, catcher, action in zip(butterflies, catchers, actions, strict=True):
        lengths = path_lengths(wall, plane)
        here, there = lengths[tuple(catcher)], lengths[tuple(catcher + STEPS[action])]
        assert there == here - 1 if np.isfinite(here) else action == STAY


# Tetris

PLAYERS = compiled(scripted.tetris(place))
NEW = jnp.zeros((10, 4, 1))


def well(piece: int, *rows: str) -> TetrisState:
    """A game with these lowest rows."""
    return TetrisState(jnp.asarray(characters([*["...."] * (10 - len(rows)), *rows]) == "x"), jnp.int32(piece))


@pytest.mark.parametrize(
    ("game", "expected"),
    [
        (well(BAR), {0, 1, 6, 7}),
        (well(BAR, "...x"), {0, 6}),
        (well(BAR, "x..."), {1, 7}),
        (well(BAR, "x.xx", "x.xx", "x.xx"), {3, 9}),
        (well(CORNER, "xx..", "xxx."), {8}),
        (well(CORNER, "..xx", ".xxx"), {3}),
    ],
)
def test_tidy_lays_pieces_flat_and_clears_rows(game, expected):
    assert every_lot(PLAYERS["tidy"], game, NEW) == expected


@pytest.mark.parametrize("name", ["tidy", "messy"])
@pytest.mark.parametrize("theta", [NEW, NEW + 1])
def test_tetris_players_lose_only_when_they_must(name, theta):
    only_the_right_column = ["xxx."] * 10
    assert every_lot(PLAYERS[name], well(BAR, *only_the_right_column), theta) == {5, 11}
    assert every_lot(PLAYERS[name], well(CORNER, *only_the_right_column), theta) == {0}


@pytest.mark.parametrize(("column", "expected"), [(0, {2, 8}), (1, {3, 9}), (2, {4, 10}), (3, {5, 11})])
def test_messy_fills_what_was_empty(column, expected):
    theta = jnp.ones((10, 4, 1)).at[:, column].set(0.1)
    assert every_lot(PLAYERS["messy"], well(BAR), theta) == expected


# In the worlds themselves


def played(name: str, policy_names: list[str], episodes: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Final entropies and returns of whole episodes; a lost game is seen as coin flips and begins anew."""
    env = make(name)
    known = {"random": lambda key, world, theta: jax.random.randint(key, (), 0, env.num_actions), **env.scripted}
    policies = [known[policy_name] for policy_name in policy_names]

    def episode(which, key):
        def advance(carry, key):
            world, ones, count, ended, total = carry
            key_act, key_step, key_reset, key_shock = jax.random.split(key, 4)
            action = jax.lax.switch(which, policies, key_act, world, ones / count)
            world, step = env.step(key_step, world, action)
            seen, ends = env.marginal_input(step.obs).astype(jnp.float32), step.terminated
            if env.on_death == "shock":
                coins = jax.random.bernoulli(key_shock, 0.5, seen.shape).astype(jnp.float32)
                fresh, _ = env.reset(key_reset)
                world, seen = jax.tree.map(lambda new, old: jnp.where(ends, new, old), (fresh, coins), (world, seen))
                ends = jnp.zeros((), bool)
            going = 1 - ended.astype(jnp.float32)
            return (world, ones + going * seen, count + going, ended | ends, total + going * step.reward), action

        world, obs = env.reset(key)
        first = (
            world,
            env.marginal_input(obs).astype(jnp.float32),
            jnp.float32(1),
            jnp.zeros((), bool),
            jnp.float32(0),
        )
        (_, ones, count, _, total), actions = jax.lax.scan(advance, first, jax.random.split(key, env.horizon))
        return ones / count, total, actions

    keys = jax.random.split(jax.random.key(3), episodes)
    play = jax.jit(jax.vmap(episode, in_axes=(None, 0)))
    results = []
    for which in range(len(policies)):
        theta, total, actions = jax.device_get(play(which, keys))
        assert set(np.unique(actions)) <= set(range(env.num_actions))
        p = np.clip(theta.astype(np.float64), 1e-4, 1 - 1e-4)
        results.append((-(p * np.log(p) + (1 - p) * np.log1p(-p)).sum(axis=(1, 2, 3)), total))
    return results


@pytest.mark.parametrize("name", ["maze-small", "maze-large"])
def test_walker_reaches_the_goal_of_the_packaged_mazes(name):
    (low, _), (random, unrewarded), (high, rewarded) = played(name, ["still", "random", "walker"], 16)
    assert rewarded.tolist() == [1.0] * 16
    assert unrewarded.tolist() == [0.0] * 16
    assert low.max() < random.min()
    assert high.min() > random.max() + 1


@pytest.mark.slow
def test_large_butterflies_have_more_room_below_than_above():
    (low, caught), (random, by_chance), (high, touched) = played(
        "butterflies-large", ["chaser", "random", "avoider"], 4
    )
    assert caught.min() > 95
    assert touched.tolist() == [0.0] * 4
    assert 5 < by_chance.mean() < 30
    assert random.mean() - low.mean() > 3 * (high.mean() - random.mean()) > 0


@pytest.mark.slow
def test_small_butterflies_have_as_much_room_below_as_above():
    (low, caught), (random, by_chance), (high, touched) = played(
        "butterflies-small", ["chaser", "random", "avoider"], 64
    )
    assert caught.tolist() == [6.0] * 64
    assert touched.tolist() == [0.0] * 64
    assert by_chance.mean() > 3
    assert 0.7 < (high.mean() - random.mean()) / (random.mean() - low.mean()) < 1.4


def test_tidy_survives_and_messy_does_not():
    (low, unharmed), (random, _), (high, losses) = played("tetris", ["tidy", "random", "messy"], 16)
    assert unharmed.tolist() == [0.0] * 16
    assert losses.max() < 0
    assert low.max() < random.min()
    assert high.min() > random.max()


# One world or many, compiled or plain


@pytest.mark.parametrize("name", ["maze-small", "butterflies-small", "tetris"])
def test_plain_agrees_with_compiled_and_vmapped(name):
    env = make(name)
    keys = jax.random.split(jax.random.key(11), 3)
    world, obs = env.reset(jax.random.key(2))
    theta = env.marginal_input(obs).astype(jnp.float32)
    for policy_name, policy in env.scripted.items():
        plain = [policy(key, world, theta) for key in keys]
        assert {(action.dtype, action.shape) for action in plain} == {(jnp.dtype("int32"), ())}
        assert plain == compiled({policy_name: policy})[policy_name](keys, world, theta).tolist()
