"""No reward and no given direction: S-Adapt with Stable-Baselines3's DQN in Tetris or in the small maze.

    pip install sadapt stable-baselines3
    python examples/sb3_dqn.py tetris --seed 1

The bandit should settle on S-Min in Tetris (few deaths) and on S-Max in the maze (the goal is found).
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

import sadapt  # noqa: F401  registers the worlds
from sadapt.gym import RestartAfterDeath, SurpriseWrapper, estimate_random
from sadapt.motivation.objectives import ARMS

WORLDS = {"tetris": "sadapt/Tetris-v0", "maze-small": "sadapt/MazeSmall-v0"}
PAID: dict[str, Any] = {"obs_mode": "flat", "baseline": "time", "reward_clip": 5.0}


class TowerPerArm(BaseFeaturesExtractor):
    """Two networks, of which the arm picks one: in a single one, the arm that is learned first holds back the other."""

    def __init__(self, space: gymnasium.spaces.Box, units: int = 128) -> None:
        super().__init__(space, 2 * units)
        self.towers = torch.nn.ModuleList(self._tower(space.shape[0], units) for _ in ARMS)

    @staticmethod
    def _tower(inputs: int, units: int) -> torch.nn.Module:
        first, second = torch.nn.Linear(inputs, units), torch.nn.Linear(units, units)
        return torch.nn.Sequential(first, torch.nn.ReLU(), second, torch.nn.ReLU())

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        arm = obs[:, -1:]
        return torch.cat([(1 - arm) * self.towers[0](obs), arm * self.towers[1](obs)], dim=1)


class Statistics(BaseCallback):
    """Keeps what is told of episodes, and prints a line every `every` of them."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every, self.episodes, self.begin = every, [], time.perf_counter()

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "surprise_episode" in info:
                self.episodes.append({**info["surprise_episode"], "deaths": info["deaths"]})
                if len(self.episodes) % self.every == 0:
                    minutes = (time.perf_counter() - self.begin) / 60
                    print(f"{self.num_timesteps:>9,} steps  {minutes:5.1f} min  {self.told()}", flush=True)
        return True

    def told(self) -> str:
        """The last episodes: arms, and for each arm what it did to the task and to surprise."""
        last = self.episodes[-self.every :]
        parts = []
        for arm, name in enumerate(ARMS):
            own = [episode for episode in last if episode["arm"] == arm]
            parts.append(f"{name} {len(own):3d}" + (f" ({outcome(own)})" if own else ""))
        return "  ".join(parts)


def outcome(episodes: list[dict[str, Any]]) -> str:
    """Means over episodes."""
    mean = {key: np.mean([each[key] for each in episodes]) for key in ("deaths", "extrinsic_return", "surprise")}
    return f"deaths {mean['deaths']:.2f}, task {mean['extrinsic_return']:.2f}, surprise {mean['surprise']:.2f}"


def world(name: str) -> gymnasium.Env:
    """A death restarts the game and is seen as coin flips: without that, dying would be a way to a quiet world."""
    return RestartAfterDeath(gymnasium.make(WORLDS[name]))


def greedy_play(model: DQN, env: SurpriseWrapper, arm: str, count: int) -> list[dict[str, Any]]:
    """Episodes on one arm without exploration, of which bandit and normaliser do not hear."""
    env.training, env.forced_arm = False, arm
    episodes = []
    for number in range(count):
        obs, info = env.reset(seed=1_000 + number)
        while "surprise_episode" not in info:
            action, _ = model.predict(obs, deterministic=True)
            obs, *_, info = env.step(int(action))
        episodes.append({**info["surprise_episode"], "deaths": info["deaths"]})
    return episodes


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("world", nargs="?", default="tetris", choices=WORLDS)
    arguments.add_argument("--objective", default="s-adapt", choices=("s-adapt", "s-min", "s-max"))
    arguments.add_argument("--total-timesteps", type=int, default=200_000)
    arguments.add_argument("--random-episodes", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--every", type=int, default=100, help="episodes between lines")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    random = estimate_random(world(given.world), given.random_episodes, seed=given.seed)
    env = SurpriseWrapper(world(given.world), given.objective, random=random, **PAID)
    model = DQN(
        "MlpPolicy",
        env,
        learning_rate=5e-4,
        buffer_size=50_000,
        learning_starts=min(5_000, given.total_timesteps // 2),
        batch_size=128,
        gamma=0.95,
        n_steps=3,
        train_freq=8,
        target_update_interval=1_000,
        exploration_fraction=0.8,
        exploration_final_eps=0.05,
        policy_kwargs={"features_extractor_class": TowerPerArm, "net_arch": []},
        seed=given.seed,
    )
    statistics = Statistics(given.every)
    model.learn(given.total_timesteps, callback=statistics)

    arms = [episode["arm"] for episode in statistics.episodes[-given.every :]]
    settled = ARMS[round(np.mean(arms))]
    print(f"settled on {settled}: {arms.count(ARMS.index(settled))} of the last {len(arms)} episodes")
    played = greedy_play(model, env, settled, 20 if given.total_timesteps > 1_000 else 1)
    print(
        f"greedy play, {len(played)} episodes on {settled}: {outcome(played)} (random {random['mean']['surprise']:.2f})"
    )


if __name__ == "__main__":
    main()
