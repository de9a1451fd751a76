"""A world as a Gymnasium environment, and many of it as one Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from sadapt.envs.base import Array, Env
from sadapt.errors import UserError, nearest
from sadapt.gym.play import Life, draw_keys, play_of, where

METADATA: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}
NO_LIMIT = np.iinfo(np.int32).max
NO_PICTURE = "render() gives nothing because no render mode was chosen: make the world with render_mode='rgb_array'"


def _spaces(world: Env) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Discrete]:
    entry = np.dtype(world.obs_dtype).type
    box = gymnasium.spaces.Box(entry(world.low), entry(world.high), world.obs_shape, entry)
    return box, gymnasium.spaces.Discrete(world.num_actions)


def _checked(action: Any, shape: tuple[int, ...], world: Env) -> np.ndarray:
    """The action(s) as integers, or an error."""
    given = np.asarray(action)
    valid = given.shape == shape and np.issubdtype(given.dtype, np.integer)
    if not (valid and given.min() >= 0 and given.max() < world.num_actions):
        wanted = f"an array of {shape[0]} integers" if shape else "an integer"
        raise InvalidAction(
            f"{world.name} got the action {action!r}; it takes {wanted} from 0 to {world.num_actions - 1}: "
            f"{', '.join(world.actions)}"
        )
    return given.astype(np.int32)


def _checked_positive(name: str, value: int) -> int:
    if not isinstance(value, int) or value < 1:
        raise UserError(f"{name} is {value!r}; it must be an integer of at least 1")
    return value


def _checked_render_mode(mode: str | None) -> str | None:
    if mode is not None and mode not in METADATA["render_modes"]:
        raise UserError(f"render_mode is {mode!r}; a world is rendered as 'rgb_array' or not at all (None)")
    return mode


def _checked_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        hint = nearest(str(mode), (valid.value for valid in AutoresetMode))
        raise UserError(f"autoreset_mode is {mode!r}; it must be a gymnasium.vector.AutoresetMode: {hint}") from None


def _masked(counters: dict[str, Array], mask: np.ndarray) -> dict[str, np.ndarray]:
    """Counters as Gymnasium's vector infos have them: zero outside of the mask, which is `_name`; empty if all are."""
    infos: dict[str, np.ndarray] = {}
    if mask.any():
        for name, counter in counters.items():
            infos |= {name: np.where(mask, counter, 0), f"_{name}": mask.copy()}
    return infos


def _number(scalar: Array) -> Any:
    """A scalar as Python's own; by way of numpy in half the time of JAX's `item`, `float` and `bool`."""
    return np.asarray(scalar).item()


def _rows(batch: Array, mask: np.ndarray) -> np.ndarray:
    """The entries of the mask as an array of objects, None elsewhere."""
    rows = np.full(mask.shape, None, dtype=object)
    entries = np.array(batch)
    for i in np.flatnonzero(mask):
        rows[i] = entries[i]
    return rows


class WorldEnv(gymnasium.Env[np.ndarray, int]):
    """One world; `gymnasium.make` adds the time limit.

    In processes of their own (`AsyncVectorEnv`) worlds need `context="spawn"`: JAX's threads do not survive a fork.
    """

    metadata = METADATA

    def __init__(
        self, name: str = "maze-small", layout: str | Path | None = None, render_mode: str | None = None
    ) -> None:
        self._play = play_of(name, layout)
        self.world = self._play.world
        self.observation_space, self.action_space = _spaces(self.world)  # type: ignore[assignment]
        self.render_mode = _checked_render_mode(render_mode)
        self._life: Life | None = None
        self._seeded_by: np.random.Generator | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if self._life is None or self._seeded_by is not self.np_random:
            self._seeded_by = self.np_random
            self._life = self._play.start(draw_keys(self.np_random))
        else:
            self._life = self._play.start(self._life.key)
        return np.array(self._life.obs), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        life = self._begun()
        self._life, outcome = self._play.step(life, _checked(action, (), self.world), NO_LIMIT)
        info = {name: _number(counter) for name, counter in outcome.counters.items()}
        return np.array(self._life.obs), _number(outcome.reward), _number(outcome.terminated), False, info

    def render(self) -> np.ndarray | None:
        if self.render_mode is None:
            gymnasium.logger.warn(NO_PICTURE)
            return None
        return self.world.render(self._begun().state)

    def _begun(self) -> Life:
        if self._life is None:
            raise ResetNeeded(f"{self.world.name} has not begun: call reset() first")
        return self._life


