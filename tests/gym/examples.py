"""Lamps with the motivation around them."""

from __future__ import annotations

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit

from sadapt.gym import SurpriseWrapper
from tests.gym.lamps import Lamps

RANDOM_LAMPS = {"mean": {"entropy": 3.0, "surprise": 12.0}, "std": {"entropy": 0.2, "surprise": 5.0}}
"""What `estimate_random` could have given."""


def lamps(space: str = "box", limit: int = 20) -> gymnasium.Env:
    return TimeLimit(Lamps(space), limit)


def wrapped(objective: str = "s-adapt", space: str = "box", limit: int = 20, **options) -> SurpriseWrapper:
    return SurpriseWrapper(lamps(space, limit), objective, **{"random": RANDOM_LAMPS, **options})


def entropy_of(p) -> float:
    """H of independent coins, in float64."""
    p = np.clip(np.asarray(p, np.float64), 1e-4, 1 - 1e-4)
    return float(-(p * np.log(p) + (1 - p) * np.log(1 - p)).sum())


def live(env: SurpriseWrapper, episodes: int) -> list[dict]:
    """Episodes on fixed seeds of the world, but not of the wrapper."""
    told = []
    for number in range(episodes):
        env.unwrapped.reset(seed=number)
        env.reset()
        info: dict = {}
        while "surprise_episode" not in info:
            _, reward, _, _, info = env.step(number % 6)
        told.append(info["surprise_episode"] | {"last reward": reward})
    return told
