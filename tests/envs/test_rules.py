"""The worlds against an independent statement of their rules: same draws, equal at every step."""

from __future__ import annotations

import functools
import random
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.envs import layout, make
from sadapt.envs.base import Env
from sadapt.envs.butterflies import butterflies
from sadapt.envs.butterflies import draw as draw_directions
from sadapt.envs.maze import maze
from sadapt.envs.tetris import draw as draw_piece
from tests.envs import oracle
from tests.envs.oracle import BAR, CORNER, DOWN, LEFT, RIGHT, STAY, UP

MAZES = ["maze-small", "maze-large"]
DENSITIES = ["very-high", "high", "medium", "low", "very-low"]
BUTTERFLIES = [f"butterflies-{size}" for size in ("small", "large", *DENSITIES)]

TIGHT = {
    "corridor": "#bb.b.A.bb.b",
    "column": "b . b b A . .",
    "rooms": "A.bb#b b#.bbb bbb#.b .b#b.b bb.bbb",
    "wide": " ".join(["b.bbb" * 8, "A" + ".bb.b" * 7 + "bb.b", "bb.b#" * 8]),
}

Choose = Callable[[Any], int]


# Both sides of the comparison


class Rules(NamedTuple):
    """A world of the oracle; `reset` and `step` end in what chance draws for them."""

    reset: Callable[[Any], Any]
    step: Callable[[Any, int, Any], tuple[Any, oracle.Outcome]]
    observe: Callable[[Any], oracle.Observation]


def maze_rules(text: str) -> Rules:
    return Rules(
        lambda _: oracle.maze_reset(text),
        lambda world, action, _: oracle.maze_step(world, action),
        oracle.maze_observe,
    )


def butterflies_rules(text: str) -> Rules:
    return Rules(lambda _: oracle.butterflies_reset(text), oracle.butterflies_step, oracle.butterflies_observe)


TETRIS_RULES = Rules(oracle.tetris_reset, oracle.tetris_step, oracle.tetris_observe)


class Played(NamedTuple):
    """A sequence of steps, one entry a step; `following` is what is seen next, after a restart where there was one."""

    obs: list[oracle.Observation]
    reward: list[float]
    terminated: list[bool]
    counters: list[dict[str, int]]
    following: list[oracle.Observation]


class Record(NamedTuple):
    actions: list[int]
    first: oracle.Observation
    played: Played


def play_oracle(rules: Rules, choose: Choose, reset_draws: list, step_draws: list) -> Record:
    """Play by the rules as stated, beginning anew after every end."""
    world = rules.reset(reset_draws[0])
    record = Record([], rules.observe(world), Played([], [], [], [], []))
    for reset_draw, step_draw in zip(reset_draws[1:], step_draws, strict=True):
        record.actions.append(choose(world))
        world, outcome = rules.step(world, record.actions[-1], step_draw)
        obs = following = rules.observe(world)
        if outcome.terminated:
            world = rules.reset(reset_draw)
            following = rules.observe(world)
        for entries, value in zip(record.played, (obs, *outcome, following), strict=True):
            entries.append(value)  # type: ignore[attr-defined]
    return record


class Keys(NamedTuple):
    """One key for the first reset, one for a reset after each step, one for each step; as bits, which slice quickly."""

    resets: np.ndarray
    steps: np.ndarray


Play = Callable[[Keys, list[int]], Record]

compile_quickly = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


def compiled(env: Env) -> Play:
    """Play a world in one compiled loop, beginning anew after every end."""

    def advance(state, xs):
        key_reset, key_step, action = xs
        state, step = env.step(key_step, state, action)
        fresh, fresh_obs = env.reset(key_reset)
        restart = functools.partial(jnp.where, step.terminated)
        return jax.tree.map(restart, fresh, state), (*step, restart(fresh_obs, step.obs))

    @compile_quickly
    def loop(key_resets, key_steps, actions):
        state, first = env.reset(key_resets[0])
        return first, jax.lax.scan(advance, state, (key_resets[1:], key_steps, actions))[1]

    def play(keys, actions):
        key_resets, key_steps = map(jax.random.wrap_key_data, keys)
        first, played = jax.device_get(loop(key_resets, key_steps, np.asarray(actions, np.int32)))
        obs, reward, terminated, counters, following = played
        return Record(
            actions,
            channels(first),
            Played(
                [channels(each) for each in obs],
                reward.tolist(),
                terminated.tolist(),
                [{name: counters[name][t].item() for name in counters} for t in range(len(actions))],
                [channels(each) for each in following],
            ),
        )

    return play


