"""The garden of two seasons: hand-worked steps, an independent statement of its rules, and laws along random play."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sadapt.envs import bitboard, make
from sadapt.envs import seasons as garden
from sadapt.envs.calendar import Calendar, seasons
from sadapt.envs.layout import parse
from sadapt.envs.registry import make_any
from sadapt.envs.table import SeasonMapSettings, SeasonSettings
from sadapt.errors import UserError
from tests.envs import oracle
from tests.envs.oracle import DOWN, LEFT, RIGHT, STAY, UP

STEPS = 120
FAST = SeasonMapSettings(season_steps=30, season_spread=0.8)
NAMES = ("calm", "wild")


def board(*cells: tuple[int, int], shape: tuple[int, int]) -> jax.Array:
    plane = np.zeros(shape, bool)
    for cell in cells:
        plane[cell] = True
    return bitboard.pack(jnp.asarray(plane))


def chance(shape, *, directions=0, swarm=(), young=(), place=0) -> garden.Chance:
    """All butterflies are sent in one direction: 0 left, 1 up, 2 right, 3 down."""
    low, high = (jnp.full((shape[0], 1), 0xFFFF * bit, jnp.uint32) for bit in (directions & 1, directions >> 1))
    return garden.Chance(low, high, board(*swarm, shape=shape), board(*young, shape=shape), jnp.uint32(place))


class Scene:
    """A garden in the middle of a season, played by hand."""

    def __init__(self, text: str, season: str, *, lantern=None, butterflies=(), clock: int = 0) -> None:
        self.ground = garden.ground_of(parse(text.replace(" ", "\n"), "test", "seasons"))
        self.shape = self.ground.wall.shape
        plane = np.zeros(self.shape, bool)
        for cell in butterflies:
            plane[cell] = True
        goal = -1 if lantern is None else lantern[0] * self.shape[1] + lantern[1]
        self.state = garden.SeasonsState(
            calendar(season), jnp.asarray(self.ground.start), jnp.int32(goal), jnp.asarray(plane), jnp.int32(clock)
        )

    def step(self, action: int, *, to: str | None = None, **draws) -> tuple[float, dict[str, int]]:
        season = calendar(to) if to else self.state.calendar
        self.state, step = garden.advance(
            self.ground, self.state, jnp.int32(action), season, jnp.asarray(to is not None), chance(self.shape, **draws)
        )
        assert not step.terminated
        return step.reward.item(), {name: int(value) for name, value in step.counters.items()}

    @property
    def agent(self) -> tuple[int, int]:
        return divmod(int(self.state.agent), self.shape[1])

    @property
    def lantern(self) -> tuple[int, int] | None:
        goal = int(self.state.goal)
        return None if goal < 0 else divmod(goal, self.shape[1])

    @property
    def flying(self) -> set[tuple[int, int]]:
        return {(int(r), int(c)) for r, c in np.argwhere(np.asarray(self.state.butterflies))}


def calendar(season: str) -> Calendar:
    return Calendar(jnp.int32(NAMES.index(season)), jnp.int32(9), jnp.int32(0))


# By hand


def test_a_lantern_pays_when_it_is_reached_and_moves_on():
    scene = Scene("..A.# ....#", "calm", lantern=(0, 0))
    assert scene.step(LEFT) == (0.0, {"season": 0, "changes": 0, "goals": 0, "caught": 0})
    assert scene.lantern == (0, 0)
    reward, told = scene.step(LEFT, place=4)
    assert (reward, told["goals"]) == (1.0, 1)
    assert scene.agent == (0, 0)
    assert scene.lantern == (1, 1)  # of the free cells after the agent's, row by row, the fifth: 0 is the first
    assert scene.step(LEFT)[0] == 0.0


def test_a_lantern_never_moves_to_where_the_agent_is():
    for place in range(12):
        scene = Scene("A.. ###", "calm", lantern=(0, 1))
        assert scene.step(RIGHT, place=place)[0] == 1.0
        assert scene.lantern == ((0, 2), (0, 0))[place % 2]


def test_a_lantern_lights_what_is_around_it_walls_too():
    scene = Scene("#...A ..... .....", "calm", lantern=(0, 1))
    for lights in (False, True, False):
        scene.step(STAY)
        lit = np.asarray(garden.observe(scene.ground, scene.state))[..., 2]
        around = [[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 0]]
        assert lit.tolist() == (around if lights else [[0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]])


def test_butterflies_around_the_agent_are_caught_and_the_others_cost():
    scene = Scene("A....... ........ ........", "wild", butterflies=[(0, 1), (1, 2), (2, 1), (0, 3), (1, 7)])
    reward, told = scene.step(RIGHT)
    assert told == {"season": 1, "changes": 0, "goals": 0, "caught": 2}
    assert scene.flying == {(2, 1), (0, 3), (1, 7)}
    assert reward == pytest.approx(-3 / 3)  # room for 24 // 8 = 3


def test_walls_do_not_stop_the_net():
    scene = Scene("A#.....# ........", "wild", butterflies=[(0, 2), (1, 1)])
    assert scene.step(DOWN)[1]["caught"] == 1
    assert scene.step(RIGHT)[1]["caught"] == 1


def test_one_that_moves_on_may_leave_a_young_one_behind():
    scene = Scene("A....... ........ ........", "wild", butterflies=[(0, 4), (1, 4)], clock=2)
    scene.step(STAY, directions=2, young=[(0, 4), (0, 7)])
    assert scene.flying == {(0, 5), (1, 5), (0, 4)}


def test_one_that_cannot_move_has_no_young():
    scene = Scene("A...#... ........ ........", "wild", butterflies=[(0, 3), (0, 7)], clock=2)
    scene.step(STAY, directions=2, young=[(0, 3), (0, 7)])
    assert scene.flying == {(0, 3), (0, 7)}


def test_nothing_moves_between_flutters():
    for clock in (0, 1):
        scene = Scene("A....... ........", "wild", butterflies=[(0, 4)], clock=clock)
        scene.step(STAY, directions=2, young=[(0, 4)])
        assert scene.flying == {(0, 4)}


def test_butterflies_sit_until_the_agent_moves():
    scene = Scene("A....... ........ ........", "wild", butterflies=[(2, 5)])
    for _ in range(7):
        scene.step(STAY, directions=2)
        scene.step(UP, directions=2)  # into the edge
    assert scene.flying == {(2, 5)}
    scene.step(RIGHT, directions=2)
    scene.step(STAY, directions=2)
    assert scene.flying == {(2, 5)}
    scene.step(STAY, directions=2)
    assert scene.flying == {(2, 6)}
    for _ in range(7):
        scene.step(STAY, directions=2)
    assert scene.flying == {(2, 6)}


def test_no_young_are_born_beyond_the_garden_s_room():
    there = [(1, 2), (1, 4)]
    for young, expected in ((there[:1], 3), (there, 2)):
        scene = Scene("A....... ........ ........", "wild", butterflies=there, clock=2)
        scene.step(STAY, directions=2, young=young)
        assert len(scene.flying) == expected


def test_where_none_is_left_another_flies_in_with_the_next_flutter():
    scene = Scene("A....... ........", "wild", butterflies=[(0, 1)], clock=0)
    scene.step(RIGHT)
    assert scene.flying == set()
    assert scene.step(STAY)[0] == 0.0
    assert scene.flying == set()
    assert scene.step(STAY, place=3)[0] == pytest.approx(-1 / 2)  # room for 16 // 8 = 2
    assert scene.flying == {(0, 5)}  # the fourth of the free cells after the agent's


def test_a_wild_season_brings_a_swarm_and_takes_the_lantern():
    scene = Scene("A.#.. .....", "calm", lantern=(1, 3))
    _, told = scene.step(STAY, to="wild", swarm=[(0, 0), (0, 2), (0, 3), (1, 4)])
    assert (told["season"], told["changes"]) == (1, 1)
    assert scene.flying == {(0, 3), (1, 4)}  # neither in the wall nor on the agent
    assert scene.lantern is None


def test_a_calm_season_brings_a_lantern_and_takes_the_butterflies():
    scene = Scene("A.#. ....", "wild", butterflies=[(1, 1), (1, 2)], clock=2)
    reward, told = scene.step(DOWN, to="calm", place=0)
    assert (reward, told["season"], told["changes"], told["caught"]) == (0.0, 0, 1, 0)
    assert scene.flying == set()
    assert scene.lantern == (0, 1)
    assert scene.agent == (1, 0)


def test_a_garden_of_one_cell_is_refused():
    with pytest.raises(UserError, match="leaves the agent a single cell"):
        garden.ground_of(parse("A#\n##", "mine.txt", "seasons"))


def test_a_map_of_ones_own_has_no_goal_on_it():
    with pytest.raises(UserError, match=r"a goal \('G'\) has no place in a seasons map"):
        make("seasons", layout="A.G\n...\n")
    assert make("seasons", layout="A..\n...\n").obs_shape == (2, 3, 4)


# Against the rules in plain Python

MAPS = {
    "room": "A.... ..... .#... .....",
    "corridor": "A............",
    "walls": "....#... .A..#... ..#..... #......#",
    "wide": " ".join(["A" + "." * 34, "." * 17 + "#" + "." * 17]),
}


class Draws(NamedTuple):
    """Everything that chance has drawn for a game."""

    season: np.ndarray
    changed: np.ndarray
    chance: garden.Chance


@functools.cache
def player(name: str):
    """Plays a map with the actions given: what was drawn, what was seen and what was told."""
    layout = parse(MAPS[name].replace(" ", "\n"), name, "seasons")
    shape, times = layout.wall.shape, seasons(SeasonSettings(season_steps=12, season_spread=0.9))
    env = garden.garden(layout, times)

    def one(state, xs):
        key, action = xs
        key_season, key_chance = jax.random.split(key)
        tick = times.tick(key_season, state.calendar)
        state, step = env.step(key, state, action)
        return state, (tick[0].season, tick[1], garden.draw(key_chance, shape), step)

    @jax.jit
    def play(key, actions):
        state, first = env.reset(key)
        drawn = garden.draw(jax.random.split(key)[1], shape)
        _, played = jax.lax.scan(one, state, (jax.random.split(key, len(actions)), actions))
        return state.calendar.season, drawn, first, played

    return play


def unpacked(drawn: garden.Chance, shape: tuple[int, int]) -> oracle.GardenChance:
    low, high, swarm, young = (np.asarray(bitboard.unpack(jnp.asarray(each), shape[1])) for each in drawn[:4])
    directions = (low + 2 * high.astype(int)).tolist()
    return oracle.GardenChance(directions, cells(swarm), cells(young), int(drawn.place))


def cells(plane: np.ndarray) -> oracle.Plane:
    return {(int(row), int(column)) for row, column in np.argwhere(plane)}


@settings(max_examples=3)
@pytest.mark.parametrize("name", MAPS)
@given(seed=st.integers(0, 2**31))
def test_every_step_is_as_the_rules_say(name, seed):
    actions = np.random.default_rng(seed).integers(0, 5, 90).astype(np.int32)
    first_season, drawn, first, played = jax.device_get(player(name)(jax.random.key(seed), actions))
    season, changed, chances, steps = played
    map, (agent,) = oracle.read_map(MAPS[name]), oracle.find(MAPS[name], "A")
    shape = (map.height, map.width)
    world = oracle.garden_begin(map, NAMES[first_season], agent, unpacked(drawn, shape))
    assert [cells(first[..., channel]) for channel in range(4)] == oracle.garden_observe(world)
    for t, action in enumerate(actions.tolist()):
        now = unpacked(garden.Chance(*(each[t] for each in chances)), shape)
        world, outcome = oracle.garden_step(world, action, NAMES[season[t]], now)
        assert [cells(steps.obs[t, ..., channel]) for channel in range(4)] == oracle.garden_observe(world)
        assert steps.reward[t] == pytest.approx(outcome.reward, abs=1e-6)
        assert {counter: int(value[t]) for counter, value in steps.counters.items()} == outcome.counters
    assert changed.sum() >= 2


# Laws along random play


class Played(NamedTuple):
    obs: np.ndarray
    reward: np.ndarray
    season: np.ndarray
    changes: np.ndarray
    goals: np.ndarray
    caught: np.ndarray


@functools.cache
def random_player():
    env = make_any("seasons", FAST)

    @jax.jit
    def play(key):
        key_reset, key_steps, key_actions = jax.random.split(key, 3)
        state, first = env.reset(key_reset)
        actions = jax.random.randint(key_actions, (STEPS,), 0, 5)
        _, step = jax.lax.scan(lambda state, xs: env.step(xs[0], state, xs[1]), state, (steps_of(key_steps), actions))
        obs = jnp.concatenate([first[None], step.obs])
        return obs, step.reward, *(step.counters[name] for name in Played._fields[2:])

    def steps_of(key):
        return jax.random.split(key, STEPS)

    return play


@functools.cache
def random_play(seed: int) -> Played:
    return Played(*jax.device_get(random_player()(jax.random.key(seed))))


SEEDS = st.integers(0, 200)
MOST = int((make("seasons").reset(jax.random.key(0))[1][..., 0] == 0).sum()) // 8


@given(seed=SEEDS)
def test_a_season_shows_its_own_things_only(seed):
    played = random_play(seed)
    obs, wild = played.obs[1:], played.season == 1
    assert not obs[wild][..., 2].any()
    assert not obs[~wild][..., 3].any()
    lit = {1, 4, 6, 9}  # a lantern alone, in a corner, at an edge, inside
    assert set(obs[~wild][..., 2].sum(axis=(1, 2)).tolist()) <= lit
    assert (obs[~wild][..., 2].sum(axis=(1, 2)) > 0).all()


@given(seed=SEEDS)
def test_walls_stand_and_butterflies_keep_clear_of_them_and_of_the_agent(seed):
    obs = random_play(seed).obs
    assert (obs[..., 0] == obs[0, ..., 0]).all()
    assert not (obs[..., 0] & (obs[..., 1] | obs[..., 3])).any()
    assert not (obs[..., 1] & obs[..., 3]).any()


@given(seed=SEEDS)
def test_butterflies_are_caught_or_born_and_nothing_else(seed):
    played = random_play(seed)
    flying = played.obs[..., 3].sum(axis=(1, 2), dtype=int)
    steady = (played.season == 1) & (played.changes == 0)
    born = (np.diff(flying) + played.caught)[steady]
    assert (born >= 0).all()
    assert (born <= np.maximum(flying[:-1], 1)[steady]).all()
    assert (flying[1:][steady][born > 0] <= MOST).all()
    assert played.reward == pytest.approx(played.goals - flying[1:] / MOST, abs=1e-6)


@given(seed=SEEDS)
def test_the_goal_moves_when_it_is_reached_and_only_then(seed):
    played = random_play(seed)
    stays = (played.season == 0) & (played.changes == 0)
    both = (played.obs[1:, ..., 2] & played.obs[:-1, ..., 2]).sum(axis=(1, 2))
    assert (both[stays & (played.goals == 0)] > 0).all()
    agent = played.obs[1:, ..., 1]
    assert not (played.obs[1:, ..., 2] * agent)[(played.goals == 1) & (played.obs[1:, ..., 2].sum((1, 2)) == 1)].any()


@given(seed=SEEDS)
def test_same_seed_equal_other_seed_different(seed):
    one, again, other = random_play(seed), random_player()(jax.random.key(seed)), random_play(seed + 1)
    assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))
    assert not np.array_equal(one.obs, other.obs)


def test_a_fresh_start_in_a_season_that_goes_on():
    """Only the calendar is kept, to the step; agent, lantern and butterflies are those of a garden just begun."""
    env = make_any("seasons", FAST)
    state, _ = env.reset(jax.random.key(0))
    for key in jax.random.split(jax.random.key(1), 45):
        state, _ = env.step(key, state, jnp.int32(RIGHT))
    again, obs = env.reset_on(jax.random.key(2), state)
    assert int(state.calendar.past) > 0
    assert all(int(a) == int(b) for a, b in zip(again.calendar[:3], state.calendar[:3], strict=True))
    assert int(again.agent) == int(env.reset(jax.random.key(3))[0].agent)
    assert bool(obs[..., 3].any()) == bool(state.calendar.season)
    assert bool(obs[..., 2].any()) != bool(state.calendar.season)


# What a regime favours


@functools.cache
def entropies(regime: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Final entropies of a Bernoulli marginal and returns, 16 episodes a policy."""
    env = make("seasons").regimes[regime]
    policies = {"random": lambda key, world, theta: jax.random.randint(key, (), 0, 5), **env.scripted}

    def episode(which, key):
        def one(carry, key):
            world, ones, count, total = carry
            key_act, key_step = jax.random.split(key)
            action = jax.lax.switch(which, list(policies.values()), key_act, world, ones / count)
            world, step = env.step(key_step, world, action)
            return (world, ones + step.obs, count + 1, total + step.reward), step.counters["season"]

        world, obs = env.reset(key)
        first = world, obs.astype(jnp.float32), jnp.float32(1), jnp.float32(0)
        (_, ones, count, total), season = jax.lax.scan(one, first, jax.random.split(key, env.horizon))
        return ones / count, total, season

    play = jax.jit(jax.vmap(episode, in_axes=(None, 0)))
    found = {}
    with jax.numpy_dtype_promotion("standard"):
        for which, name in enumerate(policies):
            theta, total, season = jax.device_get(play(which, jax.random.split(jax.random.key(3), 16)))
            assert set(np.unique(season)) == {NAMES.index(regime)}
            p = np.clip(theta.astype(np.float64), 1e-4, 1 - 1e-4)
            found[name] = -(p * np.log(p) + (1 - p) * np.log1p(-p)).sum(axis=(1, 2, 3)), total
    return found


