"""A world that knows nothing about surprise: MiniGrid's four rooms, made binary so that a Bernoulli marginal fits.

    pip install sadapt minigrid
    python examples/minigrid_rooms.py --total-timesteps 5000

The agent acts at random; what matters is how the world is wrapped.
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np
from minigrid.core.constants import OBJECT_TO_IDX
from minigrid.wrappers import FullyObsWrapper

from sadapt.gym import SurpriseWrapper, estimate_random


class Planes(gymnasium.ObservationWrapper):
    """The whole map from MiniGrid's dictionary observation, as one 0/1 plane per kind of object."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        size = env.observation_space["image"].shape[:2]
        self.observation_space = gymnasium.spaces.Box(0, 1, (*size, len(OBJECT_TO_IDX)), np.uint8)

    def observation(self, obs: dict) -> np.ndarray:
        return (obs["image"][..., :1] == np.arange(len(OBJECT_TO_IDX))).astype(np.uint8)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--total-timesteps", type=int, default=5_000)
    arguments.add_argument("--random-episodes", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()

    rooms = Planes(FullyObsWrapper(gymnasium.make("MiniGrid-FourRooms-v0")))
    options = {"horizon": rooms.unwrapped.max_steps, "marginal_channels": [OBJECT_TO_IDX["agent"]]}
    random = estimate_random(rooms, given.random_episodes, seed=given.seed, **options)
    env = SurpriseWrapper(rooms, "s-adapt", random=random, obs_mode="channels", **options)
    print(f"observations of {env.observation_space.shape}, random surprise {random['mean']['surprise']:.2f} nats")
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
