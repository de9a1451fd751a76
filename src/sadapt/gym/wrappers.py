"""Surprise-adaptive motivation around any Gymnasium environment, or around many at once, for any learner."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from sadapt.errors import UserError
from sadapt.gym.motivation import Motivation, arm_index
from sadapt.gym.observations import Observations
from sadapt.gym.reading import Reader, reader
from sadapt.gym.sampling import random_entries
from sadapt.gym.settings import SurpriseSettings, settings_from
from sadapt.gym.telling import named, time_limit, world_of
from sadapt.gym.views import View, view
from sadapt.motivation.feedback import RandomAgent
from sadapt.registry import Own

NOT_BEGUN = "call reset() first: the episode has not begun, or has ended"


class Motivated:
    """What both wrappers offer beside Gymnasium's interface."""

    _motivation: Motivation

    @property
    def training(self) -> bool:
        """Whether bandit and normaliser learn; set it to False for evaluation."""
        return self._motivation.training

    @training.setter
    def training(self, training: bool) -> None:
        self._motivation.training = bool(training)

    @property
    def forced_arm(self) -> int | None:
        """The arm of all episodes that begin from now on, for evaluation; None leaves the choice to the bandit."""
        return self._motivation.forced_arm

    @forced_arm.setter
    def forced_arm(self, arm: str | int | None) -> None:
        self._motivation.forced_arm = arm_index(arm)

    @property
    def h_random(self) -> float | None:
        """The random agent's entropy that the bandit compares with."""
        return self._motivation.h_random

    @property
    def compared(self) -> str:
        """The measure that the feedback goes by."""
        return self._motivation.compared

    def doubts(self, random: RandomAgent, episodes: int) -> tuple[str, ...]:
        """Why the surprise of so many random episodes may be a dead signal, in sentences; none if it is alive."""
        return self._motivation.doubts(random, episodes)

    def state_dict(self) -> dict[str, Any]:
        """Bandit, normaliser, baseline and draws as plain numbers and lists, to be stored with the user's model."""
        return self._motivation.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restores what `state_dict` returned; running episodes stay as they are."""
        self._motivation.load_state_dict(state)


class One(Motivated):
    """Around one environment: what is read of it, shown of it and told of a step."""

    _read: Reader
    _observations: Observations
    _view: View

    def _entries(self, obs: Any) -> tuple[np.ndarray, np.ndarray]:
        batch = np.asarray(self._read.one(obs))[None]
        return batch, self._observations.entries(batch)

    def _looked(self, batch: np.ndarray, entries: np.ndarray) -> Any:
        return row(look(self._view, self._motivation, batch, entries), 0)

    def _told(self, reward: Any, paid: Any) -> dict[str, Any]:
        return {
            "extrinsic_reward": float(reward),
            "intrinsic_reward": paid.intrinsic.item(),
            "surprise": paid.surprise.item(),
            "entropy": paid.entropy.item(),
            "arm": self._motivation.arm.item(),
        }


class SurpriseWrapper(One, gymnasium.Wrapper, RecordConstructorArgs):
    """Pays (-1)^alpha * surprise, and shows theta, t/T and alpha along with the observation.

    The options are the fields of `sadapt.gym.motivation.SurpriseSettings`. An episode ends with the environment's own,
    or after `horizon` steps; theta ends with it, so truncation also counts as termination if surprise is paid.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], objective: str = "s-adapt", marginal: Any = "auto", **options: Any
    ) -> None:
        RecordConstructorArgs.__init__(self, objective=objective, marginal=marginal, **options)
        gymnasium.Wrapper.__init__(self, env)
        settings, own = settings_from({"objective": objective, "marginal": marginal, **options})
        self._read = reader(named(env), env.observation_space, settings.obs_key, 1)
        self._observations, self._motivation, self._view = _composed(env, 1, self._read, settings, own)
        self.observation_space = self._view.space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self._motivation.reseed(seed)
        batch, entries = self._entries(obs)
        self._motivation.begin(np.zeros(1, np.intp), self._observations.marginal_input(entries))
        return self._looked(batch, entries), {**info, "arm": int(self._motivation.arm[0])}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        motivation = self._motivation
        if not motivation.under_way[0]:
            raise ResetNeeded(NOT_BEGUN)
        obs, reward, terminated, truncated, info = self.env.step(action)
        batch, entries = self._entries(obs)
        paid = motivation.absorb(self._observations.marginal_input(entries), np.array([reward], np.float64))
        truncated = bool(truncated or motivation.clock[0] >= motivation.horizon)
        info = {**info, **self._told(reward, paid)}
        if terminated or truncated:
            ended = motivation.close(np.zeros(1, np.intp), paid.entropy)
            info["surprise_episode"] = {name: values[0].tolist() for name, values in ended.items()}
        terminated = bool(terminated or (truncated and motivation.horizon_is_terminal))
        return self._looked(batch, entries), paid.reward.item(), terminated, truncated, info


