"""The table of agents, and the sign of what they are paid."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.errors import UserError
from sadapt.motivation.objectives import ARMS, MAXIMISE, MINIMISE, OBJECTIVES, objective, payment


def test_alpha_zero_maximises_and_one_minimises():
    assert (MAXIMISE, MINIMISE) == (0, 1)
    assert ARMS[MAXIMISE] == "s-max"
    assert ARMS[MINIMISE] == "s-min"


@pytest.mark.parametrize(
    ("name", "title", "arm", "paid_by", "intrinsic", "sees_theta"),
    [
        ("s-adapt", "S-Adapt", None, "surprise", True, True),
        ("s-min", "S-Min", 1, "surprise", True, True),
        ("s-max", "S-Max", 0, "surprise", True, True),
        ("extrinsic", "Extrinsic", 0, "extrinsic", False, False),
        ("random", "Random", 0, None, False, False),
    ],
)
def test_the_five_agents(name, title, arm, paid_by, intrinsic, sees_theta):
    row = objective(name)
    assert (row.title, row.arm, row.reward, row.intrinsic, row.sees_theta) == (
        title,
        arm,
        paid_by,
        intrinsic,
        sees_theta,
    )


def test_there_are_the_papers_five_and_no_others_but_one():
    assert set(OBJECTIVES) == {"s-adapt", "s-min", "s-max", "extrinsic", "random", "s-task"}
    with pytest.raises(UserError, match="did you mean 's-adapt'"):
        objective("sadapt")


@pytest.mark.parametrize("xp", [jnp, np])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("s-adapt", [3.0, -3.0]),
        ("s-min", [3.0, -3.0]),
        ("s-max", [3.0, -3.0]),
        ("extrinsic", [7.0, 8.0]),
        ("random", [7.0, 8.0]),
    ],
)
def test_reward_under_either_arm(name, expected, xp):
    """(-1)^alpha times a surprise of 3, whoever picked alpha; the task's reward for the others."""
    arm, surprise = xp.asarray([0, 1], xp.int32), xp.asarray([3.0, 3.0], xp.float32)
    paid = payment(objective(name), arm, surprise, xp.asarray([7.0, 8.0], xp.float32), xp)
    np.testing.assert_array_equal(paid, expected)


@pytest.mark.parametrize("name", ["s-min", "s-max"])
def test_single_objective_agents_are_paid_by_their_own_arm(name):
    row = objective(name)
    paid = jax.jit(lambda surprise: payment(row, jnp.int32(row.arm), surprise, jnp.float32(9)))(jnp.float32(2))
    assert float(paid) == {"s-min": -2, "s-max": 2}[name]


def test_s_task_is_paid_both():
    """Surprise 2 in the arm's direction, plus the task's 5: 7 up, 3 down."""
    row, arms = objective("s-task"), np.array([MAXIMISE, MINIMISE])
    paid = payment(row, arms, np.full(2, 2.0), np.full(2, 5.0), xp=np)
    np.testing.assert_array_equal(paid, [7.0, 3.0])
    assert row.adaptive
    assert row.intrinsic
