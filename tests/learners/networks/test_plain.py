"""Plain networks: sizes counted by hand, and which of the two forms is picked."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.learners.networks import plain
from tests.learners.networks.built import count, linear, random_params, spec_of


def test_plain_networks_have_the_parameters_counted_by_hand():
    dense = linear(80 + 40 + 2, 128) + linear(128, 128) + 4 * 128
    assert count(plain(spec_of((10, 4, 2), (10, 4, 1), 12))) == dense + linear(128, 12)
    whole = linear(9 * 8, 16) + 2 * 1024 + linear(1024 + 2, 128) + 2 * 128
    assert count(plain(spec_of((10, 10, 4), (10, 10, 4), 6))) == whole + linear(128, 6)


@pytest.mark.parametrize(
    ("obs_shape", "theta_shape", "convolves"),
    [
        ((10, 10, 4), (10, 10, 4), True),
        ((25, 4, 1), None, True),
        ((11, 9, 4), (11, 9, 4), False),
        ((84, 84, 4), (21, 21, 2), False),
        ((10, 10, 4), (64,), True),
        ((1000,), None, False),
    ],
)
def test_a_hundred_cells_on_one_grid_are_convolved(obs_shape, theta_shape, convolves):
    network = plain(spec_of(obs_shape, theta_shape))
    assert ("conv" in jax.eval_shape(network.init, jax.random.key(0))) == convolves


def test_layer_norm_makes_the_plain_outputs_independent_of_the_inputs_scale():
    network = plain(spec_of((6,), None, 3))
    shapes = jax.eval_shape(network.init, jax.random.key(0))
    params = random_params(network)
    params["dense_0"]["linear"]["bias"] = jnp.zeros(shapes["dense_0"]["linear"]["bias"].shape)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(4, 6)), jnp.float32)
    np.testing.assert_allclose(network.apply(params, x), network.apply(params, 10 * x), rtol=1e-3, atol=1e-3)
