"""What a wrapper takes of an observation: the part that was asked for, or all of a dictionary's parts as a vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from sadapt.envs.facts import Kind
from sadapt.envs.spaces import Odd, Seen, kinds, part, seen, taken
from sadapt.errors import UserError

OBS_KEY = "obs_key"


class Reader(NamedTuple):
    """What is seen of a world."""

    space: spaces.Space
    one: Callable[[Any], Any]
    """It, of one world's observation."""
    many: Callable[[Any], Any]
    """It, of several worlds' observations, which lead with the world's index."""
    kinds: tuple[Kind, ...] = ()
    """What a vector is joined from."""


def reader(source: str, space: spaces.Space, key: str | None, worlds: int) -> Reader:
    """How observations of a space are read."""
    inner, path = part(source, space, key, OBS_KEY)
    if not isinstance(inner, spaces.Dict):
        return Reader(inner, lambda obs: taken(obs, path), lambda obs: taken(obs, path))
    found = seen(source, inner)

    def one(obs: Any) -> np.ndarray:
        return _encoded(source, found, taken(obs, path))

    def many(obs: Any) -> np.ndarray:
        return np.stack([one(_world(obs, world)) for world in range(worlds)])

    box = spaces.Box(found.low, found.high, found.shape, found.dtype)
    return Reader(box, one, many, kinds(source, found))


def _encoded(source: str, found: Seen, obs: Any) -> np.ndarray:
    try:
        return found.encode(obs)
    except Odd as error:
        raise UserError(f"{source} {error}: correct the environment or its observation_space") from error


def _world(obs: Any, world: int) -> Any:
    """One world's observation out of a batch of dictionaries and tuples of arrays."""
    if isinstance(obs, dict):
        return {name: _world(inner, world) for name, inner in obs.items()}
    if isinstance(obs, tuple) and not (obs and isinstance(obs[0], str)):
        return tuple(_world(inner, world) for inner in obs)
    return obs[world]
