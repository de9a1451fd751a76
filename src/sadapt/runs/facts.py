"""What files tell of a run beside its numbers, believed only where it is of the kind that we write."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sadapt.fields import told


class Kind(NamedTuple):
    """What a fact may be, and what that is called."""

    fits: Callable[[Any], bool]
    name: str


def _natural(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _number(value: Any) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < 2**63
    return isinstance(value, float) and math.isfinite(value)


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_number(each) for each in value)


def _table(value: Any) -> bool:
    return isinstance(value, dict) and misfit(value, {"rows": NATURAL, "bytes": NATURAL, "sha256": TEXT}) is None


def _arms(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and misfit(value, {"means": NUMBERS, "counts": NUMBERS}) is None)


TEXT = Kind(lambda value: isinstance(value, str), "a text")
NATURAL = Kind(_natural, "a whole number")
NUMBER = Kind(_number, "a number")
NUMBERS = Kind(_numbers, "a list of numbers")
OBJECT = Kind(lambda value: isinstance(value, dict), "an object")
TEXTS = Kind(lambda value: isinstance(value, dict) and all(map(TEXT.fits, value.values())), "an object of texts")
REQUIRED = {"version": TEXT, "settings": OBJECT, "step": NATURAL}
"""What every checkpoint and every exported policy tells."""
OPTIONAL = {
    "seconds": NUMBER,
    "versions": TEXTS,
    "layout": Kind(lambda value: value is None or isinstance(value, str), "a text or nothing"),
    "metrics": Kind(_table, "rows, bytes and a digest"),
    "arms": Kind(_arms, "means and counts"),
    "arm_means": NUMBERS,
    "arm_counts": NUMBERS,
    "h_random": NUMBER,
}
STATUS = {"state": TEXT, "step": NATURAL, "total": NATURAL, "seconds": NUMBER, "metrics": TEXT}


def misfit(given: Any, required: Mapping[str, Kind], optional: Mapping[str, Kind] | None = None) -> str | None:
    """What is wrong with facts, if anything."""
    if not isinstance(given, dict):
        return f"it tells {told(given)} of itself; expected an object"
    for name, kind in {**required, **(optional or {})}.items():
        if name not in given:
            if name in required:
                return f"it does not tell its {name}"
        elif not kind.fits(given[name]):
            return f"its {name} is {told(given[name])}; expected {kind.name}"
    return None


def fitting(given: Any, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Facts without those that are not of their kind."""
    if not isinstance(given, dict):
        return {}
    return {name: value for name, value in given.items() if name not in kinds or kinds[name].fits(value)}
