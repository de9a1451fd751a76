"""Observations of any plain Gymnasium space as arrays of entries, checked against the space that promised them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from sadapt.envs.facts import Kind
from sadapt.errors import UserError
from sadapt.motivation.marginals import InputSpec
from sadapt.motivation.marginals.base import with_parts


class Observations:
    """What observations of one space look like to policy and marginal; arrays lead with the world's index."""

    def __init__(
        self,
        source: str,
        space: spaces.Space,
        channels: Sequence[int] | None = None,
        kinds: Sequence[Kind] = (),
        sample: Callable[[], np.ndarray] | None = None,
    ) -> None:
        self.source, self.space = source, space
        self._kinds, self._sample = tuple(kinds), sample
        self._given_shape: tuple[int, ...] = space.shape or ()
        self._given_dtype: np.dtype = np.dtype(np.int8)
        self.shape: tuple[int, ...] = self._given_shape
        self._values = self._start = 0
        low: Any
        high: Any
        if isinstance(space, spaces.Discrete):
            self._values, self._start = int(space.n), int(space.start)
            self.shape, low, high, self._given_dtype = (self._values,), 0, 1, np.dtype(np.int64)
        elif isinstance(space, spaces.MultiBinary):
            low, high = 0, 1
        elif isinstance(space, spaces.Box):
            self.shape, low, high, self._given_dtype = space.shape or (1,), space.low, space.high, np.dtype(space.dtype)
        else:
            raise UserError(
                f"{source} has the observation space {space}; a marginal needs Box, MultiBinary or Discrete: "
                "wrap it in gymnasium.wrappers.FlattenObservation or your own wrapper first"
            )
        self._low, self._high = _number(low), _number(high)
        highest = float(np.max(high))
        self._from_zero = not np.any(low)
        self._divisor = np.float32(highest) if self._given_dtype.kind == "u" and highest > 1 else None
        scale = 1.0 if self._divisor is None else float(self._divisor)
        self.low, self.high = (
            np.broadcast_to(np.asarray(bound, np.float32), self.shape) / np.float32(scale) for bound in (low, high)
        )
        self._channels = self._checked_channels(channels)
        self.input_shape = (*self.shape[:-1], self.shape[-1] if self._channels is None else len(self._channels))

    def _checked_channels(self, channels: Sequence[int] | None) -> np.ndarray | None:
        if channels is None or tuple(channels) == tuple(range(self.shape[-1])):
            return None
        if not len(channels) or not all(0 <= channel < self.shape[-1] for channel in channels):
            raise UserError(
                f"marginal_channels is {tuple(channels)}; {self.source} has the channels 0 to {self.shape[-1] - 1} "
                "along its last axis: name one or more of them"
            )
        return np.asarray(channels)

    def entries(self, obs: Any) -> np.ndarray:
        """Observations of several worlds as numbers, or an error that says what is wrong with them."""
        given = np.asarray(obs)
        like_the_space = given.dtype == self._given_dtype or np.can_cast(given.dtype, self._given_dtype, "same_kind")
        if given.shape[1:] != self._given_shape or not like_the_space:
            raise UserError(
                f"{self.source} showed {given.dtype} of shape {given.shape[1:]}; its space says {self.space}: "
                "correct the environment or its observation_space"
            )
        if self._values:
            places = given - self._start
            if not (places.min() >= 0 and places.max() < self._values):
                raise self._outside(given, (places < 0) | (places >= self._values))
            return (places[:, None] == np.arange(self._values)).astype(np.uint8)
        highest = given.max()
        lowest = 0 if self._from_zero and given.dtype.kind in "bu" else given.min()
        if not (math.isfinite(lowest) and math.isfinite(highest)):
            raise UserError(
                f"{self.source} showed an observation that is not finite "
                f"(world {int(np.argmin(np.isfinite(given).reshape(len(given), -1).all(1)))}): correct the environment"
            )
        if isinstance(self._low, float) and isinstance(self._high, float):
            inside = lowest >= self._low and highest <= self._high
        else:
            inside = bool((given >= self._low).all() and (given <= self._high).all())
        if not inside:
            raise self._outside(given, (given < self._low) | (given > self._high))
        return given if self._given_shape else given[:, None]

    def scaled(self, entries: np.ndarray) -> np.ndarray:
        """Entries as a network likes them: unsigned numbers up to 255, say, between 0 and 1."""
        return entries if self._divisor is None else entries / self._divisor

    def marginal_input(self, entries: np.ndarray) -> np.ndarray:
        """What the marginal models of entries."""
        scaled = self.scaled(entries)
        return scaled if self._channels is None else scaled[..., self._channels]

    def input_spec(self) -> InputSpec:
        """What the marginal models, and between which bounds."""
        low, high = (bound if self._channels is None else bound[..., self._channels] for bound in (self.low, self.high))
        dtype = self._given_dtype if self._divisor is None else np.dtype(np.float32)
        unit = None if self._divisor is None else 1 / float(self._divisor)
        whole = InputSpec(self.source, self.input_shape, dtype, low, high, unit, sample=self._played)
        if self._channels is not None:
            return whole
        return with_parts(whole._replace(groups=(self._values,) if self._values else ()), self._kinds)

    def _played(self) -> np.ndarray:
        """What the marginal sees of random play."""
        if self._sample is None:
            raise UserError(f"the marginal needs random play, but {self.source} was not played")
        return self.marginal_input(self.entries(self._sample()))

    def _outside(self, given: np.ndarray, wrong: np.ndarray) -> UserError:
        world = int(np.argmax(wrong.reshape(len(given), -1).any(1)))
        value = given[world][wrong[world]].reshape(-1)[0] if given.ndim > 1 else given[world]
        return UserError(
            f"{self.source} showed the value {value} (world {world}), which is outside its space {self.space}: "
            "correct the environment or its observation_space"
        )


def _number(bound: Any) -> float | np.ndarray:
    """One number where all entries have the same bound, which is quicker to compare with."""
    array = np.asarray(bound)
    return float(array.flat[0]) if (array == array.flat[0]).all() else array
