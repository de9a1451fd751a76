"""The augmented observation (s, theta, t/T, alpha) in the shape that a learner takes: dict, channels, flat or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from sadapt.errors import UserError, nearest
from sadapt.gym.observations import Observations

MODES = ("dict", "channels", "flat", "none")


class View(NamedTuple):
    """A learner's observation space, and how observations become members of it."""

    space: spaces.Space
    look: Callable[[Any, np.ndarray, np.ndarray, np.ndarray, np.ndarray], Any]
    """`look(obs, entries, theta, time, alpha)`, for several worlds; time and alpha are float32[worlds]."""


def view(mode: str, observations: Observations, theta_bounds: tuple[np.ndarray, np.ndarray]) -> View:
    """The view called `mode`."""
    if mode not in MODES:
        raise UserError(f"unknown obs_mode {mode!r}: {nearest(mode, MODES)}")
    if mode == "none":
        return View(observations.space, lambda obs, entries, theta, time, alpha: obs)
    if mode == "dict":
        return _dictionary(observations, theta_bounds)
    return _channels(observations, theta_bounds) if mode == "channels" else _flat(observations, theta_bounds)


def _dictionary(observations: Observations, theta_bounds: tuple[np.ndarray, np.ndarray]) -> View:
    share = spaces.Box(0.0, 1.0, (1,), np.float32)
    space = spaces.Dict(
        {"obs": observations.space, "theta": spaces.Box(*theta_bounds, dtype=np.float32), "time": share, "arm": share}
    )

    def look(obs: Any, entries: np.ndarray, theta: np.ndarray, time: np.ndarray, alpha: np.ndarray) -> Any:
        return {"obs": obs, "theta": theta.copy(), "time": time[:, None], "arm": alpha[:, None]}

    return View(space, look)


def _channels(observations: Observations, theta_bounds: tuple[np.ndarray, np.ndarray]) -> View:
    if len(observations.shape) != 3:
        raise UserError(
            f"obs_mode 'channels' stacks images of height x width x channels; {observations.source} shows the shape "
            f"{observations.shape}: use 'dict' or 'flat'"
        )
    grid, planes = observations.shape[:2], observations.shape[2]
    low, high = (
        np.concatenate([own, theta, np.full((*grid, 2), share, np.float32)], axis=-1)
        for own, theta, share in zip((observations.low, observations.high), theta_bounds, (0.0, 1.0), strict=True)
    )

    def look(obs: Any, entries: np.ndarray, theta: np.ndarray, time: np.ndarray, alpha: np.ndarray) -> Any:
        stack = np.empty((len(entries), *low.shape), np.float32)
        stack[..., :planes] = observations.scaled(entries)
        stack[..., planes:-2] = theta
        stack[..., -2], stack[..., -1] = time[:, None, None], alpha[:, None, None]
        return stack

    return View(spaces.Box(low, high, dtype=np.float32), look)


def _flat(observations: Observations, theta_bounds: tuple[np.ndarray, np.ndarray]) -> View:
    size = observations.low.size
    low, high = (
        np.concatenate([own.ravel(), theta.ravel(), np.full(2, share, np.float32)])
        for own, theta, share in zip((observations.low, observations.high), theta_bounds, (0.0, 1.0), strict=True)
    )

    def look(obs: Any, entries: np.ndarray, theta: np.ndarray, time: np.ndarray, alpha: np.ndarray) -> Any:
        vector = np.empty((len(entries), low.size), np.float32)
        vector[:, :size] = observations.scaled(entries).reshape(len(entries), -1)
        vector[:, size:-2] = theta.reshape(len(entries), -1)
        vector[:, -2], vector[:, -1] = time, alpha
        return vector

    return View(spaces.Box(low, high, dtype=np.float32), look)
