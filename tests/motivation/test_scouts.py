"""Scouts keep to their arm, are heard of, and decide nothing."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.motivation.bandits import ucb
from sadapt.motivation.sharing import choose
from sadapt.motivation.stream import choose_beside, scouted


def test_the_first_worlds_are_scouts_arm_by_arm():
    assert scouted(2, 2, 6).tolist() == [0, 0, 1, 1, -1, -1]
    assert scouted(2, 0, 3).tolist() == [-1, -1, -1]


def test_the_bandit_is_asked_for_the_others_alone():
    wanted = jnp.array([True] * 5 + [False])
    state, arms = choose_beside(ucb(2), 1, jax.random.key(0), ucb(2).init(), wanted)
    assert arms[:2].tolist() == [0, 1]
    assert set(arms[2:5].tolist()) <= {0, 1}
    assert int(arms[5]) == -1
    assert float(state.pending.sum()) == 3


def test_no_scouts_is_the_bandit_s_own_choice():
    wanted = jnp.ones(8, bool)
    for one, other in zip(
        jax.tree.leaves(choose_beside(ucb(2), 0, jax.random.key(1), ucb(2).init(), wanted)),
        jax.tree.leaves(choose(ucb(2), jax.random.key(1), ucb(2).init(), wanted)),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
