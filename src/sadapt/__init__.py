"""Surprise-adaptive intrinsic motivation.

import sadapt

run = sadapt.train("tetris")            # every setting is an option: help(sadapt.train)
sadapt.evaluate(run).measures["return"]
sadapt.watch("zoo:tetris", "film.gif")  # a trained policy that comes with the program
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sadapt.gym.discovery import when_gymnasium_is_there

if TYPE_CHECKING:
    from sadapt.api import (
        Agent,
        Comparison,
        Evaluation,
        Listed,
        Options,
        Player,
        RunFolder,
        Settings,
        adaptation,
        bench,
        claims,
        compare,
        evaluate,
        export,
        figures,
        film_world,
        list_runs,
        list_worlds,
        list_zoo,
        load,
        plot,
        probe,
        register,
        resume,
        seasons,
        settings,
        sweep,
        table,
        train,
        watch,
        write_report,
    )

__version__ = "0.2.0"
__all__ = [
    "Agent",
    "Comparison",
    "Evaluation",
    "Listed",
    "Options",
    "Player",
    "RunFolder",
    "Settings",
    "adaptation",
    "bench",
    "claims",
    "compare",
    "evaluate",
    "export",
    "figures",
    "film_world",
    "list_runs",
    "list_worlds",
    "list_zoo",
    "load",
    "plot",
    "probe",
    "register",
    "resume",
    "seasons",
    "settings",
    "sweep",
    "table",
    "train",
    "watch",
    "write_report",
]

when_gymnasium_is_there()


def __getattr__(name: str) -> Any:
    """The calls of `sadapt.api`, imported with JAX when the first of them is asked for."""
    if name == "register":
        return importlib.import_module("sadapt.registry").register
    if name in __all__:
        return getattr(importlib.import_module("sadapt.api"), name)
    raise AttributeError(f"module 'sadapt' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Every public name, also of what has not been imported yet."""
    return sorted({*globals(), *__all__})
