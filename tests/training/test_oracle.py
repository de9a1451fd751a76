"""`examples/oracle`: a feedback that tells the season, and a bandit that does as it is told; every group its own."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from sadapt import settings as preset_settings
from sadapt.composite import all_changed
from sadapt.motivation.feedback import nobody
from sadapt.registry import IMPORTED, TABLES, import_modules
from sadapt.training import compiled
from sadapt.training.program import build
from tests.training.test_groups import QUICK, SMALL

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def oracle(monkeypatch):
    for kind in ("bandit", "feedback"):
        monkeypatch.setitem(TABLES, kind, dict(TABLES[kind]))
    monkeypatch.syspath_prepend(str(EXAMPLES))
    sys.modules.pop("oracle", None)
    import_modules(("oracle",))
    yield sys.modules["oracle"]
    IMPORTED.clear()
    sys.modules.pop("oracle", None)


def test_it_stays_where_it_was_right_and_goes_on_else(oracle):
    bandit, feedback = oracle.told(2, xp=np), oracle.season(xp=np)
    state, draws = bandit.init(), np.zeros(2, np.float32)
    for season, arm in ((40, 1), (40, 1), (5, 0), (30, 1)):
        measures = {"season": np.float32(season), "length": np.float32(50)}
        _, pulled = bandit.select(draws, state)
        state = bandit.update(state, pulled, feedback.hear(measures, nobody(), pulled))
        assert bandit.select(draws, state)[1] == arm


def test_every_group_is_on_the_arm_of_its_season(oracle):
    """Seasons that never end: after the first stretch each group's arm has its season's number."""
    parts = {"bandit": "told", "feedback": "season"}
    still = {**SMALL, **QUICK, "season_steps": 10**6}
    prog = build(all_changed(preset_settings("seasons", stream=True, **parts), still))
    state = compiled.start(prog, jax.random.key(2), nobody())
    step = jax.jit(lambda state: compiled.one_step(prog, state))
    for _ in range(6):
        state = step(state)
    season = np.asarray(state.episodes.world.calendar.season[:8])
    assert len(set(season.tolist())) == 2
    np.testing.assert_array_equal(np.asarray(state.episodes.arm[:8]), season)