class SurpriseVectorWrapper(Motivated, VectorWrapper):
    """The same for a vector environment: one bandit and one normaliser for all worlds.

    Steps in which a world only resets (NEXT_STEP) have reward 0 and do not enter theta, normaliser or bandit. Infos are
    arrays with masks, as in Gymnasium; in SAME_STEP mode `final_obs` is what the learner would have seen.
    """

    def __init__(
        self, env: VectorEnv[Any, Any, Any], objective: str = "s-adapt", marginal: Any = "auto", **options: Any
    ) -> None:
        VectorWrapper.__init__(self, env)
        settings, own = settings_from({"objective": objective, "marginal": marginal, **options})
        mode = env.metadata.get("autoreset_mode")
        if not isinstance(mode, AutoresetMode):
            raise UserError(
                f"{named(env)} says {mode!r} in metadata['autoreset_mode']; the wrapper must know how worlds reset: "
                "set it to a gymnasium.vector.AutoresetMode"
            )
        self._mode = mode
        self._read = reader(named(env), env.single_observation_space, settings.obs_key, env.num_envs)
        self._observations, self._motivation, self._view = _composed(env, env.num_envs, self._read, settings, own)
        self.single_observation_space = self._view.space
        self.observation_space = batch_space(self._view.space, env.num_envs)
        self._over = np.zeros(env.num_envs, bool)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        asked = np.array((options or {}).get("reset_mask", np.ones(self.num_envs, bool)))
        shown, infos = self.env.reset(seed=seed, options=copy.copy(options))  # type: ignore[arg-type]
        obs = self._read.many(shown)
        given = [seed] if isinstance(seed, int) else [one for one in seed or () if one is not None]
        if given:
            self._motivation.reseed(given)
        entries = self._observations.entries(obs)
        self._motivation.begin(np.flatnonzero(asked), self._observations.marginal_input(entries)[asked])
        self._over = self._over & ~asked
        return look(self._view, self._motivation, obs, entries), infos

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        motivation, fresh = self._motivation, self._over
        resetting = self._mode is AutoresetMode.NEXT_STEP
        if not (motivation.under_way | fresh if resetting else motivation.under_way).all():
            raise ResetNeeded(NOT_BEGUN)
        shown, rewards, terminations, truncations, infos = self.env.step(actions)
        obs, infos = self._read.many(shown), dict(infos)
        over = terminations | truncations
        ended = np.flatnonzero(over)
        same_step = self._mode is AutoresetMode.SAME_STEP and ended.size > 0
        last = self._with_final(obs, infos, ended) if same_step else obs
        entries = self._observations.entries(last)
        seen = self._observations.marginal_input(entries)
        idle = fresh if resetting and fresh.any() else None
        paid = motivation.absorb(seen, np.asarray(rewards, np.float64), idle)
        if idle is not None:
            begun = np.flatnonzero(idle)
            motivation.begin(begun, seen[begun])
        self._check_clock(over)
        self._tell(infos, rewards, paid, ~fresh if idle is not None else np.ones(self.num_envs, bool))
        if ended.size:
            summary = motivation.close(ended, paid.entropy)
            infos["surprise_episode"] = {name: _scattered(values, ended, over) for name, values in summary.items()}
            infos["_surprise_episode"] = over.copy()
        if same_step:
            seen_last = look(self._view, motivation, last, entries)
            infos["final_obs"] = _rows(seen_last, ended, self.num_envs)
            entries = self._observations.entries(obs)
            motivation.begin(ended, self._observations.marginal_input(entries)[ended])
        self._over = np.zeros_like(over) if self._mode is AutoresetMode.SAME_STEP else over.copy()
        ends = over if motivation.horizon_is_terminal else terminations
        return look(self._view, motivation, obs, entries), paid.reward, ends, truncations, infos

    def _with_final(self, obs: Any, infos: dict[str, Any], ended: np.ndarray) -> np.ndarray:
        """Observations with the last ones in the worlds that have ended."""
        if "final_obs" not in infos:
            raise UserError(
                f"{named(self.env)} says that worlds reset in the step that ends them (SAME_STEP), but its infos lack "
                "'final_obs': put the last observations there, or choose another autoreset_mode"
            )
        last = np.array(obs)
        for world in ended:
            last[world] = self._read.one(infos["final_obs"][world])
        return last

    def _check_clock(self, over: np.ndarray) -> None:
        late = (self._motivation.clock >= self._motivation.horizon) & ~over
        if late.any():
            raise UserError(
                f"the episode in world {int(np.argmax(late))} continues past the horizon of {self._motivation.horizon} "
                "steps: make the worlds with this max_episode_steps, or give the wrapper their longer horizon"
            )

    def _tell(self, infos: dict[str, Any], rewards: np.ndarray, paid: Any, counted: np.ndarray) -> None:
        """Puts what every step tells into Gymnasium's vector infos."""
        told = {
            "extrinsic_reward": np.array(rewards, np.float64),
            "intrinsic_reward": paid.intrinsic,
            "surprise": paid.surprise,
            "entropy": paid.entropy,
            "arm": self._motivation.arm.copy(),
        }
        for name, values in told.items():
            infos[name], infos[f"_{name}"] = values, counted.copy()


