"""The contract of a world: pure functions over a named state, for one world, vmapped by the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
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


@dataclass(frozen=True)
class Env:
    """A world as a bundle of pure functions and the facts that others need to know about it."""

    name: str
    reset: Callable[[Array], tuple[State, Array]]
    """`reset(key) -> (state, obs)`."""
    step: Callable[[Array, State, Array], tuple[State, Step]]
    """`step(key, state, action) -> (state, Step)`; draws its chance, then applies deterministic rules."""
    render: Callable[[State], np.ndarray]
    """`render(state) -> uint8[height, width, 3]`, on the host."""
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
    counters: tuple[str, ...] = ()
    """Names of the counters that `step` reports."""
    scripted: Mapping[str, Policy] = field(default_factory=dict)
    """Hand-written policies that `probe` compares, by name."""
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
    def seen_shape(self) -> tuple[int, ...]:
        """Shape of the part of an observation that the marginal models."""
        return (*self.obs_shape[:-1], len(self.marginal_channels))

    def seen(self, obs: Array) -> Array:
        """The part of an observation that the marginal models."""
        if self.marginal_channels == tuple(range(self.obs_shape[-1])):
            return obs
        return obs[..., np.asarray(self.marginal_channels)]
