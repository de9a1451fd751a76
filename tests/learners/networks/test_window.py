"""The window network: views against padded slices, and what its parts add."""

from __future__ import annotations

import functools
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.errors import UserError
from sadapt.learners.networks import per_arm, window
from sadapt.learners.table import WindowSettings
from sadapt.motivation.augmented import Augmented
from tests.learners.networks.built import AGENT, count, linear, on_device, random_params, scene, spec_of

LARGE = spec_of((32, 32, 3), (32, 32, 2), agent_channel=AGENT)


def test_the_window_network_has_the_parameters_counted_by_hand():
    beside = 17 * (3 + 2) + 2
    conv = linear(9 * 6, 16) + 2 * 25 * 16
    trunk = conv + linear(25 * 16 + beside, 128) + 2 * 128
    both = trunk + linear(128, 5) + linear(beside, 64) + linear(64, 1)
    assert count(window(LARGE)) == both
    assert count(per_arm(window(LARGE))) == 2 * both


@functools.cache
def window_view(size, radius):
    return jax.jit(window(spec_of((*size, 3), (*size, 2), agent_channel=AGENT), WindowSettings(radius=radius)).view)


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
    network = window(spec_of(obs_shape, theta_shape, agent_channel=AGENT))
    beside = network.view(on_device(seen)).beside
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
    there = view(Augmented(*moved, np.float32(0.5), np.float32(1)))  # type: ignore[call-arg]
    np.testing.assert_array_equal(here.cells, there.cells)


def test_far_cells_reach_the_window_network_through_the_summary_only():
    network = window(spec_of((32, 32, 3), agent_channel=AGENT))
    obs = np.zeros((32, 32, 3), np.uint8)
    obs[3, 3, AGENT] = 1
    far = obs.copy()
    far[30, 30, 2] = 1
    near, away = (network.view(on_device(Augmented(x, None, None, None))) for x in (obs, far))
    np.testing.assert_array_equal(near.cells, away.cells)
    assert np.flatnonzero(np.asarray(near.beside) != np.asarray(away.beside)).tolist() == [15 * 3 + 2, 16 * 3 + 2]


def test_the_outlook_adds_what_the_summary_is_worth_to_every_output():
    network, seen = window(LARGE), on_device(scene(5, (32, 32, 3), (32, 32, 2)))
    params, views = random_params(network), jax.vmap(network.view)(seen)
    blind = {**params, "outlook": jax.tree.map(jnp.zeros_like, params["outlook"])}
    first, second = (jax.tree.map(lambda x: np.asarray(x, np.float64), params["outlook"][f"dense_{i}"]) for i in (0, 1))
    hidden = np.maximum(8 * np.asarray(views.beside, np.float64) @ first["weight"].T + first["bias"], 0)
    worth = hidden @ second["weight"].T + second["bias"]
    added = network.apply(params, views) - network.apply(blind, views)
    np.testing.assert_allclose(added, np.broadcast_to(worth, added.shape), atol=1e-4)
    assert np.ptp(worth) > 0.1


@pytest.mark.parametrize(
    ("spec", "radius", "words"),
    [
        (spec_of((4,), agent_channel=0), 5, r"height x width x channels; got shape \(4,\)"),
        (spec_of((10, 10, 3), (10, 10, 3), agent_channel=1), 0, "--radius must be at least 1; got 0"),
        (spec_of((10, 10, 3)), 5, "needs an agent to look around; 'a world' has none: use plain"),
    ],
)
def test_what_cannot_be_built_is_refused(spec, radius, words):
    with pytest.raises(UserError, match=words):
        window(spec, WindowSettings(radius=radius))


def test_a_theta_with_other_cells_than_s_is_seen_whole_beside_the_summary():
    network = window(spec_of((10, 10, 3), (6,), agent_channel=1))
    seen = on_device(scene(3, (10, 10, 3), (6,)))
    views = jax.vmap(network.view)(seen)
    alone = jax.vmap(window(spec_of((10, 10, 3), agent_channel=1)).view)(seen)
    np.testing.assert_array_equal(views.cells, alone.cells)
    np.testing.assert_array_equal(views.beside[:, -8:-2], seen.theta)
    np.testing.assert_array_equal(views.beside[:, -2:], jnp.stack([seen.time, seen.arm], axis=1))
    np.testing.assert_array_equal(views.beside[:, :-8], alone.beside)
    assert network.apply(random_params(network), views).shape[0] == len(seen.theta)
