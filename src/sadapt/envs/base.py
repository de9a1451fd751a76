"""The contract of a world: facts that everybody needs, and how it moves, in JAX or outside of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

Array = jax.Array
State = Any
Policy = Callable[[Array, State, Array], Array]
"""A scripted policy: `(key, world state, theta) -> action`, where theta are the marginal's features."""


class Step(NamedTuple):
    """What a world answers to an action. A world never resets itself."""

    obs: Array
    reward: Array
    terminated: Array
    counters: dict[str, Array]
    """World-specific quantities to be summed over an episode (rows cleared, ...); may be empty."""


class Eye(NamedTuple):
    """How the marginal looks at an observation, where it does not simply see some of its channels."""

    look: Callable[[Array], Array]
    shape: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What others need to know about a world."""

    name: str
    obs_shape: tuple[int, ...]
    obs_dtype: Any
    channels: tuple[str, ...]
    """What each entry of the last observation axis shows."""
    actions: tuple[str, ...]
    horizon: int
    """Steps in an episode, T."""
    marginal_channels: tuple[int, ...]
    """Channels that the state marginal models; the policy sees all of them."""
    agent_channel: int | None = None
    """Channel with exactly one 1, where the agent is; None where there is no such thing."""
    on_death: str = "end"
    """How an episode best treats `terminated` before the horizon: end, soft or shock."""
    low: float = 0.0
    high: float = 1.0
    """Bounds of the observation's entries; [0, 1] with an integer dtype means binary."""
    stack: int = 1
    """Latest observations that the policy sees at once, along the last axis."""
    eye: Eye | None = None
    """How the marginal looks at an observation; None looks at `marginal_channels`."""
    counters: tuple[str, ...] = ()
    """Names of the counters that `step` reports."""
    about: str = ""
    """One line for `sadapt list`."""

    @property
    def num_actions(self) -> int:
        return len(self.actions)

    @property
    def binary(self) -> bool:
        """Whether every entry of an observation is 0 or 1."""
        return (self.low, self.high) == (0, 1) and np.dtype(self.obs_dtype).kind in "bui"

    @property
    def policy_shape(self) -> tuple[int, ...]:
        """Shape of what the policy sees: the latest observations one after another along the last axis."""
        return (*self.obs_shape[:-1], self.obs_shape[-1] * self.stack)

    @property
    def seen_shape(self) -> tuple[int, ...]:
        """Shape of what the marginal models."""
        return self.eye.shape if self.eye is not None else (*self.obs_shape[:-1], len(self.marginal_channels))

    def seen(self, obs: Array) -> Array:
        """What the marginal models of an observation."""
        if self.eye is not None:
            return self.eye.look(obs)
        if self.marginal_channels == tuple(range(self.obs_shape[-1])):
            return obs
        return obs[..., np.asarray(self.marginal_channels)]

    def stacked(self, obs: Array) -> Array:
        """What the policy sees when an episode begins: the first observation, as if it had always been there."""
        return obs if self.stack == 1 else jnp.concatenate([obs] * self.stack, axis=-1)

    def pushed(self, seen: Array, obs: Array) -> Array:
        """What the policy sees after one more observation."""
        return obs if self.stack == 1 else jnp.concatenate([seen[..., self.obs_shape[-1] :], obs], axis=-1)


@dataclass(frozen=True, kw_only=True)
class Env(Facts):
    """A world written in JAX: pure functions over a named state, for one world, vmapped by the caller."""

    reset: Callable[[Array], tuple[State, Array]]
    """`reset(key) -> (state, obs)`."""
    step: Callable[[Array, State, Array], tuple[State, Step]]
    """`step(key, state, action) -> (state, Step)`; draws its chance, then applies deterministic rules."""
    render: Callable[[State], np.ndarray]
    """`render(state) -> uint8[height, width, 3]`, on the host."""
    scripted: Mapping[str, Policy] = field(default_factory=dict)
    """Hand-written policies that `probe` compares, by name."""


class HostWorlds(Protocol):
    """Worlds side by side that live outside XLA. Keys are for those that take their chance from them."""

    def step(self, key: Array, actions: np.ndarray) -> Step:
        """Steps every world once."""

    def restart(self, key: Array, which: np.ndarray) -> np.ndarray:
        """Resets the worlds in `which`; returns observations whose rows count only there."""

    def render(self) -> np.ndarray:
        """A picture of the first world, uint8[height, width, 3]."""

    def close(self) -> None:
        """Gives back processes and windows."""


class WorldFailed(Exception):
    """A world raised, or answered what it must not; the message names what it was given."""


@dataclass(frozen=True, kw_only=True)
class HostEnv(Facts):
    """A world that is not written in JAX."""

    open: Callable[[int], HostWorlds]
    """`open(num_envs)` starts worlds side by side; the first `restart` must ask for all of them."""


AnyEnv = Env | HostEnv
