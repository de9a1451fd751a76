"""DQN's arithmetic by hand, and its options."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.learners.dqn import both_arms, exploration, td_error
from sadapt.learners.replay import Batch
from sadapt.learners.table import DQNSettings
from sadapt.motivation.augmented import Augmented

Q_TM1, Q_T = jnp.array([1.0, 2.0, 3.0]), jnp.array([4.0, 6.0, 5.0])


@pytest.mark.parametrize(
    ("action", "reward", "discount", "selector", "expected"),
    [
        (1, 0.5, 0.9, Q_T, 0.5 + 0.9 * 6 - 2),
        (0, 0.5, 0.0, Q_T, 0.5 - 1),
        (2, -1.0, 0.9, jnp.array([9.0, 0.0, 0.0]), -1 + 0.9 * 4 - 3),
    ],
    ids=["plain", "terminal", "double: another network chooses the action that is valued"],
)
def test_td_error(action, reward, discount, selector, expected):
    error = td_error(Q_TM1, jnp.int32(action), jnp.float32(reward), jnp.float32(discount), Q_T, selector)
    np.testing.assert_allclose(error, expected, rtol=1e-6)


def test_no_gradient_flows_through_the_target():
    gradient = jax.grad(lambda q_t: td_error(Q_TM1, jnp.int32(0), jnp.float32(0), jnp.float32(1), q_t, q_t))(Q_T)
    np.testing.assert_array_equal(gradient, np.zeros(3))


def test_relabelling_lives_every_transition_in_both_arms():
    seen = Augmented(jnp.ones((2, 3)), jnp.full((2, 3), 0.5), jnp.array([0.1, 0.2]), jnp.array([0.0, 1.0]))
    batch = Batch(
        before=seen,
        after=seen,
        t=jnp.array([1, 2]),
        arm=jnp.array([0, 1]),
        action=jnp.array([3, 4]),
        surprise=jnp.array([7.0, 8.0]),
        extrinsic=jnp.zeros(2),
        terminal=jnp.array([False, True]),
    )
    both = both_arms(batch)
    np.testing.assert_array_equal(both.arm, [0, 1, 1, 0])
    np.testing.assert_array_equal(both.before.arm, [0, 1, 1, 0])
    np.testing.assert_array_equal(both.after.arm, [0, 1, 1, 0])
    np.testing.assert_array_equal(both.action, [3, 4, 3, 4])
    np.testing.assert_array_equal(both.surprise, [7, 8, 7, 8])
    np.testing.assert_array_equal(both.terminal, [False, True, False, True])


STEPS = jnp.array([0, 250_000, 500_000, 1_000_000])


@pytest.mark.parametrize("total", [1_000_000, 10_000_000])
def test_a_shorter_training_explores_as_the_beginning_of_the_papers(total):
    np.testing.assert_allclose(exploration(DQNSettings(), total)(STEPS), [1, 0.7525, 0.505, 0.01], rtol=1e-6)


def test_exploration_ends_with_the_training():
    epsilon = exploration(DQNSettings(start_e=1.0, end_e=0.0), 1_000)
    np.testing.assert_allclose(epsilon(jnp.array([0, 500, 1_000, 2_000])), [1, 0.5, 0, 0])
