"""What a Gymnasium space shows, as arrays: the part that was asked for, its shape and bounds, and how it becomes one.

Nothing here imports JAX: a world's own process, and the wrappers, need none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from PIL import Image

from sadapt.envs.facts import Kind
from sadapt.errors import UserError, nearest

Path = tuple[Any, ...]
"""Keys of dictionaries and places in tuples, from the observation down to the part."""
VISIBLE = (spaces.Box, spaces.Discrete, spaces.MultiBinary, spaces.MultiDiscrete, spaces.Tuple)
EXPECTED = "Box, Discrete, MultiBinary, MultiDiscrete, a Tuple or a Dict of them"


class Odd(Exception):
    """A world answered what it must not; the message goes on after the world's name."""


class Seen(NamedTuple):
    """Observations as arrays."""

    shape: tuple[int, ...]
    dtype: Any
    low: float
    high: float
    encode: Callable[[Any], np.ndarray]
    """An observation as such an array; `Odd` if it is none of its space."""
    unit: float | None = None
    """Distance of neighbouring values, where the space says whole numbers."""
    groups: tuple[int, ...] = ()
    """Sizes of the groups along the last axis that hold exactly one 1 each."""
    parts: tuple[tuple[str, Seen], ...] = ()
    """What a dictionary's vector is joined from, by name; whole numbers up to 255 are scaled to [0, 1] in it."""


def part(source: str, space: spaces.Space, key: str | None, option: str) -> tuple[spaces.Space, Path]:
    """The observation space, or the part of it that was asked for; `a.b` is the part b of the part a.

    Of a dictionary without a key it is the only part that can be seen, or all of the dictionary.
    """
    if key is not None and not isinstance(space, spaces.Dict):
        raise UserError(f"{source} has no dictionary observations, so {option} {key} does not apply: leave it out")
    path: Path = ()
    while isinstance(space, spaces.Dict):
        if not key:
            visible = _leaves(space)
            if not visible:
                raise UserError(f"{source} has the observation space {space}; expected {EXPECTED}: wrap it")
            return (visible[0][1], (*path, *visible[0][0])) if len(visible) == 1 else (space, path)
        name = key if key in space.spaces else key.partition(".")[0]
        if name not in space.spaces:
            inside = f" in {'.'.join(path)}" if path else ""
            raise UserError(f"{source} has no observation {name!r}{inside}: {nearest(name, space.spaces)}")
        space, path, key = space.spaces[name], (*path, name), key[len(name) + 1 :]
    if key:
        raise UserError(f"{source} shows no dictionary in {'.'.join(path)}, so {key!r} is no part of it; leave it out")
    return space, path


def _leaves(space: spaces.Dict) -> list[tuple[Path, spaces.Space]]:
    """Every part that can be seen, and the way to it; a text, say, is passed over."""
    found: list[tuple[Path, spaces.Space]] = []
    for name, inner in space.spaces.items():
        if isinstance(inner, spaces.Dict):
            found += [((name, *below), leaf) for below, leaf in _leaves(inner)]
        elif isinstance(inner, VISIBLE):
            found.append(((name,), inner))
    return found


def taken(obs: Any, path: Path) -> Any:
    """The part of an observation, of one world or of several."""
    for name in path:
        obs = obs[name]
    return obs


def seen(source: str, space: spaces.Space) -> Seen:
    """How observations of a space become arrays: numbers as they are, choices as one 1 among zeros."""
    if isinstance(space, spaces.Discrete):
        return _choice(int(space.n), int(space.start))
    if isinstance(space, spaces.MultiBinary):
        return _numbers((math.prod(space.shape),), np.uint8, 0.0, 1.0, space.shape)
    if isinstance(space, spaces.MultiDiscrete):
        options = zip(space.nvec.reshape(-1), space.start.reshape(-1), strict=True)
        return _joined([_choice(int(n), int(start)) for n, start in options], lambda obs: np.reshape(obs, -1))
    if isinstance(space, spaces.Tuple) and space.spaces:
        return _joined([seen(source, inner) for inner in space.spaces], lambda obs: obs)
    if isinstance(space, spaces.Dict):
        return _dictionary(source, space)
    if isinstance(space, spaces.Box) and 0 not in space.shape:
        low, high = float(np.min(space.low)), float(np.max(space.high))
        small = space.dtype is not None and space.dtype.kind in "ub" and low >= 0 and high <= 255
        found = _numbers(space.shape or (1,), np.uint8 if small else np.float32, low, high, space.shape)
        return found._replace(unit=1.0) if space.dtype is not None and space.dtype.kind in "uib" else found
    raise UserError(f"{source} has the observation space {space}; expected {EXPECTED}, not empty: wrap it")


