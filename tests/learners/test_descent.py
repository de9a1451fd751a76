"""Gradient descent on a rollout: each sample once an epoch, and arms that leave each other alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sadapt.learners.descent import Descent, begin, descend
from sadapt.learners.networks import Network, per_arm
from sadapt.learners.networks.per_arm import OnArm


class Lessons(NamedTuple):
    views: Any
    number: jax.Array
    weight: jax.Array


TALLY = Network(
    init=lambda key: {"seen": jnp.zeros(12), "sum": jnp.zeros(())},
    view=lambda seen: jnp.zeros(()),
    apply=lambda params, views: views[:, None],
)
"""A network whose parameters count the samples that they were taught by, where a step goes straight down."""


def cost(network, params, batch):
    """Its gradient is minus the weight of every sample in the minibatch, at that sample's place."""
    taught = -jnp.sum(batch.weight * params["seen"][batch.number])
    return taught, {"loss": jnp.sum(batch.weight), "size": jnp.float32(len(batch.number))}


def taught(arms, *, size, epochs=1, weight=None):
    network = per_arm(TALLY)
    how = Descent(network, optax.sgd(1.0), len(arms), size, epochs)
    params = network.init(jax.random.key(0))
    weight = np.ones(len(arms)) if weight is None else weight
    views = OnArm(jnp.zeros(len(arms)), jnp.asarray(arms, jnp.float32))
    lessons = Lessons(views, jnp.arange(len(arms)), jnp.asarray(weight, jnp.float32))
    return descend(how, jax.random.key(1), params, begin(how, params), lessons, cost)


@given(st.lists(st.integers(0, 1), min_size=12, max_size=12), st.sampled_from([2, 3, 4, 6, 12]), st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_every_sample_teaches_its_own_arm_once_an_epoch(arms, size, epochs):
    params, _, report = taught(arms, size=size, epochs=epochs)
    for arm in (0, 1):
        np.testing.assert_array_equal(params[f"arm_{arm}"]["seen"], epochs * (np.array(arms) == arm))
    minibatches = sum(-(-arms.count(arm) // size) for arm in (0, 1))
    np.testing.assert_allclose(report["loss"], 12 / minibatches, rtol=1e-6)
    np.testing.assert_allclose(report["size"], size, rtol=1e-6)


def test_what_weighs_nothing_teaches_nothing():
    weight = np.array([1.0, 0.0] * 6)
    params, _, _ = taught([0] * 7 + [1] * 5, size=4, weight=weight)
    np.testing.assert_array_equal(params["arm_0"]["seen"] + params["arm_1"]["seen"], weight)


@pytest.mark.parametrize("arm", [0, 1])
def test_an_arm_without_samples_keeps_its_optimiser_as_it_was(arm):
    """Adam's momentum would move it on without any lesson."""
    network = per_arm(TALLY)
    how = Descent(network, optax.adam(1.0), 12, 4, 1)
    params = network.init(jax.random.key(0))

    def teach(params, optimiser, on):
        views = OnArm(jnp.zeros(12), jnp.full(12, on, jnp.float32))
        return descend(how, jax.random.key(1), params, optimiser, Lessons(views, jnp.arange(12), jnp.ones(12)), cost)

    once, moments, _ = teach(params, begin(how, params), float(arm))
    twice, later, _ = teach(once, moments, float(1 - arm))
    name, other = f"arm_{arm}", f"arm_{1 - arm}"
    for before, after in zip(jax.tree.leaves((once, moments)), jax.tree.leaves((twice, later)), strict=True):
        assert before.shape == after.shape
    jax.tree.map(np.testing.assert_array_equal, (once[name], moments[name]), (twice[name], later[name]))
    assert (twice[other]["seen"] != once[other]["seen"]).all()


def test_arms_apart_learn_as_networks_alone():
    """The same samples in the same minibatches give the arm's network what they give a network by itself."""
    rng = np.random.default_rng(0)
    linear = Network(
        init=lambda key: {"w": jnp.zeros((3, 1))},
        view=lambda seen: seen,
        apply=lambda params, views: views @ params["w"],
    )

    def squared(network, params, batch):
        y = network.apply(params, batch.views)[:, 0]
        value = jnp.mean(batch.weight * jnp.square(y - batch.number))
        return value, {"loss": value}

    x, y = (jnp.asarray(rng.normal(size=size), jnp.float32) for size in ((8, 3), (8,)))
    alone = Descent(linear, optax.adam(0.1), 8, 8, 2)
    params = linear.init(jax.random.key(0))
    lessons = Lessons(x, y, jnp.ones(8))
    by_itself = descend(alone, jax.random.key(2), params, begin(alone, params), lessons, squared)
    both = per_arm(linear)
    apart = alone._replace(network=both)
    params = both.init(jax.random.key(0))
    lessons = lessons._replace(views=OnArm(x, jnp.ones(8)))
    found = descend(apart, jax.random.key(2), params, begin(apart, params), lessons, squared)
    np.testing.assert_allclose(found[0]["arm_1"]["w"], by_itself[0]["w"], rtol=1e-5)
    np.testing.assert_array_equal(found[0]["arm_0"]["w"], params["arm_0"]["w"])
