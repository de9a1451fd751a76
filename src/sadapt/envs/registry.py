"""Every world by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sadapt.envs.base import Env
from sadapt.envs.butterflies import butterflies
from sadapt.envs.layout import Layout, load, packaged, parse
from sadapt.envs.maze import maze
from sadapt.envs.minatar import minatar
from sadapt.envs.tetris import tetris
from sadapt.errors import UserError, nearest


class Entry(NamedTuple):
    """How a world is made; `kind` names the maps that it takes, None if it takes none."""

    build: Callable[..., Env]
    horizon: int
    kind: str | None = None


REGISTRY: dict[str, Entry] = {
    "maze-small": Entry(maze, 100, "maze"),
    "maze-large": Entry(maze, 250, "maze"),
    "butterflies-small": Entry(butterflies, 100, "butterflies"),
    "butterflies-large": Entry(butterflies, 500, "butterflies"),
    "butterflies-very-high": Entry(butterflies, 500, "butterflies"),
    "butterflies-high": Entry(butterflies, 500, "butterflies"),
    "butterflies-medium": Entry(butterflies, 500, "butterflies"),
    "butterflies-low": Entry(butterflies, 500, "butterflies"),
    "butterflies-very-low": Entry(butterflies, 500, "butterflies"),
    "tetris": Entry(tetris, 200),
    "minatar-asterix": Entry(minatar, 500),
    "minatar-breakout": Entry(minatar, 500),
    "minatar-freeway": Entry(minatar, 500),
    "minatar-seaquest": Entry(minatar, 500),
    "minatar-space-invaders": Entry(minatar, 500),
}


OUTSIDE = ("gym:", "atari-freeway")
"""How the names of worlds begin that are not written in JAX."""


def names() -> tuple[str, ...]:
    """The names that `make` knows."""
    return tuple(REGISTRY)


def make(name: str, layout: str | Path | None = None, *, layout_text: str | None = None) -> Env:
    """The world called `name`, on its own map or on the user's, from a file or as text."""
    if name.startswith(OUTSIDE):
        raise UserError(f"{name!r} is not written in JAX: it can be trained in (`sadapt train {name}`), but not probed")
    if name not in REGISTRY:
        raise UserError(f"unknown world {name!r}: {nearest(name, [*REGISTRY, 'atari-freeway'])}")
    entry = REGISTRY[name]
    if entry.kind is None:
        if layout is not None:
            raise UserError(f"{name!r} has no map, so --layout {layout} means nothing to it; leave it away")
        return entry.build(name=name, horizon=entry.horizon)
    chosen: Layout
    if layout_text is not None:
        chosen = parse(layout_text, "the stored map", entry.kind)
    else:
        chosen = packaged(name, entry.kind) if layout is None else load(layout, entry.kind)
    return entry.build(chosen, name=name, horizon=entry.horizon)
