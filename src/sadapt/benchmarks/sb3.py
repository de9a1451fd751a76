"""Stable-Baselines3's DQN and PPO on the same worlds, network sizes and settings (extra `bench`)."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from sadapt.benchmarks.timing import Call
from sadapt.envs.atari import HORIZON, SIDE, STACK
from sadapt.motivation.marginals import Marginal, bernoulli, gaussian


class Surprised(gymnasium.Wrapper):
    """Pays -surprise of what `seen` makes of an observation, and shows what `look` makes of it and theta."""

    def __init__(self, env: gymnasium.Env[Any, Any], marginal: Marginal, horizon: int) -> None:
        super().__init__(env)
        self._marginal, self._horizon, self._t = marginal, horizon, 0

    def seen(self, obs: np.ndarray) -> np.ndarray:
        """What the marginal models."""
        return obs

    def look(self, obs: np.ndarray) -> Any:
        """What the learner sees."""
        raise NotImplementedError

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(**options)
        self._state, self._t = self._marginal.update(self._marginal.init(), self.seen(obs)), 0
        return self.look(obs), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, _, terminated, truncated, info = self.env.step(action)
        seen = self.seen(obs)
        reward = float(self._marginal.log_prob(self._state, seen))
        self._state, self._t = self._marginal.update(self._state, seen), self._t + 1
        return self.look(obs), reward, terminated, truncated, info


class SurprisedMap(Surprised):
    """s, theta, t/T and alpha as channels."""

    def __init__(self, env: gymnasium.Env[Any, Any], horizon: int = 100) -> None:
        assert env.observation_space.shape is not None
        self._shape = env.observation_space.shape
        super().__init__(env, bernoulli(self._shape, xp=np), horizon)
        planes = (*self._shape[:2], 2 * self._shape[2] + 2)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, planes, np.float32)

    def look(self, obs: np.ndarray) -> np.ndarray:
        planes = np.empty(self.observation_space.shape or (), np.float32)
        channels = self._shape[2]
        planes[..., :channels] = obs
        planes[..., channels:-2] = self._marginal.features(self._state)
        planes[..., -2], planes[..., -1] = self._t / self._horizon, 1.0
        return planes


class TwinEncoders(BaseFeaturesExtractor):
    """The paper's 10x10 network up to its head: one 3x3 convolution of 16 filters each, then 512 units."""

    def __init__(self, observation_space: gymnasium.spaces.Box) -> None:
        super().__init__(observation_space, features_dim=512)
        height, width, planes = observation_space.shape
        self._channels = (planes - 2) // 2
        self._s = torch.nn.Conv2d(self._channels, 16, 3)
        self._theta = torch.nn.Conv2d(self._channels + 2, 16, 3)
        self._head = torch.nn.Linear(2 * 16 * (height - 2) * (width - 2), 512)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        first = planes.permute(0, 3, 1, 2)
        s = torch.relu(self._s(first[:, : self._channels])).flatten(1)
        theta = torch.relu(self._theta(first[:, self._channels :])).flatten(1)
        return torch.relu(self._head(torch.cat([s, theta], dim=1)))


class SurprisedScreen(Surprised):
    """The latest four frames as s; theta of the latest, averaged to 21 x 21, with t/T and alpha."""

    def __init__(self, env: gymnasium.Env[Any, Any], size: int = 21) -> None:
        super().__init__(env, gaussian((size, size, 1), xp=np), HORIZON)
        self._size, self._frames = size, np.zeros((STACK, SIDE, SIDE), np.uint8)
        self.observation_space = gymnasium.spaces.Dict(
            {
                "s": gymnasium.spaces.Box(0, 255, (STACK, SIDE, SIDE), np.uint8),
                "theta": gymnasium.spaces.Box(-np.inf, np.inf, (4, size, size), np.float32),
            }
        )

    def seen(self, obs: np.ndarray) -> np.ndarray:
        block = SIDE // self._size
        return obs.reshape(self._size, block, self._size, block, 1).mean(axis=(1, 3), dtype=np.float32) / 255

    def look(self, obs: np.ndarray) -> dict[str, np.ndarray]:
        frame = obs.reshape(1, SIDE, SIDE)
        self._frames = np.repeat(frame, STACK, axis=0) if self._t == 0 else np.concatenate([self._frames[1:], frame])
        theta = np.empty((4, self._size, self._size), np.float32)
        theta[:2] = np.moveaxis(self._marginal.features(self._state), -1, 0)
        theta[2], theta[3] = self._t / self._horizon, 1.0
        return {"s": self._frames, "theta": theta}


