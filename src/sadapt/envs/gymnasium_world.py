"""Any Gymnasium world with discrete actions, as `gym:ID`: one in this process, or several in processes of their own."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

from sadapt.envs.base import Eye, HostEnv, Step, WorldFailed
from sadapt.envs.table import GymnasiumSettings
from sadapt.errors import UserError, nearest
from sadapt.registry import IMPORTED, import_modules

PREFIX = "gym:"
WORDS: dict[str, Any] = {"max_episode_steps": -1, "disable_env_checker": True}
"""No time limit of the world's own: episodes are ours."""
Array = jax.Array
Encode = Callable[[Any], np.ndarray]


def gymnasium_world(name: str, settings: GymnasiumSettings = GymnasiumSettings()) -> HostEnv:
    """The world `gym:ID`; ids of the user's own are registered by the modules that they asked to import."""
    env_id, obs_key = name.removeprefix(PREFIX), settings.obs_key
    spec = _spec(env_id)
    example = _make(env_id)
    try:
        space, actions = example.observation_space, example.action_space
    finally:
        example.close()
    if not isinstance(actions, spaces.Discrete):
        raise UserError(f"{name} has the action space {actions}; only discrete actions can be learned: wrap it in one")
    space = _part(name, space, obs_key)
    last = settings.horizon or spec.max_episode_steps
    if last is None:
        raise UserError(f"{name} does not say how long an episode is: give --horizon STEPS")
    shape, dtype, low, high, encode = _entries(name, space)

    def open_worlds(num_envs: int) -> GymnasiumWorlds:
        def part(obs: Any) -> np.ndarray:
            return encode(obs[obs_key] if obs_key is not None else obs)

        return GymnasiumWorlds(name, env_id, num_envs, part, shape, dtype, int(actions.start))

    bounded = np.dtype(dtype).kind == "u" and high > 1
    return HostEnv(
        name=name,
        obs_shape=shape,
        obs_dtype=dtype,
        channels=tuple(map(str, range(shape[-1]))),
        actions=tuple(map(str, range(int(actions.n)))),
        horizon=last,
        marginal_channels=tuple(range(shape[-1])),
        low=low,
        high=high,
        eye=Eye(lambda obs: obs.astype(jnp.float32) / high, shape) if bounded else None,
        about=f"Gymnasium's {spec.id}",
        open=open_worlds,
    )


class GymnasiumWorlds:
    """Worlds side by side; a world that raises, or answers nonsense, is named with what it was given."""

    def __init__(
        self, name: str, env_id: str, num_envs: int, encode: Encode, shape: tuple[int, ...], dtype: Any, start: int
    ) -> None:
        self._name, self._encode, self._shape, self._dtype, self._start = name, encode, shape, dtype, start
        self._single = self._several = None
        if num_envs == 1:
            self._single = _make(env_id, render_mode="rgb_array" if _can_draw(env_id) else None)
        else:
            # Processes begin from nothing, because JAX' threads do not survive a fork.
            self._several = AsyncVectorEnv(
                [partial(_made_after, tuple(IMPORTED), env_id)] * num_envs,
                autoreset_mode=AutoresetMode.DISABLED,
                context="forkserver" if os.name == "posix" else "spawn",
            )
        self._latest = np.zeros((num_envs, *shape), dtype)

    def step(self, key: Array, actions: np.ndarray) -> Step:
        given = actions + self._start
        rows: list[Any]
        others: list[Any]
        try:
            if self._single is not None:
                rows, *others = ([part] for part in self._single.step(int(given[0])))
            else:
                assert self._several is not None
                obs, *others = self._several.step(given)
                rows = _rows(obs, len(given))
        except Exception as error:
            raise WorldFailed(
                f"{self._name} raised {type(error).__name__} ({error}) on action {_told(given)}"
            ) from error
        self._latest = self._checked(rows, f"on action {_told(given)}")
        rewards = np.asarray(others[0], np.float32)
        if not np.isfinite(rewards).all():
            raise WorldFailed(f"{self._name} gave the reward {rewards.tolist()} on action {_told(given)}")
        over = np.asarray(others[1], bool) | np.asarray(others[2], bool)
        return Step(self._latest, rewards, over, {})  # type: ignore[arg-type]

    def restart(self, key: Array, which: np.ndarray) -> np.ndarray:
        seeds = np.asarray(jax.random.randint(key, which.shape, 0, np.iinfo(np.int32).max)).tolist()
        try:
            if self._single is not None:
                rows = [self._single.reset(seed=seeds[0])[0]]
            else:
                assert self._several is not None
                obs, _ = self._several.reset(seed=seeds, options={"reset_mask": np.asarray(which)})
                rows = _rows(obs, len(which))
        except Exception as error:
            raise WorldFailed(f"{self._name} raised {type(error).__name__} ({error}) on reset") from error
        fresh = self._checked(rows, "on reset", which)
        self._latest = np.where(which.reshape(-1, *[1] * len(self._shape)), fresh, self._latest)
        return self._latest

    def render(self) -> np.ndarray:
        """The world's own picture, or the observation as one."""
        if self._single is not None and self._single.render_mode == "rgb_array":
            return np.asarray(self._single.render(), np.uint8)
        return _as_picture(self._latest[0])

    def close(self) -> None:
        for opened in (self._single, self._several):
            if opened is not None:
                opened.close()

    def _checked(self, rows: list[Any], when: str, which: np.ndarray | None = None) -> np.ndarray:
        wanted = np.zeros((len(rows), *self._shape), self._dtype)
        for index, row in enumerate(rows):
            if which is not None and not which[index]:
                continue
            entry = self._encode(row)
            if entry.shape != self._shape:
                raise WorldFailed(
                    f"{self._name} showed an observation of shape {entry.shape} {when}; its space says {self._shape}"
                )
            if not np.isfinite(entry).all():
                raise WorldFailed(f"{self._name} showed an observation that is not finite {when}")
            wanted[index] = entry
        return wanted


