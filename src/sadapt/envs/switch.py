"""Switch: one stream made of two worlds of the same size and actions, a season each.

A season's world begins afresh with it. A world that ends by itself begins anew at once, is seen as it begins and
counted (`ends`); the stream never ends. Channels are those of both worlds by their names, the agents' being one; the
marginal sees what it sees in either world.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Env, Policy, State, Step
from sadapt.envs.calendar import COUNTERS, Calendar, seasons, tinted, told
from sadapt.envs.registry import make_any
from sadapt.envs.table import SeasonSettings
from sadapt.errors import UserError

Array = jax.Array
OWN_COUNTERS = (*COUNTERS, "ends")
ALIKE: dict[str, Callable[[Env], Any]] = {
    "size": lambda env: env.obs_shape[:-1],
    "actions": lambda env: env.actions,
    "dtype": lambda env: np.dtype(env.obs_dtype).name,
    "bounds": lambda env: (env.low, env.high),
    "stack": lambda env: env.stack,
    "eye": lambda env: env.eye,
}
"""What two worlds must have in common."""


class SwitchState(NamedTuple):
    """The calendar and both worlds, of which one counts."""

    calendar: Calendar
    worlds: tuple[State, State]


def switch(first: Env, second: Env, settings: SeasonSettings = SeasonSettings(), *, name: str | None = None) -> Env:
    """A stream that is `first` in one season and `second` in the other."""
    _require_alike(first, second)
    alone = None if settings.calendar is None else switch(first, second, replace(settings, calendar=None), name=name)
    first, second = _joined(first, second)
    pair, times = (first, second), seasons(settings)
    counters = {counter for env in pair for counter in env.counters}

    def begun(keys: Sequence[Array], calendar: Calendar) -> tuple[SwitchState, Array]:
        (one, seen), (other, otherwise) = (env.reset(key_env) for env, key_env in zip(pair, keys, strict=True))
        return SwitchState(calendar, (one, other)), jnp.where(calendar.season == 0, seen, otherwise)

    def reset(key: Array, group: Array | None = None) -> tuple[SwitchState, Array]:
        key_season, *keys = jax.random.split(key, 3)
        return begun(keys, times.begin(key_season, group))

    def step(key: Array, state: SwitchState, action: Array) -> tuple[SwitchState, Step]:
        key_season, *keys = jax.random.split(key, 3)
        calendar, changed = times.tick(key_season, state.calendar)
        (one, seen), (other, otherwise) = (
            _stepped(env, key_env, changed, world, action, counters)
            for env, key_env, world in zip(pair, keys, state.worlds, strict=True)
        )
        answer = _select(calendar.season == 0, seen, otherwise)
        answer.counters.update(told(calendar, changed))
        return SwitchState(calendar, (one, other)), answer

    def render(state: SwitchState) -> np.ndarray:
        pictures = [env.render(world) for env, world in zip(pair, state.worlds, strict=True)]
        canvas = np.zeros(np.max([each.shape for each in pictures], axis=0), np.uint8)
        shown = pictures[int(state.calendar.season)]
        canvas[: shown.shape[0], : shown.shape[1]] = shown
        return tinted(canvas, state.calendar)

    return replace(
        first,
        name=name or f"switch:{first.name},{second.name}",
        reset=reset,
        step=step,
        render=render,
        horizon=max(first.horizon, second.horizon),
        on_death="end",
        counters=(*sorted(counters), *OWN_COUNTERS),
        scripted=_policies(first, second),
        regimes={env.name: env for env in pair},
        reset_in=reset,
        reset_on=lambda key, state: begun(list(jax.random.split(key)), state.calendar),
        alone=alone,
        runs_down=first.runs_down or second.runs_down,
        about=f"{first.name} and {second.name} by turns",
    )


def named(name: str, settings: SeasonSettings = SeasonSettings()) -> Env:
    """The stream called `switch:FIRST,SECOND`."""
    words = name.removeprefix("switch:").split(",")
    if len(words) != 2 or not all(words) or words[0] == words[1]:
        raise UserError(f"{name!r} must name two worlds, as in switch:maze-small,butterflies-small")
    first, second = (make_any(word) for word in words)
    for env in (first, second):
        if not isinstance(env, Env):
            raise UserError(f"{name!r} needs worlds written in JAX, which {env.name!r} is not: choose another")
    return switch(first, second, settings, name=name)  # type: ignore[arg-type]


def _require_alike(first: Env, second: Env) -> None:
    """Refuses two worlds that cannot be told apart by a name, or that differ in what a stream must keep."""
    if first.name == second.name:
        raise UserError(f"a stream is made of two worlds, but both are called {first.name!r}: name another")
    for env in (first, second):
        if len(set(env.channels)) < len(env.channels):
            raise UserError(f"{env.name!r} has two channels with the same name ({', '.join(env.channels)}): rename one")
        if own := sorted({*OWN_COUNTERS} & {*env.counters}):
            raise UserError(
                f"{env.name!r} has a counter {own[0]!r}, which the stream of two worlds has too: choose another world"
            )
    for what, of in ALIKE.items():
        if of(first) != of(second):
            raise UserError(
                f"a stream needs two worlds of the same {what}; {first.name!r} has {of(first)}, {second.name!r} "
                f"{of(second)}: choose two that agree"
            )


def _names(env: Env, agent: str | None) -> list[str]:
    """Its channels, the agent's by the name that it has in the stream."""
    return [agent if agent and index == env.agent_channel else each for index, each in enumerate(env.channels)]


