"""One episode of an agent that has learned nothing, in any world, as pictures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.composite import all_changed
from sadapt.envs.base import AnyEnv, Env, HostEnv, Policy
from sadapt.errors import UserError, nearest
from sadapt.fields import Count, checked, field_of
from sadapt.film import save
from sadapt.keys import from_seed
from sadapt.motivation import outside
from sadapt.motivation.bandits import fixed
from sadapt.motivation.baseline import constant_policies, random_policy
from sadapt.motivation.episode import episodes
from sadapt.motivation.outside import Blind
from sadapt.motivation.rollout import advance, begin
from sadapt.registry import Choice
from sadapt.training.parts import env_of, marginal_of
from sadapt.training.settings import Settings


def film(
    env: str | AnyEnv,
    path: str | Path,
    *,
    policy: str = "random",
    seed: int = 0,
    steps: int | None = None,
    fps: int = 10,
    layout: str | Path | None = None,
    **changes: Any,
) -> Path:
    """Films one episode (GIF or MP4) of a policy that `sadapt probe` shows for this world.

    `changes` are settings of the world, if it is given by its name.
    """
    steps, fps = checked(field_of(Count | None), "steps", steps), checked(field_of(Count), "fps", fps)
    world = _made(env, steps, layout, changes) if isinstance(env, str) else env
    play: Any = _frames_outside if isinstance(world, HostEnv) else _frames
    return save(play(world, _policy(world, policy), seed=seed, steps=steps or world.horizon), path, fps=fps)


def _made(name: str, steps: int | None, layout: str | Path | None, changes: dict[str, Any]) -> AnyEnv:
    """The world; one that does not say how long its episodes are is filmed for as long as was asked for."""
    if layout is not None:
        changes = {**changes, "layout": str(layout)}
    if steps is not None:
        changes = {"horizon": steps, **changes}
    return env_of(all_changed(Settings(world=name), changes), {})  # type: ignore[arg-type]


def _policy(env: AnyEnv, name: str) -> Policy | Blind:
    """A policy by the name that `sadapt probe` gives it."""
    policies: dict[str, Policy | Blind]
    if isinstance(env, HostEnv):
        policies = {"random": outside.uniform(env), **outside.constants(env)}
    else:
        policies = {"random": random_policy(env), **env.scripted, **constant_policies(env)}
    if name not in policies:
        raise UserError(f"unknown policy {name!r} in {env.name!r}: {nearest(name, policies)}")
    return policies[name]


def _frames(env: Env, policy: Policy, *, seed: int, steps: int) -> Iterator[np.ndarray]:
    """Pictures of one episode, the first before any action."""
    marginal = marginal_of(env, Choice("auto"), {})
    rules = episodes(env, marginal, fixed(0), on_death=env.on_death, horizon=steps)
    act = lambda key, episode: policy(key, episode.world, marginal.features(episode.marginal))  # noqa: E731
    step = jax.jit(advance(env, rules, act))
    key_begin, key_play = jax.random.split(from_seed(seed))
    episode = begin(env, rules, key_begin, jnp.zeros((), jnp.int32))
    yield env.render(episode.world)
    for key in jax.random.split(key_play, steps):
        episode, transition = step(key, episode)
        yield env.render(episode.world)
        if transition.closed:
            return


def _frames_outside(env: HostEnv, policy: Blind, *, seed: int, steps: int) -> Iterator[np.ndarray]:
    """The same of a world that is not written in JAX."""
    key_begin, key_play = jax.random.split(from_seed(seed))
    chance, all_of_them = np.random.default_rng(seed), np.ones(1, bool)
    with closing(env.open(1)) as worlds:
        worlds.restart(key_begin, all_of_them)
        yield worlds.render()
        for key in jax.random.split(key_play, steps):
            answer = worlds.step(key, np.array([policy(chance)]))
            yield worlds.render()
            if answer.terminated[0] and env.on_death == "end":
                return
            if answer.terminated[0]:
                worlds.restart(jax.random.fold_in(key, 1), all_of_them)
