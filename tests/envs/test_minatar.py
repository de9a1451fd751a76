"""The MinAtar games against the `minatar` package: same states, same actions and same draws must give the same."""

from __future__ import annotations

import copy
import functools
import importlib
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from minatar import Environment
from scipy.stats import chi2_contingency

from sadapt.envs import asterix, breakout, freeway, make, minatar, seaquest, space_invaders
from sadapt.envs.minatar import RULES, ArcadeState
from sadapt.envs.table import MINATAR

FULL_ACTIONS = ("no-op", "left", "up", "right", "down", "fire")
env = functools.cache(make)


class Draws:
    """Stands in for MinAtar's source of chance and hands out what is prepared."""

    def __init__(self, answers: Iterable[Any]) -> None:
        self.answers = iter(answers)

    def rand(self, *shape: int) -> Any:
        return next(self.answers)

    def randint(self, *bounds: int, **named_bounds: int) -> Any:
        answer = next(self.answers)
        return answer(*bounds) if callable(answer) else answer


def coin(heads: Any) -> Any:
    """A number that MinAtar takes for heads, below one third, or for tails, above one half."""
    return np.where(heads, 0.2, 0.8)


# What MinAtar calls our states


def asterix_attributes(state: Any) -> dict[str, Any]:
    things = zip(*state.things, strict=True)
    entities = [[int(x), lane, bool(right), bool(gold)] if there else None
                for lane, (there, x, right, gold) in enumerate(things, start=1)]  # fmt: skip
    return {
        "player_x": int(state.x),
        "player_y": int(state.y),
        "entities": entities,
        "spawn_speed": int(state.spawn_interval),
        "spawn_timer": int(state.spawn_wait),
        "move_speed": int(state.move_interval),
        "move_timer": int(state.move_wait),
        "ramp_timer": int(state.ramp_wait),
        "ramp_index": int(state.ramps),
    }


def freeway_attributes(state: Any) -> dict[str, Any]:
    speeds = state.speeds.interval * np.where(state.speeds.right, 1, -1)
    cars = zip(state.cars, range(1, 9), state.car_wait, speeds, strict=True)
    return {"pos": int(state.y), "move_timer": int(state.walk_wait), "cars": [list(map(int, car)) for car in cars]}


def seaquest_attributes(state: Any) -> dict[str, Any]:
    body, armed = state.enemies.body, state.enemies.armed
    shots = [(state.shots_left, 0), (state.shots_right, 1)]
    return {
        "sub_x": int(state.x),
        "sub_y": int(state.y),
        "sub_or": bool(state.right),
        "oxygen": int(state.oxygen),
        "diver_count": int(state.divers_aboard),
        "surface": bool(state.surfaced),
        "shot_timer": int(state.reload),
        "f_bullets": oldest_first(state.torpedoes),
        "e_fish": oldest_first(body, ~armed),
        "e_subs": oldest_first(body, armed, state.enemies.reload),
        "e_bullets": [[x, y, right] for rows, right in shots for y in range(10) for x in range(10) if rows[y] >> x & 1],
        "divers": oldest_first(state.divers),
        "e_spawn_timer": int(state.spawn_wait),
        "d_spawn_timer": int(state.diver_wait),
        "e_spawn_speed": int(state.spawn_interval),
        "move_speed": int(state.move_interval),
        "ramp_index": int(state.times_surfaced),
    }


def oldest_first(slots: Any, which: Any = True, *more: np.ndarray) -> list[list[int]]:
    """The living in slots as MinAtar lists them: column, row, direction and clocks."""
    columns = zip(*(*slots[1:], *more), strict=True)
    return [list(map(int, row)) for row, alive in zip(columns, slots.alive & which, strict=True) if alive][::-1]


def breakout_attributes(state: Any) -> dict[str, Any]:
    return {
        "pos": int(state.paddle),
        "ball_x": int(state.x),
        "ball_y": int(state.y),
        "ball_dir": {(0, 0): 0, (1, 0): 1, (1, 1): 2, (0, 1): 3}[int(state.right), int(state.down)],
        "last_x": int(state.last_x),
        "last_y": int(state.last_y),
        "brick_map": unpacked(state.bricks),
        "strike": bool(state.struck),
    }