def _made_after(modules: tuple[str, ...], env_id: str) -> gym.Env:
    """In a process of its own: the world, after the modules that register it."""
    import_modules(modules)
    return gym.make(env_id, **WORDS)


def _make(env_id: str, **words: Any) -> gym.Env:
    try:
        return gym.make(env_id, **WORDS, **words)
    except (gym.error.Error, ImportError) as error:
        raise UserError(f"{PREFIX}{env_id} could not be made: {error}") from error


def _can_draw(env_id: str) -> bool:
    """Whether the world draws pictures, and the libraries that it draws with are there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            world = _make(env_id, render_mode="rgb_array")
            world.reset()
            picture = world.render()
            world.close()
        except Exception:
            return False
    return isinstance(picture, np.ndarray)


def _spec(env_id: str) -> Any:
    try:
        return gym.spec(env_id)
    except gym.error.Error as error:
        hint = nearest(env_id, gym.registry)
        if hint.startswith("choose"):
            hint = "name one, for example gym:CartPole-v1"
        raise UserError(
            f"unknown Gymnasium world {env_id!r}: {hint} A world of your own needs --import MODULE, which registers it"
        ) from error


def _part(name: str, space: spaces.Space, obs_key: str | None) -> spaces.Space:
    """The observation space, or the part of a Dict that was asked for."""
    if isinstance(space, spaces.Dict):
        if obs_key is None:
            raise UserError(f"{name} shows a dictionary ({', '.join(space.spaces)}): say which part with --obs-key")
        if obs_key not in space.spaces:
            raise UserError(f"{name} has no observation {obs_key!r}: {nearest(obs_key, space.spaces)}")
        return space.spaces[obs_key]
    if obs_key is not None:
        raise UserError(f"{name} shows no dictionary, so --obs-key {obs_key} means nothing to it; leave it away")
    return space


def _entries(name: str, space: spaces.Space) -> tuple[tuple[int, ...], Any, float, float, Encode]:
    """Shape, dtype and bounds of observations as arrays, and how they become such."""
    if isinstance(space, spaces.Discrete):
        size, start = int(space.n), int(space.start)

        def one_hot(obs: Any) -> np.ndarray:
            return (np.arange(size) == int(obs) - start).astype(np.uint8)

        return (size,), np.uint8, 0.0, 1.0, one_hot
    if isinstance(space, spaces.MultiBinary):
        return (math.prod(space.shape),), np.uint8, 0.0, 1.0, lambda obs: np.asarray(obs, np.uint8).reshape(-1)
    if isinstance(space, spaces.Box):
        shape = space.shape or (1,)
        low, high = float(np.min(space.low)), float(np.max(space.high))
        if space.dtype is not None and space.dtype.kind in "ub" and low >= 0 and high <= 255:
            return shape, np.uint8, low, high, lambda obs: np.asarray(obs, np.uint8).reshape(np.shape(obs) or (1,))
        return shape, np.float32, low, high, lambda obs: np.asarray(obs, np.float32).reshape(np.shape(obs) or (1,))
    raise UserError(
        f"{name} has the observation space {space}; expected Box, Discrete, MultiBinary or a Dict of them: wrap it"
    )


def _rows(obs: Any, count: int) -> list[Any]:
    """One observation per world out of what a vector environment returns."""
    if isinstance(obs, dict):
        return [{name: part[index] for name, part in obs.items()} for index in range(count)]
    return [obs[index] for index in range(count)]


def _told(actions: np.ndarray) -> str:
    return str(actions.tolist() if len(actions) > 1 else int(actions[0]))


def _as_picture(obs: np.ndarray) -> np.ndarray:
    """An observation as grey cells."""
    cells = obs.astype(np.float32)
    cells = cells[None, :, None] if cells.ndim == 1 else cells[..., None] if cells.ndim == 2 else cells
    spread = float(cells.max() - cells.min())
    grey = np.rint(255 * (cells - cells.min()) / (spread or 1.0)).astype(np.uint8)
    if grey.shape[-1] != 3:
        grey = np.repeat(grey.mean(axis=-1, keepdims=True).astype(np.uint8), 3, axis=-1)
    return np.kron(grey, np.ones((16, 16, 1), np.uint8)) if max(grey.shape[:2]) < 64 else grey
