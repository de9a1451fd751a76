"""Marginals of worlds side by side: together, some at a time or one by one, they come to the same."""

from __future__ import annotations

import numpy as np
import pytest

from sadapt.gym import marginals as module
from sadapt.gym.marginals import OneByOne, Together, marginals
from sadapt.motivation.marginals import InputSpec, bernoulli, gaussian
from sadapt.registry import Choice

WORLDS, SHAPE = 7, (2, 3)
SPEC = InputSpec("world", SHAPE, np.uint8, 0, 1)


def numbers(side_by_side, seen):
    """Everything that is asked of marginals, over steps and fresh starts of some worlds."""
    told = []
    side_by_side.begin(np.arange(WORLDS), seen[0])
    for now, obs in enumerate(seen[1:]):
        told.append(side_by_side.log_prob(obs))
        side_by_side.add(obs)
        told += [side_by_side.entropy(), side_by_side.theta.copy()]
        if now % 3 == 2:
            some = np.array([1, 4, 5])
            side_by_side.begin(some, obs[some])
            told.append(side_by_side.theta.copy())
    return told


@pytest.mark.parametrize("family", [bernoulli, gaussian])
@pytest.mark.parametrize("block", [1, 12, 2**14])
def test_all_ways_come_to_the_same(family, block, monkeypatch):
    """Blocks of one world, of two, and of all of them."""
    monkeypatch.setattr(module, "BLOCK", block)
    seen = np.random.default_rng(0).integers(0, 2, (10, WORLDS, *SHAPE)).astype(np.uint8)
    one = family(SHAPE, xp=np)
    together, apart = numbers(Together(one, WORLDS, SPEC), seen), numbers(OneByOne(one, WORLDS), seen)
    for many, each in zip(together, apart, strict=True):
        assert many.shape == each.shape
        assert many.dtype == each.dtype == np.float32
        np.testing.assert_allclose(many, each, rtol=1e-5, atol=1e-5)


def test_only_somebodys_own_are_asked_one_by_one():
    assert isinstance(marginals(SPEC, 2, Choice("auto"), {})[1], Together)
    own = {"marginal": lambda spec, xp: bernoulli(spec.shape, xp=xp)}
    assert isinstance(marginals(SPEC, 2, Choice("own:mine"), own)[1], OneByOne)
