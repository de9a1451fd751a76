"""Streams of two worlds: a season is a world of its own, among the other's channels; what does not fit is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.envs import make
from sadapt.envs.base import Env, Step
from sadapt.envs.contract import check
from sadapt.envs.switch import switch
from sadapt.envs.table import SeasonSettings
from sadapt.errors import UserError

SETTINGS = SeasonSettings(season_steps=4, season_spread=0.5)
NAME = "switch:maze-small,butterflies-small"


class Counted(NamedTuple):
    steps: jax.Array


def counting(name: str, channels: tuple[str, ...], agent: int | None, lives: int) -> Env:
    """Shows in every channel how far it has come on a lane of eight cells; pays its steps; ends after `lives`."""

    def look(state: Counted) -> jax.Array:
        lane = (jnp.arange(8) == state.steps % 8).astype(jnp.uint8)
        return jnp.stack([lane] * len(channels), axis=-1)[None]

    def reset(key: jax.Array) -> tuple[Counted, jax.Array]:
        return Counted(jnp.int32(0)), look(Counted(jnp.int32(0)))

    def step(key: jax.Array, state: Counted, action: jax.Array) -> tuple[Counted, Step]:
        state = Counted(state.steps + 1)
        return state, Step(look(state), state.steps.astype(jnp.float32), state.steps >= lives, {name: state.steps})

    return Env(
        name=name,
        reset=reset,
        step=step,
        render=lambda state: np.full((8, 8 * lives, 3), 255, np.uint8),
        obs_shape=(1, 8, len(channels)),
        obs_dtype=np.uint8,
        channels=channels,
        actions=("wait", "go"),
        horizon=10 * lives,
        marginal_channels=(0,),
        agent_channel=agent,
        counters=(name,),
        scripted={"always": lambda key, world, theta: jnp.int32(theta.shape[-1])},
    )


CAT, DOG = counting("cat", ("floor", "cat"), 1, lives=3), counting("dog", ("bone", "floor", "dog"), 2, lives=100)


def played(env: Env, seed: int, steps: int) -> tuple[np.ndarray, Step]:
    @jax.jit
    def play(key):
        state, first = env.reset(key)
        keys = jax.random.split(key, steps)
        return first, jax.lax.scan(lambda state, key: env.step(key, state, jnp.int32(1)), state, keys)[1]

    return jax.device_get(play(jax.random.key(seed)))


def test_channels_are_both_worlds_by_name_and_the_agents_are_one():
    env = switch(CAT, DOG)
    assert env.channels == ("floor", "cat", "bone")
    assert env.agent_channel == 1
    assert env.marginal_channels == (0, 2)  # the cat's floor, the dog's bone
    assert env.counters == ("cat", "dog", "season", "changes", "ends")
    assert (env.name, env.horizon, tuple(env.regimes)) == ("switch:cat,dog", 1000, ("cat", "dog"))


def test_a_world_without_an_agent_leaves_the_stream_without():
    env = switch(replace(CAT, agent_channel=None), DOG)
    assert env.channels == ("floor", "cat", "bone", "dog")
    assert env.agent_channel is None


def test_every_season_is_a_world_of_its_own_from_its_beginning_on():
    first, step = played(switch(CAT, DOG, SETTINGS), 2, 60)
    counted, expected = 0, []
    for season, changed in zip(step.counters["season"], step.counters["changes"], strict=True):
        counted = 1 if changed else counted + 1
        ends = season == 0 and counted == 3
        expected.append((float(counted), int(ends), 0 if ends else counted % 8))
        counted = 0 if ends else counted
    shown = step.obs.any(axis=-1).argmax(axis=-1)[:, 0].tolist()
    assert expected == list(zip(step.reward.tolist(), step.counters["ends"].tolist(), shown, strict=True))
    assert step.counters["ends"].any()
    assert step.counters["changes"].sum() > 5
    assert not step.terminated.any()
    assert first.shape == (1, 8, 3)


def test_a_fresh_start_leaves_the_season_as_it_is():
    env = switch(CAT, DOG, SETTINGS)
    state, _ = env.reset(jax.random.key(0))
    for key in jax.random.split(jax.random.key(1), 7):
        state, _ = env.step(key, state, jnp.int32(1))
    again, obs = env.reset_on(jax.random.key(2), state)
    assert int(state.calendar.past) > 0
    assert [int(x) for x in again.calendar[:3]] == [int(x) for x in state.calendar[:3]]
    assert [int(world.steps) for world in again.worlds] == [0, 0]
    assert obs.any(axis=-1).argmax() == 0


def test_it_runs_down_if_either_world_does_and_random_play_shares_no_calendar():
    assert not switch(CAT, DOG).runs_down
    assert switch(CAT, replace(DOG, runs_down=True)).runs_down
    assert switch(CAT, DOG).alone is None
    shared = switch(CAT, DOG, replace(SETTINGS, calendar=1))
    assert len({int(shared.reset(jax.random.key(seed))[0].calendar.left) for seed in range(9)}) == 1
    assert len({int(shared.alone.reset(jax.random.key(seed))[0].calendar.left) for seed in range(9)}) > 1


def test_what_a_world_does_not_have_is_empty_in_its_season():
    _, step = played(switch(CAT, DOG, SETTINGS), 5, 60)
    cats = step.counters["season"] == 0
    assert not step.obs[cats][..., 2].any()
    assert step.obs[~cats][..., 2].any(axis=(1, 2)).all()
    assert (step.counters["cat"] > 0).tolist() == cats.tolist()
    assert (step.counters["dog"] > 0).tolist() == (~cats).tolist()


def test_policies_see_theta_as_in_their_own_world():
    env = switch(CAT, DOG)
    state, _ = env.reset(jax.random.key(0))
    assert env.scripted["always"](jax.random.key(1), state, jnp.zeros((1, 8, 2))) == 1


def test_pictures_are_equally_large_in_both_seasons():
    env = switch(CAT, DOG)
    sizes = set()
    for seed in range(6):
        sizes.add(env.render(env.reset(jax.random.key(seed))[0]).shape)
    assert sizes == {(8, 800, 3)}


def test_worlds_of_the_catalogue_make_a_stream_by_name():
    env = make(NAME)
    assert env.name == NAME
    assert env.channels == ("wall", "agent", "goal", "butterfly")
    check(env, steps=20)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("switch:maze-small", "must name two worlds, as in switch:maze-small,butterflies-small"),
        ("switch:maze-small,maze-small", "must name two worlds"),
        ("switch:maze-small,", "must name two worlds"),
        ("switch:maze-small,maze-large", "same size; 'maze-small' has \\(10, 10\\), 'maze-large' \\(32, 32\\)"),
        ("switch:maze-small,minatar-asterix", "same actions; 'maze-small' has"),
        ("switch:maze-small,maze-smal", "unknown world 'maze-smal'"),
        ("switch:seasons,maze-small", "'seasons' has a counter 'changes'"),
    ],
)
def test_what_does_not_fit_is_refused(name, message):
    with pytest.raises(UserError, match=message):
        make(name)


def test_channels_must_have_names_of_their_own():
    with pytest.raises(UserError, match="'cat' has two channels with the same name"):
        switch(replace(CAT, channels=("floor", "floor")), DOG)