def space_invaders_attributes(state: Any) -> dict[str, Any]:
    return {
        "pos": int(state.x),
        "alien_map": unpacked(state.aliens),
        "f_bullet_map": unpacked(state.bullets),
        "e_bullet_map": unpacked(state.shots),
        "alien_dir": 1 if state.right else -1,
        "shot_timer": int(state.reload),
        "alien_move_timer": int(state.move_wait),
        "alien_shot_timer": int(state.shot_wait),
        "enemy_move_interval": int(state.move_interval),
    }


def unpacked(plane: np.ndarray) -> np.ndarray:
    return (plane[:, None] >> np.arange(10) & 1).astype(float)


def packed(cells: np.ndarray) -> np.ndarray:
    return cells.astype(np.uint32) @ (1 << np.arange(10, dtype=np.uint32))


# The draws of a step, in MinAtar's order


def asterix_draws(state: Any, chance: Any) -> list[Any]:
    return [coin(chance.right), coin(chance.gold), lambda n: (int(chance.lot) * n) >> asterix.LOT_BITS]


def freeway_draws(state: Any, chance: Any) -> list[Any]:
    return [chance.interval.copy(), coin(~chance.right)]


def seaquest_draws(state: Any, chance: Any) -> list[Any]:
    enemy = [coin(chance.right), coin(chance.armed), int(chance.row)] if state.spawn_wait == 0 else []
    return [*enemy, coin(chance.diver_right), int(chance.diver_row)]


# Situations that play from the start seldom leads to