class WorldVectorEnv(gymnasium.vector.VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many worlds of one kind, stepped, truncated and reset by one compiled call."""

    def __init__(
        self,
        name: str = "maze-small",
        num_envs: int = 1,
        layout: str | Path | None = None,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        self._play = play_of(name, layout)
        self.world = self._play.world
        self.num_envs = _checked_positive("num_envs", num_envs)
        self.single_observation_space, self.single_action_space = _spaces(self.world)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        limit = self.world.horizon if max_episode_steps is None else max_episode_steps
        self.max_episode_steps = _checked_positive("max_episode_steps", limit)
        self.render_mode = _checked_render_mode(render_mode)
        self.autoreset_mode = _checked_autoreset_mode(autoreset_mode)
        self.metadata = {**METADATA, "autoreset_mode": self.autoreset_mode}
        self._lives: Life | None = None
        self._seeded_by: np.random.Generator | None = None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin the worlds of `options["reset_mask"]`, default all; the seed of world i is `seed + i` or `seed[i]`."""
        super().reset(seed=None if isinstance(seed, Sequence) else seed)
        seeds = self._seeds(seed)
        mask = self._reset_mask(options)
        if self._lives is None or self._seeded_by is not self.np_random:
            self._seeded_by = self.np_random
            keys = draw_keys(self.np_random, self.num_envs)
        else:
            keys = np.array(self._lives.key)
        for i, one in enumerate(seeds):
            if one is not None:
                keys[i] = draw_keys(seeding.np_random(one)[0])
        started = self._play.start_all(keys)
        self._lives = started if mask.all() else where(mask, started, self._begun())
        return np.array(self._lives.obs), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        lives = self._begun()
        over = np.asarray(lives.done)
        if self.autoreset_mode is AutoresetMode.DISABLED and over.any():
            raise ResetNeeded(
                f"{self.world.name} has ended in the worlds {np.flatnonzero(over).tolist()} and autoreset is disabled: "
                "call reset(options={'reset_mask': terminations | truncations}) first"
            )
        actions = _checked(actions, (self.num_envs,), self.world)
        self._lives, outcomes = self._play.step_all[self.autoreset_mode](lives, actions, self.max_episode_steps)
        terminations, truncations = np.array(outcomes.terminated), np.array(outcomes.truncated)
        infos = {}
        if outcomes.final_obs is not None and (over := terminations | truncations).any():
            infos = {
                "final_obs": _rows(outcomes.final_obs, over),
                "_final_obs": over,
                "final_info": _masked(outcomes.counters, over),
                "_final_info": over.copy(),
            }
        infos |= _masked(outcomes.counters, ~over)
        rewards = np.array(outcomes.reward, np.float64)
        return np.array(self._lives.obs), rewards, terminations, truncations, infos

    def render(self) -> tuple[np.ndarray, ...] | None:
        if self.render_mode is None:
            gymnasium.logger.warn(NO_PICTURE)
            return None
        states = jax.device_get(self._begun().state)
        return tuple(self.world.render(jax.tree.map(itemgetter(i), states)) for i in range(self.num_envs))

    def _begun(self) -> Life:
        if self._lives is None:
            raise ResetNeeded(f"The {self.num_envs} worlds of {self.world.name} have not begun: call reset() first")
        return self._lives

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int):
            return range(seed, seed + self.num_envs)
        if len(seed) != self.num_envs:
            raise UserError(
                f"seed has {len(seed)} entries; {self.num_envs} worlds need one each, or one integer for all"
            )
        return seed

    def _reset_mask(self, options: dict[str, Any] | None) -> np.ndarray:
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_)))
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            raise UserError(
                f"options['reset_mask'] is {mask!r}; it must be a boolean array of {self.num_envs} entries, "
                "True for the worlds to reset, at least one"
            )
        return mask
