"""Gymnasium worlds in processes of their own, which end quietly also where one of them has broken."""

from __future__ import annotations

import os
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
from gymnasium.vector import AsyncVectorEnv, AutoresetMode

from sadapt.errors import UserError


class Processes(AsyncVectorEnv):
    """Gymnasium's, but for its warnings: what a world raised is told once, by whoever asked it."""

    def _raise_if_errors(self, successes: Iterable[bool]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            super()._raise_if_errors(successes)

    def close_extras(self, timeout: float | None = None, terminate: bool = False) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                super().close_extras(timeout, terminate)
            except (OSError, EOFError):  # the pipe of a process that is gone
                for process in self.processes:
                    process.terminate()
                    process.join()


def opened(name: str, make: Callable[[], gym.Env[Any, Any]], num_envs: int) -> Processes:
    """Worlds in processes that begin from nothing, because JAX' threads do not survive a fork."""
    context = "forkserver" if os.name == "posix" else "spawn"
    try:
        with _script_left_alone():
            return Processes([make] * num_envs, autoreset_mode=AutoresetMode.DISABLED, context=context)
    except UserError:
        raise
    except Exception as error:  # of a process that has ended, or of what cannot be sent to one
        raise UserError(
            f"{name} could not be opened in {num_envs} processes ({type(error).__name__}: {error}): if they do not "
            "find its code, put it into a module and --import that; --num-envs 1 needs no process"
        ) from error


@contextmanager
def _script_left_alone() -> Iterator[None]:
    """Processes begun in here do not run the user's script again, and so it needs no `if __name__ == "__main__"`.

    They need nothing from it: what it defines is sent to them by value.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script
