"""A rollout's steps in one row, whatever there is of each."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from sadapt.learners.rollout import flattened


def test_steps_of_all_worlds_come_one_after_another():
    flat = flattened({"cells": jnp.arange(24).reshape(2, 3, 4), "beside": jnp.zeros((2, 3, 0)), "t": jnp.ones((2, 3))})
    np.testing.assert_array_equal(flat["cells"], np.arange(24).reshape(6, 4))
    assert flat["beside"].shape == (6, 0), "an agent that sees s alone has nothing beside its cells"
    assert flat["t"].shape == (6,)