def asterix_situation(rng: np.random.Generator) -> Any:
    ramps = int(rng.integers(0, 14))
    spawn_interval, move_interval = max(1, 10 - ramps), max(1, 5 - ramps // 2)
    return asterix.AsterixState(
        x=rng.integers(10),
        y=rng.integers(1, 9),
        things=asterix.Things(rng.random(8) < rng.random(), rng.integers(0, 10, 8), flips(rng, 8), flips(rng, 8)),
        spawn_wait=rng.integers(0, spawn_interval),
        move_wait=rng.integers(0, move_interval),
        ramp_wait=rng.integers(-1, 20),
        spawn_interval=spawn_interval,
        move_interval=move_interval,
        ramps=ramps,
    )


def breakout_situation(rng: np.random.Generator) -> Any:
    bricks = np.zeros((10, 10))
    bricks[1:4] = rng.random((3, 10)) < rng.choice([0.0, 0.03, 0.1, 0.9])
    y, x = rng.integers(1, 9), rng.integers(0, 10)
    bricks[y, x] = 0
    return breakout.BreakoutState(
        paddle=rng.integers(10),
        x=x,
        y=y,
        right=flips(rng),
        down=flips(rng),
        last_x=x,
        last_y=y,
        bricks=packed(bricks),
        struck=flips(rng),
    )


def freeway_situation(rng: np.random.Generator) -> Any:
    intervals = rng.integers(1, 6, 8)
    return freeway.FreewayState(
        y=rng.integers(1, 10),
        walk_wait=rng.integers(0, 4),
        cars=rng.integers(0, 10, 8),
        car_wait=rng.integers(0, intervals + 1),
        speeds=freeway.Speeds(flips(rng, 8), intervals),
    )


def seaquest_situation(rng: np.random.Generator) -> Any:
    surfaced = int(rng.integers(0, 25))
    spawn_interval, move_interval = max(1, 20 - surfaced), max(2, 5 - surfaced // 2)
    x, y = rng.integers(10), rng.choice([0, 1, 1, *range(9)])
    enemies = seaquest.Swimmers(
        alive=np.arange(32) < rng.integers(7),
        x=rng.integers(0, 10, 32),
        y=rng.integers(1, 9, 32),
        right=flips(rng, 32),
        wait=rng.integers(0, move_interval + 1, 32),
    )
    right = flips(rng, 3)
    torpedoes = seaquest.Torpedoes(
        alive=flips(rng, 3) & [True, True, False],
        x=np.where(right, rng.integers([0, 5, 0], 10), rng.integers(0, [10, 5, 10])),
        y=rng.integers(0, 9, 3),
        right=right,
    )
    near = rng.random(3) < 0.5
    divers = seaquest.Swimmers(
        alive=flips(rng, 3) & [True, True, False],
        x=np.where(near, np.clip(x + rng.integers(-1, 2, 3), 0, 9), rng.integers(0, 10, 3)),
        y=np.where(near, max(y, 1), rng.integers(1, 9, 3)),
        right=flips(rng, 3),
        wait=rng.integers(0, 6, 3),
    )
    return seaquest.SeaquestState(
        x=x,
        y=y,
        right=x == 9 or (x > 0 and flips(rng)),
        oxygen=rng.choice([0, 5, *range(10, 201, 10)]),
        divers_aboard=rng.choice([-1, 0, 1, 2, 3, 4, 5, 5, 6, 6]),
        surfaced=y == 0 and rng.random() < 0.8,
        reload=rng.integers(0, 5),
        torpedoes=torpedoes,
        enemies=seaquest.Enemies(enemies, flips(rng, 32), rng.integers(0, 11, 32)),
        shots_left=np.bitwise_and.reduce(rng.integers(0, 1024, (5, 10))),
        shots_right=np.bitwise_and.reduce(rng.integers(0, 1024, (5, 10))),
        divers=divers,
        spawn_wait=rng.integers(0, spawn_interval),
        diver_wait=rng.integers(0, 30),
        spawn_interval=spawn_interval,
        move_interval=move_interval,
        times_surfaced=surfaced,
    )


def space_invaders_situation(rng: np.random.Generator) -> Any:
    aliens = np.zeros((10, 10))
    top, left = rng.integers(0, 7), rng.integers(0, 5)
    aliens[top : top + 4, left : left + 6] = rng.random((min(4, 10 - top), 6)) < rng.choice([0.05, 0.2, 0.9])
    aliens[top, left] = 1
    interval = rng.integers(6, 13)
    return space_invaders.InvadersState(
        x=rng.integers(10),
        aliens=packed(aliens),
        bullets=packed(rng.random((10, 10)) < 0.05),
        shots=packed(rng.random((10, 10)) < 0.02),
        right=flips(rng),
        reload=rng.integers(0, 5),
        move_wait=rng.integers(0, interval),
        shot_wait=rng.integers(0, 10),
        move_interval=interval,
    )


def flips(rng: np.random.Generator, *shape: int) -> Any:
    return rng.random(shape) < 0.5


class Case(NamedTuple):
    """A game of the package, how our states and draws translate into it, and how often each of its actions is taken."""

    oracle: str
    attributes: Callable[[Any], dict[str, Any]]
    situation: Callable[[np.random.Generator], Any]
    weights: tuple[float, ...]
    draw: Callable[[jax.Array], Any] = lambda key: ()
    draws: Callable[[Any, Any], list[Any]] = lambda state, chance: []


CASES = {
    "minatar-asterix": Case(
        "asterix", asterix_attributes, asterix_situation, (1, 1, 1, 1, 1), asterix.draw, asterix_draws
    ),
    "minatar-breakout": Case("breakout", breakout_attributes, breakout_situation, (1, 1, 1)),
    "minatar-freeway": Case("freeway", freeway_attributes, freeway_situation, (1, 8, 1), freeway.draw, freeway_draws),
    "minatar-seaquest": Case(
        "seaquest", seaquest_attributes, seaquest_situation, (1, 3, 1, 3, 2, 4), seaquest.draw, seaquest_draws
    ),
    "minatar-space-invaders": Case("space_invaders", space_invaders_attributes, space_invaders_situation, (1, 1, 1, 3)),
}


class Play(NamedTuple):
    """Recorded play, indexed [world, step]; `before` and `chance` are what an action met."""

    before: Any
    chance: Any
    actions: Any
    obs: Any
    reward: Any
    ended: Any


WORLDS, STEPS = 128, 25
"""Worlds and steps that are recorded in one go."""


@functools.cache
def recorder(name: str) -> Callable[..., tuple[ArcadeState, Play]]:
    """Plays worlds on from given states, whether their games have ended or not."""
    world, case = env(name), CASES[name]
    odds = jnp.log(jnp.asarray(case.weights, jnp.float32))

    def advance(state: ArcadeState, key: jax.Array) -> tuple[ArcadeState, Play]:
        key_action, key_step = jax.random.split(key)
        after, step = world.step(key_step, state, jax.random.categorical(key_action, odds).astype(jnp.int32))
        chance = case.draw(jax.random.split(key_step)[1])
        return after, Play(state.game, chance, after.last_action, step.obs, step.reward, step.terminated)

    record = jax.vmap(lambda state, key: jax.lax.scan(advance, state, jax.random.split(key, STEPS)))
    return jax.jit(lambda states, key: record(states, jax.random.split(key, WORLDS)))


def from_the_start(name: str, times: int) -> list[Play]:
    """Play of `times * STEPS` steps from fresh games."""
    key_reset, *keys = jax.random.split(jax.random.key(0), 1 + times)
    states, _ = jax.vmap(env(name).reset)(jax.random.split(key_reset, WORLDS))
    parts = []
    for key in keys:
        states, play = recorder(name)(states, key)
        parts.append(play)
    return unstacked(jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *jax.device_get(parts)))


def from_situations(name: str, times: int) -> list[Play]:
    """Short play from `times * WORLDS` situations."""
    rng = np.random.default_rng(0)
    like = jax.eval_shape(RULES[title(name)].reset, jax.random.key(0))
    plays = []
    for key in jax.random.split(jax.random.key(0), times):
        games = [typed(CASES[name].situation(rng), like) for _ in range(WORLDS)]
        states = ArcadeState(jax.tree.map(lambda *leaves: np.stack(leaves), *games), np.zeros(WORLDS, np.int32))
        plays += unstacked(jax.device_get(recorder(name)(states, key)[1]))
    return plays


def typed(state: Any, like: Any) -> Any:
    """A state of numpy's numbers in the types of the game's own states."""
    return jax.tree.map(lambda leaf, kind: np.asarray(leaf).astype(kind.dtype), state, like)


def title(name: str) -> str:
    """A game without its family's name, as the tables of rules and facts have it."""
    return name.removeprefix("minatar-")


def unstacked(play: Play) -> list[Play]:
    """One record a world."""
    return [at(world, play) for world in range(WORLDS)]


def oracle(name: str, attributes: dict[str, Any]) -> Any:
    """MinAtar's game in a given state."""
    game = importlib.import_module(f"minatar.environments.{CASES[name].oracle}").Env(ramping=True)
    game.reset()
    unknown = set(attributes) - set(vars(game)) - {"ramping"}
    assert not unknown
    vars(game).update(attributes)
    return game


def first_difference(name: str, play: Play) -> tuple[int, str | None]:
    """Steps until the game ended, and what was different in the last of them, if anything was."""
    case = CASES[name]
    full = [FULL_ACTIONS.index(action) for action in MINATAR[title(name)].actions]
    game = oracle(name, case.attributes(at(0, play.before)))
    for t, action in enumerate(play.actions):
        game.random = Draws(case.draws(at(t, play.before), at(t, play.chance)))
        reward, ended = game.act(full[action])
        theirs = {"reward": reward, "ended": ended, "obs": game.state()}
        for what, expected in theirs.items():
            if not np.array_equal(np.float32(expected), np.float32(getattr(play, what)[t])):
                places = np.argwhere(expected != play.obs[t].astype(bool)).tolist() if what == "obs" else expected
                return t + 1, f"another {what} than {places} after {action} in {at(t, play.before)}"
        if ended:
            return t + 1, None
    return len(play.actions), None


def at(t: int, tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[t], tree)


# Parity along play


@pytest.mark.parametrize("name", CASES)
def test_actions_and_the_number_of_channels_are_the_packages(name):
    game, facts = oracle(name, {}), MINATAR[title(name)]
    assert [FULL_ACTIONS[action] for action in game.minimal_action_set()] == list(facts.actions)
    assert game.state_shape() == [10, 10, len(facts.channels)]
    assert env(name).obs_shape == (10, 10, len(facts.channels))


QUICK = ("minatar-breakout", "minatar-seaquest")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_play_agrees_with_the_package(name):
    plays = from_the_start(name, 6) + from_situations(name, 4)
    lengths, differences = zip(*(first_difference(name, play) for play in plays), strict=True)
    assert [difference for difference in differences if difference][:1] == []
    assert sum(lengths) >= 5_000
    assert sum(play.reward[:length].sum() for play, length in zip(plays, lengths, strict=True)) > 50


def test_seaquest_has_slots_for_everyone():
    hardest = DIVE._replace(times_surfaced=19, spawn_interval=1, move_interval=2, spawn_wait=0)
    states = ArcadeState(typed(hardest, jax.eval_shape(seaquest.reset, jax.random.key(0))), np.int32(0))
    states = jax.tree.map(lambda leaf: np.stack([leaf] * WORLDS), states)
    most = 0
    for key in jax.random.split(jax.random.key(3), 8):
        states, play = recorder("minatar-seaquest")(states, key)
        for slots in (play.before.enemies.body, play.before.divers, play.before.torpedoes):
            assert not slots.alive[..., -1].any()
        most = max(most, int(play.before.enemies.body.alive.sum(axis=-1).max()))
    assert most > 20


@pytest.mark.parametrize("name", CASES)
def test_scripted_policies_hold_what_they_are_called_after(name):
    still, *held = env(name).scripted.items()
    assert (still[0], int(still[1](None, None, None))) == ("still", 0)
    assert {policy: env(name).actions[int(act(None, None, None))] for policy, act in held} == {
        policy: policy for policy in ("left", "up") if policy in env(name).actions
    }


def test_a_difference_would_be_noticed():
    play = from_the_start("minatar-freeway", 1)[0]
    assert first_difference("minatar-freeway", play) == (STEPS, None)
    moved = play._replace(obs=np.roll(play.obs, 1, axis=2))
    assert first_difference("minatar-freeway", moved)[1].startswith("another obs")
    assert first_difference("minatar-freeway", play._replace(reward=play.reward + 1))[1].startswith("another reward")


# Rare events, one step each


@functools.cache
def compiled(name: str) -> Callable[..., Any]:
    return jax.jit(env(name).step)


def one_step(name: str, state: Any, action: str, seed: int = 0) -> SimpleNamespace:
    """The game, reward and end after a step in which both agree; the action is the one before, so nothing sticks."""
    like = jax.eval_shape(RULES[title(name)].reset, jax.random.key(0))
    game, key = typed(state, like), jax.random.key(seed)
    done = np.int32(MINATAR[title(name)].actions.index(action))
    after, step = compiled(name)(key, ArcadeState(game, done), done)
    chance = CASES[name].draw(jax.random.split(key)[1])
    play = Play(game, chance, done, step.obs, step.reward, step.terminated)
    assert first_difference(name, jax.tree.map(lambda leaf: np.asarray(leaf)[None], play)) == (1, None)
    game = jax.device_get(after.game)
    return SimpleNamespace(game=game, reward=float(step.reward), ended=bool(step.terminated), chance=chance)


FREEWAY = freeway.FreewayState(
    y=5, walk_wait=0, cars=np.zeros(8), car_wait=np.ones(8), speeds=freeway.Speeds(np.ones(8, bool), np.ones(8))
)


def test_freeway_pays_for_crossing_and_draws_new_speeds():
    told = one_step("minatar-freeway", FREEWAY._replace(y=1), "up")
    assert (told.reward, told.ended, told.game.y, told.game.walk_wait) == (1, False, 9, 2)
    assert not np.array_equal(told.game.speeds.interval, FREEWAY.speeds.interval)
    np.testing.assert_array_equal(told.game.speeds.interval, told.chance.interval)
    np.testing.assert_array_equal(told.game.car_wait, told.chance.interval - 1)


@pytest.mark.parametrize("car", [3, 4])
def test_freeway_cars_send_the_chicken_back(car):
    told = one_step("minatar-freeway", FREEWAY._replace(cars=np.full(8, car), car_wait=np.zeros(8)), "no-op")
    assert (told.reward, told.ended, told.game.y) == (0, False, 9)


def test_freeway_lets_the_chicken_walk_every_third_step():
    waits = [one_step("minatar-freeway", FREEWAY._replace(walk_wait=wait), "up").game.y for wait in range(4)]
    assert waits == [4, 5, 5, 5]


def test_breakout_pays_for_the_last_brick_and_builds_new_ones_at_the_bottom():
    empty = breakout.reset(jax.random.key(0))._replace(bricks=np.zeros(10), last_x=3)
    last = np.where(np.arange(10) == 3, 1 << 5, 0)
    hit = one_step("minatar-breakout", empty._replace(x=4, y=4, right=True, down=False, bricks=last), "no-op")
    assert (hit.reward, hit.ended, hit.game.bricks.any(), hit.game.down) == (1, False, False, True)
    low = empty._replace(x=4, y=8, right=True, down=True, paddle=4)
    bounced = one_step("minatar-breakout", low, "no-op")
    assert (bounced.reward, bounced.ended, bounced.game.down, bounced.game.right) == (0, False, False, True)
    np.testing.assert_array_equal(bounced.game.bricks, breakout.BRICKS)
    returned = one_step("minatar-breakout", low, "right")
    assert (returned.ended, returned.game.down, returned.game.right) == (False, False, False)
    assert one_step("minatar-breakout", low._replace(paddle=0), "no-op").ended


@pytest.mark.parametrize(("interval", "after"), [(12, 11), (7, 6), (6, 6)])
def test_space_invaders_come_again_faster_when_the_last_is_shot(interval, after):
    start = space_invaders.reset(jax.random.key(0))
    rows = np.arange(10)
    told = one_step(
        "minatar-space-invaders",
        start._replace(
            aliens=np.where(rows == 4, 1 << 4, 0),
            bullets=np.where(rows == 5, 1 << 4, 0),
            move_interval=interval,
            move_wait=3,
        ),
        "no-op",
    )
    assert (told.reward, told.ended, told.game.move_interval) == (1, False, after)
    np.testing.assert_array_equal(told.game.aliens, space_invaders.WAVE)


@pytest.mark.parametrize(("cannon", "column"), [(0, 2), (5, 2), (6, 8), (9, 8)])
def test_space_invaders_nearest_column_shoots_and_the_left_one_of_two(cannon, column):
    start = space_invaders.reset(jax.random.key(0))
    pair = np.where(np.arange(10) < 3, 1 << 2 | 1 << 8, 0)
    told = one_step("minatar-space-invaders", start._replace(aliens=pair, x=cannon, shot_wait=0), "no-op")
    assert np.argwhere(unpacked(told.game.shots)).tolist() == [[2, column]]


DIVE = seaquest.reset(jax.random.key(0))._replace(y=3, surfaced=False)


@pytest.mark.parametrize(("oxygen", "ended"), [(2, False), (1, False), (0, True)])
def test_seaquest_ends_without_oxygen(oxygen, ended):
    told = one_step("minatar-seaquest", DIVE._replace(oxygen=oxygen), "no-op")
    assert (told.ended, told.game.oxygen) == (ended, oxygen - 1)


@pytest.mark.parametrize(
    ("aboard", "oxygen", "reward", "ended", "left"),
    [(0, 100, 0, True, 0), (1, 100, 0, False, 0), (5, 100, 0, False, 4), (6, 100, 5, False, -1), (6, 199, 9, False, -1),
     (-1, 100, 0, False, -2)],
)  # fmt: skip
def test_seaquest_surfacing(aboard, oxygen, reward, ended, left):
    told = one_step("minatar-seaquest", DIVE._replace(y=1, divers_aboard=aboard, oxygen=oxygen), "up")
    assert (told.reward, told.ended, told.game.divers_aboard) == (reward, ended, left)
    assert told.game.oxygen == (oxygen if ended else 200)
    assert told.game.times_surfaced == (not ended)


def test_seaquest_waits_at_the_surface():
    told = one_step("minatar-seaquest", DIVE._replace(y=0, surfaced=True, oxygen=100), "no-op")
    assert (told.ended, told.game.oxygen) == (False, 100)


@pytest.mark.parametrize(
    ("surfaced", "before", "after"),
    [(0, (20, 5), (19, 5)), (1, (19, 5), (18, 4)), (7, (13, 2), (12, 2)), (30, (1, 2), (1, 2))],
)
def test_seaquest_ramps_when_surfacing(surfaced, before, after):
    low = DIVE._replace(
        y=1, divers_aboard=3, times_surfaced=surfaced, spawn_interval=before[0], move_interval=before[1]
    )
    told = one_step("minatar-seaquest", low, "up")
    assert (told.game.spawn_interval, told.game.move_interval) == after


def swimmers(slots: int, rows: list[tuple[int, int, bool, int]]) -> seaquest.Swimmers:
    """Slots of which the first are taken, newest first: column, row, whether to the right, and wait."""
    filled = [(True, *row) for row in rows] + [(False, 0, 0, False, 0)] * (slots - len(rows))
    return seaquest.Swimmers(*map(np.array, zip(*filled, strict=True)))


@pytest.mark.parametrize("newest", [(5, 3, True, 3), (4, 3, True, 0)], ids=["there", "comes"])
@pytest.mark.parametrize("oldest", [(5, 3, False, 4), (6, 3, False, 0)], ids=["there", "comes"])
def test_seaquest_has_room_for_six_divers_and_takes_the_newest_first(newest, oldest):
    state = DIVE._replace(divers_aboard=5, divers=swimmers(3, [newest, oldest]))
    told = one_step("minatar-seaquest", state, "no-op")
    assert told.game.divers_aboard == 6
    assert told.game.divers.alive.tolist() == [False, True, False]
    full = one_step("minatar-seaquest", state._replace(divers_aboard=6), "no-op")
    assert full.game.divers.alive.tolist() == [True, True, False]


STANDS, COMES = (7, 7, False, 4), (8, 7, False, 0)
"""Enemies that meet a torpedo in column 7 of row 7: one that stands there, and one that moves in afterwards."""

LATER = (6, 7, True, 0)


@pytest.mark.parametrize(
    ("enemies", "armed", "left"),
    [
        ([STANDS, STANDS], (False, False), [True, False]),
        ([STANDS, STANDS], (True, True), [True, False]),
        ([STANDS, STANDS], (True, False), [True, False]),
        ([STANDS, STANDS], (False, True), [False, True]),
        ([COMES, LATER], (False, False), [False, True]),
        ([COMES, LATER], (True, True), [False, True]),
        ([COMES, LATER], (True, False), [False, True]),
        ([COMES, LATER], (False, True), [True, False]),
        ([COMES, STANDS], (False, False), [True, False]),
    ],
)
def test_seaquest_torpedoes_choose_one_enemy(enemies, armed, left):
    state = DIVE._replace(
        torpedoes=seaquest.Torpedoes(*map(np.array, zip((True, 6, 7, True), *[(False, 0, 0, True)] * 2, strict=True))),
        enemies=seaquest.Enemies(swimmers(32, enemies), np.array([*armed, *[False] * 30]), np.full(32, 9)),
    )
    told = one_step("minatar-seaquest", state, "no-op")
    assert told.reward == 1
    assert told.game.enemies.body.alive[:2].tolist() == left
    assert not told.game.torpedoes.alive.any()


def test_seaquest_submarines_shoot_in_the_moment_of_their_destruction():
    torpedoes = zip((True, 6, 7, True), *[(False, 0, 0, True)] * 2, strict=True)
    state = DIVE._replace(
        torpedoes=seaquest.Torpedoes(*map(np.array, torpedoes)),
        enemies=seaquest.Enemies(swimmers(32, [COMES]), np.ones(32, bool), np.zeros(32)),
    )
    told = one_step("minatar-seaquest", state, "no-op")
    assert (told.reward, told.game.enemies.body.alive.any(), told.game.shots_left[7]) == (1, False, 1 << 6)


@pytest.mark.parametrize(("enemy", "left"), [(STANDS, [False, True]), (LATER, [True, False])])
def test_seaquest_enemies_take_one_torpedo(enemy, left):
    torpedoes = zip((True, 6, 7, True), (True, 8, 7, False), (False, 0, 0, True), strict=True)
    state = DIVE._replace(
        torpedoes=seaquest.Torpedoes(*map(np.array, torpedoes)),
        enemies=DIVE.enemies._replace(body=swimmers(32, [enemy])),
    )
    told = one_step("minatar-seaquest", state, "no-op")
    assert told.reward == 1
    assert told.game.torpedoes.alive[:2].tolist() == left


@pytest.mark.parametrize(
    ("ramps", "before", "after"),
    [(0, (10, 5), (9, 5)), (1, (9, 5), (8, 4)), (9, (1, 2), (1, 1)), (10, (1, 1), (1, 1))],
)
@pytest.mark.parametrize("wait", [-1, 0])
def test_asterix_ramps_when_its_clock_has_run_out(ramps, before, after, wait):
    start = asterix.reset(jax.random.key(0))
    told = one_step(
        "minatar-asterix",
        start._replace(ramps=ramps, ramp_wait=wait, spawn_interval=before[0], move_interval=before[1]),
        "no-op",
    )
    assert (told.game.spawn_interval, told.game.move_interval) == (after if wait < 0 else before)


# Chance


def drawn(function: Callable[[jax.Array], Any], n: int = 20_000) -> Any:
    return jax.device_get(jax.jit(jax.vmap(function))(jax.random.split(jax.random.key(7), n)))


def packages(name: str, state: Any, look: Callable[[Any], list[Any]], *, action: int = 0, n: int = 4_000) -> list[Any]:
    """What the package draws by itself in one situation."""
    attributes, random = CASES[name].attributes(jax.device_get(state)), np.random.RandomState(7)
    found = []
    for _ in range(n):
        game = oracle(name, copy.deepcopy(attributes))
        game.random = random
        game.act(action)
        found += look(game)
    return found


def assert_same_frequencies(ours: Iterable[Any], theirs: Iterable[Any]) -> None:
    """A chi-square test of homogeneity."""
    counts = [{}, {}]
    for count, outcomes in zip(counts, (ours, theirs), strict=True):
        for outcome in outcomes:
            count[outcome] = count.get(outcome, 0) + 1
    every = sorted(counts[0].keys() | counts[1].keys())
    table = [[count.get(outcome, 0) for outcome in every] for count in counts]
    assert chi2_contingency(table).pvalue > 0.01


@pytest.mark.parametrize("free", [range(8), [2], [0, 3, 7]], ids=str)
def test_asterix_draws_lane_side_and_gold_as_the_package_does(free):
    busy = ~np.isin(np.arange(8), free)
    lanes = asterix.Things(busy, np.full(8, 2), np.ones(8, bool), np.zeros(8, bool))
    state = asterix.reset(jax.random.key(0))._replace(things=lanes, spawn_wait=jnp.int32(0))
    after = drawn(lambda key: asterix.step(key, state, jnp.int32(0))[0].things)
    new = after.there & ~busy
    assert (new.sum(axis=1) == 1).all()
    ours = zip(np.nonzero(new)[1].tolist(), after.right[new].tolist(), after.gold[new].tolist(), strict=True)
    theirs = packages(
        "minatar-asterix",
        state,
        lambda game: [(row - 1, bool(right), bool(gold)) for _, row, right, gold in filter(None, game.entities)
                      if not busy[row - 1]],
    )  # fmt: skip
    assert_same_frequencies(ours, theirs)


def test_freeway_draws_speeds_as_the_package_does():
    state = typed(FREEWAY._replace(y=1), jax.eval_shape(freeway.reset, jax.random.key(0)))
    speeds = drawn(lambda key: freeway.step(key, state, jnp.int32(freeway.UP))[0].speeds, 4_000)
    signed = np.where(speeds.right, 1, -1) * speeds.interval
    ours = [(lane, speed) for row in signed.tolist() for lane, speed in enumerate(row, start=1)]
    theirs = packages(
        "minatar-freeway", state, lambda game: [(car[1], int(car[3])) for car in game.cars], action=2, n=2_000
    )
    assert_same_frequencies(ours, theirs)


CROWD = typed(
    DIVE._replace(
        enemies=seaquest.Enemies(swimmers(32, [(3, 4, True, 5)]), armed=np.zeros(32, bool), reload=np.full(32, 9)),
        spawn_wait=0,
        diver_wait=0,
    ),
    jax.eval_shape(seaquest.reset, jax.random.key(0)),
)
"""A sea in whose row 4 nobody may come from the right, when it is time for an enemy and a diver."""


def test_seaquest_draws_enemies_as_the_package_does():
    after = drawn(lambda key: seaquest.step(key, CROWD, jnp.int32(0))[0].enemies)
    came = after.body.alive.sum(axis=1) == 2
    newest = jax.tree.map(lambda leaf: leaf[:, 0].tolist(), after)
    rows = zip(newest.body.y, newest.body.right, newest.armed, strict=True)
    ours = [row if new else (0, False, False) for row, new in zip(rows, came, strict=True)]

    def newcomer(game: Any) -> list[tuple[int, bool, bool]]:
        kinds = ((game.e_fish[1:], False), (game.e_subs, True))
        return [(y, bool(right), armed) for kind, armed in kinds for _, y, right, *_ in kind] or [(0, False, False)]

    assert_same_frequencies(ours, packages("minatar-seaquest", CROWD, newcomer, n=6_000))


def test_seaquest_draws_divers_as_the_package_does():
    divers = drawn(lambda key: seaquest.step(key, CROWD, jnp.int32(0))[0].divers)
    ours = zip(divers.y[:, 0].tolist(), divers.right[:, 0].tolist(), strict=True)
    theirs = packages("minatar-seaquest", CROWD, lambda game: [(y, bool(right)) for _, y, right, _ in game.divers])
    assert_same_frequencies(ours, theirs)


def test_breakout_begins_on_either_side():
    ours = drawn(lambda key: breakout.reset(key).x, 4_000)
    game, theirs = oracle("minatar-breakout", {}), []
    for _ in range(4_000):
        game.reset()
        theirs.append(game.ball_x)
    assert set(theirs) == set(ours.tolist()) == {0, 9}
    assert 0.47 < np.mean(ours == 0) < 0.53


def test_one_action_in_ten_sticks():
    state = ArcadeState(freeway.reset(jax.random.key(0)), jnp.int32(1))
    taken = drawn(lambda key: env("minatar-freeway").step(key, state, jnp.int32(0))[0].last_action, 40_000)
    package = Environment("freeway", sticky_action_prob=minatar.STICKY)
    theirs = []
    for _ in range(10_000):
        package.last_action = 1
        package.act(0)
        theirs.append(package.last_action)
    assert_same_frequencies(taken.tolist(), theirs)
    assert 0.095 < taken.mean() < 0.105
