"""Two warm-up calls, the best of several, by turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

WARM_UPS = 2
"""Calls before the first timed one: the second may compile again."""


Call = Callable[[], Any]
Timed = Callable[[], float]
"""Does what is to be timed and returns the seconds that it took."""


def best_seconds(call: Call, *, seconds: float = 3.0, least: int = 3) -> float:
    """Seconds of the fastest of as many calls as fit into `seconds`, at least `least`; `call` must wait for its end."""
    return best_of(call, seconds=seconds, least=least)[0]


def best_of(*calls: Call, seconds: float = 3.0, least: int = 3) -> list[float]:
    """The same for several calls that are to be compared."""
    return by_turns(*(warmed(call) for call in calls), seconds=seconds, least=least)


def by_turns(*timed: Timed, seconds: float = 3.0, least: int = 3) -> list[float]:
    """The least seconds of each, by turns, so that all meet the machine in the same moods; `seconds` is for each."""
    times: list[list[float]] = [[] for _ in timed]
    end = time.perf_counter() + seconds * len(timed)
    while len(times[0]) < least or time.perf_counter() < end:
        for each, taken in zip(timed, times, strict=True):
            taken.append(each())
    return [min(taken) for taken in times]


def warmed(call: Call) -> Timed:
    """A call that tells its seconds, after its warm-up."""
    for _ in range(WARM_UPS):
        call()

    def timed() -> float:
        begin = time.perf_counter()
        call()
        return time.perf_counter() - begin

    return timed