def step_by_step(env: Env) -> Play:
    """Play a world as it comes, which is quicker for a few steps."""

    def play(keys, actions):
        state, first = env.reset(jax.random.wrap_key_data(keys.resets[0]))
        record = Record(actions, channels(first), Played([], [], [], [], []))
        for t, action in enumerate(actions):
            state, step = env.step(jax.random.wrap_key_data(keys.steps[t]), state, jnp.int32(action))
            following = step.obs
            if step.terminated:
                state, following = env.reset(jax.random.wrap_key_data(keys.resets[t + 1]))
            counters = {name: value.item() for name, value in step.counters.items()}
            answer = channels(step.obs), step.reward.item(), step.terminated.item(), counters, channels(following)
            for entries, value in zip(record.played, answer, strict=True):
                entries.append(value)  # type: ignore[attr-defined]
        return record

    return play


def channels(obs: Any) -> oracle.Observation:
    """An observation as the oracle writes it."""
    entries = np.asarray(obs)
    assert entries.dtype == np.uint8
    assert entries.max() <= 1
    return [
        set(zip(*(axis.tolist() for axis in plane.nonzero()), strict=True)) for plane in np.moveaxis(entries, -1, 0)
    ]


@functools.cache
def registered(name: str) -> tuple[Env, Play]:
    env = make(name)
    return env, compiled(env)


def assert_same(jax_record: Record, oracle_record: Record) -> None:
    assert jax_record.first == oracle_record.first
    for name, got, expected in zip(Played._fields, jax_record.played, oracle_record.played, strict=True):
        differing = [t for t, pair in enumerate(zip(got, expected, strict=True)) if pair[0] != pair[1]]
        assert differing == [], f"{name} differs, first at step {differing[0]}"


MOST_STEPS = 500


@functools.cache
def many_keys(seed: int) -> Keys:
    bits = np.asarray(jax.random.key_data(jax.random.split(jax.random.key(seed), 2 * MOST_STEPS + 1)))
    return Keys(bits[: MOST_STEPS + 1], bits[MOST_STEPS + 1 :])


def keys(seed: int, steps: int) -> Keys:
    many = many_keys(seed)
    return Keys(many.resets[: steps + 1], many.steps[:steps])


@functools.cache
def directions(seed: int, size: tuple[int, int]) -> np.ndarray:
    """What the butterflies' world draws with the keys of a seed's steps."""
    return np.asarray(directions_drawer(size)(jax.random.wrap_key_data(many_keys(seed).steps)))


@functools.cache
def directions_drawer(size: tuple[int, int]) -> Callable:
    return compile_quickly(jax.vmap(lambda key: draw_directions(key, size)))


@functools.cache
def pieces(seed: int) -> tuple[list[int], list[int]]:
    """What Tetris draws with the keys of a seed's resets and steps."""
    return tuple(pieces_drawer()(jax.random.wrap_key_data(bits)).tolist() for bits in many_keys(seed))


@functools.cache
def pieces_drawer() -> Callable:
    return compile_quickly(jax.vmap(draw_piece))


def compare_maze(play: Play, text: str, choose: Choose, steps: int) -> Record:
    expected = play_oracle(maze_rules(text), choose, [None] * (steps + 1), [None] * steps)
    assert_same(play(keys(0, steps), expected.actions), expected)
    return expected


def compare_butterflies(play: Play, text: str, choose: Choose, steps: int, seed: int) -> Record:
    size = oracle.read_map(text)[:2]
    drawn = directions(seed, size)[:steps].tolist()
    expected = play_oracle(butterflies_rules(text), choose, [None] * (steps + 1), drawn)
    assert_same(play(keys(seed, steps), expected.actions), expected)
    return expected


