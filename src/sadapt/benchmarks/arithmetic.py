"""What a program costs, as its compiler says: operations, bytes and kernels, every loop as often as it runs.

XLA counts the body of a loop once, however often it runs. So bodies are compiled on their own as well:
cost(program) = XLA(program) - sum XLA(body) + sum times * cost(body).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxpr_as_fun

from sadapt.benchmarks.jaxprs import carried, inside

FREE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "while", "iota"})
"""Instructions that no kernel is launched for; those of a loop are its body's."""
INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = .*? ([a-z][\w-]*)\(", re.MULTILINE)


class Cost(NamedTuple):
    """Of a call of a program."""

    flops: float
    bytes: float
    """Read and written by its kernels, as if nothing were in a cache."""
    kernels: float

    def __add__(self, other: Any) -> Cost:
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))

    def __mul__(self, times: Any) -> Cost:
        return Cost(*(times * each for each in self))


NOTHING = Cost(0.0, 0.0, 0.0)


def cost(function: Callable[..., Any], *given: Any) -> Cost:
    """Of a call with arguments like `given`, whose memory it may use up."""
    closed: ClosedJaxpr = jax.make_jaxpr(function)(*given)
    return _whole(closed, tuple(range(len(closed.in_avals))))[0]


def bytes_in_use(function: Callable[[Any], Any], state: Any) -> int:
    """Memory that a call of `state -> state` takes: what goes in and out, and what it needs in between."""
    closed: ClosedJaxpr = jax.make_jaxpr(function)(state)
    told = _compiled(closed, tuple(range(len(closed.in_avals)))).memory_analysis()
    sizes = told.argument_size_in_bytes + told.output_size_in_bytes + told.temp_size_in_bytes
    return int(sizes - told.alias_size_in_bytes)


def _compiled(program: ClosedJaxpr, donated: tuple[int, ...]) -> Any:
    """A program that may overwrite these of its arguments."""
    shapes = [jax.ShapeDtypeStruct(kind.shape, kind.dtype) for kind in program.in_avals]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some donated buffers were not usable")
        return jax.jit(jaxpr_as_fun(program), donate_argnums=donated, keep_unused=True).lower(*shapes).compile()


def _whole(program: ClosedJaxpr, donated: tuple[int, ...]) -> tuple[Cost, Cost]:
    """The cost of a program, and what XLA says of it."""
    told = _told(_compiled(program, donated))
    loops, once = NOTHING, NOTHING
    for equation in _loops(program.jaxpr):
        whole, alone = _whole(equation.params["jaxpr"], carried(equation))
        loops, once = loops + whole * equation.params["length"], once + alone
    outside = Cost(told.flops - once.flops, told.bytes - once.bytes, told.kernels)
    return Cost(*(max(each, 0.0) for each in outside)) + loops, told


def _told(program: Any) -> Cost:
    analysis = program.cost_analysis()
    return Cost(analysis.get("flops", 0.0), analysis.get("bytes accessed", 0.0), kernels(program.as_text()))


def kernels(text: str) -> int:
    """Instructions of a compiled program's outermost computation that are work of their own."""
    entry = text[text.index("\nENTRY") + 1 :].partition("\n}")[0]
    return sum(name not in FREE for name in INSTRUCTION.findall(entry))


def _loops(program: Jaxpr) -> Iterator[Any]:
    """The outermost loops of known length."""
    for equation in program.eqns:
        if equation.primitive.name == "scan":
            yield equation
            continue
        for inner in inside(equation):
            yield from _loops(inner)
