"""Atari through ale-py's vector environment, preprocessed as Mnih et al. (2015) do it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Eye, HostEnv, Step, WorldFailed
from sadapt.errors import UserError

Array = jax.Array
SIDE, SKIP, STACK, NOOPS = 84, 4, 4, 30
HORIZON = 2_048
"""Freeway's own clock ends a game after about 2,045 actions, each held for four frames."""


def atari_freeway(*, name: str = "atari-freeway", frame_size: int = 21) -> HostEnv:
    """Freeway: grey frames of 84 x 84, four at a time for the policy, one of `frame_size` squared for the marginal."""
    if frame_size < 1 or SIDE % frame_size:
        raise UserError(f"--frame-size must divide {SIDE} (7, 12, 14, 21, 28, 42, 84, ...); got {frame_size}")
    block = SIDE // frame_size

    def look(obs: Array) -> Array:
        """Means of blocks, added up as whole numbers, which XLA does ten times as fast."""
        cells = obs.reshape(*obs.shape[:-3], frame_size, block, frame_size, block, 1)
        return jnp.sum(cells, axis=(-4, -2), dtype=jnp.int32) / (255 * block * block)

    return HostEnv(
        name=name,
        obs_shape=(SIDE, SIDE, 1),
        obs_dtype=np.uint8,
        channels=("grey",),
        actions=("stay", "up", "down"),
        horizon=HORIZON,
        marginal_channels=(0,),
        high=255.0,
        stack=STACK,
        eye=Eye(look, (frame_size, frame_size, 1)),
        about="cross ten lanes of traffic, on Atari",
        open=lambda num_envs: AtariWorlds("freeway", num_envs),
    )


class AtariWorlds:
    """Games side by side, in ale-py's own threads."""

    def __init__(self, game: str, num_envs: int) -> None:
        try:
            from ale_py.vector_env import AtariVectorEnv
        except ModuleNotFoundError as error:
            raise UserError("Atari needs ale-py: pip install 'sadapt[atari]'") from error
        self._game = game
        self._worlds: Any = AtariVectorEnv(
            game,
            num_envs,
            img_height=SIDE,
            img_width=SIDE,
            frameskip=SKIP,
            stack_num=1,
            noop_max=NOOPS,
            use_fire_reset=False,
            episodic_life=False,
            repeat_action_probability=0.0,
        )
        self._latest = np.zeros((num_envs, SIDE, SIDE, 1), np.uint8)

    def step(self, key: Array, actions: np.ndarray) -> Step:
        try:
            obs, reward, ended, cut, _ = self._worlds.step(np.ascontiguousarray(actions, np.int64))
        except Exception as error:
            raise WorldFailed(
                f"atari {self._game} raised {type(error).__name__} ({error}) on {actions.tolist()}"
            ) from error
        self._latest = np.moveaxis(obs, 1, -1)
        return Step(self._latest, np.asarray(reward, np.float32), ended | cut, {})  # type: ignore[arg-type]

    def restart(self, key: Array, which: np.ndarray) -> np.ndarray:
        seeds = np.asarray(jax.random.randint(key, which.shape, 0, np.iinfo(np.int32).max))
        obs, _ = self._worlds.reset(seed=seeds[which], options={"reset_mask": np.asarray(which, bool)})
        self._latest = np.moveaxis(obs, 1, -1)
        return self._latest

    def render(self) -> np.ndarray:
        """The first game's screen as the agent sees it, three times as large."""
        return np.kron(self._latest[0], np.ones((3, 3, 3), np.uint8))

    def close(self) -> None:
        self._worlds.close()
