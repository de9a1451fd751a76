"""Worlds of a user's own, for the tests of `gym:ID` and `--import`."""

from __future__ import annotations

import gymnasium as gym
import numpy as np


class Corridor(gym.Env):
    """Walk to the right end; breaks in the asked-for way after forty steps."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
    action_space = gym.spaces.Discrete(2, start=1)

    def __init__(self, fault: str = "", render_mode: str | None = None):
        self.fault, self.steps, self.render_mode = fault, 0, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0.0
        return self._seen(), {}

    def step(self, action):
        assert action in (1, 2)
        self.steps += 1
        self.place = min(max(self.place + 0.25 * (2 * action - 3), -1), 1)
        if self.steps > 40 and self.fault == "raise":
            raise RuntimeError("the lamp fell over")
        reward = float("nan") if self.steps > 40 and self.fault == "reward" else float(self.place == 1)
        return self._seen(), reward, self.place == 1, False, {}

    def _seen(self):
        if self.steps > 40 and self.fault == "shape":
            return np.zeros(4, np.float32)
        value = np.nan if self.steps > 40 and self.fault == "nan" else self.place
        return np.asarray([value, self.np_random.uniform(-0.1, 0.1), 0], np.float32)


gym.register("Corridor-v0", entry_point=Corridor, max_episode_steps=30)
gym.register("Endless-v0", entry_point=Corridor)
for fault in ("raise", "nan", "shape", "reward"):
    gym.register(f"Broken{fault.title()}-v0", entry_point=Corridor, max_episode_steps=30, kwargs={"fault": fault})


class Told(Corridor):
    """The same as a dictionary."""

    observation_space = gym.spaces.Dict(
        {"bits": gym.spaces.MultiBinary(4), "image": gym.spaces.Box(0, 255, (6, 5, 3), np.uint8)}
    )

    def _seen(self):
        bits = np.asarray([self.place > 0, self.place > 0.5, 1, 0], np.int8)
        return {"bits": bits, "image": np.full((6, 5, 3), 100 + 50 * self.place, np.uint8)}


class Shown(Corridor):
    """The same as a picture: a red stripe above, of the place's width, and a blue field below."""

    observation_space = gym.spaces.Box(0, 255, (60, 80, 3), np.uint8)

    def _seen(self):
        picture = np.zeros((60, 80, 3), np.uint8)
        picture[:30, : int(40 + 40 * self.place), 0] = 255
        picture[30:, :, 2] = 255
        return picture


gym.register("Shown-v0", entry_point=Shown, max_episode_steps=30)
gym.register("Told-v0", entry_point=Told, max_episode_steps=30)


class Steered(Corridor):
    """Continuous actions."""

    action_space = gym.spaces.Box(-1, 1, (1,))


gym.register("Steered-v0", entry_point=Steered, max_episode_steps=30)