def compare_tetris(choose: Choose, steps: int, seed: int) -> Record:
    _, play = registered("tetris")
    first_pieces, next_pieces = pieces(seed)
    expected = play_oracle(TETRIS_RULES, choose, first_pieces[: steps + 1], next_pieces[:steps])
    assert_same(play(keys(seed, steps), expected.actions), expected)
    return expected


def shipped(name: str) -> str:
    return (files("sadapt.envs") / "layouts" / f"{name}.txt").read_text()


def own_maze(text: str) -> Env:
    return maze(layout.parse("\n".join(text.split()), "test", "maze"), name="test", horizon=50)


def own_butterflies(text: str) -> Env:
    return butterflies(layout.parse("\n".join(text.split()), "test", "butterflies"), name="test", horizon=50)


# Ways to choose actions


def wander(seed: int, actions: int = 5) -> Choose:
    source = random.Random(seed)
    return lambda _: source.randrange(actions)


def towards(map: oracle.Map, start: oracle.Cell, targets: oracle.Plane) -> int | None:
    """The first action of a shortest way to the nearest target; None where there is none."""
    first_action = {start: STAY}
    border = deque([start])
    while border:
        cell = border.popleft()
        if cell in targets:
            return first_action[cell]
        for action in (LEFT, UP, RIGHT, DOWN):
            target = map.walk(cell, action)
            if target not in first_action:
                first_action[target] = action if cell == start else first_action[cell]
                border.append(target)
    return None


def seek_goal(seed: int) -> Choose:
    """Straight to the goal, at random when it is gone."""
    stroll = wander(seed)
    return lambda world: stroll(world) if world.goal is None else towards(world.map, world.agent, {world.goal})


def hunt(seed: int) -> Choose:
    """Straight to the nearest butterfly, at random when none can be reached."""
    stroll = wander(seed)

    def choose(world: oracle.Butterflies) -> int:
        action = towards(world.map, world.catcher, set(world.butterflies))
        return stroll(world) if action is None else action

    return choose


def stack_neatly(seed: int) -> Choose:
    """The placement that leaves the fewest holes and the lowest stack."""
    source = random.Random(seed)

    def choose(game: oracle.Tetris) -> int:
        def untidiness(action: int) -> tuple:
            (board, _), outcome = oracle.tetris_step(game, action, BAR)
            empty = {(row, column) for row in range(10) for column in range(4)} - board
            holes = sum(any((above, column) in board for above in range(row)) for row, column in empty)
            return outcome.terminated, holes, sum(10 - row for row, _ in board), source.random()

        return min(range(12), key=untidiness)

    return choose


# Whole episodes


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", MAZES)
def test_maze_under_random_play(name, seed):
    env, play = registered(name)
    compare_maze(play, shipped(name), wander(seed), env.horizon)


@pytest.mark.parametrize("name", MAZES)
def test_maze_goal_is_reached_once(name):
    env, play = registered(name)
    record = compare_maze(play, shipped(name), seek_goal(0), env.horizon)
    assert sum(record.played.reward) == 1.0
    assert not any(record.played.terminated)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", BUTTERFLIES)
def test_butterflies_under_random_play(name, seed):
    env, play = registered(name)
    record = compare_butterflies(play, shipped(name), wander(seed), env.horizon, seed)
    assert sum(record.played.reward) > 0


@pytest.mark.parametrize("name", ["butterflies-small", "butterflies-very-low"])
def test_butterflies_are_hunted_to_the_last(name):
    env, play = registered(name)
    record = compare_butterflies(play, shipped(name), hunt(0), env.horizon, 0)
    assert any(record.played.terminated)


@pytest.mark.parametrize("name", TIGHT)
def test_butterflies_in_tight_places(name):
    play = compiled(own_butterflies(TIGHT[name]))
    for seed in range(6):
        compare_butterflies(play, TIGHT[name], wander(seed), 60, seed)
    record = compare_butterflies(play, TIGHT[name], hunt(9), 60, 9)
    assert sum(record.played.reward) > 3


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_tetris_under_random_play(seed):
    record = compare_tetris(wander(seed, 12), 400, seed)
    assert sum(record.played.terminated) > 10
    assert any(counters["rows"] == 1 for counters in record.played.counters)


