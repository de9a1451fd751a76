"""The contract of a world: how it moves, in JAX or outside of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from sadapt.envs.facts import Eye, Facts, Kind
from sadapt.errors import Stop

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
    regimes: Mapping[str, Env] = field(default_factory=dict)
    """The world held in each of its regimes, by name, in the order of the counter `season`; empty where it has none."""
    reset_in: Callable[[Array, Array], tuple[State, Array]] | None = None
    """`reset_in(key, group) -> (state, obs)`, `group` any uint32: worlds of one group that begin together are always in
    the same regime; None where there are no regimes to share."""
    reset_on: Callable[[Array, State], tuple[State, Array]] | None = None
    """`reset_on(key, state) -> (state, obs)`: a fresh start in which the regime goes on; None: all begins anew."""
    costly_reset: bool = False
    """Whether a reset costs as much as many steps: then only worlds that must start afresh are reset, in turn."""
    alone: Env | None = None
    """The world with regimes of its own, where it shares them with others; None: it is so itself."""


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


class WorldFailed(Stop):
    """A world raised, or answered what it must not; the message names what it was given."""


@dataclass(frozen=True, kw_only=True)
class HostEnv(Facts):
    """A world that is not written in JAX."""

    open: Callable[[int], HostWorlds]
    """`open(num_envs)` starts worlds side by side; the first `restart` must ask for all of them."""
    aside: bool = False
    """Whether they move in threads of their own: then the next steps are played while the last are learned from."""


AnyEnv = Env | HostEnv
__all__ = [
    "AnyEnv",
    "Array",
    "Env",
    "Eye",
    "Facts",
    "HostEnv",
    "HostWorlds",
    "Kind",
    "Policy",
    "State",
    "Step",
    "WorldFailed",
]
