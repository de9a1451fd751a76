"""A network per arm is that arm's network, and no other's."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.learners.networks import per_arm, plain
from sadapt.learners.table import PlainSettings
from tests.learners.networks.built import random_params, scene, spec_of

ALONE = plain(spec_of((4,), (8,)), PlainSettings(hidden=16))


def test_a_network_per_arm_is_that_arms_network():
    both, seen = per_arm(ALONE), scene(3, (4,), (8,))
    params = random_params(both)
    y = both.apply(params, jax.vmap(both.view)(seen))
    views = jax.vmap(ALONE.view)(seen)
    for arm, name in enumerate(("arm_0", "arm_1")):
        rows = seen.arm == arm
        assert rows.any()
        np.testing.assert_allclose(y[rows], ALONE.apply(params[name], views)[rows], rtol=1e-6)


def test_what_one_arm_learns_leaves_the_other_as_it_was():
    network, seen = per_arm(ALONE), scene(3, (4,), (8,))
    views = jax.vmap(network.view)(seen._replace(arm=np.ones(4, np.float32)))
    gradient = jax.grad(lambda params: jnp.sum(network.apply(params, views)))(random_params(network))
    assert all(not leaf.any() for leaf in jax.tree.leaves(gradient["arm_0"]))
    assert any(leaf.any() for leaf in jax.tree.leaves(gradient["arm_1"]))


@pytest.mark.parametrize("first", [0, 1, 15, 16, 17, 31, 32])
def test_worlds_in_any_numbers_on_their_arms_get_what_their_arms_network_says(first):
    """Of 32 worlds, whichever share plays an arm, and in whatever order."""
    network = per_arm(ALONE)
    arm = np.random.default_rng(first).permutation(np.arange(32) >= first).astype(np.float32)
    seen = scene(4, (4,), (8,), batch=32)._replace(arm=arm)
    params, views = random_params(network), jax.vmap(network.view)(seen)
    alone = [ALONE.apply(params[f"arm_{index}"], views.view) for index in (0, 1)]
    np.testing.assert_allclose(network.apply(params, views), np.where(arm[:, None] == 0, *alone), atol=1e-5)


def test_an_arm_that_nobody_plays_is_not_asked():
    """Its network may even be broken."""
    network, seen = per_arm(ALONE), scene(3, (4,), (8,))
    params = random_params(network)
    views = jax.vmap(network.view)(seen._replace(arm=np.ones(4, np.float32)))
    whole = network.apply(params, views)
    asked = []

    def spy(part, x):
        jax.debug.callback(lambda: asked.append(1))
        return ALONE.apply(part, x)

    np.testing.assert_array_equal(per_arm(ALONE._replace(apply=spy)).apply(params, views), whole)
    jax.effects_barrier()
    assert len(asked) == 1
