"""Surprise-adaptive intrinsic motivation."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sadapt.gym.discovery import when_gymnasium_is_there

if TYPE_CHECKING:
    from sadapt.api import evaluate, export, load, plot, probe, register, resume, settings, train, watch

__version__ = "0.2.0"
__all__ = ["evaluate", "export", "load", "plot", "probe", "register", "resume", "settings", "train", "watch"]

when_gymnasium_is_there()


def __getattr__(name: str) -> Any:
    """The calls of `sadapt.api`, imported with JAX when the first of them is asked for."""
    if name == "register":
        return importlib.import_module("sadapt.registry").register
    if name in __all__:
        return getattr(importlib.import_module("sadapt.api"), name)
    raise AttributeError(f"module 'sadapt' has no attribute {name!r}")
