"""The categorical marginal: code lengths against scipy, one-hot against integers, bits against KT."""

from __future__ import annotations

import hypothesis.extra.numpy as hnp
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from sadapt.errors import UserError
from sadapt.motivation.marginals import InputSpec
from sadapt.motivation.marginals.categorical import CategoricalSettings, categorical
from sadapt.motivation.marginals.kt import kt
from tests.motivation.marginals.examples import BINARY, SHAPE, after

VALUES = 5
MAPS = hnp.arrays(np.uint8, st.tuples(st.integers(1, 12), st.just(2), st.just(3)), elements=st.integers(0, VALUES - 1))
INTEGERS = InputSpec("world", SHAPE, np.uint8, 0, VALUES - 1)
CHANNELS = InputSpec("world", (*SHAPE, VALUES), np.uint8, 0, 1, groups=(VALUES,))
BITS = InputSpec("world", SHAPE, np.uint8, 0, 1)


def one_hot(maps):
    return (maps[..., None] == np.arange(VALUES)).astype(np.uint8)


def surprises(marginal, seen):
    state, found = marginal.init(), []
    for obs in seen:
        found.append(-np.asarray(marginal.log_prob(state, obs)))
        state = marginal.update(state, obs)
    return np.array(found), state


@given(MAPS)
def test_surprises_add_up_to_the_code_length(seen):
    """The Dirichlet(1/2) code of every cell: -ln of Gamma(K/2) prod Gamma(n_k + 1/2) / Gamma(1/2)^K Gamma(n + K/2)."""
    found, _ = surprises(categorical(INTEGERS, xp=np), seen)
    counts = one_hot(seen).sum(axis=0, dtype=np.float64)
    cells = gammaln(VALUES / 2) - VALUES * gammaln(0.5) + gammaln(counts + 0.5).sum(axis=-1)
    length = -(cells - gammaln(len(seen) + VALUES / 2)).sum()
    assert found.sum(dtype=np.float64) == pytest.approx(length, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("xp", [np, jnp])
@given(seen=MAPS)
def test_on_one_hot_it_is_what_it_is_on_integers(xp, seen):
    numbers, channels = categorical(INTEGERS, xp=xp), categorical(CHANNELS, xp=xp)
    of_numbers, one = surprises(numbers, [xp.asarray(obs) for obs in seen])
    of_channels, other = surprises(channels, [xp.asarray(obs) for obs in one_hot(seen)])
    np.testing.assert_allclose(of_numbers, of_channels, rtol=1e-6)
    np.testing.assert_allclose(numbers.entropy(one), channels.entropy(other), rtol=1e-6)
    theta = np.asarray(numbers.features(one)).reshape(*SHAPE, VALUES)
    np.testing.assert_array_equal(theta, np.asarray(channels.features(other)))


@given(BINARY)
def test_with_two_categories_it_is_kt(seen):
    ours, state = surprises(categorical(BITS, xp=np), seen)
    theirs, other = surprises(kt(BITS, xp=np), seen)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert float(categorical(BITS, xp=np).entropy(state)) == pytest.approx(float(kt(BITS, xp=np).entropy(other)), 1e-5)


@given(MAPS, hnp.arrays(np.uint8, SHAPE, elements=st.integers(0, VALUES - 1)))
def test_theta_is_a_distribution_and_entropy_its_own(seen, new):
    marginal = categorical(INTEGERS, xp=np)
    state = after(marginal, seen)
    theta = marginal.features(state).reshape(*SHAPE, VALUES).astype(np.float64)
    np.testing.assert_allclose(theta.sum(axis=-1), 1, rtol=1e-5)
    expected = (one_hot(seen).sum(axis=0) + 0.5) / (len(seen) + VALUES / 2)
    np.testing.assert_allclose(theta, expected, rtol=1e-5)
    assert float(marginal.entropy(state)) == pytest.approx(-(theta * np.log(theta)).sum(), rel=1e-5)
    picked = np.take_along_axis(theta, new[..., None].astype(int), axis=-1)
    assert float(marginal.log_prob(state, new)) == pytest.approx(np.log(picked).sum(), rel=1e-5)


def test_scaled_pictures_are_the_whole_numbers_that_they_were():
    scaled = InputSpec("world", SHAPE, np.float32, 0, 1, unit=1 / 255)
    whole = InputSpec("world", SHAPE, np.uint8, 0, 255)
    seen = np.random.default_rng(0).integers(0, 11, (20, *SHAPE)).astype(np.uint8)
    wanted = CategoricalSettings(categories=11)
    of_whole, _ = surprises(categorical(whole, wanted, xp=np), seen)
    of_scaled, _ = surprises(categorical(scaled, wanted, xp=np), seen.astype(np.float32) / np.float32(255))
    np.testing.assert_array_equal(of_whole, of_scaled)


def test_groups_of_several_sizes_are_coded_one_by_one():
    """One of 2 and one of 3: before any observation ln 2 + ln 3 nats."""
    marginal = categorical(InputSpec("world", (5,), np.uint8, 0, 1, groups=(2, 3)), xp=np)
    first = np.array([0, 1, 0, 0, 1], np.uint8)
    assert float(marginal.log_prob(marginal.init(), first)) == pytest.approx(-np.log(2) - np.log(3))
    theta = marginal.features(marginal.update(marginal.init(), first))
    np.testing.assert_allclose(theta, [0.5 / 2, 1.5 / 2, 0.5 / 2.5, 0.5 / 2.5, 1.5 / 2.5], rtol=1e-6)


def test_a_cell_without_any_channel_is_a_category_if_asked_for():
    """Two channels and none: three categories; of two channels that are set the first counts."""
    marginal = categorical(BITS._replace(shape=(2,)), CategoricalSettings(one_hot="channels-or-none"), xp=np)
    assert marginal.feature_shape == (3,)
    state = after(marginal, np.array([[0, 0], [1, 1], [0, 1]], np.uint8))
    np.testing.assert_array_equal(state.counts, [1, 1, 1])
    assert float(marginal.entropy(state)) == pytest.approx(np.log(3))


@pytest.mark.parametrize(
    ("spec", "settings", "message"),
    [
        (InputSpec("world", (2,), np.float32, -1, 1), {}, "needs integers.*--marginal gaussian"),
        (InputSpec("world", (2,), np.int32, 0, 10_000), {}, "2 to 256 values.*--categories"),
        (InputSpec("world", (2,), np.uint8, 0, 5), {"one_hot": "channels"}, "channels are 0 or 1"),
    ],
)
def test_what_has_no_categories_is_refused(spec, settings, message):
    with pytest.raises(UserError, match=message):
        categorical(spec, CategoricalSettings(**settings), xp=np)
