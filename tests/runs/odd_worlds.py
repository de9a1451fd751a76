"""Gymnasium worlds as they are in the wild: one of each odd kind, registered as `Odd/KIND-v0`."""

from __future__ import annotations

import os
from typing import ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces

MISSION = spaces.Text(40)
SPACES: dict[str, spaces.Space] = {
    "Discrete": spaces.Discrete(5, start=2),
    "MultiBinary": spaces.MultiBinary((2, 3)),
    "MultiDiscrete": spaces.MultiDiscrete([3, 4]),
    "Tuple": spaces.Tuple([spaces.Discrete(3), spaces.Box(-1.0, 1.0, (2,))]),
    "Text": spaces.Dict({"image": spaces.Box(0, 255, (7, 7, 3), np.uint8), "mission": MISSION}),
    "Nested": spaces.Dict({"outer": spaces.Dict({"mission": MISSION, "inner": spaces.Box(-1.0, 1.0, (3,))})}),
    "Float64": spaces.Box(-1.0, 1.0, (3,), np.float64),
    "Unbounded": spaces.Box(-np.inf, np.inf, (3,)),
    "Scalar": spaces.Box(-1.0, 1.0, ()),
    "Matrix": spaces.Box(0.0, 1.0, (4, 5)),
    "Wide": spaces.Box(0.0, 1.0, (200,)),
    "Int": spaces.Box(0, 9, (2,), np.int64),
}
KEYS = {"Text": "image", "Nested": "outer.inner"}
"""The part to see where the space is a dictionary."""


class Odd(gym.Env):
    """Shows random members of its space; without a `render_mode`, as many worlds are."""

    action_space = spaces.Discrete(3)

    def __init__(self, kind: str = "Scalar"):
        self.observation_space = SPACES[kind]
        self.observation_space.seed(0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.steps = 0
        return self.shown(), {"odd": {"infos": [self.steps, "text"]}}

    def step(self, action):
        assert self.action_space.contains(action)
        self.steps += 1
        return self.shown(), 1, self.steps > 11, False, {"odd": self.steps if self.steps % 2 else "text"}

    def shown(self):
        shown = self.observation_space.sample()
        if isinstance(self.observation_space, spaces.Box) and self.observation_space.shape == ():
            return float(shown)
        return shown


class OneAction(Odd):
    """Nothing to choose."""

    action_space = spaces.Discrete(1)


class Dark(Odd):
    """Says that it draws, and draws nothing."""

    metadata: ClassVar = {"render_modes": ["rgb_array"]}

    def __init__(self, kind: str = "Scalar", render_mode: str | None = None):
        super().__init__(kind)
        self.render_mode = render_mode

    def render(self):
        return None


class Blinking(Dark):
    """Draws now and then, and not always as large."""

    def render(self):
        return None if self.steps % 3 == 2 else np.full((20 + self.steps, 30, 4), 100, np.uint8)


class Former(Odd):
    """Answers as worlds did before Gymnasium."""

    def step(self, action):
        return self.shown(), 1.0, False, {}


class Arrays(Odd):
    """A reward that is an array."""

    def step(self, action):
        obs, _, *rest = super().step(action)
        return obs, np.ones((1,)), *rest


class Liar(Odd):
    """Shows what its space does not have."""

    def shown(self):
        return 7


class Mortal(Odd):
    """Its process ends in the fifth step."""

    def step(self, action):
        if self.steps == 4:
            os._exit(3)
        return super().step(action)


class Stillborn(Odd):
    """Cannot be made."""

    def __init__(self, kind: str = "Scalar"):
        raise ZeroDivisionError("no lamp")


for kind in SPACES:
    gym.register(f"Odd/{kind}-v0", entry_point=Odd, max_episode_steps=10, kwargs={"kind": kind})
for other in (OneAction, Dark, Blinking, Former, Arrays, Mortal, Stillborn):
    gym.register(f"Odd/{other.__name__}-v0", entry_point=other, max_episode_steps=10)
gym.register("Odd/Liar-v0", entry_point=Liar, max_episode_steps=10, kwargs={"kind": "Discrete"})
