"""What every network must do."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.motivation.augmented import Augmented
from tests.learners.networks.built import NETWORKS, OUTPUTS, build, count, forward


@pytest.fixture(params=NETWORKS)
def built(request):
    return build(request.param)


def one(seen, example):
    return Augmented(*(x[example : example + 1] for x in seen))


def test_outputs_are_finite_and_as_many_as_asked_for(built):
    y = built.run(built.seen)
    assert y.shape == (4, OUTPUTS)
    assert y.dtype == jnp.float32
    assert np.isfinite(y).all()


def test_a_batch_is_its_examples_one_by_one(built):
    alone = [built.run(one(built.seen, example)) for example in range(4)]
    np.testing.assert_allclose(built.run(built.seen), np.concatenate(alone), atol=1e-4)


def test_every_part_of_the_augmented_observation_changes_the_outputs(built):
    seen, y = built.seen, built.run(built.seen)
    flipped = seen.obs.copy()
    flipped[:, :2] = 1 - flipped[:, :2]
    changed = {
        "obs": seen._replace(obs=flipped),
        "theta": seen._replace(theta=1 - seen.theta),
        "time": seen._replace(time=1 - seen.time),
        "arm": seen._replace(arm=1 - seen.arm),
    }
    for part, other in changed.items():
        assert (np.abs(built.run(other) - y).max(axis=1) > 1e-4).all(), part


def test_every_parameter_gets_a_finite_gradient(built):
    def loss(params):
        return jnp.mean(jnp.square(forward(built.network, params, built.seen) - 1.0))

    for path, leaf in jax.tree_util.tree_leaves_with_path(jax.jit(jax.grad(loss))(built.params)):
        assert np.isfinite(leaf).all(), path
        assert np.abs(leaf).max() > 0, path


@pytest.mark.parametrize("name", ["paper mlp", "paper conv-small", "window", "plain of a vector", "plain_conv"])
def test_without_theta_a_network_sees_s_only(name):
    blind = build(name, theta=False)
    seen = blind.seen
    other = seen._replace(theta=1 - seen.theta, time=1 - seen.time, arm=1 - seen.arm)
    np.testing.assert_array_equal(blind.run(seen), blind.run(other))
    assert not np.allclose(blind.run(seen), blind.run(seen._replace(obs=seen.obs[::-1].copy())))
    assert count(blind.network) < count(build(name).network)


@pytest.mark.parametrize("name", ["paper mlp", "window", "plain"])
def test_init_gives_float32_arrays_by_name_and_outputs_of_the_order_of_one(name):
    def leaves(tree):
        for key, value in tree.items():
            assert isinstance(key, str)
            yield from leaves(value) if isinstance(value, dict) else [value]

    built = build(name)
    init = jax.jit(built.network.init)
    first, same, other = (init(jax.random.key(seed)) for seed in (0, 0, 1))
    assert all(isinstance(leaf, jax.Array) and leaf.dtype == jnp.float32 and leaf.size for leaf in leaves(first))
    assert jax.tree.all(jax.tree.map(jnp.array_equal, first, same))
    assert not jax.tree.all(jax.tree.map(jnp.array_equal, first, other))
    assert 1e-3 < float(jnp.max(jnp.abs(forward(built.network, first, built.seen)))) < 5
