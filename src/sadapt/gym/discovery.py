"""Registers the worlds with Gymnasium as soon as both are imported, in whichever order, without importing it."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command imports this before anything else: what is not needed waits
    from collections.abc import Sequence
    from importlib.abc import Loader
    from types import ModuleType


def when_gymnasium_is_there() -> None:
    """Now, if Gymnasium has been imported; else when it is."""
    if "gymnasium" in sys.modules:
        from sadapt.gym.registration import register_all

        register_all()
    else:
        sys.meta_path.insert(0, _Waiting())


class _Waiting:
    """Finds Gymnasium as Python would, once."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Then(spec.loader)  # type: ignore[assignment]
        return spec


class _Then:
    """Loads a module, then registers the worlds with it."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        from sadapt.gym.registration import register_all

        register_all()
