"""Networks: sizes counted by hand, views against padded slices, and what every network must do."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.errors import UserError
from sadapt.learners.networks import Network, paper, paper_kind, per_arm, plain, plain_conv, window
from sadapt.motivation.augmented import Augmented

AGENT = 1
ACTIONS = 5
NETWORKS = {
    "paper mlp": (paper, (10, 4, 2), (10, 4, 1), {}),
    "paper conv-small": (paper, (10, 10, 3), (10, 10, 3), {}),
    "paper conv-large": (paper, (17, 16, 3), (17, 16, 2), {"kind": "conv-large"}),
    "paper atari": (paper, (36, 36, 1), (9, 9, 2), {"kind": "atari"}),
    "window": (window, (10, 12, 3), (10, 12, 2), {"agent_channel": AGENT}),
    "window of stride 1": (window, (10, 12, 3), (10, 12, 2), {"agent_channel": AGENT, "stride": 1}),
    "plain": (plain, (10, 4, 2), (10, 4, 1), {}),
    "plain of a vector": (plain, (4,), (8,), {"hidden": (16,)}),
    "plain_conv": (plain_conv, (10, 10, 4), (10, 10, 4), {}),
    "plain_conv of four filters": (plain_conv, (5, 7, 4), (5, 7, 8), {"filters": 4}),
}


def scene(seed, obs_shape, theta_shape, batch=4):
    """Random maps with one agent each."""
    rng = np.random.default_rng(seed)
    obs = rng.integers(0, 2, size=(batch, *obs_shape)).astype(np.uint8)
    if len(obs_shape) == 3 and obs_shape[-1] > AGENT:
        obs[..., AGENT] = 0
        rows, columns = (rng.integers(size, size=batch) for size in obs_shape[:2])
        obs[np.arange(batch), rows, columns, AGENT] = 1
    theta, time = rng.random((batch, *theta_shape)), rng.random(batch)
    return Augmented(
        obs, theta.astype(np.float32), time.astype(np.float32), rng.integers(0, 2, batch).astype(np.float32)
    )


def random_params(network, seed=0):
    """Parameters of the right shapes, none of them at a value that hides it, without compiling `init`."""
    rng = np.random.default_rng(seed)

    def draw(leaf):
        spread = 1 / math.sqrt(math.prod(leaf.shape[:-1])) if leaf.ndim > 1 else 0.3
        return jnp.asarray(rng.normal(0.0 if leaf.ndim > 1 else 0.5, spread, leaf.shape), jnp.float32)

    return jax.tree.map(draw, jax.eval_shape(network.init, jax.random.key(0)))


def forward(network, params, seen):
    return network.apply(params, jax.vmap(network.view)(seen))


def count(network):
    return sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(network.init, jax.random.key(0))))


class Built(NamedTuple):
    network: Network
    params: dict
    seen: Augmented
    run: Callable[[Augmented], jax.Array]


@functools.cache
def build(name, theta=True):
    factory, obs_shape, theta_shape, options = NETWORKS[name]
    network = factory(obs_shape, theta_shape if theta else None, ACTIONS, **options)
    params = random_params(network)
    return Built(
        network, params, scene(0, obs_shape, theta_shape), jax.jit(lambda seen: forward(network, params, seen))
    )


@pytest.fixture(params=NETWORKS)
def built(request):
    return build(request.param)


def one(seen, example):
    return Augmented(*(x[example : example + 1] for x in seen))


def test_values_are_finite_and_one_per_action(built):
    q = built.run(built.seen)
    assert q.shape == (4, ACTIONS)
    assert q.dtype == jnp.float32
    assert np.isfinite(q).all()


def test_a_batch_is_its_examples_one_by_one(built):
    alone = [built.run(one(built.seen, example)) for example in range(4)]
    np.testing.assert_allclose(built.run(built.seen), np.concatenate(alone), atol=1e-4)


def test_every_part_of_the_augmented_observation_changes_the_values(built):
    seen, q = built.seen, built.run(built.seen)
    flipped = seen.obs.copy()
    flipped[:, :2] = 1 - flipped[:, :2]
    changed = {
        "obs": seen._replace(obs=flipped),
        "theta": seen._replace(theta=1 - seen.theta),
        "time": seen._replace(time=1 - seen.time),
        "arm": seen._replace(arm=1 - seen.arm),
    }
    for part, other in changed.items():
        assert (np.abs(built.run(other) - q).max(axis=1) > 1e-4).all(), part


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
def test_init_gives_float32_arrays_by_name_and_values_of_the_order_of_one(name):
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


def linear(inputs, outputs):
    return inputs * outputs + outputs


@pytest.mark.parametrize(
    ("obs_shape", "theta_shape", "actions", "size"),
    [
        (
            (10, 4, 2),
            (10, 4, 1),
            12,
            linear(80, 120) + linear(120, 84) + linear(42, 120) + linear(120, 84) + linear(168, 12),
        ),
        ((10, 4, 2), None, 12, linear(80, 120) + linear(120, 84) + linear(84, 12)),
        ((10, 10, 3), (10, 10, 3), 5, 1_052_837),
        ((10, 10, 3), None, 5, linear(27, 16) + linear(1024, 512) + linear(512, 5)),
        (
            (32, 32, 3),
            (32, 32, 2),
            5,
            (linear(27, 16) + linear(36, 16))
            + 2 * (linear(144, 32) + linear(288, 32))
            + linear(2 * 4 * 4 * 32, 512)
            + linear(512, 5),
        ),
        (
            (84, 84, 4),
            (84, 84, 2),
            3,
            2 * (linear(256, 32) + linear(512, 64) + linear(576, 64)) + linear(2 * 3136, 512) + linear(512, 3),
        ),
        (
            (84, 84, 4),
            (21, 21, 2),
            3,
            (linear(256, 32) + linear(512, 64) + linear(576, 64))
            + (linear(36, 32) + linear(288, 64) + linear(576, 64))
            + linear(3136 + 3 * 3 * 64, 512)
            + linear(512, 3),
        ),
    ],
)
def test_paper_networks_have_the_parameters_counted_by_hand(obs_shape, theta_shape, actions, size):
    network = paper(obs_shape, theta_shape, actions, paper_kind(obs_shape))
    assert count(network) == size


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((4,), "mlp"),
        ((10, 4, 2), "mlp"),
        ((10, 10, 3), "conv-small"),
        ((10, 10, 10), "conv-small"),
        ((32, 32, 3), "conv-large"),
        ((84, 84, 4), "atari"),
        ((210, 160, 3), "atari"),
    ],
)
def test_paper_kind(shape, kind):
    assert paper_kind(shape) == kind


def test_the_window_and_plain_networks_have_the_parameters_counted_by_hand():
    beside = 17 * (3 + 2) + 2
    conv = linear(9 * 6, 16) + 2 * 25 * 16
    trunk = conv + linear(25 * 16 + beside, 128) + 2 * 128
    both = trunk + linear(128, 5) + linear(beside, 64) + linear(64, 1)
    assert count(window((32, 32, 3), (32, 32, 2), 5, 2)) == both
    assert count(per_arm(window((32, 32, 3), (32, 32, 2), 5, 2))) == 2 * both
    dense = linear(80 + 40 + 2, 128) + linear(128, 128) + 4 * 128
    assert count(plain((10, 4, 2), (10, 4, 1), 12)) == dense + linear(128, 12)
    whole = linear(9 * 8, 16) + 2 * 1024 + linear(1024 + 2, 128) + 2 * 128
    assert count(plain_conv((10, 10, 4), (10, 10, 4), 6)) == whole + linear(128, 6)


def paper_oracle(params, seen):
    """The 10x10 network in NumPy, with a loop over cells."""

    def conv(layer, image):
        weight, bias = np.asarray(layer["weight"], np.float64), np.asarray(layer["bias"])
        cells = [np.tensordot(image[r : r + 3, c : c + 3], weight, axes=3) + bias for r in range(8) for c in range(8)]
        return np.maximum(np.concatenate(cells), 0)

    planes = np.ones((10, 10, 2)) * [seen.time, seen.arm]
    first = conv(params["obs"]["conv_0"], np.asarray(seen.obs, np.float64))
    second = conv(params["theta"]["conv_0"], np.concatenate([seen.theta, planes], axis=-1))
    hidden, q = params["head"]["dense_0"], params["head"]["dense_1"]
    x = np.maximum(np.asarray(hidden["weight"], np.float64) @ np.concatenate([first, second]) + hidden["bias"], 0)
    return np.asarray(q["weight"], np.float64) @ x + q["bias"]


def test_the_10x10_network_is_the_papers():
    built = build("paper conv-small")
    params = jax.tree.map(np.asarray, built.params)
    expected = [paper_oracle(params, Augmented(*example)) for example in zip(*built.seen, strict=True)]
    np.testing.assert_allclose(built.run(built.seen), np.stack(expected), atol=1e-4)


@pytest.mark.parametrize("factory", [paper, plain, plain_conv])
def test_scale_multiplies_s_and_nothing_else(factory):
    maps, images = (factory((6, 5, 2), (6, 5, 2), 5, scale=scale) for scale in (1.0, 1 / 255))
    params, seen = random_params(maps), scene(0, (6, 5, 2), (6, 5, 2))
    grey = seen._replace(obs=seen.obs * np.uint8(255))
    np.testing.assert_allclose(forward(maps, params, seen), forward(images, params, grey), atol=1e-4)


@functools.cache
def window_view(size, radius):
    return jax.jit(window((*size, 3), (*size, 2), 5, AGENT, radius=radius).view)


@given(
    seed=st.integers(0, 2**31),
    size=st.sampled_from([(3, 4), (10, 10), (7, 32)]),
    radius=st.sampled_from([1, 5]),
)
def test_the_window_is_a_slice_of_the_padded_map(seed, size, radius):
    obs_shape, theta_shape = (*size, 3), (*size, 2)
    seen = Augmented(*(x[0] for x in scene(seed, obs_shape, theta_shape, batch=1)))
    view = window_view(size, radius)(seen)

    row, column = np.argwhere(seen.obs[..., AGENT])[0]
    channels = np.concatenate([seen.obs, seen.theta, np.zeros((*size, 1))], axis=-1)
    padded = np.zeros((size[0] + 40, size[1] + 40, 6))
    padded[..., -1] = 1
    padded[20:-20, 20:-20] = channels
    around = padded[20 + row - radius : 21 + row + radius, 20 + column - radius : 21 + column + radius]
    np.testing.assert_allclose(view.cells, around, rtol=1e-6)
    assert view.cells.dtype == np.float32
    assert view.cells[radius, radius, AGENT] == 1


@pytest.mark.parametrize(("size", "parts"), [((32, 32), ([8] * 4, [8] * 4)), ((10, 3), ([3, 3, 2, 2], [1] * 3))])
def test_the_summary_averages_parts_of_the_map_and_all_of_it(size, parts):
    obs_shape, theta_shape = (*size, 3), (*size, 2)
    seen = Augmented(*(x[0] for x in scene(3, obs_shape, theta_shape, batch=1)))
    beside = window(obs_shape, theta_shape, 5, AGENT).view(seen).beside
    tops, lefts = (np.concatenate([[0], np.cumsum(along)]) for along in parts)
    expected = []
    for channels in (seen.obs, seen.theta):
        for top, bottom in pairwise(tops):
            for left, right in pairwise(lefts):
                expected.append(channels[top:bottom, left:right].mean(axis=(0, 1)))
        expected.append(channels.mean(axis=(0, 1)))
    np.testing.assert_allclose(beside, np.concatenate([*expected, [seen.time, seen.arm]]), atol=1e-6)


@given(seed=st.integers(0, 2**31), down=st.integers(-4, 4), right=st.integers(-4, 4))
def test_moving_world_and_agent_together_leaves_the_window_as_it_is(seed, down, right):
    shape, radius = (20, 20), 3
    rng = np.random.default_rng(seed)
    obs, theta = rng.integers(0, 2, (*shape, 3)).astype(np.uint8), rng.random((*shape, 2)).astype(np.float32)
    row, column = rng.integers(radius + 4, 20 - radius - 4, size=2)
    obs[..., AGENT] = 0
    obs[row, column, AGENT] = 1
    view = window_view(shape, radius)
    here = view(Augmented(obs, theta, np.float32(0.5), np.float32(1)))
    moved = [np.roll(x, (down, right), axis=(0, 1)) for x in (obs, theta)]
    there = view(Augmented(*moved, np.float32(0.5), np.float32(1)))
    np.testing.assert_array_equal(here.cells, there.cells)


def test_far_cells_reach_the_window_network_through_the_summary_only():
    network = window((32, 32, 3), None, 5, AGENT)
    obs = np.zeros((32, 32, 3), np.uint8)
    obs[3, 3, AGENT] = 1
    far = obs.copy()
    far[30, 30, 2] = 1
    near, away = (network.view(Augmented(x, None, None, None)) for x in (obs, far))
    np.testing.assert_array_equal(near.cells, away.cells)
    assert np.flatnonzero(np.asarray(near.beside) != np.asarray(away.beside)).tolist() == [15 * 3 + 2, 16 * 3 + 2]


def test_the_outlook_adds_what_the_summary_is_worth_to_every_action():
    network, seen = window((32, 32, 3), (32, 32, 2), 5, AGENT), scene(5, (32, 32, 3), (32, 32, 2))
    params, views = random_params(network), jax.vmap(network.view)(seen)
    blind = {**params, "outlook": jax.tree.map(np.zeros_like, params["outlook"])}
    first, second = (jax.tree.map(lambda x: np.asarray(x, np.float64), params["outlook"][f"dense_{i}"]) for i in (0, 1))
    hidden = np.maximum(8 * np.asarray(views.beside, np.float64) @ first["weight"].T + first["bias"], 0)
    worth = hidden @ second["weight"].T + second["bias"]
    added = network.apply(params, views) - network.apply(blind, views)
    np.testing.assert_allclose(added, np.broadcast_to(worth, added.shape), atol=1e-4)
    assert np.ptp(worth) > 0.1


def test_a_network_per_arm_is_that_arms_network():
    alone = plain((4,), (8,), ACTIONS, hidden=(16,))
    both, seen = per_arm(alone), scene(3, (4,), (8,))
    params = random_params(both)
    q = both.apply(params, jax.vmap(both.view)(seen))
    views = jax.vmap(alone.view)(seen)
    for arm, name in enumerate(("arm_0", "arm_1")):
        rows = seen.arm == arm
        assert rows.any()
        np.testing.assert_allclose(q[rows], alone.apply(params[name], views)[rows], rtol=1e-6)


def test_what_one_arm_learns_leaves_the_other_as_it_was():
    network, seen = per_arm(plain((4,), (8,), ACTIONS, hidden=(16,))), scene(3, (4,), (8,))
    views = jax.vmap(network.view)(seen._replace(arm=np.ones(4, np.float32)))
    gradient = jax.grad(lambda params: jnp.sum(network.apply(params, views)))(random_params(network))
    assert all(not leaf.any() for leaf in jax.tree.leaves(gradient["arm_0"]))
    assert any(leaf.any() for leaf in jax.tree.leaves(gradient["arm_1"]))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: paper((10, 10, 3), None, 5, "conv-smal"), "did you mean 'conv-small'"),
        (lambda: paper((4,), None, 5, "atari"), r"got shape \(4,\)"),
        (lambda: window((4,), None, 5, 0), "height x width x channels"),
        (lambda: window((10, 10, 3), (10, 10, 3), 5, 1, radius=0), "got radius 0"),
        (lambda: plain_conv((84, 84, 4), (21, 21, 2), 5), "on one grid"),
    ],
)
def test_what_cannot_be_built_is_refused(make, words):
    with pytest.raises(UserError, match=words):
        make()


def test_layer_norm_makes_the_plain_values_independent_of_the_inputs_scale():
    network = plain((6,), None, 3)
    shapes = jax.eval_shape(network.init, jax.random.key(0))
    params = random_params(network)
    params["dense_0"]["linear"]["bias"] = jnp.zeros(shapes["dense_0"]["linear"]["bias"].shape)
    x = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    np.testing.assert_allclose(network.apply(params, x), network.apply(params, 10 * x), rtol=1e-3, atol=1e-3)
