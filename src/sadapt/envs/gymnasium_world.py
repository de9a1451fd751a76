"""Any Gymnasium world with discrete actions, as `gym:ID`: one in this process, or several in processes of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from sadapt.envs.base import Eye, HostEnv, Step, WorldFailed
from sadapt.envs.gymnasium_one import PREFIX, Plain, Wanted, made, made_after, made_to_draw, own_limit, picture
from sadapt.envs.gymnasium_several import Processes, opened
from sadapt.envs.spaces import Odd, Seen, kinds
from sadapt.envs.table import GymnasiumSettings
from sadapt.envs.tiles import expose
from sadapt.errors import UserError, nearest
from sadapt.film import SIDE, folded
from sadapt.registry import IMPORTED

Array = jax.Array


def gymnasium_world(name: str, settings: GymnasiumSettings = GymnasiumSettings()) -> HostEnv:
    """The world `gym:ID`; ids of the user's own are registered by the modules that they asked to import."""
    spec, wanted = _spec(name.removeprefix(PREFIX)), Wanted(settings.obs_key, settings.screen_size)
    example = made(spec, wanted)
    seen, actions = example.seen, example.action_space
    example.close()
    if not isinstance(actions, spaces.Discrete):
        raise UserError(f"{name} has the action space {actions}; only discrete actions are supported: wrap it in one")
    last = settings.horizon or spec.max_episode_steps or own_limit(example)
    if last is None:
        raise UserError(f"{name} does not say how long an episode is: give --horizon STEPS")
    bounded = seen.dtype == np.uint8 and seen.high > 1
    return HostEnv(
        name=name,
        obs_shape=seen.shape,
        obs_dtype=seen.dtype,
        channels=tuple(map(str, range(seen.shape[-1]))),
        actions=tuple(map(str, range(int(actions.n)))),
        horizon=last,
        marginal_channels=tuple(range(seen.shape[-1])),
        low=seen.low,
        high=seen.high,
        eye=Eye(lambda obs: obs.astype(jnp.float32) / seen.high, seen.shape) if bounded else None,
        kinds=kinds(name, seen),
        about=f"Gymnasium's {spec.id}",
        open=lambda num_envs: GymnasiumWorlds(name, spec, wanted, num_envs, seen, int(actions.start)),
    )


class GymnasiumWorlds:
    """Worlds side by side; a world that raises, or answers nonsense, is named with what it was given."""

    def __init__(self, name: str, spec: Any, wanted: Wanted, num_envs: int, seen: Seen, start: int) -> None:
        self._name, self._start = name, start
        self._latest = np.zeros((num_envs, *seen.shape), seen.dtype)
        self._drawn: np.ndarray | None = None
        self._span = (seen.low, seen.high) if np.isfinite([seen.low, seen.high]).all() else None
        self._single: Plain | None = None
        self._several: Processes | None = None
        if num_envs == 1:
            self._single = made_to_draw(spec, wanted)
        else:
            self._several = opened(name, partial(made_after, tuple(IMPORTED), spec, wanted), num_envs)

    def step(self, key: Array, actions: np.ndarray) -> Step:
        given = actions + self._start
        told = given.tolist() if len(given) > 1 else int(given[0])
        if self._single is not None:
            answer = self._asked(f"on action {told}", self._single.step, told)
        else:
            assert self._several is not None
            answer = self._asked(f"on action {told}", self._several.step, given)
        rewards, ended, cut = (np.reshape(np.asarray(each), len(given)) for each in answer[1:4])
        self._latest = np.reshape(answer[0], self._latest.shape)
        return Step(self._latest, rewards.astype(np.float32), ended | cut, {})  # type: ignore[arg-type]

    def restart(self, key: Array, which: np.ndarray) -> np.ndarray:
        seeds = np.asarray(jax.random.randint(key, which.shape, 0, np.iinfo(np.int32).max)).tolist()
        if self._single is not None:
            obs, _ = self._asked("on reset", self._single.reset, seed=seeds[0])
        else:
            assert self._several is not None
            mask = {"reset_mask": np.asarray(which)}
            obs, _ = self._asked("on reset", self._several.reset, seed=seeds, options=mask)
        fresh = np.reshape(obs, self._latest.shape)
        self._latest = np.where(which.reshape(-1, *[1] * (fresh.ndim - 1)), fresh, self._latest)
        return self._latest

    def _asked(self, when: str, call: Callable[..., Any], *given: Any, **words: Any) -> Any:
        """What the worlds answer."""
        try:
            return call(*given, **words)
        except Odd as error:
            raise WorldFailed(f"{self._name} {error}, {when}") from error
        except Exception as error:  # whatever that code does
            raise WorldFailed(f"{self._name} raised {type(error).__name__} ({error}) {when}") from error

    def render(self) -> np.ndarray:
        """The world's own picture, always as large as the first; where it draws none, the observation as one."""
        found = None if self._single is None else self._asked("on render", picture, self._single)
        if self._drawn is None:
            self._drawn = found
        if self._drawn is None:
            return obs_picture(self._latest[0], self._span)
        if found is not None:
            height, width = (min(sides) for sides in zip(found.shape[:2], self._drawn.shape[:2], strict=True))
            self._drawn = np.zeros_like(self._drawn)
            self._drawn[:height, :width] = found[:height, :width]
        return self._drawn

    def close(self) -> None:
        if self._single is not None:
            self._single.close()
        if self._several is not None:
            self._several.close()


def _spec(env_id: str) -> Any:
    """What is registered under an id; nothing is imported for it, as Gymnasium would for `module:ID`."""
    module, colon, rest = env_id.partition(":")
    if colon:
        raise UserError(f"{PREFIX}{env_id} names a module: give --import {module} and {PREFIX}{rest}")
    try:
        return gym.spec(env_id)
    except gym.error.Error as error:
        hint = nearest(env_id, gym.registry)
        if hint.startswith("choose"):
            hint = "name one, for example gym:CartPole-v1"
        raise UserError(
            f"unknown Gymnasium world {env_id!r}: {hint} Your own world needs --import MODULE, which registers it"
        ) from error


def obs_picture(obs: np.ndarray, span: tuple[float, float] | None) -> np.ndarray:
    """An observation as cells, from the least that it can be to the most; where that has no bounds, squashed.

    Images are shown as they are; anything else glows as theta does in the films of trained agents.
    """
    cells = folded(obs.astype(np.float32))
    low, high = span or (-1.0, 1.0)
    shares = (cells if span else cells / (1 + np.abs(cells))) - low
    shares = np.clip(shares / ((high - low) or 1.0), 0, 1)
    tile = max(1, SIDE // max(cells.shape[:2]))
    if obs.dtype != np.uint8 or high <= 1:
        return expose(shares, tile=tile)
    grey = np.rint(255 * shares).astype(np.uint8)
    if grey.shape[-1] != 3:
        grey = np.repeat(grey.mean(axis=-1, keepdims=True).astype(np.uint8), 3, axis=-1)
    return np.kron(grey, np.ones((tile, tile, 1), np.uint8)) if tile > 4 else grey
