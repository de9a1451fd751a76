"""Worlds in which a death is not the end."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from sadapt.errors import UserError
from sadapt.gym import RestartAfterDeath
from tests.gym.lamps import Lamps


@pytest.mark.parametrize("shock", [False, True])
def test_worlds_restart_after_deaths(shock):
    env = RestartAfterDeath(Lamps(), horizon=200, shock=shock)
    env.reset(seed=0)
    deaths, afterwards = 0, []
    for step in range(200):
        obs, reward, terminated, truncated, info = env.step(step % 6)
        assert not terminated
        assert truncated == (step == 199)
        if reward == 6:
            deaths += 1
            afterwards.append(obs.mean())
        assert info["deaths"] == deaths
    assert deaths > 5
    assert (np.mean(afterwards) > 0.2) == shock


def test_a_shock_needs_bounds():
    class Free(Lamps):
        def __init__(self):
            self.observation_space = spaces.Box(-np.inf, np.inf, (6,), np.float32)

    with pytest.raises(UserError, match="bounded"):
        RestartAfterDeath(Free(), horizon=10)
    for horizon in (None, 0):
        with pytest.raises(UserError, match="give horizon=STEPS"):
            RestartAfterDeath(Lamps(), horizon)
