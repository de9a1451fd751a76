"""S-Adapt with a DQN in one file, in the manner of CleanRL: PyTorch, a vector environment, nothing hidden.

    pip install sadapt torch
    python examples/cleanrl_dqn.py maze-small --seed 1

The bandit should settle on S-Max in the maze (the goal is found) and on S-Min in Tetris (few deaths).
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, VectorEnv

import sadapt  # noqa: F401  registers the worlds
from sadapt.gym import RestartAfterDeath, SurpriseVectorWrapper, estimate_random
from sadapt.motivation.objectives import ARMS

WORLDS = {"maze-small": "sadapt/MazeSmall-v0", "tetris": "sadapt/Tetris-v0"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("world", nargs="?", default="maze-small", choices=WORLDS)
    parser.add_argument("--objective", default="s-adapt", choices=("s-adapt", "s-min", "s-max"))
    parser.add_argument("--total-timesteps", type=int, default=400_000)
    parser.add_argument("--num-envs", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random-episodes", type=int, default=100)
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--buffer-size", type=int, default=100_000)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--gamma", type=float, default=0.95)
    parser.add_argument("--learning-starts", type=int, default=5_000)
    parser.add_argument("--steps-per-update", type=int, default=4)
    parser.add_argument("--target-interval", type=int, default=2_000)
    parser.add_argument("--exploration-fraction", type=float, default=0.7)
    parser.add_argument("--every", type=int, default=200, help="episodes between lines")
    parser.add_argument("--save", help="file for the motivation's state, as JSON")
    return parser.parse_args()


def make_worlds(name: str, count: int) -> VectorEnv:
    """A death restarts the game and is seen as coin flips: without that, dying would be a way to a quiet world."""
    return gymnasium.make_vec(
        WORLDS[name],
        num_envs=count,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        wrappers=[RestartAfterDeath],
    )


class Replay:
    """The last `size` transitions."""

    def __init__(self, size: int, width: int) -> None:
        self.obs, self.next_obs = np.zeros((2, size, width), np.float32)
        self.actions, self.rewards, self.ends = (
            np.zeros(size, np.int64),
            np.zeros(size, np.float32),
            np.zeros(size, bool),
        )
        self.size, self.added = size, 0

    def add(self, *transitions: np.ndarray) -> None:
        count = len(transitions[0])
        where = (self.added + np.arange(count)) % self.size
        parts = (self.obs, self.actions, self.rewards, self.next_obs, self.ends)
        for part, values in zip(parts, transitions, strict=True):
            part[where] = values
        self.added += count

    def sample(self, rng: np.random.Generator, count: int) -> tuple[torch.Tensor, ...]:
        rows = rng.integers(min(self.added, self.size), size=count)
        parts = (self.obs, self.actions, self.rewards, self.next_obs, self.ends.astype(np.float32))
        return tuple(torch.from_numpy(part[rows]) for part in parts)


class NetworkPerArm(torch.nn.Module):
    """Two networks, of which the arm picks one: in a single one, the arm that is learned first holds back the other."""

    def __init__(self, inputs: int, actions: int, units: int = 128) -> None:
        super().__init__()
        self.arms = torch.nn.ModuleList(self._one(inputs, units, actions) for _ in ARMS)

    @staticmethod
    def _one(inputs: int, units: int, actions: int) -> torch.nn.Module:
        first, second = torch.nn.Linear(inputs, units), torch.nn.Linear(units, units)
        return torch.nn.Sequential(first, torch.nn.ReLU(), second, torch.nn.ReLU(), torch.nn.Linear(units, actions))

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        return torch.where(obs[:, -1:] == 0, self.arms[0](obs), self.arms[1](obs))


class Episodes(list):
    """What was told of every episode that has ended."""

    def hear(self, infos: dict[str, Any], over: np.ndarray) -> None:
        deaths = infos["final_info"]["deaths"] if over.any() else ()
        for world in np.flatnonzero(over):
            told = {name: values[world] for name, values in infos["surprise_episode"].items()}
            self.append({**told, "deaths": deaths[world]})

    def told(self, count: int) -> str:
        """The last ones: arms, and for each arm what it did to the task and to surprise."""
        parts = []
        for arm, name in enumerate(ARMS):
            own = [episode for episode in self[-count:] if episode["arm"] == arm]
            keys = {"deaths": "deaths", "task": "extrinsic_return", "surprise": "surprise"}
            means = (f"{label} {np.mean([each[key] for each in own]):.2f}" for label, key in keys.items())
            parts.append(f"{name} {len(own):3d}" + (f" ({', '.join(means)})" if own else ""))
        return "  ".join(parts)


def main() -> None:
    args = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)

    worlds = make_worlds(args.world, args.num_envs)
    random = estimate_random(worlds, args.random_episodes, seed=args.seed)
    envs = SurpriseVectorWrapper(
        worlds, args.objective, obs_mode="flat", random=random, baseline="time", reward_clip=5.0
    )
    actions_count = int(envs.single_action_space.n)
    width = envs.single_observation_space.shape[0]
    q, target = NetworkPerArm(width, actions_count), NetworkPerArm(width, actions_count)
    target.load_state_dict(q.state_dict())
    adam = torch.optim.Adam(q.parameters(), lr=args.learning_rate)
    replay = Replay(args.buffer_size, width)

    obs, _ = envs.reset(seed=args.seed)
    episodes, begin = Episodes(), time.perf_counter()
    for step in range(0, args.total_timesteps, args.num_envs):
        epsilon = max(0.01, 1 - step / (args.exploration_fraction * args.total_timesteps))
        with torch.no_grad():
            greedy = q(torch.from_numpy(obs)).argmax(1).numpy()
        actions = np.where(rng.random(args.num_envs) < epsilon, rng.integers(actions_count, size=args.num_envs), greedy)
        next_obs, rewards, terminations, truncations, infos = envs.step(actions)

        # The horizon comes as terminated, since theta begins anew there and nothing is worth anything beyond.
        last, over, before = next_obs.copy(), terminations | truncations, len(episodes)
        for world in np.flatnonzero(over):
            last[world] = infos["final_obs"][world]
        episodes.hear(infos, over)
        if len(episodes) // args.every > before // args.every:
            minutes = (time.perf_counter() - begin) / 60
            print(f"{step:>9,} steps  {minutes:5.1f} min  {episodes.told(args.every)}", flush=True)
        replay.add(obs, actions, rewards, last, terminations)
        obs = next_obs

        if replay.added >= args.learning_starts:
            for _ in range(max(1, args.num_envs // args.steps_per_update)):
                s, a, r, s_next, end = replay.sample(rng, args.batch_size)
                with torch.no_grad():
                    wanted = r + args.gamma * (1 - end) * target(s_next).max(1).values
                loss = torch.nn.functional.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), wanted)
                adam.zero_grad()
                loss.backward()
                adam.step()
            if step % args.target_interval < args.num_envs:
                target.load_state_dict(q.state_dict())

    recent = [episode["arm"] for episode in episodes[-args.every :]]
    settled = round(np.mean(recent))
    print(f"settled on {ARMS[settled]}: {recent.count(settled)} of the last {len(recent)} episodes")
    print(f"the last {len(recent)}: {episodes.told(args.every)} (random {random['mean']['surprise']:.2f})")
    if args.save:
        with open(args.save, "w") as file:
            json.dump(envs.state_dict(), file)


if __name__ == "__main__":
    main()
