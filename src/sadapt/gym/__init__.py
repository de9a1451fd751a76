"""Gymnasium: the worlds as environments, and the motivation as wrappers around any environment."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sadapt.gym.deaths import RestartAfterDeath
    from sadapt.gym.wrappers import SurpriseVectorWrapper, SurpriseWrapper, estimate_random_entropy

__all__ = ["RestartAfterDeath", "SurpriseVectorWrapper", "SurpriseWrapper", "estimate_random_entropy"]


def __getattr__(name: str) -> Any:
    """The wrappers, imported when the first of them is asked for."""
    if name in __all__:
        module = "sadapt.gym.deaths" if name == "RestartAfterDeath" else "sadapt.gym.wrappers"
        return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'sadapt.gym' has no attribute {name!r}")
