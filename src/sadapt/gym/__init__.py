"""Gymnasium: the worlds as environments, and the motivation as wrappers around any environment."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sadapt.gym.baseline import estimate_random, estimate_random_entropy
    from sadapt.gym.deaths import RestartAfterDeath
    from sadapt.gym.streams import SurpriseStreamWrapper
    from sadapt.gym.wrappers import SurpriseVectorWrapper, SurpriseWrapper

HOMES = {
    "RestartAfterDeath": "deaths",
    "SurpriseStreamWrapper": "streams",
    "SurpriseVectorWrapper": "wrappers",
    "SurpriseWrapper": "wrappers",
    "estimate_random": "baseline",
    "estimate_random_entropy": "baseline",
}
__all__ = [
    "RestartAfterDeath",
    "SurpriseStreamWrapper",
    "SurpriseVectorWrapper",
    "SurpriseWrapper",
    "estimate_random",
    "estimate_random_entropy",
]


def __getattr__(name: str) -> Any:
    """The wrappers, imported when the first of them is asked for."""
    if name in HOMES:
        return getattr(importlib.import_module(f"sadapt.gym.{HOMES[name]}"), name)
    raise AttributeError(f"module 'sadapt.gym' has no attribute {name!r}")
