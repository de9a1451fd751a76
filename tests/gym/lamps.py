"""Environments without JAX, for the wrappers: a numpy world, a recording played back, and both in any number."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space


class Lamps(gymnasium.Env):
    """Six lamps flicker; the action lights one; all six at once end the episode. Pays the lamps that are lit."""

    action_space = spaces.Discrete(6)

    def __init__(self, space: str = "box") -> None:
        self.kind = space
        self.observation_space = {
            "box": spaces.Box(0, 1, (2, 3, 1), np.uint8),
            "real": spaces.Box(-1.0, 2.0, (6,), np.float32),
            "binary": spaces.MultiBinary(6),
            "discrete": spaces.Discrete(7, start=3),
            "grey": spaces.Box(0, 255, (2, 3, 1), np.uint8),
        }[space]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.lamps = np.zeros(6, np.uint8)
        return self.look(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.lamps = (self.np_random.random(6) < 0.6).astype(np.uint8)
        self.lamps[action] = 1
        return self.look(), float(self.lamps.sum()), bool(self.lamps.all()), False, {"lit": int(self.lamps.sum())}

    def look(self) -> Any:
        if self.kind == "discrete":
            return 3 + int(self.lamps.sum())
        if self.kind == "real":
            return self.lamps.astype(np.float32) * 1.5 - 0.5
        if self.kind == "binary":
            return self.lamps.astype(np.int8)
        return (self.lamps * (255 if self.kind == "grey" else 1)).astype(np.uint8).reshape(2, 3, 1)


class Recording:
    """Steps of N worlds: [step, world, ...]; `fresh` holds what a world shows when it begins anew after that step."""

    def __init__(self, first: np.ndarray, last: np.ndarray, fresh: np.ndarray, reward: np.ndarray, over: np.ndarray,
                 space: spaces.Box) -> None:  # fmt: skip
        self.first, self.last, self.fresh, self.reward, self.over, self.space = first, last, fresh, reward, over, space


class Played(gymnasium.vector.VectorEnv):
    """A recording played back; worlds begin anew in the same step."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.num_envs = recording.first.shape[0]
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space, self.single_action_space = recording.space, spaces.Discrete(2)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        self.step_number = 0
        return self.recording.first, {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        now, tape = self.step_number, self.recording
        self.step_number += 1
        over = tape.over[now]
        infos: dict[str, Any] = {}
        if over.any():
            final = np.full(self.num_envs, None, dtype=object)
            for world in np.flatnonzero(over):
                final[world] = tape.last[now, world]
            infos = {"final_obs": final, "_final_obs": over}
        obs = np.where(over.reshape(-1, *[1] * (tape.first.ndim - 1)), tape.fresh[now], tape.last[now])
        return obs, tape.reward[now], over, np.zeros_like(over), infos


if "test/Lamps-v0" not in gymnasium.registry:
    gymnasium.register("test/Lamps-v0", entry_point=Lamps, max_episode_steps=20)
