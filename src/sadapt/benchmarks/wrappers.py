"""What the surprise wrappers add to a step, on observations of MinAtar's size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from sadapt.benchmarks.timing import best_of
from sadapt.gym.wrappers import SurpriseVectorWrapper, SurpriseWrapper

WORLDS, HORIZON, STEPS = 64, 100, 100
CHANNELS = (4, 10)
"""Of the smallest of MinAtar's observations, and of the largest."""
LIMITS = {"one world": 150.0, "64 worlds, each": 30.0}
"""Microseconds a step."""


class Film(gymnasium.Env[np.ndarray, Any]):
    """Shows one picture after another at next to no cost."""

    action_space = spaces.Discrete(6)

    def __init__(self, space: spaces.Box) -> None:
        self.observation_space = space
        self._pictures, self._next = _pictures(space, 64), 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        return self._pictures[0], {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._next = (self._next + 1) % len(self._pictures)
        return self._pictures[self._next], 0.0, False, False, {}


class Films(gymnasium.vector.VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """As many films side by side, of which every `HORIZON` steps all end."""

    def __init__(self, space: spaces.Box) -> None:
        self.num_envs, self.metadata = WORLDS, {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space, self.single_action_space = space, spaces.Discrete(6)
        self.observation_space, self.action_space = batch_space(space, WORLDS), batch_space(spaces.Discrete(6), WORLDS)
        self._pictures, self._next = _pictures(space, 16, WORLDS), 0
        self._final = np.empty(WORLDS, object)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        self._next = 0
        return self._pictures[0], {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        self._next += 1
        obs = self._pictures[self._next % len(self._pictures)]
        over = np.full(WORLDS, self._next % HORIZON == 0)
        infos: dict[str, Any] = {}
        if over[0]:
            self._final[:] = list(obs)
            infos = {"final_obs": self._final, "_final_obs": over}
        return obs, np.zeros(WORLDS), np.zeros(WORLDS, bool), over, infos


def _pictures(space: spaces.Box, *count: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, (*count, *space.shape), np.uint8)


def _playing(env: Any, action: Any) -> Callable[[], None]:
    def play() -> None:
        env.reset(seed=0)
        for _ in range(STEPS):
            env.step(action)

    return play


def overhead_microseconds(what: str, channels: int, *, obs_mode: str = "dict", seconds: float = 3.0) -> float:
    """Microseconds that the wrapper adds to a step, per world: `what` is a key of `LIMITS`."""
    random = {part: {"entropy": 10.0, "surprise": 10.0} for part in ("mean", "std")}
    options: dict[str, Any] = {"random": random, "horizon": HORIZON, "obs_mode": obs_mode}
    space = spaces.Box(0, 1, (10, 10, channels), np.uint8)
    if what == "one world":
        wrapped, bare, worlds = _playing(SurpriseWrapper(Film(space), **options), 0), _playing(Film(space), 0), 1
    else:
        actions, worlds = np.zeros(WORLDS, int), WORLDS
        wrapped = _playing(SurpriseVectorWrapper(Films(space), **options), actions)
        bare = _playing(Films(space), actions)
    with_wrapper, without = best_of(wrapped, bare, seconds=seconds)
    return (with_wrapper - without) / STEPS / worlds * 1e6
