"""The marginals of worlds side by side: together on a leading axis, or one by one where they are somebody's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from sadapt.motivation.building import build_marginal
from sadapt.motivation.marginals import InputSpec, Marginal
from sadapt.motivation.marginals.forgetting import MemorySettings
from sadapt.registry import Choice, Own, is_foreign

BLOCK = 2**14
"""Entries that are worked on at once, so that intermediate results stay in the cache and off the system's pages."""


class Marginals(Protocol):
    """One marginal a world."""

    theta: np.ndarray
    """theta as the policy sees it, of every world; to be copied by whoever shows it."""

    def begin(self, which: np.ndarray, seen: np.ndarray) -> None:
        """The worlds with the indices `which` forget all but their first observations."""

    def log_prob(self, seen: np.ndarray) -> np.ndarray:
        """log p_theta(s), of every world."""

    def add(self, seen: np.ndarray) -> None:
        """One more observation, of every world."""

    def entropy(self) -> np.ndarray:
        """H(p_theta), of every world."""


def marginals(
    spec: InputSpec, worlds: int, choice: Choice, own: Own, memory: MemorySettings = MemorySettings()
) -> tuple[Marginal, Marginals]:
    """The marginal that was chosen, with this memory, and that of each world."""
    one = build_marginal(spec, choice, own, memory, xp=np)
    alone = is_foreign("marginal", choice, own) or memory.window is not None
    return one, OneByOne(one, worlds) if alone else Together(one, worlds, spec)


class Together:
    """Ours, whose functions take several worlds along a leading axis, and know log p and H where theta is at hand."""

    def __init__(self, marginal: Marginal, worlds: int, spec: InputSpec) -> None:
        self._marginal, self._worlds = marginal, worlds
        self._block = max(1, BLOCK // math.prod(spec.shape))
        self._states = self._fresh(worlds)
        self.theta: np.ndarray = marginal.features(self._states)

    def _fresh(self, worlds: int) -> Any:
        return _mapped(lambda part: np.repeat(np.asarray(part)[None], worlds, axis=0), self._marginal.init())

    def begin(self, which: np.ndarray, seen: np.ndarray) -> None:
        begun = self._marginal.update(self._fresh(len(which)), seen)
        for everywhere, here in zip(_leaves(self._states), _leaves(begun), strict=True):
            everywhere[which] = here
        self.theta[which] = self._marginal.features(begun)

    def log_prob(self, seen: np.ndarray) -> np.ndarray:
        if self._marginal.log_prob_at is None:
            return self._marginal.log_prob(self._states, seen)
        return self._in_blocks(self._marginal.log_prob_at, self.theta, seen)

    def add(self, seen: np.ndarray) -> None:
        self._states = self._marginal.update(self._states, seen)
        self.theta = self._marginal.features(self._states)

    def entropy(self) -> np.ndarray:
        if self._marginal.entropy_at is None:
            return self._marginal.entropy(self._states)
        return self._in_blocks(self._marginal.entropy_at, self.theta)

    def _in_blocks(self, function: Callable[..., np.ndarray], *arrays: np.ndarray) -> np.ndarray:
        """`function` of all worlds, some at a time."""
        if self._worlds <= self._block:
            return function(*arrays)
        starts = range(0, self._worlds, self._block)
        return np.concatenate([function(*(array[at : at + self._block] for array in arrays)) for at in starts])


def _mapped(function: Callable[[Any], Any], state: Any) -> Any:
    """A state with the function's result for every array in it; states are tuples, named or not, of such."""
    if not isinstance(state, tuple):
        return function(state)
    parts = [_mapped(function, part) for part in state]
    return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)


def _leaves(state: Any) -> Iterator[np.ndarray]:
    """The arrays of a state."""
    if not isinstance(state, tuple):
        yield state
        return
    for part in state:
        yield from _leaves(part)


class OneByOne:
    """Anybody's, whose functions need only be written for one world; states and numbers may be JAX's."""

    def __init__(self, marginal: Marginal, worlds: int) -> None:
        self._marginal = marginal
        self._states = [marginal.init() for _ in range(worlds)]
        self.theta: np.ndarray = np.stack([self._features(state) for state in self._states])

    def _features(self, state: Any) -> np.ndarray:
        return np.asarray(self._marginal.features(state), np.float32)

    def begin(self, which: np.ndarray, seen: np.ndarray) -> None:
        for world, obs in zip(which, seen, strict=True):
            self._states[world] = self._marginal.update(self._marginal.init(), obs)
            self.theta[world] = self._features(self._states[world])

    def log_prob(self, seen: np.ndarray) -> np.ndarray:
        pairs = zip(self._states, seen, strict=True)
        return np.array([self._marginal.log_prob(state, obs) for state, obs in pairs], np.float32)

    def add(self, seen: np.ndarray) -> None:
        self._states = [self._marginal.update(state, obs) for state, obs in zip(self._states, seen, strict=True)]
        self.theta = np.stack([self._features(state) for state in self._states])

    def entropy(self) -> np.ndarray:
        return np.array([self._marginal.entropy(state) for state in self._states], np.float32)
