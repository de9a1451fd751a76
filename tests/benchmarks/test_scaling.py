"""Costs count as often as loops run, rooflines and slopes are those of the textbook, maps are as large as said."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from sadapt.benchmarks import arithmetic, growth, roofline
from sadapt.benchmarks.arithmetic import Cost
from sadapt.benchmarks.jaxprs import carried
from sadapt.benchmarks.roofline import Device, steps_per_second
from sadapt.envs.layout import parse
from sadapt.training.program import build

SIZE = 64
PRODUCT = 2 * SIZE**3
"""Operations of a product of two square matrices."""


@pytest.fixture
def standard_promotion():
    """As in the tests of training: optax does not hold under strict rules."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def product(x):
    return jnp.tanh(x) @ x


def looped(x, times=5):
    return jax.lax.scan(lambda y, _: (product(y), None), x, None, length=times)[0]


def nested(x):
    return jax.lax.scan(lambda y, _: (looped(y, 3), None), x, None, length=4)[0]


@pytest.mark.parametrize(
    ("function", "products"),
    [(product, 1), (looped, 5), (nested, 12), (jax.jit(looped), 5), (lambda x: looped(x) + product(x), 6)],
    ids=["none", "one", "nested", "jit", "beside"],
)
def test_a_loop_costs_as_often_as_it_runs(function, products):
    found = arithmetic.cost(function, jax.ShapeDtypeStruct((SIZE, SIZE), jnp.float32))
    assert found.flops == pytest.approx(products * PRODUCT, rel=0.05)
    matrix = 4 * SIZE**2
    assert 3 * products * matrix <= found.bytes <= 9 * products * matrix
    assert products <= found.kernels <= 5 * products + 5


def test_a_loops_state_is_told_from_its_constants_and_slices():
    def loop(constant, first, second, rows):
        def body(state, row):
            return (state[0] + constant * row, state[1] * row), row.sum()

        return jax.lax.scan(body, (first, second), rows)

    vector = jnp.ones(4)
    (equation,) = jax.make_jaxpr(loop)(jnp.float32(2), vector, vector, jnp.ones((4, 4))).eqns
    assert carried(equation) == (1, 2)


def test_memory_in_use_is_what_goes_in_and_what_is_needed_in_between():
    large = jax.ShapeDtypeStruct((1_000, 1_000), jnp.float32)
    assert 4e6 <= arithmetic.bytes_in_use(lambda x: x + 1, large) < 4.1e6
    assert 8e6 <= arithmetic.bytes_in_use(lambda x: x @ x, large) < 13e6


@pytest.mark.parametrize(
    ("cost", "seconds"),
    [(Cost(100, 1, 0), 1.0), (Cost(1, 20, 0), 2.0), (Cost(100, 20, 0), 2.0), (Cost(100, 1, 10), 6.0)],
    ids=["arithmetic", "traffic", "the larger", "launches come on top"],
)
def test_the_roofline_is_the_larger_of_two_times_and_a_price_for_each_kernel(cost, seconds):
    device = Device("toy", flops=100.0, bandwidth=10.0, launch=0.5)
    assert steps_per_second(cost, device) == pytest.approx(1 / seconds)


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
def test_training_costs_at_least_the_products_of_its_network():
    """Acting once, and learning twice an epoch: forward, and backward with as much again for weights and inputs."""
    wanted = roofline.settings_of(
        "fast", "tetris", num_envs=16, num_steps=8, minibatch_size=32, hidden=64, network="plain"
    )
    prog = build(wanted)
    params = jax.eval_shape(prog.parts.task.network(prog.env.num_actions).init, jax.random.key(0))
    dense = sum(2 * leaf.size for leaf in jax.tree.leaves(params) if len(leaf.shape) == 2)
    found = roofline.cost_of_a_step(wanted)
    epochs = wanted.learner.settings.update_epochs
    assert found.flops > dense * (1 + 2 * epochs)


@pytest.mark.parametrize("slope", [-1.0, 0.0, 1.0])
def test_the_slope_is_that_of_the_time_of_a_step(slope):
    sizes = [10, 100, 1_000]
    rates = [5e3 / size**slope for size in sizes]
    assert growth.fitted_slope(sizes, rates) == pytest.approx(slope)


@pytest.mark.parametrize("kind", ["maze", "butterflies"])
@pytest.mark.parametrize("side", [growth.SIDES[0], growth.SIDES[-1]])
def test_maps_grow_and_can_be_played(kind, side):
    layout = parse(growth.square_map(kind, side), "a square", kind)
    assert layout.wall.shape == (side, side)
    assert (layout.butterflies.mean() == pytest.approx(0.1, abs=0.02)) == (kind == "butterflies")


def test_every_axis_is_measured_with_its_bound():
    found = {case.axis: case.bound for case in growth.cases([0, 1])}
    assert found == {"worlds": 0, "cells": 1, "replay": 0, "seeds": 0, "cores": -1}
    assert "cores" not in {case.axis for case in growth.cases([3])}


def test_a_row_says_whether_the_bound_is_kept(monkeypatch):
    slow = growth.Case("worlds", "toy", (1, 10, 100), 0.0, lambda sizes, seconds: [1e3 / size for size in sizes])
    good = slow._replace(rates=lambda sizes, seconds: [1e3 * size for size in sizes])
    impossible = good._replace(bound=-0.5, least=-0.5)
    monkeypatch.setattr(growth, "cases", lambda cores: [slow, good, impossible])
    assert [row["keeps"] for row in growth.rows([0], seconds=0.1)] == [False, True, False]


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
def test_seeds_at_once_make_as_many_steps_more():
    settings = growth._fast("tetris", num_envs=16, num_steps=8, minibatch_size=32, hidden=16, network="plain")
    (_, one), (call, three) = growth.training(settings), growth.training(settings, 3)
    assert (one, three) == (16 * 8, 3 * 16 * 8)
    call()
