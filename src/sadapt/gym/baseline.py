"""Random play in any Gymnasium environment, with which S-Adapt compares."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from sadapt.errors import UserError
from sadapt.gym.telling import named
from sadapt.gym.wrappers import SurpriseVectorWrapper, SurpriseWrapper
from sadapt.motivation.doubts import warn
from sadapt.motivation.feedback import COMPARED, as_plain, summed_up, usable


def estimate_random(
    env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any], episodes: int = 100, seed: int = 0, **options: Any
) -> dict[str, dict[str, float]]:
    """Mean and standard deviation of entropy and mean surprise over `episodes` episodes of random play in `env`.

    `env` is seeded for this; in a vector environment every world plays its share. `options` are those of the wrapper
    that will use the numbers. If random play already shows a dead signal, a warning says so.
    """
    if not isinstance(episodes, int) or episodes < 1:
        raise UserError(f"episodes is {episodes!r}; it must be an integer of at least 1")
    silent = {**options, "objective": "extrinsic", "obs_mode": "none", "normalise": False, "h_random": None,
              "random": None, "intrinsic_scale": 1.0, "extrinsic_scale": 0.0}  # fmt: skip
    env.action_space.seed(seed)
    motivated: SurpriseWrapper | SurpriseVectorWrapper
    if isinstance(env, VectorEnv):
        motivated = SurpriseVectorWrapper(env, **silent)
        found = _played_by_many(motivated, episodes, seed)
    else:
        motivated = SurpriseWrapper(env, **silent)
        found = _played_by_one(motivated, episodes, seed)
    random = summed_up({name: np.asarray([episode[name] for episode in found]) for name in COMPARED})
    usable(random, motivated.compared, named(env))
    warn(motivated.doubts(random, len(found)))
    return as_plain(random)


def estimate_random_entropy(
    env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any], episodes: int = 100, seed: int = 0, **options: Any
) -> float:
    """H_rand alone, the random agent's mean final entropy."""
    return estimate_random(env, episodes, seed, **options)["mean"]["entropy"]


def _played_by_one(env: SurpriseWrapper, episodes: int, seed: int) -> list[dict[str, float]]:
    """What is told of episodes of random play."""
    found = []
    for episode in range(episodes):
        env.reset(seed=seed if episode == 0 else None)
        info: dict[str, Any] = {}
        while "surprise_episode" not in info:
            *_, info = env.step(env.action_space.sample())
        found.append({name: info["surprise_episode"][name] for name in COMPARED})
    return found


def _played_by_many(envs: SurpriseVectorWrapper, episodes: int, seed: int) -> list[dict[str, float]]:
    """The same, of equally many episodes in each world, so that short ones are not preferred."""
    envs.reset(seed=seed)
    share = -(-episodes // envs.num_envs)
    found: list[list[dict[str, float]]] = [[] for _ in range(envs.num_envs)]
    while any(len(own) < share for own in found):
        *_, terminations, truncations, infos = envs.step(envs.action_space.sample())
        over = terminations | truncations
        for world in np.flatnonzero(over):
            told = infos["surprise_episode"]
            found[world].append({name: float(told[name][world]) for name in COMPARED})
        if over.any() and envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED:
            envs.reset(options={"reset_mask": over})
    return [episode for own in found for episode in own[:share]]
