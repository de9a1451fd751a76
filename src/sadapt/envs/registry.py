"""Worlds made by their names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sadapt.envs.base import AnyEnv, Env, HostEnv
from sadapt.envs.table import MapSettings, compiled, names
from sadapt.errors import UserError
from sadapt.registry import Part, find

__all__ = ["compiled", "make", "make_any", "names"]


def make_any(name: str, settings: Any = None) -> AnyEnv:
    """The world called `name` as its own settings want it, in JAX or outside of it."""
    part = find("env", name)
    given = part.defaults() if settings is None else settings
    env = part.make(name, settings=given if part.settings is not None else None)
    if not isinstance(env, Env | HostEnv):
        raise UserError(
            f"the factory of the world {name!r} returned {type(env).__name__}; it must return an Env or a HostEnv"
        )
    horizon = getattr(given, "horizon", None)
    return env if horizon is None else replace(env, horizon=horizon)


def make(name: str, layout: str | Path | None = None) -> Env:
    """The JAX world called `name`, on its own map or on the user's (a file, or the map's text)."""
    part = find("env", name)
    if not part.hints.get("compiled", True):
        raise UserError(f"{name!r} is not written in JAX: sadapt.envs.registry.make_any({name!r}) makes it")
    env = make_any(name, _with_layout(part, name, layout))
    assert isinstance(env, Env)
    return env


def _with_layout(part: Part, name: str, layout: str | Path | None) -> Any:
    settings = part.defaults()
    if layout is None:
        return settings
    if not isinstance(settings, MapSettings):
        raise UserError(f"{name!r} has no map, so --layout {layout} does not apply: leave it out")
    return replace(settings, layout=str(layout))