def test_calm_seasons_are_for_those_who_explore():
    found = entropies("calm")
    (still, _), (random, by_chance), (walker, paid) = (found[name] for name in ("still", "random", "walker"))
    assert still.mean() < random.mean() - random.std()
    assert random.max() < walker.min()
    assert walker.mean() - random.mean() > 1.5 * (random.mean() - still.mean())
    assert paid.mean() > 2 > by_chance.mean()


def test_wild_seasons_are_for_those_who_keep_still_or_catch():
    found = entropies("wild")
    (chaser, paid), (random, by_chance), (still, _) = (found[name] for name in ("chaser", "random", "still"))
    assert still.max() < chaser.min()
    assert chaser.max() < random.min()
    for avoids in ("random", "avoider"):
        assert found[avoids][0].mean() - random.mean() < 0.1 * (random.mean() - still.mean())
    assert paid.min() > by_chance.mean()


def test_the_gardener_does_what_the_season_asks_for():
    for regime, best in (("calm", "walker"), ("wild", "still")):
        found = entropies(regime)
        np.testing.assert_array_equal(found["gardener"][0], found[best][0])


def test_pictures_show_the_season():
    calm, wild = (env.render(env.reset(jax.random.key(0))[0]) for env in make("seasons").regimes.values())
    assert calm.shape == wild.shape == (16 * 24, 16 * 24, 3)
    corner = (slice(0, 24), slice(0, 24))
    assert calm[corner].mean(axis=(0, 1))[2] > wild[corner].mean(axis=(0, 1))[2] + 20


def test_up_is_an_action_too():
    scene = Scene("... .A.", "calm", lantern=(0, 0))
    scene.step(UP)
    assert scene.agent == (0, 1)
