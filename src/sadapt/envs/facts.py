"""What others need to know about a world, without its code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Eye(NamedTuple):
    """How the marginal looks at an observation, where it does not simply see some of its channels."""

    look: Callable[[Any], Any]
    shape: tuple[int, ...]


class Kind(NamedTuple):
    """What the entries of a marginal input are, or of a part of it, where a world says more than its bounds."""

    name: str
    shape: tuple[int, ...]
    dtype: Any
    low: Any
    high: Any
    unit: float | None = None
    """Distance of neighbouring values, where entries are whole multiples of it above `low`."""
    groups: tuple[int, ...] = ()
    """Sizes of the groups along the last axis that hold exactly one 1 each."""


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
    runs_down: bool = False
    """Whether less and less happens the longer it goes on, so that a stream has it start afresh every horizon."""
    low: float = 0.0
    high: float = 1.0
    """Bounds of the observation's entries; [0, 1] with an integer dtype means binary."""
    stack: int = 1
    """Latest observations that the policy sees at once, along the last axis."""
    eye: Eye | None = None
    """How the marginal looks at an observation; None looks at `marginal_channels`."""
    kinds: tuple[Kind, ...] = ()
    """What the marginal input is; of several, the parts that it is joined from, one after another as a vector."""
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
    def input_shape(self) -> tuple[int, ...]:
        """Shape of what the marginal models."""
        return self.eye.shape if self.eye is not None else (*self.obs_shape[:-1], len(self.marginal_channels))

    def marginal_input(self, obs: Any) -> Any:
        """What the marginal models of an observation."""
        if self.eye is not None:
            return self.eye.look(obs)
        if self.marginal_channels == tuple(range(self.obs_shape[-1])):
            return obs
        return obs[..., np.asarray(self.marginal_channels)]

    def stacked(self, obs: Any) -> Any:
        """What the policy sees when an episode begins: the first observation, as if it had always been there."""
        return obs if self.stack == 1 else _joined([obs] * self.stack)

    def pushed(self, latest: Any, obs: Any) -> Any:
        """What the policy sees after one more observation."""
        return obs if self.stack == 1 else _joined([latest[..., self.obs_shape[-1] :], obs])


def _joined(parts: list[Any]) -> Any:
    """Arrays of either module end to end along the last axis."""
    return parts[0].__array_namespace__().concatenate(parts, axis=-1)
