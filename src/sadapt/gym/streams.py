"""Surprise-adaptive motivation without episodes, around any Gymnasium environment: theta forgets and is never reset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from sadapt.composite import all_changed
from sadapt.errors import UserError
from sadapt.fields import Count, checked, field_of
from sadapt.gym.motivation import Motivation
from sadapt.gym.observations import Observations
from sadapt.gym.reading import reader
from sadapt.gym.settings import SurpriseSettings, settings_from
from sadapt.gym.telling import named, time_limit
from sadapt.gym.views import view
from sadapt.gym.wrappers import NOT_BEGUN, One, observed
from sadapt.motivation.building import IN_STREAMS
from sadapt.motivation.feedback import COMPARED, RandomAgent, as_plain, nobody, recent, unheard
from sadapt.motivation.marginals import MAX_COUNT
from sadapt.registry import Own

ONE = np.zeros(1, np.intp)
"""The only world."""


class Endless(Motivation):
    """Stretches of `worlds` side by side, all of one length."""

    def __init__(
        self, worlds: int, observations: Observations, stretch: int, settings: SurpriseSettings, own: Own
    ) -> None:
        super().__init__(worlds, observations, stretch, settings, own)
        self.age = np.zeros(worlds, np.int64)
        """Steps since theta began."""

    def absorb(self, seen: np.ndarray, extrinsic: np.ndarray, idle: np.ndarray | None = None) -> Any:
        self.age += 1
        return super().absorb(seen, extrinsic, idle)

    def rejoin(self, seen: np.ndarray) -> None:
        """theta goes on in worlds that were started afresh."""
        self._marginals.add(seen)

    def again(self, which: np.ndarray) -> None:
        """The next stretches, on the arms that are chosen now."""
        for world in which:
            self.arm[world], self._pulled[world] = self._choose()
        self.under_way[which] = True
        for sums in (self.clock, self._extrinsic, self._surprise):
            sums[which] = 0

    def attend(self) -> None:
        """Shows the bandit what the random agent has now, if it goes by that."""
        if self._bandit.attend is not None:
            self.bandit = self._bandit.attend(self.bandit, self.random)

    def time(self) -> np.ndarray:
        """How full the memory is."""
        assert self.marginal.filled is not None
        return np.asarray(self.marginal.filled(np.minimum(self.age, MAX_COUNT)), np.float32)


class Beside:
    """Environments that always act at random, and what their latest stretches came to."""

    def __init__(
        self, envs: Sequence[gymnasium.Env[Any, Any]], observations: Observations, stretch: int, keep: float, given: Any
    ) -> None:
        settings, self._read, own = given
        silent = {"objective": "extrinsic", "normalise": False, "intrinsic_scale": 1.0, "extrinsic_scale": 0.0}
        self._envs, self._observations, self._keep = list(envs), observations, keep
        self._motivation = Endless(len(envs), observations, stretch, all_changed(settings, silent), own)
        self._worlds = np.arange(len(envs))
        self.random: RandomAgent = unheard()

    def reset(self, seed: int | None) -> None:
        """Fresh worlds; theta goes on where it had begun."""
        seeds = [None if seed is None else seed + 1 + number for number in range(len(self._envs))]
        for env, each in zip(self._envs, seeds, strict=True):
            env.action_space.seed(each)
        seen = self._seen([env.reset(seed=each)[0] for env, each in zip(self._envs, seeds, strict=True)])
        if self._motivation.under_way.all():
            self._motivation.rejoin(seen)
        else:
            self._motivation.begin(self._worlds, seen)

    def step(self) -> None:
        """One step of every world; those that end start afresh."""
        shown, rewards = [], []
        for env in self._envs:
            obs, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            shown.append(env.reset()[0] if terminated or truncated else obs)
            rewards.append(float(reward))
        paid = self._motivation.absorb(self._seen(shown), np.array(rewards))
        if self._motivation.clock[0] >= self._motivation.horizon:
            ended = self._motivation.close(self._worlds, paid.entropy)
            found = {name: np.asarray(ended[name], np.float32) for name in COMPARED}
            self.random = recent(self.random, found, self._keep, np)
            self._motivation.again(self._worlds)

    def _seen(self, shown: list[Any]) -> np.ndarray:
        batch = np.stack([np.asarray(self._read(obs)) for obs in shown])
        return self._observations.marginal_input(self._observations.entries(batch))


class SurpriseStreamWrapper(One, gymnasium.Wrapper):
    """Pays (-1)^alpha * surprise in a stream that never ends, and shows theta, how full it is, and alpha.

    `beside` are environments like `env`, which the wrapper itself plays at random: the arm, chosen every `stretch`
    steps, is judged against them. When `env` ends it is reset, and theta carries on. The other options are those of
    `SurpriseWrapper`; `half_life` or `window` must be given if `env` has no time limit.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        objective: str = "s-adapt",
        marginal: Any = "auto",
        *,
        beside: Sequence[gymnasium.Env[Any, Any]] = (),
        stretch: int | None = None,
        **options: Any,
    ) -> None:
        gymnasium.Wrapper.__init__(self, env)
        named_parts = {**IN_STREAMS, "objective": objective, "marginal": marginal, "random": as_plain(nobody())}
        settings, own = settings_from({**named_parts, **_forgetting(env, options)})
        if not beside:
            raise UserError(f"a stream of {named(env)} is judged by environments that act at random: give beside=[...]")
        if any(each is env for each in beside):
            raise UserError(f"beside holds the environment of {named(env)} itself: make others like it")
        memory = settings.memory
        length = memory.window or memory.half_life
        assert length is not None
        steps = round(length) if stretch is None else checked(field_of(Count), "stretch", stretch)
        self._read = reader(named(env), env.observation_space, settings.obs_key, 1)
        self._observations = observed(env, self._read, settings)
        self._motivation = self._stream = Endless(1, self._observations, steps, settings, own)
        given = (settings, self._read.one, own)
        self._beside = Beside(beside, self._observations, steps, 0.5 ** (steps / length), given)
        self._view = view(settings.obs_mode, self._observations, self._stream.theta_bounds(self._observations))
        self.observation_space = self._view.space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """A fresh world; theta goes on where it had begun."""
        obs, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self._stream.reseed(seed)
        batch, entries = self._entries(obs)
        seen = self._observations.marginal_input(entries)
        if self._stream.under_way[0]:
            self._stream.rejoin(seen)
        else:
            self._stream.begin(ONE, seen)
        self._beside.reset(seed)
        return self._looked(batch, entries), {**info, "arm": int(self._stream.arm[0])}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        motivation = self._stream
        if not motivation.under_way[0]:
            raise ResetNeeded(NOT_BEGUN)
        obs, reward, terminated, truncated, info = self.env.step(action)
        ended = bool(terminated or truncated)
        if ended:
            obs, _ = self.env.reset()
        self._beside.step()
        batch, entries = self._entries(obs)
        paid = motivation.absorb(self._observations.marginal_input(entries), np.array([reward], np.float64))
        info = {**info, **self._told(reward, paid), "restarted": ended}
        if motivation.clock[0] >= motivation.horizon:
            motivation.random = self._beside.random
            motivation.attend()
            told = motivation.close(ONE, paid.entropy)
            info["surprise_stretch"] = {name: values[0].tolist() for name, values in told.items()}
            motivation.again(ONE)
        return self._looked(batch, entries), paid.reward.item(), False, False, info

    def close(self) -> None:
        for each in self._beside._envs:
            each.close()
        super().close()


def _forgetting(env: gymnasium.Env[Any, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The options with a memory: as they say, or half the time limit."""
    if options.get("half_life") is not None or options.get("window") is not None:
        if options.get("half_life") == float("inf"):
            raise UserError(
                "a stream needs a marginal that forgets, since theta is never reset: give half_life or window"
            )
        return options
    limit = time_limit(env)
    if limit is None:
        raise UserError(f"{named(env)} does not say how long an episode is: give half_life=STEPS or window=STEPS")
    return {**options, "half_life": max(limit / 2, 1.0)}