@pytest.mark.parametrize("seed", [0, 1])
def test_tetris_under_neat_play(seed):
    record = compare_tetris(stack_neatly(seed), 400, seed)
    assert {counters["rows"] for counters in record.played.counters} == {0, 1, 2, 3}


# Chance


def test_directions_are_uniform_and_independent():
    planes = np.concatenate([directions(seed, CANVAS) for seed in range(10)])
    assert planes.dtype == np.uint8
    draws, *size = planes.shape
    assert tuple(size) == CANVAS
    cells, deviation = planes.reshape(draws, -1), (draws * 0.25 * 0.75) ** 0.5
    for direction in range(4):
        assert np.abs((cells == direction).sum(0) - draws / 4).max() < 4 * deviation
    same = (cells[:, :, None] == cells[:, None, :]).sum(0)[~np.eye(cells.shape[1], dtype=bool)]
    assert np.abs(same - draws / 4).max() < 4.5 * deviation


def test_pieces_are_uniform():
    drawn = [piece for seed in range(10) for both in pieces(seed) for piece in both]
    assert set(drawn) == {BAR, CORNER}
    assert abs(drawn.count(BAR) - len(drawn) / 2) < 4 * len(drawn) ** 0.5 / 2


# Facts


@pytest.mark.parametrize(
    ("name", "size", "horizon", "butterflies_in_percent"),
    [
        ("butterflies-small", 10, 100, None),
        ("butterflies-large", 32, 500, 13),
        ("butterflies-very-high", 32, 500, 40),
        ("butterflies-high", 32, 500, 33),
        ("butterflies-medium", 32, 500, 27),
        ("butterflies-low", 32, 500, 20),
        ("butterflies-very-low", 32, 500, 10),
    ],
)
def test_facts_of_butterflies(name, size, horizon, butterflies_in_percent):
    env, _ = registered(name)
    assert (env.obs_shape, env.horizon, env.on_death) == ((size, size, 3), horizon, "end")
    assert (env.channels, env.marginal_channels, env.agent_channel) == (("wall", "butterfly", "catcher"), (0, 1), 2)
    assert env.actions == ("stay", "left", "up", "right", "down")
    flying, free = len(oracle.find(shipped(name), "b")), size * size - len(oracle.find(shipped(name), "#"))
    if butterflies_in_percent is None:
        assert flying == 6
    else:
        assert 100 * flying / free == pytest.approx(butterflies_in_percent, abs=1)


@pytest.mark.parametrize(("name", "size", "horizon"), [("maze-small", 10, 100), ("maze-large", 32, 250)])
def test_facts_of_mazes(name, size, horizon):
    env, _ = registered(name)
    assert (env.obs_shape, env.horizon, env.on_death) == ((size, size, 3), horizon, "end")
    assert (env.channels, env.marginal_channels, env.agent_channel) == (("wall", "agent", "goal"), (0, 1, 2), 1)
    assert env.actions == ("stay", "left", "up", "right", "down")


def test_facts_of_tetris():
    env, _ = registered("tetris")
    assert (env.obs_shape, env.horizon, env.on_death) == ((10, 4, 2), 200, "shock")
    assert (env.channels, env.marginal_channels, env.agent_channel) == (("board", "piece"), (0,), None)
    assert env.counters == ("rows",)
    assert env.num_actions == 12
    assert env.actions[2] == "rotation 0, column 2"


# Cases worked out by hand, for both sides


def script(actions: list[int]) -> Choose:
    remaining = iter(actions)
    return lambda _: next(remaining)


def shown(obs: oracle.Observation, size: tuple[int, int], characters: str) -> str:
    """An observation as a picture, one character per channel; no two channels may share a cell."""
    picture = [["."] * size[1] for _ in range(size[0])]
    for character, plane in zip(characters, obs, strict=True):
        for row, column in plane:
            assert picture[row][column] == "."
            picture[row][column] = character
    return " ".join("".join(row) for row in picture)


