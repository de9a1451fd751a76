"""The products of a program are found wherever they stand, and nothing else is."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from sadapt.benchmarks.where import Split, products


def inner(weights, x):
    return jnp.tanh(x @ weights)


def looped(weights, x):
    return jax.lax.scan(lambda y, _: (inner(weights, y), None), x, None, length=5)[0]


def conditional(weights, x):
    return jax.lax.cond(jnp.sum(x) > 0, lambda: inner(weights, x), lambda: inner(weights, inner(weights, x)))


def multiplications(program, times=1):
    """Multiplications in all products of a program, loops counted as often as they run."""
    total = 0
    for equation in program.eqns:
        if equation.primitive.name == "dot_general":
            ((contracted, _), _) = equation.params["dimension_numbers"]
            inner_size = equation.invars[0].aval.shape[contracted[0]]
            total += times * equation.outvars[0].aval.size * inner_size
        for value in equation.params.values():
            repeated = equation.params["length"] if equation.primitive.name == "scan" else 1
            if hasattr(value, "jaxpr") or hasattr(value, "eqns"):
                total += multiplications(getattr(value, "jaxpr", value), times * repeated)
    return total


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (inner, 7 * 3 * 3),
        (jax.jit(inner), 7 * 3 * 3),
        (looped, 5 * 7 * 3 * 3),
        (jax.checkpoint(looped), 5 * 7 * 3 * 3),
        (conditional, 7 * 3 * 3),
        (lambda w, x: x + 1, 0),
        (jax.grad(lambda w, x: jnp.sum(inner(w, x))), 2 * 7 * 3 * 3),
        (jax.vmap(inner, in_axes=(None, 0)), 7 * 3 * 3),
    ],
    ids=["plain", "jit", "scan", "checkpoint", "cond", "none", "grad", "vmap"],
)
def test_the_products_are_those_of_the_program(function, expected):
    weights, x = jnp.ones((3, 3)), jnp.ones((7, 3))
    alone, operands = products(lambda x: function(weights, x), x, times=2)
    assert multiplications(jax.make_jaxpr(alone)(operands).jaxpr) == 2 * expected


def test_the_compiler_leaves_every_product_in_its_loop():
    weights = jnp.ones((64, 64))
    alone, operands = products(lambda x: looped(weights, x), weights, times=2)
    program = jax.jit(alone).lower(operands).compile().as_text()
    entry = program[program.index("ENTRY") :]
    assert "dot" in program.removesuffix(entry)
    assert "dot(" not in entry
    assert "while" in entry


def test_the_parts_are_compared_with_the_whole():
    parts = Split(whole=10, acting=2, acting_products=1, worlds=1, motivation=1, updating=5, updating_products=3,
                  optimiser=1)  # fmt: skip
    assert parts.together == pytest.approx(0.9)
