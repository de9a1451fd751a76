"""A mixture is its parts: sums of theirs, and a single part to the byte."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.errors import UserError
from sadapt.motivation.building import build_marginal
from sadapt.motivation.marginals import InputSpec
from sadapt.motivation.marginals.parts import MixtureSettings
from sadapt.registry import Choice

MAP = InputSpec("map", (2, 2), np.uint8, 0, 4)
BAG = InputSpec("bag", (3,), np.float32, -1, 1)
CHOICE = InputSpec("choice", (4,), np.uint8, 0, 1, groups=(4,))
LAMPS = InputSpec("lamps", (2, 1), np.uint8, 0, 1)
ALL = (MAP, BAG, CHOICE, LAMPS)


def joined(parts):
    size = sum(int(np.prod(part.shape)) for part in parts)
    return InputSpec("world", (size,), np.float32, -1, 4, parts=tuple(parts))


def built(spec, name="auto", xp=np, **settings):
    given = MixtureSettings(**settings) if name == "mixture" else None
    return build_marginal(spec, Choice(name, given), {}, xp=xp)


def drawn(part, chance, count):
    if part.groups:
        return np.eye(part.shape[-1], dtype=part.dtype)[chance.integers(0, part.shape[-1], count)]
    if part.dtype == np.float32:
        return chance.uniform(-1, 1, (count, *part.shape)).astype(np.float32)
    return chance.integers(0, int(part.high) + 1, (count, *part.shape)).astype(part.dtype)


def told(marginal, seen):
    """Surprises, the entropy and theta after all of them."""
    state, surprises = marginal.init(), []
    for obs in seen:
        surprises.append(np.asarray(marginal.log_prob(state, obs)))
        state = marginal.update(state, obs)
    return np.array(surprises), np.asarray(marginal.entropy(state)), np.asarray(marginal.features(state))


def flat(parts):
    return np.concatenate([each.reshape(len(each), -1).astype(np.float32) for each in parts], axis=-1)


@given(st.lists(st.sampled_from(ALL), min_size=2, max_size=4, unique_by=lambda part: part.source), st.integers(0, 99))
def test_surprise_and_entropy_add_up(parts, seed):
    chance = np.random.default_rng(seed)
    seen = [drawn(part, chance, 8) for part in parts]
    alone = [told(built(part), each) for part, each in zip(parts, seen, strict=True)]
    surprises, entropy, theta = told(built(joined(parts)), flat(seen))
    np.testing.assert_allclose(surprises, sum(each[0] for each in alone), rtol=1e-5)
    np.testing.assert_allclose(entropy, sum(each[1] for each in alone), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(theta, np.concatenate([each[2].reshape(-1) for each in alone]))


@pytest.mark.parametrize("part", ALL, ids=lambda part: part.source)
@pytest.mark.parametrize("xp", [np, jnp])
def test_of_one_part_it_is_that_part_to_the_byte(part, xp):
    seen = drawn(part, np.random.default_rng(0), 20)
    one = told(built(part, xp=xp), [xp.asarray(obs) for obs in seen])
    other = told(built(joined([part]), xp=xp), [xp.asarray(obs) for obs in flat([seen])])
    for a, b in zip(one, other, strict=True):
        assert a.tobytes() == b.tobytes()


def test_several_worlds_along_a_leading_axis_and_theta_known_already():
    chance = np.random.default_rng(0)
    seen, marginal = flat([drawn(part, chance, 6) for part in ALL]), built(joined(ALL))
    alone = [marginal.update(marginal.init(), obs) for obs in seen]
    together = jax.tree.map(lambda *each: np.stack(each), *alone)
    theta = marginal.features(together)
    np.testing.assert_array_equal(theta, np.stack([marginal.features(each) for each in alone]))
    later = seen[::-1]
    expected = [marginal.log_prob(state, obs) for state, obs in zip(alone, later, strict=True)]
    np.testing.assert_allclose(marginal.log_prob_at(theta, later), expected, rtol=1e-5)
    np.testing.assert_allclose(marginal.entropy_at(theta), [marginal.entropy(each) for each in alone], rtol=1e-5)
    low, high = marginal.feature_bounds(None, None)
    assert low.shape == high.shape == marginal.feature_shape
    assert ((low <= theta) & (theta <= high)).all()


def test_parts_get_the_marginals_that_are_named():
    spec = joined([LAMPS, BAG])
    seen = flat([drawn(part, np.random.default_rng(1), 5) for part in (LAMPS, BAG)])
    named = told(built(spec, "mixture", part_marginals="lamps=kt"), seen)[0]
    expected = told(built(LAMPS, "kt"), [obs[:2].reshape(2, 1) for obs in seen])[0]
    expected = expected + told(built(BAG, "gaussian"), [obs[2:] for obs in seen])[0]
    np.testing.assert_allclose(named, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("spec", "words", "message"),
    [
        (BAG, "", "shows one: use auto"),
        (joined([LAMPS, BAG]), "lamp=kt", "no part 'lamp': did you mean 'lamps'"),
        (joined([LAMPS, BAG]), "lamps", "expected PART=MARGINAL"),
        (joined([LAMPS, BAG]), "lamps=kf", "unknown marginal 'kf'"),
    ],
)
def test_refusals(spec, words, message):
    with pytest.raises(UserError, match=message):
        built(spec, "mixture", part_marginals=words)
