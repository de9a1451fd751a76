"""Two warm-up calls, the best of several."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

WARM_UPS = 2
"""Calls before the first timed one: the second may compile again."""


Call = Callable[[], Any]


def best_seconds(call: Call, *, seconds: float = 3.0, least: int = 3) -> float:
    """Seconds of the fastest of as many calls as fit into `seconds`, at least `least`; `call` must wait for its end."""
    return best_of(call, seconds=seconds, least=least)[0]


def best_of(*calls: Call, seconds: float = 3.0, least: int = 3) -> list[float]:
    """The same for several calls that are to be compared: by turns, so that all meet the machine in the same moods."""
    for call in calls:
        for _ in range(WARM_UPS):
            call()
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + seconds * len(calls)
    while len(times[0]) < least or time.perf_counter() < end:
        for call, taken in zip(calls, times, strict=True):
            begin = time.perf_counter()
            call()
            taken.append(time.perf_counter() - begin)
    return [min(taken) for taken in times]
