"""Every registered world keeps the contract, and `check` notices those that do not."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.envs import make
from sadapt.envs.base import Env, Step
from sadapt.envs.contract import check
from sadapt.envs.table import compiled

WORLDS = sorted(compiled())
world = functools.cache(make)
"""One Env a name, so that what is compiled for one test serves the next."""

MAZES = [name for name in WORLDS if name.startswith("maze")]
BUTTERFLIES = [name for name in WORLDS if name.startswith("butterflies")]


DENSITIES = [name for name in BUTTERFLIES if name not in ("butterflies-small", "butterflies-large")]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in DENSITIES else ()) for name in WORLDS]
)
def test_every_registered_world_keeps_the_contract(name):
    check(world(name))


# Laws along random play


class Episodes(NamedTuple):
    """Random play of several seeds, indexed [seed, step]; `before` is the observation that an action answers."""

    before: np.ndarray
    after: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    rows: np.ndarray


@functools.cache
def random_play(name: str) -> Episodes:
    return Episodes(*map(np.stack, zip(*(random_episode(name, seed) for seed in range(3)), strict=True)))


def random_episode(name: str, seed: int) -> tuple:
    env, chance = world(name), np.random.default_rng(seed)
    reset, step = jax.jit(env.reset), jax.jit(env.step)
    state, obs = reset(jax.random.key(seed))
    seen, answers = [obs], []
    for key, action in zip(key_bits(seed), chance.integers(env.num_actions, size=env.horizon), strict=False):
        state, answer = step(jax.random.wrap_key_data(key), state, jnp.int32(action))
        seen.append(answer.obs)
        answers.append((answer.reward, answer.terminated, answer.counters.get("rows", 0)))
    reward, terminated, rows = map(np.array, zip(*jax.device_get(answers), strict=True))
    seen = np.stack(jax.device_get(seen))
    return seen[:-1], seen[1:], reward, terminated, rows


@functools.cache
def key_bits(seed: int) -> np.ndarray:
    return np.asarray(jax.random.key_data(jax.random.split(jax.random.key(100 + seed), 500)))


@pytest.mark.parametrize("name", WORLDS)
def test_other_seeds_lead_elsewhere(name):
    first, second, third = random_play(name).after
    assert not np.array_equal(first, second)
    assert not np.array_equal(second, third)


@pytest.mark.parametrize("name", [name for name in WORLDS if world(name).agent_channel is not None])
def test_there_is_one_agent_and_it_walks_one_cell_at_most(name):
    env, episodes = world(name), random_play(name)
    planes = episodes.after[..., env.agent_channel]
    assert (planes.sum(axis=(-2, -1)) == 1).all()
    if name == "minatar-freeway":
        return  # The chicken is sent back to the start by cars, and when it has crossed the road.
    walks = np.abs(np.diff(np.argwhere(planes)[:, 2:].reshape(*planes.shape[:2], 2), axis=1)).sum(-1)
    assert set(walks.ravel().tolist()) == {0, 1}


@pytest.mark.parametrize("name", MAZES + BUTTERFLIES)
def test_walls_stand_and_nothing_stands_in_them(name):
    episodes = random_play(name)
    walls = episodes.before[0, 0, ..., 0]
    assert walls.any()
    assert (episodes.after[..., 0] == walls).all()
    assert not (episodes.after[..., 1:].any(axis=-1) & (walls == 1)).any()


@pytest.mark.parametrize("name", MAZES)
def test_a_maze_never_ends_and_its_goal_is_paid_when_it_goes(name):
    episodes = random_play(name)
    assert not episodes.terminated.any()
    goals = episodes.before[..., 2].sum(axis=(-2, -1), dtype=int), episodes.after[..., 2].sum(axis=(-2, -1), dtype=int)
    assert (goals[0] - goals[1] == episodes.reward).all()


@pytest.mark.parametrize("name", BUTTERFLIES)
def test_a_butterfly_is_either_flying_or_paid_for(name):
    episodes = random_play(name)
    flying = episodes.after[..., 1].sum(axis=(-2, -1), dtype=int)
    there_were = episodes.before[:, :1, ..., 1].sum(axis=(-2, -1), dtype=int)
    assert (flying + episodes.reward.cumsum(axis=1) == there_were).all()
    assert (np.diff(flying, axis=1) <= 0).all()
    assert (episodes.terminated == (flying == 0)).all()


@pytest.mark.parametrize("name", BUTTERFLIES)
def test_butterfly_and_catcher_never_share_a_cell(name):
    after = random_play(name).after
    assert not (after[..., 1] & after[..., 2]).any()


def test_tetris_counts_its_cells():
    episodes = random_play("tetris")
    before, after = episodes.before[..., 0], episodes.after[..., 0]
    grown = after.sum(axis=(-2, -1), dtype=int) - before.sum(axis=(-2, -1), dtype=int)
    lost = episodes.terminated
    assert lost.any()
    assert (episodes.rows[~lost] > 0).any()
    assert (grown == np.where(lost, 0, 3 - 4 * episodes.rows)).all()
    assert (before[lost] == after[lost]).all()
    assert (episodes.reward == np.where(lost, -100, 0)).all()


# Worlds that break the contract


class Lane(NamedTuple):
    place: jax.Array
    steps: jax.Array


def lane_obs(state: Lane) -> jax.Array:
    return (jnp.arange(5) == state.place).astype(jnp.uint8)[None, :, None]


def lane_reset(key: jax.Array) -> tuple[Lane, jax.Array]:
    state = Lane(jax.random.randint(key, (), 0, 5), jnp.int32(0))
    return state, lane_obs(state)


def lane_step(key: jax.Array, state: Lane, action: jax.Array) -> tuple[Lane, Step]:
    push = jax.random.randint(key, (), -1, 2)
    state = Lane(jnp.clip(state.place + 2 * action - 1 + push, 0, 4), state.steps + 1)
    reward = (state.place == 4).astype(jnp.float32)
    return state, Step(lane_obs(state), reward, state.steps >= 50, {"pushed": jnp.abs(push)})


LANE = Env(
    name="lane",
    reset=lane_reset,
    step=lane_step,
    render=lambda state: np.zeros((1, 5, 3), np.uint8),
    obs_shape=(1, 5, 1),
    obs_dtype=jnp.uint8,
    channels=("agent",),
    actions=("left", "right"),
    horizon=100,
    marginal_channels=(0,),
    agent_channel=0,
    counters=("pushed",),
)


def stepping(change: Any) -> dict[str, Any]:
    """A lane whose `step` returns something else than it should."""
    return {"step": lambda key, state, action: change(*lane_step(key, state, action))}


def answering(**fields: Any) -> dict[str, Any]:
    """A lane whose `Step` has other fields; functions are applied to what was there."""

    def change(state: Lane, step: Step) -> tuple[Lane, Step]:
        return state, step._replace(
            **{name: new(getattr(step, name)) if callable(new) else new for name, new in fields.items()}
        )

    return stepping(change)


def resetting(change: Any) -> dict[str, Any]:
    return {"reset": lambda key: change(*lane_reset(key))}


class Forgetful:
    """Draws from a source of its own instead of the key."""

    def __init__(self) -> None:
        self.source = np.random.default_rng(0)

    def reset(self, key: jax.Array) -> tuple[Lane, jax.Array]:
        state = Lane(jnp.int32(self.source.integers(0, 5)), jnp.int32(0))
        return state, lane_obs(state)

    def step(self, key: jax.Array, state: Lane, action: jax.Array) -> tuple[Lane, Step]:
        state, step = lane_step(key, state, action)
        return state, step._replace(reward=jnp.float32(self.source.normal()))


def unlike_when_traced(key: jax.Array, state: Lane, action: jax.Array) -> tuple[Lane, Step]:
    state, step = lane_step(key, state, action)
    traced = isinstance(action, jax.core.Tracer)
    return state, step._replace(reward=step.reward + jnp.float32(traced))


def unlike_when_vmapped(key: jax.Array, state: Lane, action: jax.Array) -> tuple[Lane, Step]:
    state, step = lane_step(key, state, action)
    crowd = jax.pure_callback(
        lambda x: np.broadcast_to(np.float32(x.size > 1), x.shape),
        jax.ShapeDtypeStruct((), jnp.float32),
        action,
        vmap_method="broadcast_all",
    )
    return state, step._replace(reward=step.reward + crowd)


def second_agent_later(state: Lane, step: Step) -> tuple[Lane, Step]:
    return state, step._replace(obs=jnp.where(state.steps > 20, jnp.ones_like(step.obs), step.obs))


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no time": ({"horizon": 0}, "horizon is 0; an episode needs at least one step"),
    "no actions": ({"actions": ()}, "actions is empty"),
    "no observation": ({"obs_shape": ()}, "its last axis must hold at least one channel"),
    "unnamed channel": ({"channels": ("agent", "ghost")}, r"has 1 channels, but \('agent', 'ghost'\) are named"),
    "nothing to model": ({"marginal_channels": ()}, "marginal_channels is empty"),
    "channel modelled twice": ({"marginal_channels": (0, 0)}, "names a channel twice"),
    "channel beyond the last": ({"marginal_channels": (0, 1)}, r"marginal_channels \(0, 1\) must be indices"),
    "agent beyond the last": ({"agent_channel": 1}, "agent_channel 1 must be None or an index from 0 to 0"),
    "unknown death": ({"on_death": "heaven"}, "on_death is 'heaven'; choose one of: end, soft, shock"),
    "bounds upside down": ({"low": 1.0, "high": 0.0}, r"low 1\.0 must be below high 0\.0"),
    "promised shape": ({"obs_shape": (5, 1)}, r"reset gives an observation uint8\[1, 5, 1\], .* uint8\[5, 1\]"),
    "promised dtype": ({"obs_dtype": jnp.float32}, r"reset gives an observation uint8.* float32"),
    "step's dtype": (
        answering(obs=lambda obs: obs.astype(jnp.int32)),
        r"step gives an observation int32\[1, 5, 1\], .* uint8",
    ),
    "integer reward": (
        answering(reward=lambda reward: reward.astype(jnp.int32)),
        r"reward must be float32\[\], not int32\[\]",
    ),
    "reward with an axis": (answering(reward=lambda reward: reward[None]), r"reward must be .* not float32\[1\]"),
    "float termination": (answering(terminated=jnp.float32(0)), r"terminated must be bool\[\], not float32\[\]"),
    "counters in a list": (answering(counters=[]), "counters must be a dict"),
    "counter with an axis": (answering(counters={"pushed": jnp.zeros(2)}), "counter 'pushed' must be a scalar"),
    "counter without a name": ({"counters": ()}, r"step reports the counters \['pushed'\], but the Env names \[\]"),
    "bare tuple": (stepping(lambda state, step: (state, tuple(step))), r"must return \(state, Step\), not .*tuple"),
    "no pair": (resetting(lambda state, obs: obs), r"reset\(key\) must return a pair"),
    "python's if": (
        {"step": lambda key, state, action: lane_step(key, state, action if action else -action)},
        r"step\(key, state, action\) cannot be compiled by JAX",
    ),
    "another state where something goes on": (
        {"reset_on": lambda key, state: ((state, state), lane_reset(key)[1])},
        "reset_on changes the structure of the state",
    ),
    "growing state": (
        stepping(lambda state, step: ((state, state), step)),
        "step changes the structure of the state",
    ),
    "shifting dtype": (
        stepping(lambda state, step: (state._replace(steps=jnp.float32(0)), step)),
        r"step changes state\.steps from int32\[\] to float32\[\]",
    ),
    "shifting shape": (
        stepping(lambda state, step: (state._replace(place=state.place[None]), step)),
        r"step changes state\.place from int32\[\] to int32\[1\]",
    ),
    "weak start": (
        resetting(lambda state, obs: (state._replace(steps=0), obs)),
        r"reset gives a weakly typed state\.steps",
    ),
    "weak successor": (
        stepping(lambda state, step: (state._replace(steps=7), step)),
        r"step gives a weakly typed state\.steps",
    ),
    "reset with chance of its own": ({"reset": Forgetful().reset}, "reset differs for the same key"),
    "step with chance of its own": ({"step": Forgetful().step}, "step differs for the same key, state and action"),
    "unlike when jitted": ({"step": unlike_when_traced}, "jit changes what step returns"),
    "unlike when vmapped": ({"step": unlike_when_vmapped}, "vmap changes what step returns"),
    "beyond its bounds": ({"high": 0.5}, r"an observation holds \[1\], outside of \[0\.0, 0\.5\]"),
    "no number": (
        answering(reward=lambda reward: reward / reward),
        "a reward is not finite",
    ),
    "two agents at first": (
        resetting(lambda state, obs: (state, jnp.ones_like(obs))),
        "agent_channel 0 must hold exactly one 1; it adds up to 5",
    ),
    "two agents later": (stepping(second_agent_later), "agent_channel 0 must hold exactly one 1; it adds up to 5"),
    "an agent of two halves": (
        {**answering(obs=lambda obs: 2 * obs), "high": 2.0},
        "agent_channel 0 must hold exactly one 1; it adds up to 2",
    ),
    "grey picture": ({"render": lambda state: np.zeros((1, 5), np.uint8)}, r"not uint8\[1, 5\]"),
    "bright picture": ({"render": lambda state: np.zeros((1, 5, 3))}, r"not float64\[1, 5, 3\]"),
    "picture on the device": ({"render": lambda state: jnp.zeros((1, 5, 3), jnp.uint8)}, "must return a numpy array"),
}


def test_a_sound_world_passes():
    check(LANE)


def test_a_world_may_keep_keys_in_its_state():
    class Keyed(NamedTuple):
        lane: Lane
        key: jax.Array

    def reset(key: jax.Array) -> tuple[Keyed, jax.Array]:
        state, obs = lane_reset(key)
        return Keyed(state, key), obs

    def step(key: jax.Array, state: Keyed, action: jax.Array) -> tuple[Keyed, Step]:
        key_next, key_step = jax.random.split(state.key)
        lane, answer = lane_step(key_step, state.lane, action)
        return Keyed(lane, key_next), answer

    check(replace(LANE, reset=reset, step=step))


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_world_is_told_what_is_wrong(fault):
    changes, message = BROKEN[fault]
    with pytest.raises(AssertionError, match=message) as raised:
        check(replace(LANE, **changes))
    assert str(raised.value).startswith("lane: ")
