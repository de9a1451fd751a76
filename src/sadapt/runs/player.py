"""An agent that plays in a world of the user's own: theta, time and arm are kept for it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Step
from sadapt.errors import UserError
from sadapt.fields import Seed, Share, checked, field_of
from sadapt.keys import from_seed
from sadapt.motivation.episode import Answer, Episode, Fresh
from sadapt.motivation.objectives import ARMS
from sadapt.runs.agent import Agent


class Player:
    """One episode after another: `reset` with the first observation, then `act` with every one, the first too.

    player = agent.player()
    player.reset(obs)
    while not over:
        obs, reward, terminated, truncated, info = env.step(player.act(obs))

    If a death restarts the world without ending the episode (`soft`), continue with `act`, not with `reset`.
    """

    def __init__(self, agent: Agent, arm: str | None = None, *, epsilon: float = 0.0, seed: int = 0) -> None:
        self.agent = agent
        self._arm = agent.arm(arm)
        self._epsilon = checked(field_of(Share), "epsilon", epsilon)
        self._key = from_seed(checked(field_of(Seed), "seed", seed))
        self._episode: Episode | None = None
        self._first: np.ndarray | None = None
        """The observation of the reset, as long as nobody has acted on it."""
        self._surprise: float | None = None
        rules, counters = agent.program.rules, agent.env.counters
        zero = jnp.zeros((), jnp.float32)

        def after(key: jax.Array, episode: Episode, obs: jax.Array) -> tuple[Episode, jax.Array]:
            step = Step(obs, zero, jnp.zeros((), bool), dict.fromkeys(counters, zero))
            now, transition = rules.absorb(key, episode, Answer((), step, Fresh((), obs)))
            return now, transition.surprise

        self._begin = jax.jit(lambda obs: rules.begin(Fresh((), obs), jnp.int32(self._arm)))
        self._after = jax.jit(after)
        self._act = jax.jit(lambda key, episode: agent.act_in(key, episode, self._epsilon))
        self._features = jax.jit(agent.program.marginal.features)
        self._entropy = jax.jit(agent.program.marginal.entropy)

    def __repr__(self) -> str:
        at = "not reset yet" if self._episode is None else f"step {self.step} of {self.horizon}"
        return f"Player({self.agent!r}, arm={self.arm!r}, {at})"

    def reset(self, obs: Any) -> None:
        """Starts an episode with its first observation."""
        self._first = self.agent.observed(obs, self.agent.env.obs_shape)
        self._episode, self._surprise = self._begin(jnp.asarray(self._first)), None

    def act(self, obs: Any) -> int:
        """The action for the latest observation; the first time, that of the reset."""
        if self._episode is None:
            raise UserError("the player has seen nothing yet: call player.reset(obs) with the first observation")
        seen = self.agent.observed(obs, self.agent.env.obs_shape)
        if self._first is not None:
            if not np.array_equal(seen, self._first):
                raise UserError("the first observation to act on must be the one that the player was reset with")
            self._first = None
        else:
            self._key, key = jax.random.split(self._key)
            self._episode, surprise = self._after(key, self._episode, jnp.asarray(seen))
            self._surprise = float(surprise)
        if self.step >= self.horizon:
            raise UserError(f"the episode is over after {self.horizon} steps: call player.reset(obs) to start another")
        self._key, key = jax.random.split(self._key)
        return int(self._act(key, self._episode))

    @property
    def arm(self) -> str:
        """The direction that it plays in."""
        return ARMS[self._arm]

    @property
    def horizon(self) -> int:
        """Steps in an episode."""
        return self.agent.program.rules.horizon

    @property
    def step(self) -> int:
        """Steps of this episode so far."""
        return int(self._running().t)

    @property
    def time(self) -> float:
        """t / T."""
        return self.step / self.horizon

    @property
    def theta(self) -> np.ndarray:
        """What the marginal has learned this episode, as the policy sees it."""
        return np.asarray(self._features(self._running().marginal))

    @property
    def entropy(self) -> float:
        """Of the marginal, in nats."""
        return float(self._entropy(self._running().marginal))

    @property
    def surprise(self) -> float | None:
        """Of the latest observation, in nats, before it was added to theta; None before the second one."""
        return self._surprise

    def _running(self) -> Episode:
        if self._episode is None:
            raise UserError("the player has seen nothing yet: call player.reset(obs) with the first observation")
        return self._episode
