"""Worlds in pure JAX: each file opens with its rules, channels and actions."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sadapt.envs.base import Env, Step
    from sadapt.envs.registry import make
    from sadapt.envs.table import names

HOMES = {"Env": "base", "Step": "base", "make": "registry", "names": "table"}
__all__ = ["Env", "Step", "make", "names"]


def __getattr__(name: str) -> Any:
    """What is asked for most, imported (with JAX) when it is."""
    if name in HOMES:
        return getattr(importlib.import_module(f"sadapt.envs.{HOMES[name]}"), name)
    raise AttributeError(f"module 'sadapt.envs' has no attribute {name!r}")