@pytest.mark.parametrize(
    ("before", "actions", "after", "rewards"),
    [
        ("A.G", [STAY], "A.G", [0]),
        ("A.G", [LEFT], "A.G", [0]),
        ("A.G", [UP], "A.G", [0]),
        ("A.G", [DOWN], "A.G", [0]),
        ("A.G", [RIGHT], ".AG", [0]),
        ("A.G", [RIGHT, RIGHT], "..A", [0, 1]),
        ("A.G", [RIGHT, RIGHT, STAY, LEFT, RIGHT], "..A", [0, 1, 0, 0, 0]),
        ("A.G", [RIGHT, RIGHT, RIGHT], "..A", [0, 1, 0]),
        ("A#G ...", [RIGHT], "A#G ...", [0]),
        ("A#G ...", [DOWN, RIGHT, UP], ".#G .A.", [0, 0, 0]),
        ("A#G ...", [DOWN, RIGHT, RIGHT, UP, DOWN], ".#. ..A", [0, 0, 0, 1, 0]),
        ("#.# .A. #G#", [UP], "#A# ... #G#", [0]),
        ("#.# .A. #G#", [LEFT, UP], "#.# A.. #G#", [0, 0]),
        ("#.# .A. #G#", [DOWN], "#.# ... #A#", [1]),
    ],
)
def test_maze_by_hand(before, actions, after, rewards):
    record = compare_maze(step_by_step(own_maze(before)), before, script(actions), len(actions))
    assert record.played.reward == rewards
    assert shown(record.played.obs[-1], oracle.read_map(before)[:2], "#AG") == after


FACING = {"<": 0, "^": 1, ">": 2, "v": 3}


CANVAS = (3, 6)


def on_canvas(picture: str) -> str:
    """A picture in the top left of the canvas, walls around it: maps of one size compile once."""
    height, width = CANVAS
    rows = [row.ljust(width, "#") for row in picture.split()]
    return " ".join(rows + ["#" * width] * (height - len(rows)))


def draw_with(arrows: str) -> tuple[np.ndarray, list[list[int]]]:
    """A key that draws the arrows of a picture, whatever it draws elsewhere, and all that it draws."""
    for seed in range(10):
        for key, plane in zip(many_keys(seed).steps, directions(seed, CANVAS).tolist(), strict=True):
            if all(plane[r][c] == FACING[arrow] for arrow in FACING for r, c in oracle.find(arrows, arrow)):
                return key, plane
    raise LookupError(f"none of the keys draws {arrows}")