def _joined(first: Env, second: Env) -> tuple[Env, Env]:
    """Both worlds as they are seen in the stream."""
    both = first.agent_channel is not None and second.agent_channel is not None
    agent = first.channels[first.agent_channel] if both else None  # type: ignore[index]
    if agent in [each for index, each in enumerate(second.channels) if index != second.agent_channel]:
        agent = None
    own = [_names(env, agent) for env in (first, second)]
    channels = tuple(dict.fromkeys([*own[0], *own[1]]))
    seen = {names[index] for env, names in zip((first, second), own, strict=True) for index in env.marginal_channels}
    one, other = (_placed(env, names, channels, seen, agent) for env, names in zip((first, second), own, strict=True))
    return one, other


def _placed(env: Env, names: list[str], channels: tuple[str, ...], seen: set[str], agent: str | None) -> Env:
    """A world that shows its own channels among others, which are empty."""
    marginal = tuple(index for index, channel in enumerate(channels) if channel in seen)
    mine = np.array([marginal.index(channels.index(names[index])) for index in env.marginal_channels])

    def shown(obs: Array) -> Array:
        empty = jnp.full(obs.shape[:-1], env.low, obs.dtype)
        return jnp.stack([obs[..., names.index(each)] if each in names else empty for each in channels], axis=-1)

    def reset(key: Array) -> tuple[State, Array]:
        state, obs = env.reset(key)
        return state, shown(obs)

    def step(key: Array, state: State, action: Array) -> tuple[State, Step]:
        state, answer = env.step(key, state, action)
        return state, answer._replace(obs=shown(answer.obs))

    def within(policy: Policy) -> Policy:
        return lambda key, world, theta: policy(key, world, theta[..., mine])

    return replace(
        env,
        reset=reset,
        step=step,
        obs_shape=(*env.obs_shape[:-1], len(channels)),
        channels=channels,
        marginal_channels=marginal,
        agent_channel=None if agent is None else channels.index(agent),
        scripted={policy: within(play) for policy, play in env.scripted.items()},
    )


def _select(which: Array, yes: Any, no: Any) -> Any:
    return jax.tree.map(partial(jnp.where, which), yes, no)


def _stepped(
    env: Env, key: Array, begins: Array, world: State, action: Array, counters: set[str]
) -> tuple[State, Step]:
    """One world's step, begun afresh before it with its season and after it where it has ended."""
    key_fresh, key_step = jax.random.split(key)
    fresh, first = env.reset(key_fresh)
    after, step = env.step(key_step, _select(begins, fresh, world), action)
    ended = step.terminated
    told_of = {name: step.counters.get(name, jnp.float32(0)).astype(jnp.float32) for name in counters}
    told_of["ends"] = ended.astype(jnp.int32)
    seen = Step(jnp.where(ended, first, step.obs), step.reward, jnp.zeros((), bool), told_of)
    return _select(ended, fresh, after), seen


def _policies(first: Env, second: Env) -> dict[str, Policy]:
    """Those of either world; in the other's season they act at random if it has none of that name."""

    def uniform(key: Array, world: State, theta: Array) -> Array:
        return jax.random.randint(key, (), 0, first.num_actions)

    def by_season(name: str) -> Policy:
        one, other = (env.scripted.get(name, uniform) for env in (first, second))

        def policy(key: Array, world: SwitchState, theta: Array) -> Array:
            first_world, second_world = world.worlds
            now = world.calendar.season == 0
            return jnp.where(now, one(key, first_world, theta), other(key, second_world, theta))

        return policy

    return {name: by_season(name) for name in dict.fromkeys([*first.scripted, *second.scripted])}
