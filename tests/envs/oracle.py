"""The rules of the three didactic worlds in plain Python.

A cell is (row, column); an observation is a list of channels, each the set of the cells that hold a 1. Nothing here
draws: whoever plays hands in the directions of the butterflies and the next piece of Tetris.
"""

from __future__ import annotations

from typing import NamedTuple

Cell = tuple[int, int]
Plane = set[Cell]
Observation = list[Plane]

STAY, LEFT, UP, RIGHT, DOWN = range(5)
MOVE = {STAY: (0, 0), LEFT: (0, -1), UP: (-1, 0), RIGHT: (0, 1), DOWN: (1, 0)}


def neighbour(cell: Cell, move: Cell) -> Cell:
    """The cell that a move leads to, on the map or off it."""
    return cell[0] + move[0], cell[1] + move[1]


class Map(NamedTuple):
    """The part of a layout that never changes."""

    height: int
    width: int
    walls: frozenset[Cell]

    def open(self, cell: Cell) -> bool:
        """Whether a cell is on the map and not a wall."""
        return 0 <= cell[0] < self.height and 0 <= cell[1] < self.width and cell not in self.walls

    def walk(self, cell: Cell, action: int) -> Cell:
        """Where a walker ends up: a wall or the edge leaves it where it is."""
        target = neighbour(cell, MOVE[action])
        return target if self.open(target) else cell


def find(text: str, character: str) -> Plane:
    """The cells of a picture that show a character."""
    return {(r, c) for r, row in enumerate(text.split()) for c, shown in enumerate(row) if shown == character}


def read_map(text: str) -> Map:
    """Size and walls of a picture."""
    rows = text.split()
    return Map(len(rows), len(rows[0]), frozenset(find(text, "#")))


class Outcome(NamedTuple):
    """What a step led to, besides the new state of the world."""

    reward: float
    terminated: bool
    counters: dict[str, int]


# Maze


class Maze(NamedTuple):
    map: Map
    agent: Cell
    goal: Cell | None


def maze_reset(text: str) -> Maze:
    (agent,), (goal,) = find(text, "A"), find(text, "G")
    return Maze(read_map(text), agent, goal)


def maze_step(maze: Maze, action: int) -> tuple[Maze, Outcome]:
    agent = maze.map.walk(maze.agent, action)
    if agent == maze.goal:
        return Maze(maze.map, agent, None), Outcome(1.0, False, {})
    return Maze(maze.map, agent, maze.goal), Outcome(0.0, False, {})


def maze_observe(maze: Maze) -> Observation:
    return [set(maze.map.walls), {maze.agent}, set() if maze.goal is None else {maze.goal}]


# Butterflies

FLUTTER_EVERY = 3
FLUTTER = [MOVE[LEFT], MOVE[UP], MOVE[RIGHT], MOVE[DOWN]]
"""What a drawn direction 0, 1, 2, 3 means; the groups also take their turns in this order."""


class Butterflies(NamedTuple):
    map: Map
    butterflies: frozenset[Cell]
    catcher: Cell
    clock: int


def butterflies_reset(text: str) -> Butterflies:
    (catcher,) = find(text, "A")
    return Butterflies(read_map(text), frozenset(find(text, "b")), catcher, 0)


def butterflies_step(world: Butterflies, action: int, directions: list[list[int]]) -> tuple[Butterflies, Outcome]:
    catcher = world.map.walk(world.catcher, action)
    caught = catcher in world.butterflies
    butterflies = set(world.butterflies) - {catcher}
    clock = world.clock + 1
    if clock % FLUTTER_EVERY == 0:
        butterflies = flutter(world.map, butterflies, catcher, directions)
    after = Butterflies(world.map, frozenset(butterflies), catcher, clock)
    return after, Outcome(1.0 if caught else 0.0, len(butterflies) == 0, {})


def flutter(map: Map, butterflies: Plane, catcher: Cell, directions: list[list[int]]) -> Plane:
    """Every butterfly tries once, in the direction drawn for the cell that it is in when the flutter begins."""
    groups: list[list[Cell]] = [[], [], [], []]
    for row, column in butterflies:
        groups[directions[row][column]].append((row, column))

    now = set(butterflies)
    for move, group in zip(FLUTTER, groups, strict=True):
        taken = now | {catcher}
        for start in group:
            target = neighbour(start, move)
            if map.open(target) and target not in taken:
                now.remove(start)
                now.add(target)
    return now


def butterflies_observe(world: Butterflies) -> Observation:
    return [set(world.map.walls), set(world.butterflies), {world.catcher}]


# Tetris

HEIGHT, WIDTH = 10, 4
BAR, CORNER = 0, 1
LOSS = -100.0

TOP_LEFT, TOP_RIGHT, BOTTOM_LEFT, BOTTOM_RIGHT = (0, 0), (0, 1), (1, 0), (1, 1)
MISSING = [TOP_RIGHT, BOTTOM_RIGHT, BOTTOM_LEFT, TOP_LEFT]
"""The cell of its 2x2 box that the corner lacks, by rotation."""


class Tetris(NamedTuple):
    board: frozenset[Cell]
    piece: int


def tetris_reset(piece: int) -> Tetris:
    return Tetris(frozenset(), piece)


