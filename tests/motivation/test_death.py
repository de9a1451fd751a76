"""Treatments of death, and the observations that carry no information."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.errors import UserError
from sadapt.motivation.death import random_observation, treatment
from tests.motivation.worlds import coins, counter, line


def test_unknown_treatment_of_death_is_refused():
    with pytest.raises(UserError, match="did you mean 'shock'"):
        treatment(line(), "shok")


def shocks(number=3000, **facts):
    env = dataclasses.replace(coins(2), **facts)
    draw = random_observation(env)
    return np.asarray(jax.vmap(draw)(jax.random.split(jax.random.key(0), number)))


def test_random_bytes_reach_both_bounds():
    drawn = shocks(high=255)
    assert drawn.dtype == np.uint8
    assert set(drawn.flat) == set(range(256))
    assert drawn.mean() == pytest.approx(127.5, abs=5 * 74 / math.sqrt(6000))


def test_random_integers_keep_to_their_bounds():
    drawn = shocks(low=-2, high=1, obs_dtype=jnp.int32)
    assert set(drawn.flat) == {-2, -1, 0, 1}


def test_random_reals_are_uniform_between_the_bounds():
    drawn = shocks(low=-2.0, high=4.0, obs_dtype=jnp.float32)
    assert drawn.min() >= -2
    assert drawn.max() <= 4
    assert drawn.mean() == pytest.approx(1, abs=5 * math.sqrt(3 / 6000))
    assert drawn.std() == pytest.approx(math.sqrt(3), rel=0.05)


def test_unbounded_worlds_cannot_shock():
    with pytest.raises(UserError, match=r"'counter' gives values in \[0, inf\]"):
        treatment(counter(), "shock")
    treatment(counter(), "soft")
