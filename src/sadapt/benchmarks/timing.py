"""One core, two warm-up calls, the best of several."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

WARM_UPS = 2
"""Calls before the first timed one: the second may compile again."""


def one_core() -> None:
    """Keeps this process on one core; has to be called before JAX is imported, which sizes its thread pools then."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def best_seconds(call: Callable[[], Any], *, seconds: float = 3.0, least: int = 3) -> float:
    """Seconds of the fastest of as many calls as fit into `seconds`, at least `least`; `call` must wait for its end."""
    for _ in range(WARM_UPS):
        call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)