def tetris_step(game: Tetris, action: int, next_piece: int) -> tuple[Tetris, Outcome]:
    cells = entering(game.piece, action)
    if cells & game.board:
        return Tetris(game.board, next_piece), Outcome(LOSS, True, {"rows": 0})
    while fits(lowered(cells), game.board):
        cells = lowered(cells)
    board, rows = without_full_rows(game.board | cells)
    return Tetris(board, next_piece), Outcome(0.0, False, {"rows": rows})


def entering(piece: int, action: int) -> Plane:
    """The cells of a piece as it enters at the top."""
    if piece == BAR:
        placement = action % 6
        if placement < 2:
            return {(0, placement), (0, placement + 1), (0, placement + 2)}
        return {(0, placement - 2), (1, placement - 2), (2, placement - 2)}
    rotation, left = action // 3, action % 3
    box = {TOP_LEFT, TOP_RIGHT, BOTTOM_LEFT, BOTTOM_RIGHT}
    return {(row, left + column) for row, column in box - {MISSING[rotation]}}


def lowered(cells: Plane) -> Plane:
    return {(row + 1, column) for row, column in cells}


def fits(cells: Plane, board: frozenset[Cell]) -> bool:
    return not cells & board and all(row < HEIGHT for row, _ in cells)


def without_full_rows(board: frozenset[Cell]) -> tuple[frozenset[Cell], int]:
    """The board after every full row vanished, and how many there were."""
    full = [row for row in range(HEIGHT) if all((row, column) in board for column in range(WIDTH))]
    left = [(row, column) for row, column in board if row not in full]
    fallen = frozenset((row + sum(row < gone for gone in full), column) for row, column in left)
    return fallen, len(full)


def tetris_observe(game: Tetris) -> Observation:
    bar, corner = {(0, 0), (0, 1), (0, 2)}, {(0, 0), (1, 0), (1, 1)}
    return [set(game.board), bar if game.piece == BAR else corner]


# Seasons

SEASON_CROWD = 8


class Garden(NamedTuple):
    map: Map
    season: str
    agent: Cell
    lantern: Cell | None
    butterflies: frozenset[Cell]
    clock: int


class GardenChance(NamedTuple):
    directions: list[list[int]]
    swarm: Plane
    young: Plane
    place: int


def garden_elsewhere(map: Map, agent: Cell, place: int) -> Cell:
    """The free cells after the agent's, then those before it: one of them."""
    free = sorted((r, c) for r in range(map.height) for c in range(map.width) if map.open((r, c)))
    others = free[free.index(agent) + 1 :] + free[: free.index(agent)]
    return others[place % len(others)]


def garden_begin(map: Map, season: str, agent: Cell, chance: GardenChance, clock: int = 0) -> Garden:
    if season == "calm":
        return Garden(map, season, agent, garden_elsewhere(map, agent, chance.place), frozenset(), clock)
    swarm = frozenset(cell for cell in chance.swarm if map.open(cell) and cell != agent)
    return Garden(map, season, agent, None, swarm, clock)


def garden_step(world: Garden, action: int, season: str, chance: GardenChance) -> tuple[Garden, Outcome]:
    changed = season != world.season
    if changed:
        world = garden_begin(world.map, season, world.agent, chance, world.clock)
    agent = world.map.walk(world.agent, action)
    if season == "calm":
        clock, flutters = (world.clock + 1) % 2, False
    elif world.clock == 0 and agent == world.agent:
        clock, flutters = 0, False
    else:
        clock = (world.clock + 1) % FLUTTER_EVERY
        flutters = clock == 0
    reached, caught = agent == world.lantern, world.butterflies & garden_around(agent)
    lantern = garden_elsewhere(world.map, agent, chance.place) if reached else world.lantern
    flying = set(world.butterflies) - caught
    if flutters:
        flying = garden_flutter(world.map, flying, agent, chance)
    reward = reached - len(flying) / garden_most(world.map)
    told = {"season": int(season == "wild"), "changes": int(changed), "goals": int(reached), "caught": len(caught)}
    return Garden(world.map, season, agent, lantern, frozenset(flying), clock), Outcome(reward, False, told)


def garden_around(cell: Cell) -> frozenset[Cell]:
    return frozenset(neighbour(cell, (down, right)) for down in (-1, 0, 1) for right in (-1, 0, 1))


def garden_most(map: Map) -> int:
    return max(1, (map.height * map.width - len(map.walls)) // SEASON_CROWD)


def garden_flutter(map: Map, flying: Plane, agent: Cell, chance: GardenChance) -> Plane:
    moved = flutter(map, flying, agent, chance.directions)
    grown = moved | ((flying - moved) & chance.young)
    now = grown if len(grown) <= garden_most(map) else moved
    return now or {garden_elsewhere(map, agent, chance.place)}


def garden_observe(world: Garden) -> Observation:
    light: Plane = set()
    if world.lantern is not None:
        around = [neighbour(world.lantern, (down, right)) for down in (-1, 0, 1) for right in (-1, 0, 1)]
        light = {(r, c) for r, c in around if 0 <= r < world.map.height and 0 <= c < world.map.width}
        light = light if world.clock == 0 else {world.lantern}
    return [set(world.map.walls), {world.agent}, light, set(world.butterflies)]
