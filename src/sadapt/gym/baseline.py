"""The entropy of random play in any Gymnasium environment, which S-Adapt compares with."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from sadapt.errors import UserError
from sadapt.gym.telling import named
from sadapt.gym.wrappers import SurpriseVectorWrapper, SurpriseWrapper
from sadapt.motivation.objectives import usable_baseline


def estimate_random_entropy(
    env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any], episodes: int = 100, seed: int = 0, **options: Any
) -> float:
    """H_rand: the mean final entropy of `episodes` episodes of random play, which `env` plays and is seeded for.

    `options` are those of the wrapper that will use the number; of a vector environment every world plays its share.
    """
    if not isinstance(episodes, int) or episodes < 1:
        raise UserError(f"episodes is {episodes!r}; it must be a whole number from 1")
    silent = {**options, "objective": "extrinsic", "obs_mode": "none", "normalise": False, "h_random": None,
              "intrinsic_scale": 1.0, "extrinsic_scale": 0.0}  # fmt: skip
    env.action_space.seed(seed)
    entropies = (
        _entropies_of_many(SurpriseVectorWrapper(env, **silent), episodes, seed)
        if isinstance(env, VectorEnv)
        else _entropies_of_one(SurpriseWrapper(env, **silent), episodes, seed)
    )
    return usable_baseline(float(np.mean(entropies)), named(env))


def _entropies_of_one(env: SurpriseWrapper, episodes: int, seed: int) -> list[float]:
    """Final entropies of random play."""
    found = []
    for episode in range(episodes):
        env.reset(seed=seed if episode == 0 else None)
        info: dict[str, Any] = {}
        while "surprise_episode" not in info:
            *_, info = env.step(env.action_space.sample())
        found.append(info["surprise_episode"]["entropy"])
    return found


def _entropies_of_many(envs: SurpriseVectorWrapper, episodes: int, seed: int) -> list[float]:
    """The same, of equally many episodes in each world, so that short ones are not preferred."""
    envs.reset(seed=seed)
    share = -(-episodes // envs.num_envs)
    found: list[list[float]] = [[] for _ in range(envs.num_envs)]
    while any(len(own) < share for own in found):
        *_, terminations, truncations, infos = envs.step(envs.action_space.sample())
        over = terminations | truncations
        for world in np.flatnonzero(over):
            found[world].append(float(infos["surprise_episode"]["entropy"][world]))
        if over.any() and envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
            envs.reset(options={"reset_mask": over})
    return [entropy for own in found for entropy in own[:share]]
