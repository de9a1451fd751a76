"""S-Adapt with a Q-network in one file, in the style of CleanRL's PQN: PyTorch, many parallel worlds, nothing hidden.

    pip install sadapt torch
    python examples/cleanrl_pqn.py maze-small --seed 1

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

EVALUATION_E = 0.01


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("world", nargs="?", default="maze-small", choices=WORLDS)
    parser.add_argument("--objective", default="s-adapt", choices=("s-adapt", "s-min", "s-max"))
    parser.add_argument("--total-timesteps", type=int, default=400_000)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--num-steps", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--random-episodes", type=int, default=100)
    parser.add_argument("--learning-rate", type=float, default=5e-4)
    parser.add_argument("--final-learning-rate", type=float, default=1e-4)
    parser.add_argument("--minibatch-size", type=int, default=64)
    parser.add_argument("--update-epochs", type=int, default=2)
    parser.add_argument("--gamma", type=float, default=0.97)
    parser.add_argument("--q-lambda", type=float, default=0.65)
    parser.add_argument("--exploration-fraction", type=float, default=0.8)
    parser.add_argument("--end-e", type=float, default=0.1)
    parser.add_argument("--every", type=int, default=200, help="episodes between lines")
    parser.add_argument("--save", help="file for the motivation's state, as JSON")
    return parser.parse_args()


def make_worlds(name: str, count: int) -> VectorEnv:
    """Where one can die, a death restarts the game and is seen as coin flips: dying must not be a way to quiet."""
    if name != "tetris":
        return gymnasium.make_vec(WORLDS[name], num_envs=count, autoreset_mode=AutoresetMode.SAME_STEP)
    return gymnasium.make_vec(
        WORLDS[name],
        num_envs=count,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        wrappers=[RestartAfterDeath],
    )


class NetworkPerArm(torch.nn.Module):
    """Two networks, of which the arm picks one: in a single one, the arm that is learned first holds back the other."""

    def __init__(self, inputs: int, actions: int, units: int = 128) -> None:
        super().__init__()
        self.arms = torch.nn.ModuleList(self._one(inputs, units, actions) for _ in ARMS)

    @staticmethod
    def _one(inputs: int, units: int, actions: int) -> torch.nn.Module:
        layers: list[torch.nn.Module] = []
        for size in (inputs, units):
            layers += [torch.nn.Linear(size, units), torch.nn.LayerNorm(units), torch.nn.ReLU()]
        return torch.nn.Sequential(*layers, torch.nn.Linear(units, actions))

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        return torch.where(obs[:, -1:] == 0, self.arms[0](obs), self.arms[1](obs))


def lambda_returns(rewards: torch.Tensor, ends: torch.Tensor, values: torch.Tensor, args: Any) -> torch.Tensor:
    """G_t = r_t + gamma (1 - end_t) ((1 - lambda) v_t+1 + lambda G_t+1) along a rollout; `values` has one row more."""
    returns, ahead = torch.zeros_like(rewards), values[-1]
    for t in reversed(range(len(rewards))):
        mixed = (1 - args.q_lambda) * values[t + 1] + args.q_lambda * ahead
        returns[t] = ahead = rewards[t] + args.gamma * (1 - ends[t]) * mixed
    return returns


class Episodes(list):
    """What was told of every episode that has ended."""

    def hear(self, infos: dict[str, Any], over: np.ndarray) -> None:
        deaths = infos.get("final_info", {}).get("deaths", np.zeros(len(over)))
        for world in np.flatnonzero(over):
            told = {name: values[world] for name, values in infos["surprise_episode"].items()}
            self.append({**told, "deaths": deaths[world]})

    def told(self, count: int = 0) -> str:
        """The last ones: arms, and for each arm what it did to the task and to surprise."""
        parts = []
        for arm, name in enumerate(ARMS):
            own = [episode for episode in self[-count:] if episode["arm"] == arm]
            keys = {"deaths": "deaths", "task": "extrinsic_return", "surprise": "surprise"}
            means = (f"{label} {np.mean([each[key] for each in own]):.2f}" for label, key in keys.items() if own)
            parts.append(f"{name} {len(own):3d}" + (f" ({', '.join(means)})" if own else ""))
        return "  ".join(parts)


def play(
    envs: SurpriseVectorWrapper, network: NetworkPerArm, seen: np.ndarray, epsilon: float, rng: Any, steps: int
) -> tuple[np.ndarray, list[tuple[torch.Tensor, ...]], list[tuple[dict[str, Any], np.ndarray]]]:
    """Steps in all worlds, epsilon-greedily: what is seen then, the transitions, and what was told at their ends."""
    rollout, told = [], []
    for _ in range(steps):
        obs = torch.from_numpy(seen)
        with torch.no_grad():
            q = network(obs)
        values, greedy = q.max(1)
        chance = rng.integers(q.shape[1], size=len(q))
        actions = np.where(rng.random(len(q)) < epsilon, chance, greedy.numpy())
        # The horizon comes as terminated, since theta begins anew there and nothing is worth anything beyond.
        seen, rewards, ends, _, infos = envs.step(actions)
        rollout.append((obs, torch.from_numpy(actions), torch.from_numpy(rewards), torch.from_numpy(ends), values))
        told.append((infos, ends))
    return seen, rollout, told


def learn(
    network: NetworkPerArm,
    descent: torch.optim.Optimizer,
    rollout: list[tuple[torch.Tensor, ...]],
    last: Any,
    args: Any,
) -> None:
    """Some passes over the steps just made, towards their returns; there is no replay and no target network."""
    obs, taken, paid, ends, values = (torch.stack(part) for part in zip(*rollout, strict=True))
    with torch.no_grad():
        ahead = network(torch.from_numpy(last)).max(1).values
    wanted = lambda_returns(paid.float(), ends.float(), torch.cat([values, ahead[None]]), args).flatten()
    obs, taken = obs.flatten(0, 1), taken.flatten()
    for _ in range(args.update_epochs):
        for rows in torch.randperm(len(wanted)).split(args.minibatch_size):
            q = network(obs[rows]).gather(1, taken[rows, None]).squeeze(1)
            loss = torch.nn.functional.mse_loss(q, wanted[rows])
            descent.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 10.0)
            descent.step()


def evaluated(envs: SurpriseVectorWrapper, network: NetworkPerArm, arm: str, args: Any) -> Episodes:
    """An episode in every world on one arm with little exploration, of which bandit and normaliser do not hear."""
    envs.training, envs.forced_arm = False, arm
    episodes, rng = Episodes(), np.random.default_rng(args.seed)
    seen, _ = envs.reset(seed=1_000 + args.seed)
    while len(episodes) < args.num_envs:
        seen, _, told = play(envs, network, seen, EVALUATION_E, rng, args.num_steps)
        for infos, ends in told:
            episodes.hear(infos, ends)
    return episodes


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
    network = NetworkPerArm(envs.single_observation_space.shape[0], int(envs.single_action_space.n))
    descent = torch.optim.RAdam(network.parameters(), lr=args.learning_rate)

    seen, _ = envs.reset(seed=args.seed)
    episodes, begin = Episodes(), time.perf_counter()
    for step in range(0, args.total_timesteps, args.num_envs * args.num_steps):
        done, before = step / args.total_timesteps, len(episodes)
        epsilon = max(args.end_e, 1 - done / args.exploration_fraction)
        descent.param_groups[0]["lr"] = (1 - done) * args.learning_rate + done * args.final_learning_rate
        seen, rollout, told = play(envs, network, seen, epsilon, rng, args.num_steps)
        learn(network, descent, rollout, seen, args)
        for infos, ends in told:
            episodes.hear(infos, ends)
        if len(episodes) // args.every > before // args.every:
            minutes = (time.perf_counter() - begin) / 60
            print(f"{step:>9,} steps  {minutes:5.1f} min  {episodes.told(args.every)}", flush=True)

    recent = [episode["arm"] for episode in episodes[-args.every :]]
    settled = round(np.mean(recent))
    print(f"settled on {ARMS[settled]}: {recent.count(settled)} of the last {len(recent)} episodes")
    final = evaluated(envs, network, ARMS[settled], args)
    print(
        f"with epsilon {EVALUATION_E}, {len(final)} episodes: {final.told()} (random {random['mean']['surprise']:.2f})"
    )
    if args.save:
        with open(args.save, "w") as file:
            json.dump(envs.state_dict(), file)


if __name__ == "__main__":
    main()
