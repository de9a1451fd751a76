"""Tetris without reward: Stable-Baselines3's DQN, paid for keeping surprise low.

pip install sadapt stable-baselines3
python examples/sb3_dqn.py --total-timesteps 300000
"""

from __future__ import annotations

import argparse
import time

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

import sadapt  # noqa: F401  registers the worlds
from sadapt.gym import RestartAfterDeath, SurpriseWrapper


def world() -> SurpriseWrapper:
    """A death restarts the game and is seen as coin flips: without that, dying would be a way to a quiet world."""
    tetris = RestartAfterDeath(gymnasium.make("sadapt/Tetris-v0"), horizon=200)
    return SurpriseWrapper(tetris, "s-min", obs_mode="flat", baseline="time", reward_clip=5.0)


class Statistics(BaseCallback):
    """Prints a line every `every` episodes."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every, self.deaths, self.begin = every, [], time.perf_counter()

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "surprise_episode" in info:
                self.deaths.append(info["deaths"])
                if len(self.deaths) % self.every == 0:
                    episode, minutes = info["surprise_episode"], (time.perf_counter() - self.begin) / 60
                    print(
                        f"{self.num_timesteps:>9,} steps  {minutes:5.1f} min  "
                        f"deaths per 200 steps {np.mean(self.deaths[-self.every :]):5.2f}  "
                        f"surprise {episode['surprise']:6.2f}  entropy {episode['entropy']:6.2f}",
                        flush=True,
                    )
        return True


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--total-timesteps", type=int, default=300_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--every", type=int, default=50, help="episodes between lines")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    model = DQN(
        "MlpPolicy",
        world(),
        learning_rate=5e-4,
        buffer_size=100_000,
        learning_starts=min(5_000, given.total_timesteps // 2),
        batch_size=64,
        gamma=0.95,
        train_freq=4,
        target_update_interval=1_000,
        exploration_fraction=0.3,
        exploration_final_eps=0.01,
        policy_kwargs={"net_arch": [128, 128]},
        seed=given.seed,
    )
    model.learn(given.total_timesteps, callback=Statistics(given.every))

    env = world()
    deaths = []
    for episode in range(20 if given.total_timesteps > 1_000 else 1):
        obs, _ = env.reset(seed=1_000 + episode)
        over = False
        while not over:
            action, _ = model.predict(obs, deterministic=True)
            obs, _, terminated, truncated, info = env.step(int(action))
            over = terminated or truncated
        deaths.append(info["deaths"])
    print(f"greedy play, {len(deaths)} episodes: deaths per 200 steps {np.mean(deaths):.2f} (random play: 22.9)")


if __name__ == "__main__":
    main()
