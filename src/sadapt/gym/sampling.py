"""What a random agent sees in any Gymnasium environment, for marginals that have to know its scale beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from sadapt.gym.reading import Reader

STEPS = 1_024


def random_entries(env: Any, read: Reader) -> np.ndarray:
    """Observations of random play; `env` plays it, seeded, and has to be reset before anything else."""
    env.action_space.seed(0)
    return _of_many(env, read) if isinstance(env, VectorEnv) else _of_one(env, read)


def _of_one(env: Any, read: Reader) -> np.ndarray:
    seen = []
    env.reset(seed=0)
    for _ in range(STEPS):
        obs, _, terminated, truncated, _ = env.step(env.action_space.sample())
        seen.append(np.array(read.one(obs)))
        if terminated or truncated:
            env.reset()
    return np.stack(seen)


def _of_many(envs: Any, read: Reader) -> np.ndarray:
    seen = []
    envs.reset(seed=0)
    for _ in range(-(-STEPS // envs.num_envs)):
        obs, _, terminated, truncated, _ = envs.step(envs.action_space.sample())
        seen.append(np.array(read.many(obs)))
        over = np.asarray(terminated) | np.asarray(truncated)
        if over.any() and envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
            envs.reset(options={"reset_mask": over})
    return np.concatenate(seen)