def _composed(
    env: Any, worlds: int, read: Reader, settings: SurpriseSettings, own: Own
) -> tuple[Observations, Motivation, View]:
    """What the two wrappers are made of: how observations are read, what is made of them, how it is shown."""
    source, observations = named(env), observed(env, read, settings)
    horizon = time_limit(env) if settings.horizon is None else settings.horizon
    if horizon is None:
        raise UserError(
            f"{source} does not say how long an episode is: give horizon=STEPS, or put a TimeLimit around it"
        )
    motivation = Motivation(worlds, observations, horizon, settings, own)
    return observations, motivation, view(settings.obs_mode, observations, motivation.theta_bounds(observations))


def observed(env: Any, read: Reader, settings: SurpriseSettings) -> Observations:
    """How observations are read."""
    world, channels = world_of(env), settings.marginal_channels
    if channels is None and world is not None and world.obs_shape == read.space.shape:
        channels = world.marginal_channels
    sample = functools.cache(lambda: random_entries(env, read))
    return Observations(named(env), read.space, channels, read.kinds, sample)


def look(view: View, motivation: Motivation, obs: Any, entries: np.ndarray) -> Any:
    if motivation.settings.obs_mode == "none":
        return obs
    return view.look(obs, entries, motivation.theta, motivation.time(), motivation.alpha())


def row(batch: Any, world: int) -> Any:
    """One world's part of what several see."""
    return {name: values[world] for name, values in batch.items()} if isinstance(batch, dict) else batch[world]


def _rows(batch: Any, which: np.ndarray, worlds: int) -> np.ndarray:
    """The parts of some worlds as an array of objects, None elsewhere."""
    rows = np.full(worlds, None, dtype=object)
    for world in which:
        rows[world] = copy.deepcopy(row(batch, int(world)))
    return rows


def _scattered(values: np.ndarray, which: np.ndarray, over: np.ndarray) -> np.ndarray:
    """Values of some worlds as an array for all of them, zero elsewhere."""
    spread = np.zeros((len(over), *values.shape[1:]), values.dtype)
    spread[which] = values
    return spread