class TwinScreens(BaseFeaturesExtractor):
    """The paper's Atari network up to its head: three convolutions each of s and of theta, then 512 units."""

    def __init__(self, observation_space: gymnasium.spaces.Dict) -> None:
        super().__init__(observation_space, features_dim=512)
        self._s = _convolutions([(4, 32, 8, 4, 0), (32, 64, 4, 2, 0), (64, 64, 3, 1, 0)])
        self._theta = _convolutions([(4, 32, 3, 2, 1), (32, 64, 3, 2, 1), (64, 64, 3, 2, 1)])
        self._head = torch.nn.Linear(64 * 7 * 7 + 64 * 3 * 3, 512)

    def forward(self, seen: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.relu(self._head(torch.cat([self._s(seen["s"]), self._theta(seen["theta"])], dim=1)))


def _convolutions(stack: list[tuple[int, int, int, int, int]]) -> torch.nn.Sequential:
    layers = [layer for sizes in stack for layer in (torch.nn.Conv2d(*sizes), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers, torch.nn.Flatten())


def training(*, fused: bool, steps: int) -> Call:
    """Trains `steps` steps a call, updates included, on one thread; `fused` uses PyTorch's fused Adam."""
    torch.set_num_threads(1)
    model = stable_baselines3.DQN(
        "MlpPolicy",
        SurprisedMap(gymnasium.make("sadapt/MazeSmall-v0")),
        learning_rate=1e-4,
        buffer_size=20_000,
        learning_starts=500,
        batch_size=32,
        gamma=0.99,
        train_freq=4,
        target_update_interval=1_000,
        exploration_fraction=0.1,
        exploration_final_eps=0.01,
        policy_kwargs={
            "net_arch": [],
            "features_extractor_class": TwinEncoders,
            "optimizer_kwargs": {"fused": True} if fused else None,
        },
        seed=0,
    )
    model.learn(1_500)
    return lambda: model.learn(steps, reset_num_timesteps=False)


def atari_training(objective: str, *, steps: int) -> Call:
    """The same for Freeway on its screen, by SB3's own preprocessing; for `extrinsic` also its network."""
    import ale_py
    from stable_baselines3.common.atari_wrappers import AtariWrapper
    from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack

    gymnasium.register_envs(ale_py)
    torch.set_num_threads(1)
    alone = objective == "extrinsic"

    def game() -> gymnasium.Env[Any, Any]:
        screen = gymnasium.make("ALE/Freeway-v5", frameskip=1, repeat_action_probability=0.0)
        seen = AtariWrapper(screen, terminal_on_life_loss=False)
        return seen if alone else SurprisedScreen(seen)

    worlds = DummyVecEnv([game])
    model = stable_baselines3.DQN(
        "CnnPolicy" if alone else "MultiInputPolicy",
        VecFrameStack(worlds, 4) if alone else worlds,
        learning_rate=1e-4,
        buffer_size=5_000,
        learning_starts=100,
        batch_size=32,
        gamma=0.99,
        train_freq=4,
        target_update_interval=1_000,
        policy_kwargs=None if alone else {"net_arch": [], "features_extractor_class": TwinScreens},
        seed=0,
    )
    model.learn(300)
    return lambda: model.learn(steps, reset_num_timesteps=False)


class Breakout(gymnasium.Env[np.ndarray, int]):
    """`minatar`'s Breakout, an episode a life, with the three actions that do something in it."""

    def __init__(self) -> None:
        from minatar import Environment

        self._game = Environment("breakout")
        self._actions = self._game.minimal_action_set()
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, self._game.state_shape(), np.float32)
        self.action_space = gymnasium.spaces.Discrete(len(self._actions))  # type: ignore[assignment]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._game.seed(seed)
        self._game.reset()
        return self._game.state().astype(np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        reward, ended = self._game.act(self._actions[action])
        return self._game.state().astype(np.float32), float(reward), ended, False, {}


class PlainMap(BaseFeaturesExtractor):
    """Our plain network up to its head: one 3x3 convolution of 16 filters, then 128 units, layer norm before ReLU."""

    def __init__(self, observation_space: gymnasium.spaces.Box, hidden: int) -> None:
        super().__init__(observation_space, features_dim=hidden)
        height, width, channels = observation_space.shape
        features = 16 * (height - 2) * (width - 2)
        self._layers = torch.nn.Sequential(
            torch.nn.Conv2d(channels, 16, 3),
            torch.nn.Flatten(),
            torch.nn.LayerNorm(features),
            torch.nn.ReLU(),
            torch.nn.Linear(features, hidden),
            torch.nn.LayerNorm(hidden),
            torch.nn.ReLU(),
        )

    def forward(self, cells: torch.Tensor) -> torch.Tensor:
        return self._layers(cells.permute(0, 3, 1, 2))


def ppo_training(size: dict[str, int], hidden: int, *, fused: bool) -> Call:
    """Trains PPO on `minatar`'s Breakout for one rollout a call, its updates included, on one thread."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    torch.set_num_threads(1)
    model = stable_baselines3.PPO(
        "MlpPolicy",
        DummyVecEnv([Breakout] * size["num_envs"]),
        n_steps=size["num_steps"],
        batch_size=size["minibatch_size"],
        n_epochs=size["update_epochs"],
        policy_kwargs={
            "net_arch": [],
            "features_extractor_class": PlainMap,
            "features_extractor_kwargs": {"hidden": hidden},
            "optimizer_kwargs": {"fused": True} if fused else None,
        },
        seed=0,
        device="cpu",
    )
    rollout = size["num_envs"] * size["num_steps"]
    return lambda: model.learn(rollout, reset_num_timesteps=False)
