"""The packaged maps: what is on them, and that a maze favours walking as the study needs it to."""

from __future__ import annotations

from collections import deque
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest

from sadapt.envs.layout import packaged

DENSITIES = {"very-high": 0.40, "high": 0.33, "medium": 0.27, "low": 0.20, "large": 0.13, "very-low": 0.10}
BUTTERFLIES = ["butterflies-small", *(f"butterflies-{density}" for density in DENSITIES)]
MAZES = {"maze-small": (100, (40, 50), 1.05), "maze-large": (250, (100, 125), 1.15)}
"""Horizon, range of the goal's distance, and the least (H_walk - H_rand) / (H_rand - H_still)."""

STEPS = ((0, 0), (0, -1), (-1, 0), (0, 1), (1, 0))
CLIP = 1e-4


def text(name: str) -> str:
    return (files("sadapt.envs") / "layouts" / f"{name}.txt").read_text(encoding="utf-8")


def cells(name: str) -> np.ndarray:
    return np.array([list(row) for row in text(name).splitlines()])


def moves(grid: np.ndarray) -> np.ndarray:
    """Where each action leads from each cell, int[cells, 5]."""
    height, width = grid.shape
    table = np.arange(grid.size)[:, None].repeat(len(STEPS), axis=1)
    for row, column in np.argwhere(grid != "#"):
        for action, (down, right) in enumerate(STEPS):
            there = row + down, column + right
            if 0 <= there[0] < height and 0 <= there[1] < width and grid[there] != "#":
                table[row * width + column, action] = there[0] * width + there[1]
    return table


def find(grid: np.ndarray, character: str) -> int:
    (cell,) = np.flatnonzero(grid.ravel() == character)
    return int(cell)


def distances(grid: np.ndarray) -> dict[int, int]:
    """Steps from the start to every cell that can be reached."""
    table, start = moves(grid), find(grid, "A")
    known, queue = {start: 0}, deque([start])
    while queue:
        here = queue.popleft()
        for there in table[here].tolist():
            if there not in known:
                known[there] = known[here] + 1
                queue.append(there)
    return known


@pytest.mark.parametrize("name", [*MAZES, *BUTTERFLIES])
def test_size_and_characters(name):
    size = 10 if name.endswith("-small") else 32
    assert text(name).endswith("\n")
    assert cells(name).shape == (size, size)
    assert set(np.unique(cells(name))) <= set("#.AG" if name in MAZES else "#.Ab")
    assert (cells(name) == "A").sum() == 1
    assert (cells(name) == "G").sum() == (name in MAZES)


@pytest.mark.parametrize("name", [*MAZES, *BUTTERFLIES])
def test_parsed(name):
    grid, layout = cells(name), packaged(name, "maze" if name in MAZES else "butterflies")
    np.testing.assert_array_equal(layout.wall, grid == "#")
    np.testing.assert_array_equal(layout.butterflies, grid == "b")
    assert grid[layout.agent] == "A"
    assert grid[layout.goal] == "G" if name in MAZES else layout.goal is None


@pytest.mark.parametrize("name", [*MAZES, *BUTTERFLIES])
def test_every_free_cell_can_be_reached(name):
    assert set(distances(cells(name))) == set(np.flatnonzero(cells(name).ravel() != "#").tolist())


@pytest.mark.parametrize(("name", "density"), DENSITIES.items())
def test_density(name, density):
    grid = cells(f"butterflies-{name}")
    assert (grid == "b").sum() / (grid != "#").sum() == pytest.approx(density, abs=0.01)


def test_small_butterflies():
    assert (cells("butterflies-small") == "b").sum() == 6


def test_densities_differ_in_butterflies_only():
    by_density = sorted(DENSITIES, key=DENSITIES.__getitem__)
    for sparse, dense in pairwise(by_density):
        below, above = cells(f"butterflies-{sparse}"), cells(f"butterflies-{dense}")
        differing = below != above
        assert differing.any()
        assert set(below[differing]) == {"."}
        assert set(above[differing]) == {"b"}


@pytest.mark.parametrize("name", MAZES)
def test_only_one_way_leads_to_the_goal(name):
    _, (nearest, farthest), _ = MAZES[name]
    grid = cells(name)
    table, known, goal = moves(grid), distances(grid), find(grid, "G")
    assert nearest <= known[goal] <= farthest
    neighbours = [len(set(table[cell].tolist()) - {cell}) for cell in known if known[cell] < known[goal]]
    assert neighbours == [1] + [2] * (known[goal] - 1)


def least_visited(rng: np.random.Generator, there: np.ndarray, visits: np.ndarray) -> np.ndarray:
    """A step to the neighbour with the fewest visits, ties by lot."""
    episodes = np.arange(len(there))
    cost = visits[episodes[:, None], there] + rng.uniform(0, 0.5, there.shape)
    cost[there == there[:, :1]] = np.inf
    return there[episodes, cost.argmin(axis=1)]


def wander(rng: np.random.Generator, there: np.ndarray, visits: np.ndarray) -> np.ndarray:
    return there[np.arange(len(there)), rng.integers(5, size=len(there))]


def stand(rng: np.random.Generator, there: np.ndarray, visits: np.ndarray) -> np.ndarray:
    return there[:, 0]


def play(name: str, policy, episodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Final entropies of the Bernoulli marginal over walls, agent and goal, and which episodes reached the goal."""
    rng, grid, horizon = np.random.default_rng(7), cells(name), MAZES[name][0]
    table, goal = moves(grid), find(grid, "G")
    here = np.full(episodes, find(grid, "A"))
    visits, present = np.zeros((episodes, grid.size)), np.ones(episodes, bool)
    visits[:, here[0]] = 1
    goal_seen = np.ones(episodes)
    for _ in range(horizon):
        here = policy(rng, table[here], visits)
        visits[np.arange(episodes), here] += 1
        present &= here != goal
        goal_seen += present

    p = np.clip(np.column_stack([visits, goal_seen]) / (horizon + 1), CLIP, 1 - CLIP)
    never_changing = 2 * grid.size - 1
    floor = -(CLIP * np.log(CLIP) + (1 - CLIP) * np.log(1 - CLIP))
    return -(p * np.log(p) + (1 - p) * np.log(1 - p)).sum(axis=1) + never_changing * floor, ~present


@pytest.mark.parametrize("name", MAZES)
def test_a_walker_moves_entropy_further_than_standing_still(name):
    random, random_reached = play(name, wander, 300)
    still, _ = play(name, stand, 1)
    walk, walk_reached = play(name, least_visited, 40)
    assert not random_reached.any()
    assert walk_reached.mean() >= 0.95
    assert (walk.mean() - random.mean()) / (random.mean() - still.mean()) >= MAZES[name][2]
