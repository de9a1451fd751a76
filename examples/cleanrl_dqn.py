"""S-Adapt with a DQN in one file, in the manner of CleanRL: PyTorch, a vector environment, nothing hidden.

pip install sadapt torch
python examples/cleanrl_dqn.py --total-timesteps 200000
"""

from __future__ import annotations

import argparse
import json

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode

import sadapt  # noqa: F401  registers the worlds
from sadapt.gym import SurpriseVectorWrapper, estimate_random_entropy


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env-id", default="sadapt/MazeSmall-v0")
    parser.add_argument("--total-timesteps", type=int, default=200_000)
    parser.add_argument("--num-envs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random-episodes", type=int, default=100)
    parser.add_argument("--learning-rate", type=float, default=2.5e-4)
    parser.add_argument("--buffer-size", type=int, default=50_000)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--learning-starts", type=int, default=2_000)
    parser.add_argument("--target-interval", type=int, default=1_000)
    parser.add_argument("--save", help="file for the motivation's state, as JSON")
    return parser.parse_args()


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


def network(inputs: int, actions: int) -> torch.nn.Module:
    first, second, head = torch.nn.Linear(inputs, 120), torch.nn.Linear(120, 84), torch.nn.Linear(84, actions)
    return torch.nn.Sequential(first, torch.nn.ReLU(), second, torch.nn.ReLU(), head)


def main() -> None:
    args = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)

    worlds = gymnasium.make_vec(args.env_id, num_envs=args.num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    h_random = estimate_random_entropy(worlds, args.random_episodes, seed=args.seed)
    envs = SurpriseVectorWrapper(worlds, "s-adapt", obs_mode="flat", h_random=h_random)
    actions_count = int(envs.single_action_space.n)
    width = envs.single_observation_space.shape[0]
    q, target = network(width, actions_count), network(width, actions_count)
    target.load_state_dict(q.state_dict())
    adam = torch.optim.Adam(q.parameters(), lr=args.learning_rate)
    replay = Replay(args.buffer_size, width)

    obs, _ = envs.reset(seed=args.seed)
    episodes = 0
    for step in range(0, args.total_timesteps, args.num_envs):
        epsilon = max(0.05, 1 - step / (0.5 * args.total_timesteps))
        with torch.no_grad():
            greedy = q(torch.from_numpy(obs)).argmax(1).numpy()
        actions = np.where(rng.random(args.num_envs) < epsilon, rng.integers(actions_count, size=args.num_envs), greedy)
        next_obs, rewards, terminations, truncations, infos = envs.step(actions)

        # The horizon comes as terminated, since theta begins anew there and nothing is worth anything beyond.
        last = next_obs.copy()
        for world in np.flatnonzero(terminations | truncations):
            last[world] = infos["final_obs"][world]
            ended, episodes = infos["surprise_episode"], episodes + 1
            if episodes % 20 == 0:
                print(
                    f"{step:>8,} steps  arm {ended['arm'][world]}  task return {ended['extrinsic_return'][world]:.2f}  "
                    f"surprise {ended['surprise'][world]:.2f}  entropy {ended['entropy'][world]:.2f}  "
                    f"feedback {ended['feedback'][world]:.3f}  pulls {ended['arm_counts'][world].astype(int).tolist()}",
                    flush=True,
                )
        replay.add(obs, actions, rewards, last, terminations)
        obs = next_obs

        if replay.added >= args.learning_starts:
            for _ in range(max(1, args.num_envs // 4)):
                s, a, r, s_next, end = replay.sample(rng, args.batch_size)
                with torch.no_grad():
                    wanted = r + args.gamma * (1 - end) * target(s_next).max(1).values
                loss = torch.nn.functional.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), wanted)
                adam.zero_grad()
                loss.backward()
                adam.step()
            if step % args.target_interval < args.num_envs:
                target.load_state_dict(q.state_dict())

    print(f"{episodes} episodes; H_rand {h_random:.2f}; the bandit: {envs.state_dict()['bandit']}")
    if args.save:
        with open(args.save, "w") as file:
            json.dump(envs.state_dict(), file)


if __name__ == "__main__":
    main()