@pytest.mark.parametrize(
    ("why", "before", "arrows", "action", "after"),
    [
        ("a free cell is taken", "A..b.", "...<.", STAY, "A.b.."),
        ("in every direction", "A.... ...b. .....", "..... ...^. .....", STAY, "A..b. ..... ....."),
        ("in every direction", "A.... ...b. .....", "..... ...>. .....", STAY, "A.... ....b ....."),
        ("in every direction", "A.... ...b. .....", "..... ...v. .....", STAY, "A.... ..... ...b."),
        ("a wall blocks", "A#b ...", "..<", STAY, "A#b ..."),
        ("the edge blocks", "b.A", "<..", STAY, "b.A"),
        ("the edge blocks", "b.A", "^..", STAY, "b.A"),
        ("the edge blocks", "###### ###### b.A###", "...... ...... v.....", STAY, "###### ###### b.A###"),
        ("the edge blocks", "A....b", ".....>", STAY, "A....b"),
        ("the catcher blocks", "Ab.", ".<.", STAY, "Ab."),
        ("a file does not move as one", "A..bb", "...<<", STAY, "A.b.b"),
        ("only the head of a file moves", "A.bbb.", "..>>>.", STAY, "A.bb.b"),
        ("two that face each other stay", "A.bb.", "..><.", STAY, "A.bb."),
        ("two that part", "A..bb.", "...<>.", STAY, "A.b..b"),
        ("left goes before right", "A.b.b", "..>.<", STAY, "A.bb."),
        ("left goes before up", "A..b ##b#", "...< ..^.", STAY, "A.b. ##b#"),
        ("up goes before right", "A.b. ###b", "..>. ...^", STAY, "A.bb ###."),
        ("up goes before down", "A.b ##. ##b", "..v ... ..^", STAY, "A.b ##b ##."),
        ("right goes before down", "A..b ##b.", "...v ..>.", STAY, "A..b ##.b"),
        ("a cell left by an earlier group is free", "A..b ###b", "...< ...^", STAY, "A.bb ###."),
        ("a cell left by a later group was not", "A.bb ##.#", "..v< ....", STAY, "A..b ##b#"),
        ("nobody moves twice", "A...b", "...><", STAY, "A..b."),
        ("nobody moves twice", "A..b #..#", "..v< ....", STAY, "A.b. #..#"),
        ("the caught one is gone before the others move", "Abb", ".><", RIGHT, ".Ab"),
        ("the catcher's old cell is free", "bA..", ">...", RIGHT, ".bA."),
        ("the catcher's new cell is not", "A.b.", "..<.", RIGHT, ".Ab."),
    ],
)
def test_flutter_by_hand(why, before, arrows, action, after):
    before, after = on_canvas(before), on_canvas(after)
    key, drawn = draw_with(arrows)
    expected = play_oracle(butterflies_rules(before), script([STAY, STAY, action]), [None] * 4, [drawn] * 3)
    assert [shown(obs, CANVAS, "#bA") for obs in expected.played.obs] == [before, before, after], why
    all_keys = Keys(keys(0, 3).resets, np.stack([key] * 3))
    assert_same(step_by_step(own_butterflies(before))(all_keys, expected.actions), expected)


def test_butterflies_flutter_on_every_third_step_only():
    text = "b..b.b A##### b..b.b"
    record = compare_butterflies(step_by_step(own_butterflies(text)), text, script([STAY] * 30), 30, 0)
    pictures = [shown(obs, CANVAS, "#bA") for obs in (record.first, *record.played.obs)]
    moved = [t for t in range(1, 31) if pictures[t] != pictures[t - 1]]
    assert moved
    assert all(t % 3 == 0 for t in moved)


def test_the_last_butterfly_ends_the_episode():
    text = on_canvas("Ab")
    record = compare_butterflies(step_by_step(own_butterflies(text)), text, script([STAY, RIGHT]), 2, 0)
    assert record.played.reward == [0.0, 1.0]
    assert record.played.terminated == [False, True]
    assert [shown(obs, CANVAS, "#bA") for obs in record.played.obs] == [text, on_canvas(".A")]
    assert shown(record.played.following[-1], CANVAS, "#bA") == text


@functools.cache
def tetris_step_by_step() -> Play:
    env = make("tetris")
    return step_by_step(replace(env, reset=compile_quickly(env.reset), step=compile_quickly(env.step)))


def place(moves: list[tuple[int, int]]) -> Record:
    """Place the pieces of a list of (piece, action), in the oracle and in the world; a bar follows the last."""
    first, *following = [*(piece for piece, _ in moves), BAR]
    actions = [action for _, action in moves]
    expected = play_oracle(TETRIS_RULES, script(actions), [first] * (1 + len(moves)), following)
    key_of = [many_keys(0).steps[pieces(0)[1].index(piece)] for piece in (BAR, CORNER)]
    all_keys = Keys(np.stack([key_of[first]] * (1 + len(moves))), np.stack([key_of[piece] for piece in following]))
    assert_same(tetris_step_by_step()(all_keys, actions), expected)
    return expected


def board(obs: oracle.Observation) -> str:
    """The board without its empty rows at the top."""
    rows = shown(obs[:1], (10, 4), "#").split()
    return " ".join(rows[next((r for r, row in enumerate(rows) if row != "...."), 10) :])


