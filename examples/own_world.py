"""Worlds that know nothing of surprise: a MiniGrid room where it is installed, else a corridor of this file's own.

    pip install sadapt minigrid
    python examples/own_world.py --total-timesteps 5000

The agent acts at random; what matters is how the world is wrapped.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Any

import gymnasium
import numpy as np

from sadapt.gym import SurpriseWrapper, estimate_random_entropy


class Corridor(gymnasium.Env):
    """A place between -1 and 1 that one walks along, and a lamp beside it that flickers whatever one does."""

    observation_space, action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32), gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 0.0
        return self.look(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self.place = min(max(self.place + (0.1 if action else -0.1), -1.0), 1.0)
        return self.look(), float(self.place == 1.0), False, False, {}

    def look(self) -> np.ndarray:
        return np.array([self.place, self.np_random.uniform(-1, 1)], np.float32)


def minigrid() -> gymnasium.Env:
    """MiniGrid shows a dictionary, of which the picture is kept; its cells are numbers, so the marginal is Gaussian."""
    from minigrid.wrappers import FullyObsWrapper, ImgObsWrapper

    return ImgObsWrapper(FullyObsWrapper(gymnasium.make("MiniGrid-FourRooms-v0")))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--total-timesteps", type=int, default=5_000)
    arguments.add_argument("--random-episodes", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()

    world = minigrid() if find_spec("minigrid") else gymnasium.wrappers.TimeLimit(Corridor(), 50)
    h_random = estimate_random_entropy(world, given.random_episodes, seed=given.seed)
    env = SurpriseWrapper(world, "s-adapt", h_random=h_random, obs_mode="flat")
    print(f"{env.unwrapped}: {env.observation_space.shape[0]} numbers, H_rand {h_random:.2f} nats")
    env.action_space.seed(given.seed)
    env.reset(seed=given.seed)
    for _ in range(given.total_timesteps):
        *_, terminated, truncated, info = env.step(env.action_space.sample())
        if terminated or truncated:
            episode = info["surprise_episode"]
            print(
                f"arm {episode['arm']}  task return {episode['extrinsic_return']:.1f}  "
                f"surprise {episode['surprise']:.2f}  entropy {episode['entropy']:.2f}  "
                f"feedback {episode['feedback']:.3f}"
            )
            env.reset()


if __name__ == "__main__":
    main()
