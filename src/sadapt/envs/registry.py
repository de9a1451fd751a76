"""Every world by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from sadapt.envs.base import Env
from sadapt.envs.butterflies import butterflies
from sadapt.envs.layout import Layout, load, packaged, parse
from sadapt.envs.maze import maze
from sadapt.envs.minatar import minatar
from sadapt.envs.tetris import tetris
from sadapt.errors import UserError, nearest


class Extra(NamedTuple):
    """A package that some worlds need, and the extra that installs it."""

    package: str
    name: str


GYMNAX = Extra("gymnax", "minatar")


class Entry(NamedTuple):
    """How a world is made; `kind` names the maps that it takes, None if it takes none."""

    build: Callable[..., Env]
    horizon: int
    kind: str | None = None
    needs: Extra | None = None


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
    "minatar-breakout": Entry(minatar, 500, needs=GYMNAX),
    "minatar-freeway": Entry(minatar, 500),
    "minatar-seaquest": Entry(minatar, 500),
    "minatar-space-invaders": Entry(minatar, 500, needs=GYMNAX),
}


def names() -> tuple[str, ...]:
    """The names that `make` knows."""
    return tuple(REGISTRY)


def playable(name: str) -> bool:
    """Whether what this world needs is installed."""
    needs = REGISTRY[name].needs
    return needs is None or find_spec(needs.package) is not None


def described(name: str) -> Env:
    """The world called `name`, on its own map, for what it says about itself: it need not be playable."""
    entry = REGISTRY[name]
    maps = () if entry.kind is None else (packaged(name, entry.kind),)
    return entry.build(*maps, name=name, horizon=entry.horizon)


def make(name: str, layout: str | Path | None = None, *, layout_text: str | None = None) -> Env:
    """The world called `name`, on its own map or on the user's, from a file or as text."""
    if name not in REGISTRY:
        raise UserError(f"unknown world {name!r}: {nearest(name, REGISTRY)}")
    entry = REGISTRY[name]
    if not playable(name):
        assert entry.needs is not None
        package, extra = entry.needs
        raise UserError(f"{name!r} needs {package}, which is not installed: pip install 'sadapt[{extra}]'")
    if entry.kind is None:
        if layout is not None:
            raise UserError(f"{name!r} has no map, so --layout {layout} means nothing to it; leave it away")
        return described(name)
    chosen: Layout
    if layout_text is not None:
        chosen = parse(layout_text, "the stored map", entry.kind)
    else:
        chosen = packaged(name, entry.kind) if layout is None else load(layout, entry.kind)
    return entry.build(chosen, name=name, horizon=entry.horizon)
