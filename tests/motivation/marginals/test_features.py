"""Random features: frozen by their seed, blind to brightness, and modelled as the Gaussian that they are."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from sadapt.errors import UserError
from sadapt.motivation.marginals import InputSpec
from sadapt.motivation.marginals.features import (
    FeatureSettings,
    GaussianFeatureSettings,
    drawn,
    features_of,
    on_features,
)

SHAPE = (12, 10, 3)
PLAY = np.random.default_rng(0).random((300, *SHAPE)).astype(np.float32)
SETTINGS = GaussianFeatureSettings(features=6)


def spec_of(play, shape=SHAPE):
    return InputSpec("world", shape, np.float32, 0, 1, sample=lambda: play)


def entropies(marginal, pictures):
    state, found = marginal.init(), []
    for picture in pictures:
        state = marginal.update(state, picture)
        found.append(float(marginal.entropy(state)))
    return np.array(found)


def test_the_same_seed_gives_the_same_features_and_another_one_others():
    looks = [features_of(spec_of(PLAY), FeatureSettings(6, seed), np)(PLAY[:5]) for seed in (3, 3, 4)]
    assert looks[0].tobytes() == looks[1].tobytes()
    assert not np.allclose(looks[0], looks[2], atol=0.1)


def test_filters_and_projection_are_orthonormal_and_filters_blind_to_a_constant():
    filters = drawn(spec_of(PLAY), SETTINGS)
    for matrix in (filters.weights, filters.projection):
        np.testing.assert_allclose(matrix.T @ matrix, np.eye(matrix.shape[1]), atol=1e-5)
    by_channel = filters.weights.reshape(filters.kernel**2, SHAPE[-1], -1)
    np.testing.assert_allclose(by_channel.sum(axis=0), 0, atol=1e-5)


def test_under_random_play_features_are_standard():
    found = features_of(spec_of(PLAY), SETTINGS, np)(PLAY)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(found.std(axis=0), 1, rtol=1e-3)


@given(st.floats(0.05, 3), st.floats(-1, 1))
def test_entropy_does_not_depend_on_brightness_and_contrast(contrast, brightness):
    changed = np.float32(contrast) * PLAY + np.float32(brightness)
    ours = entropies(on_features(spec_of(PLAY), SETTINGS, xp=np), PLAY[:20])
    theirs = entropies(on_features(spec_of(changed), SETTINGS, xp=np), changed[:20])
    np.testing.assert_allclose(ours, theirs, rtol=1e-2, atol=1e-2)


def test_a_brighter_picture_is_no_surprise():
    """A constant added within the episode, which random play has never shown."""
    marginal = on_features(spec_of(PLAY), SETTINGS, xp=np)
    state = marginal.update(marginal.update(marginal.init(), PLAY[0]), PLAY[1])
    seen, brighter = (float(marginal.log_prob(state, PLAY[2] + np.float32(shift))) for shift in (0, 0.5))
    assert seen == pytest.approx(brighter, rel=1e-2)


@pytest.mark.parametrize("xp", [np, jnp])
def test_features_are_modelled_by_a_gaussian(xp):
    marginal = on_features(spec_of(PLAY), SETTINGS, xp=xp)
    state = marginal.init()
    for picture in PLAY[:30]:
        state = marginal.update(state, xp.asarray(picture))
    seen = features_of(spec_of(PLAY), SETTINGS, np)(PLAY[:31]).astype(np.float64)
    exact = scipy.stats.norm(seen[:30].mean(axis=0), np.maximum(seen[:30].std(axis=0), SETTINGS.feature_std_floor))
    assert float(marginal.entropy(state)) == pytest.approx(exact.entropy().sum(), rel=1e-4)
    assert float(marginal.log_prob(state, xp.asarray(PLAY[30]))) == pytest.approx(
        exact.logpdf(seen[30]).sum(), rel=1e-3
    )


def test_a_world_that_never_changes_has_features_too():
    still = np.ones((50, *SHAPE), np.float32)
    marginal = on_features(spec_of(still), SETTINGS, xp=np)
    assert np.isfinite(entropies(marginal, still[:3])).all()
    assert entropies(marginal, still[:3])[-1] == pytest.approx(marginal.least_entropy, rel=1e-5)


@pytest.mark.parametrize(("shape", "kernel"), [((84, 84, 1), 8), ((10, 10, 4), 3), ((2, 5, 3), 2), ((21, 21), 3)])
def test_pictures_of_any_size(shape, kernel):
    play = np.random.default_rng(0).random((40, *shape)).astype(np.float32)
    assert drawn(spec_of(play, shape), SETTINGS).kernel == kernel
    assert features_of(spec_of(play, shape), SETTINGS, np)(play[:2]).shape == (2, 6)


@pytest.mark.parametrize(
    ("spec", "settings", "message"),
    [
        (spec_of(PLAY, (4,)), {}, "height x width x channels.*--marginal gaussian"),
        (spec_of(PLAY, (3, 3, 1)), {"features": 9}, "--features must be at most 8"),
        (InputSpec("world", SHAPE, np.float32, 0, 1), {}, "was not played"),
    ],
)
def test_refusals(spec, settings, message):
    with pytest.raises(UserError, match=message):
        on_features(spec, GaussianFeatureSettings(**settings), xp=np)
