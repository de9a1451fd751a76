"""The small maze without reward: Stable-Baselines3's PPO, with a bandit that picks a direction for each episode.

pip install sadapt stable-baselines3
python examples/sb3_ppo.py --total-timesteps 500000
"""

from __future__ import annotations

import argparse
from collections import Counter

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

import sadapt  # noqa: F401  registers the worlds
from sadapt.gym import SurpriseWrapper, estimate_random
from sadapt.motivation.objectives import ARMS


class Statistics(BaseCallback):
    """Prints a line every `every` episodes."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every, self.episodes = every, []

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "surprise_episode" in info:
                self.episodes.append(info["surprise_episode"])
                if len(self.episodes) % self.every == 0:
                    last = self.episodes[-self.every :]
                    arms = Counter(ARMS[episode["arm"]] for episode in last)
                    print(
                        f"{self.num_timesteps:>9,} steps  task return "
                        f"{np.mean([episode['extrinsic_return'] for episode in last]):5.2f}  "
                        f"surprise {np.mean([episode['surprise'] for episode in last]):5.2f}  arms {dict(arms)}",
                        flush=True,
                    )
        return True


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--total-timesteps", type=int, default=500_000)
    arguments.add_argument("--random-episodes", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--every", type=int, default=50, help="episodes between lines")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    maze = gymnasium.make("sadapt/MazeSmall-v0")
    random = estimate_random(maze, given.random_episodes, seed=given.seed)
    env = SurpriseWrapper(maze, "s-adapt", obs_mode="dict", random=random)
    steps = min(1_024, given.total_timesteps)
    model = PPO("MultiInputPolicy", env, n_steps=steps, batch_size=min(64, steps), ent_coef=0.01, seed=given.seed)
    model.learn(given.total_timesteps, callback=Statistics(given.every))
    print(f"the bandit after {given.total_timesteps:,} steps: {env.state_dict()['bandit']}")


if __name__ == "__main__":
    main()
