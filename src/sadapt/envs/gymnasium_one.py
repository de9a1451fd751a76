"""One Gymnasium world, made from its registered spec: it shows arrays, and answers as Gymnasium says or not at all."""

from __future__ import annotations

import math
import multiprocessing
import os
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from sadapt.envs.spaces import Odd, part, reduced, seen, taken
from sadapt.errors import UserError
from sadapt.registry import import_modules

PREFIX, OBS_KEY = "gym:", "--obs-key"
WORDS: dict[str, Any] = {"max_episode_steps": -1, "disable_env_checker": True}
"""No time limit of the world's own: episodes are ours."""
DRAWING = {"render_mode": "rgb_array"}


class Wanted(NamedTuple):
    """What is to be seen of a world: a part of a dictionary, pictures of that size."""

    obs_key: str | None = None
    screen_size: int | None = None


class Plain(gym.Wrapper):
    """A world that shows what is wanted of it as arrays, and nothing in its infos: those may be of any kind."""

    def __init__(self, env: gym.Env, wanted: Wanted) -> None:
        super().__init__(env)
        name = PREFIX + (env.spec.id if env.spec is not None else "world")
        space, self._path = part(name, env.observation_space, wanted.obs_key, OBS_KEY)
        found = seen(name, space)
        self.seen = found if wanted.screen_size is None else reduced(name, found, wanted.screen_size)
        low, high = (0, 255) if self.seen.dtype == np.uint8 else (-np.inf, np.inf)
        self.observation_space = gym.spaces.Box(low, high, self.seen.shape, dtype=self.seen.dtype)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        answer: Any = self.env.reset(seed=seed, options=options) if options else self.env.reset(seed=seed)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise Odd("answered without the two values (observation, info) that Gymnasium expects")
        return self._looked(answer[0]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        answer: Any = self.env.step(action)
        if not isinstance(answer, tuple) or len(answer) != 5:
            raise Odd(
                "answered without the five values (observation, reward, terminated, truncated, info) of Gymnasium"
            )
        obs, reward, terminated, truncated, _ = answer
        number = np.asarray(reward)
        if number.size != 1 or number.dtype.kind not in "fiub" or not math.isfinite(number.item()):
            raise Odd(f"gave the reward {reward!r}")
        return self._looked(obs), float(number.item()), bool(terminated), bool(truncated), {}

    def _looked(self, obs: Any) -> np.ndarray:
        try:
            return self.seen.encode(taken(obs, self._path))
        except (KeyError, IndexError, TypeError) as error:
            raise Odd(f"showed {type(obs).__name__} without {'.'.join(self._path)}") from error


def made(spec: Any, wanted: Wanted, **words: Any) -> Plain:
    """The world; whatever its making raises is told as its own."""
    try:
        world = gym.make(spec, **WORDS, **words)
    except Exception as error:  # whatever that code does
        what = str(error) if isinstance(error, gym.error.Error | ImportError) else f"{type(error).__name__}: {error}"
        raise UserError(f"{PREFIX}{spec.id} could not be made: {what}") from error
    try:
        return Plain(world, wanted)
    except UserError:
        world.close()
        raise


def made_after(modules: Sequence[str], spec: Any, wanted: Wanted) -> Plain:
    """In a process of its own: the world, after the modules that the user asked to import.

    Ctrl-C, and what else is meant for the whole group of processes, is for the program alone: it saves the run first,
    then ends its worlds.
    """
    if multiprocessing.parent_process() is not None and os.name == "posix":
        os.setpgrp()
    import_modules(modules)
    return made(spec, wanted)


def made_to_draw(spec: Any, wanted: Wanted) -> Plain:
    """The world as one that draws pictures, if it can and the libraries that it draws with are there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made(spec, wanted, **DRAWING) if _draws(spec, wanted) else made(spec, wanted)


def _draws(spec: Any, wanted: Wanted) -> bool:
    try:
        world = made(spec, wanted, **DRAWING)
        try:
            world.reset()
            return picture(world) is not None
        finally:
            world.close()
    except Exception:  # whatever that code does
        return False


def own_limit(world: gym.Env) -> int | None:
    """Steps after which a world ends its episodes itself, if it tells, as MiniGrid's do."""
    limit = getattr(world.unwrapped, "max_steps", None)
    return limit if isinstance(limit, int) and limit > 0 else None


def picture(world: gym.Env) -> np.ndarray | None:
    """What a world draws, uint8[height, width, 3]; None if that is no picture."""
    found: Any = world.render() if world.render_mode == "rgb_array" else None
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiub" or not found.size:
        return None
    found = found[..., None] if found.ndim == 2 else found
    if found.ndim != 3 or found.shape[-1] not in (1, 3, 4):
        return None
    if found.dtype != np.uint8:
        found = np.clip(np.nan_to_num(found) * (255 if found.dtype.kind == "f" and found.max() <= 1 else 1), 0, 255)
    return np.broadcast_to(found[..., :3], (*found.shape[:2], 3)).astype(np.uint8)
