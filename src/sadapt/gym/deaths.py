"""Worlds in which a death is not the end: the world starts again, and the episode goes on to its horizon."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from sadapt.errors import UserError


class RestartAfterDeath(gymnasium.Wrapper, RecordConstructorArgs):
    """Restarts a world that terminates before `horizon` steps, and counts it in `info["deaths"]`.

    With `shock` the step of a death is seen as an observation drawn uniformly from the space (fair coin flips where it
    is binary), so that dying is surprising; without, as the fresh world. It goes below a `SurpriseWrapper`.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], horizon: int | None = None, shock: bool = True) -> None:
        RecordConstructorArgs.__init__(self, horizon=horizon, shock=shock)
        gymnasium.Wrapper.__init__(self, env)
        limit = env.spec.max_episode_steps if horizon is None and env.spec is not None else horizon
        if limit is None or limit < 1:
            raise UserError(
                f"RestartAfterDeath needs a horizon of at least 1 step; got {horizon}, and the environment has "
                "none: give horizon=STEPS"
            )
        space = env.observation_space
        if shock and isinstance(space, gymnasium.spaces.Box) and not space.is_bounded():
            raise UserError(f"a shock needs bounded observations to draw from; the space is {space}: use shock=False")
        self._max_episode_steps, self._shock = limit, shock
        self._clock = self._deaths = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._clock = self._deaths = 0
        if seed is not None:
            self.env.observation_space.seed(seed)
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._clock += 1
        self._deaths += bool(terminated)
        over = self._clock >= self._max_episode_steps
        if terminated and self._shock:
            obs = self.env.observation_space.sample()
        if (terminated or truncated) and not over:
            fresh, _ = self.env.reset()
            obs = fresh if not self._shock or not terminated else obs
        shown = obs if isinstance(obs, dict | tuple) else np.asarray(obs)
        return shown, reward, False, over, {**info, "deaths": self._deaths}