@pytest.mark.parametrize(
    ("piece", "action", "landed"),
    [
        (BAR, 0, "###."),
        (BAR, 1, ".###"),
        (BAR, 2, "#... #... #..."),
        (BAR, 3, ".#.. .#.. .#.."),
        (BAR, 4, "..#. ..#. ..#."),
        (BAR, 5, "...# ...# ...#"),
        (BAR, 6, "###."),
        (BAR, 7, ".###"),
        (BAR, 8, "#... #... #..."),
        (BAR, 9, ".#.. .#.. .#.."),
        (BAR, 10, "..#. ..#. ..#."),
        (BAR, 11, "...# ...# ...#"),
        (CORNER, 0, "#... ##.."),
        (CORNER, 1, ".#.. .##."),
        (CORNER, 2, "..#. ..##"),
        (CORNER, 3, "##.. #..."),
        (CORNER, 4, ".##. .#.."),
        (CORNER, 5, "..## ..#."),
        (CORNER, 6, "##.. .#.."),
        (CORNER, 7, ".##. ..#."),
        (CORNER, 8, "..## ...#"),
        (CORNER, 9, ".#.. ##.."),
        (CORNER, 10, "..#. .##."),
        (CORNER, 11, "...# ..##"),
    ],
)
def test_every_placement_by_hand(piece, action, landed):
    assert board(place([(piece, action)]).played.obs[-1]) == landed


TOWER = [(BAR, 2), (BAR, 2), (BAR, 2)]
TOWER_PICTURE = " ".join(["#..."] * 9)
HOOK_PICTURE = " ".join(["##.."] * 2 + ["#..."] * 8)


@pytest.mark.parametrize(
    ("why", "moves", "after", "rows", "reward"),
    [
        ("a piece stops on what lies below", [(CORNER, 3), (BAR, 3)], ".#.. .#.. .#.. ##.. #...", 0, 0),
        ("a corner settles over a hole", [(BAR, 2), (CORNER, 9)], ".#.. ##.. #... #... #...", 0, 0),
        ("a corner stands on its foot", [(BAR, 2), (CORNER, 3)], "##.. #... #... #... #...", 0, 0),
        ("a corner hooks over an edge", [(BAR, 2), (CORNER, 6)], "##.. ##.. #... #...", 0, 0),
        ("one row", [(BAR, 0), (BAR, 5)], "...# ...#", 1, 0),
        ("a corner lies on a bar", [(BAR, 0), (CORNER, 11)], "...# ..## ###.", 0, 0),
        ("two rows", [(CORNER, 0), (CORNER, 7), (BAR, 5)], "...#", 2, 0),
        ("three rows", [(BAR, 2), (BAR, 3), (BAR, 4), (BAR, 5)], "", 3, 0),
        ("two rows apart", [(BAR, 0), (CORNER, 0), (CORNER, 1), (BAR, 5)], ".#.. ##.#", 2, 0),
        ("a tower to the row below the top", TOWER, TOWER_PICTURE, 0, 0),
        ("a piece can lie in the top row", [*TOWER, (BAR, 0)], f"###. {TOWER_PICTURE}", 0, 0),
        ("no room for a bar", [*TOWER, (BAR, 2)], TOWER_PICTURE, 0, -100),
        ("no room for a corner", [*TOWER, (CORNER, 0)], TOWER_PICTURE, 0, -100),
        ("room for a corner's missing cell", [*TOWER, (CORNER, 6)], HOOK_PICTURE, 0, 0),
    ],
)
def test_tetris_by_hand(why, moves, after, rows, reward):
    played = place(moves).played
    assert board(played.obs[-1]) == after, why
    assert played.counters[-1] == {"rows": rows}
    assert played.reward == [0.0] * (len(moves) - 1) + [reward]
    assert played.terminated == [False] * (len(moves) - 1) + [reward < 0]


def test_the_piece_is_shown_and_redrawn_even_on_a_loss():
    record = place([*TOWER, (CORNER, 0)])
    bar, corner = {(0, 0), (0, 1), (0, 2)}, {(0, 0), (1, 0), (1, 1)}
    assert [piece for _, piece in (record.first, *record.played.obs)] == [bar, bar, bar, corner, bar]
    assert record.played.following[-1] == [set(), bar]
