"""Programs as JAX is given them, taken apart."""

from __future__ import annotations

from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr


def inside(equation: Any) -> list[Jaxpr]:
    """The programs that an equation runs here: of a choice by platform this one's, of any other the last, "yes"."""
    told = equation.params
    if equation.primitive.name == "cond":
        named = [here is not None and jax.default_backend() in here for here in told.get("branches_platforms") or ()]
        return [told["branches"][named.index(True) if True in named else -1].jaxpr]
    held = [each for each in told.values() if isinstance(each, ClosedJaxpr | Jaxpr)]
    return [each.jaxpr if isinstance(each, ClosedJaxpr) else each for each in held]


def carried(scan: Any) -> tuple[int, ...]:
    """Which arguments of a scan's body are its state; told by ranks, as versions of JAX name their number differently.

    The body takes constants, state and a slice of each input, and gives the state and a slice of each output.
    """
    body = scan.params["jaxpr"]
    whole = _as_they_are(scan.invars, body.in_avals)
    return tuple(range(whole - _as_they_are(scan.outvars, body.out_avals), whole))


def _as_they_are(outside: list[Any], within: list[Any]) -> int:
    """How many are no slices."""
    return sum(out.aval.ndim == body.ndim for out, body in zip(outside, within, strict=True))
