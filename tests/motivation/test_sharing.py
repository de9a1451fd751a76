"""Worlds side by side: who stays on an arm, and what groups keep apart."""

from __future__ import annotations

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.motivation.sharing import by_group, grouped, stay, ungrouped

ARMS = 3
arms = st.lists(st.tuples(st.integers(0, ARMS - 1), st.integers(0, ARMS - 1)), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("before", "chosen", "after"),
    [
        ([0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]),  # the same numbers: nobody moves
        ([0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 1]),  # the first ones stay
        ([0, 0, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]),
        ([2, 1, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]),
    ],
)
def test_by_hand(before, chosen, after):
    assert stay(ARMS, jnp.array(before, jnp.int32), jnp.array(chosen, jnp.int32)).tolist() == after


@given(arms)
def test_every_arm_has_as_many_worlds_as_chosen_and_no_world_moves_without_need(pairs):
    before, chosen = np.array(pairs, np.int32).T
    after = np.asarray(stay(ARMS, jnp.asarray(before), jnp.asarray(chosen)))
    assert Counter(after.tolist()) == Counter(chosen.tolist())
    least = sum((Counter(before.tolist()) - Counter(chosen.tolist())).values())
    assert (after != before).sum() == least


def test_groups_lie_one_after_another():
    tree = {"x": jnp.arange(6), "y": jnp.zeros((6, 2))}
    parts = grouped(tree, 3)
    assert parts["x"].tolist() == [[0, 1], [2, 3], [4, 5]]
    for one, other in zip(jax.tree.leaves(ungrouped(parts)), jax.tree.leaves(tree), strict=True):
        np.testing.assert_array_equal(one, other)


def test_each_group_has_chance_of_its_own_and_a_single_one_the_given_key():
    def draw(key, size):
        return jax.random.uniform(key, size.shape)

    key = jax.random.key(0)
    assert len(set(by_group(draw, 4)(key, jnp.zeros((4, 1))).ravel().tolist())) == 4
    np.testing.assert_array_equal(by_group(draw, 1)(key, jnp.zeros(2)), jax.random.uniform(key, (2,)))
