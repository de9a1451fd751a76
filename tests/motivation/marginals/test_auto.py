"""Which marginal a world gets that asks for none, and marginals by their names."""

from __future__ import annotations

import re

import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.errors import UserError
from sadapt.motivation.building import build_marginal
from sadapt.motivation.marginals import BernoulliState, GaussianState, InputSpec
from sadapt.motivation.marginals.auto import AutoSettings
from sadapt.motivation.marginals.bernoulli import BernoulliSettings
from sadapt.motivation.marginals.categorical import CategoricalState
from sadapt.motivation.marginals.gaussian import GaussianSettings
from sadapt.registry import Choice, find

BITS = InputSpec("world", (2,), np.uint8, 0, 1)
GREYS = InputSpec("world", (2,), np.uint8, 0, 255)


def built(name, spec, settings=None):
    return build_marginal(spec, Choice(name, settings), {})


def test_families_by_name():
    assert isinstance(built("bernoulli", BITS).init(), BernoulliState)
    assert isinstance(built("gaussian", BITS).init(), GaussianState)
    assert isinstance(built("gaussian", GREYS).init(), GaussianState)
    with pytest.raises(UserError, match="did you mean 'gaussian'"):
        find("marginal", "gausian")


@pytest.mark.parametrize(
    ("dtype", "low", "high", "state"),
    [
        (np.uint8, 0, 1, BernoulliState),
        (bool, 0, 1, BernoulliState),
        (np.int64, np.zeros(2), np.ones(2), BernoulliState),
        (np.uint8, 0, 255, GaussianState),
        (np.float32, 0, 1, GaussianState),
        (np.int32, np.zeros(2), np.array([1, 2]), CategoricalState),
        (np.int16, 0, 31, CategoricalState),
        (np.int16, 0, 32, GaussianState),
        (np.float32, -np.inf, np.inf, GaussianState),
    ],
)
def test_bits_are_bernoullis_few_whole_numbers_categories_and_all_else_is_gausss(dtype, low, high, state):
    assert isinstance(built("auto", InputSpec("world", (2,), dtype, low, high)).init(), state)


@pytest.mark.parametrize(
    ("spec", "name", "settings"),
    [
        (BITS, "bernoulli", BernoulliSettings(pseudo_count=2.0, probability_clip=0.1)),
        (GREYS, "gaussian", GaussianSettings(pseudo_count=2.0, std_floor=3.0)),
    ],
)
def test_its_settings_reach_the_family_that_it_chose(spec, name, settings):
    every = AutoSettings(pseudo_count=2.0, probability_clip=0.1, std_floor=3.0)
    ours, theirs = built("auto", spec, every), built(name, spec, settings)
    obs = jnp.array([1, 0], jnp.uint8)
    state = ours.update(ours.init(), obs)
    for function in ("entropy", "features"):
        np.testing.assert_array_equal(getattr(ours, function)(state), getattr(theirs, function)(state))
    np.testing.assert_array_equal(ours.log_prob(state, 1 - obs), theirs.log_prob(state, 1 - obs))
    plain = built("auto", spec)
    assert float(ours.entropy(state)) != float(plain.entropy(plain.update(plain.init(), obs)))


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (BITS, "bernoulli, since every entry is 0 or 1"),
        (BITS._replace(groups=(2,)), "categorical, since exactly one of 2 channels is set"),
        (BITS._replace(high=3), "categorical, since entries are whole numbers of 4 values"),
        (GREYS, r"gaussian, since entries are whole numbers of many values \(0 to 255\)"),
        (BITS._replace(dtype=np.float32, unit=1 / 255), "gaussian, since entries are whole numbers of many values"),
        (BITS._replace(dtype=np.float32, low=-np.inf), "gaussian, since entries can be any number"),
        (BITS._replace(shape=(4,), parts=(BITS, GREYS)), r"mixture, since there are 2 parts \(world: bernoulli, since"),
    ],
)
def test_it_says_what_it_picked_and_why(spec, told):
    marginal = built("auto", spec)
    assert re.match(told, marginal.told)
    assert marginal.exact
    assert not built("gaussian", BITS).told