def _choice(size: int, start: int) -> Seen:
    def encode(obs: Any) -> np.ndarray:
        place = np.asarray(obs)
        if place.size != 1 or place.dtype.kind not in "iub" or not 0 <= place.item() - start < size:
            raise Odd(f"showed {obs!r}; its space says one of {start} to {start + size - 1}")
        return (np.arange(size) == place.item() - start).astype(np.uint8)

    return Seen((size,), np.uint8, 0.0, 1.0, encode, groups=(size,))


def _numbers(shape: tuple[int, ...], dtype: Any, low: float, high: float, given: tuple[int, ...]) -> Seen:
    whole = np.dtype(dtype).kind == "u"

    def encode(obs: Any) -> np.ndarray:
        entries = np.asarray(obs)
        if entries.shape != given:
            raise Odd(f"showed an observation of shape {entries.shape}; its space says {given}")
        if entries.dtype.kind not in "fiub":
            raise Odd(f"showed an observation of {entries.dtype}; its space says numbers")
        if whole and not (entries.min() >= low and entries.max() <= high):
            raise Odd(
                f"showed values from {entries.min()} to {entries.max()}; its space says whole numbers from {low:g} to "
                f"{high:g}"
            )
        with np.errstate(over="ignore"):
            found = entries.astype(dtype).reshape(shape)
        if not whole and not np.isfinite(found).all():
            raise Odd("showed an observation that is not finite")
        return found

    return Seen(shape, dtype, low, high, encode)


def _joined(parts: Sequence[Seen], split: Callable[[Any], Any]) -> Seen:
    """Several parts as one vector."""
    small = all(each.dtype == np.uint8 and each.high == parts[0].high for each in parts)
    dtype = np.uint8 if small else np.float32

    def encode(obs: Any) -> np.ndarray:
        rows = split(obs)
        if len(rows) != len(parts):
            raise Odd(f"showed {len(rows)} parts; its space says {len(parts)}")
        pairs = zip(parts, rows, strict=True)
        return np.concatenate([each.encode(row).reshape(-1) for each, row in pairs]).astype(dtype)

    size = sum(math.prod(each.shape) for each in parts)
    groups = sum((each.groups for each in parts), ()) if all(each.groups for each in parts) else ()
    low, high = min(each.low for each in parts), max(each.high for each in parts)
    return Seen((size,), dtype, low, high, encode, groups=groups)


def _dictionary(source: str, space: spaces.Dict) -> Seen:
    """All parts that can be seen as one vector, each told apart."""
    leaves = _leaves(space)
    parts = [_scaled(seen(source, leaf)) for _, leaf in leaves]
    names = [".".join(map(str, path)) for path, _ in leaves]

    def split(obs: Any) -> list[Any]:
        return [taken(obs, path) for path, _ in leaves]

    return _joined(parts, split)._replace(groups=(), parts=tuple(zip(names, parts, strict=True)))


def _scaled(each: Seen) -> Seen:
    """The same between 0 and 1 where it is a picture's whole numbers."""
    if each.dtype != np.uint8 or each.high <= 1:
        return each
    scale = np.float32(each.high)
    return each._replace(
        dtype=np.float32,
        low=each.low / each.high,
        high=1.0,
        unit=1 / each.high,
        encode=lambda obs: each.encode(obs).astype(np.float32) / scale,
    )


def reduced(source: str, found: Seen, side: int) -> Seen:
    """Pictures in grey and as squares of that side, each cell the mean of what it covers."""
    colours = found.shape[2] if len(found.shape) == 3 else 0
    if found.dtype != np.uint8 or found.high != 255 or len(found.shape) not in (2, 3) or colours not in (0, 1, 3):
        raise UserError(
            f"{source} shows no pictures (bytes up to 255, in grey or in three colours) but shape {found.shape}, "
            f"{np.dtype(found.dtype).name} up to {found.high:g}, so --screen-size does not apply: leave it out"
        )
    if side > max(found.shape[:2]):
        raise UserError(f"{source} shows pictures of {found.shape[:2]}; --screen-size {side} would enlarge them")

    def encode(obs: Any) -> np.ndarray:
        cells = found.encode(obs)
        picture = Image.fromarray(cells[..., 0] if colours == 1 else cells).convert("L")
        return np.asarray(picture.resize((side, side), Image.Resampling.BOX))[..., None]

    return Seen((side, side, 1), np.uint8, found.low, found.high, encode, unit=found.unit)


def kinds(name: str, found: Seen) -> tuple[Kind, ...]:
    """What the entries are that a marginal sees, who sees pictures between 0 and 1."""
    parts = found.parts or ((name, found),)
    return tuple(
        Kind(name, each.shape, each.dtype, each.low, each.high, each.unit, each.groups)
        for name, each in ((name, _scaled(part)) for name, part in parts)
    )
