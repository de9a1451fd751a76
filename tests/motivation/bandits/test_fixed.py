"""The bandit of agents that have made up their minds."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.motivation.bandits import fixed
from sadapt.motivation.building import build_bandit
from sadapt.motivation.objectives import objective
from sadapt.registry import Choice
from tests.motivation.bandits.examples import choose, state


@pytest.mark.parametrize("arm", [0, 1])
def test_fixed_never_changes_its_mind_and_keeps_count(arm):
    bandit = fixed(arm)
    current = state((0.0, 0.0), (0, 0))._replace(
        means=jnp.where(jnp.arange(2) == arm, 0.0, 9.0).astype(jnp.float32), counts=jnp.ones(2, jnp.int32)
    )
    current, picked = choose(bandit)(jax.random.key(0), current, jnp.ones(10, bool))
    np.testing.assert_array_equal(picked, [arm] * 10)
    np.testing.assert_array_equal(current.pending, 10 * (np.arange(2) == arm))
    current = bandit.update(current, jnp.int32(arm), jnp.float32(1.0))
    assert float(current.means[arm]) == 0.5
    assert float(current.counts[arm]) == 2
    assert float(current.pending[arm]) == 9


@pytest.mark.parametrize(("name", "arm"), [("s-max", 0), ("s-min", 1), ("extrinsic", 0), ("random", 0)])
def test_agents_of_one_arm_do_not_ask_the_bandit_that_is_named(name, arm):
    bandit = build_bandit(objective(name), Choice("nobody's"), {}, xp=np)
    current, picked = bandit.select(np.array([0.1, 0.9]), bandit.init())
    assert picked == arm
    np.testing.assert_array_equal(current.pending, np.arange(2) == arm)
