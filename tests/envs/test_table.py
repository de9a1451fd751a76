"""The catalogue of worlds: what it tells before a world is made is what the world says of itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sadapt.composite import all_changed, names
from sadapt.envs.base import Env
from sadapt.envs.registry import make, make_any
from sadapt.envs.table import MINATAR, WorldSettings, compiled
from sadapt.envs.table import names as worlds
from sadapt.fields import fields_of
from sadapt.registry import TABLES, find
from sadapt.training.settings import Settings

HINTS = {
    "about", "horizon", "size", "actions", "channels", "gymnasium_id", "compiled", "fast_steps", "learned_steps",
    "usual", "learners", "policies", "unseen",
}  # fmt: skip
OURS = [name for name, part in TABLES["env"].items() if not part.foreign]


@pytest.mark.parametrize("name", compiled())
def test_what_is_told_of_a_world_is_what_it_is(name):
    env, hints = make(name), find("env", name).hints
    told = (hints["about"], hints["channels"], hints["actions"], hints["horizon"], hints["size"])
    assert told == (env.about, env.channels, env.actions, env.horizon, env.obs_shape[:2])
    assert hints["policies"] == tuple(env.scripted)
    assert hints["unseen"] == tuple(c for i, c in enumerate(env.channels) if i not in env.marginal_channels)
    assert env.name == name
    assert isinstance(env, Env)


def test_the_worlds_of_the_paper_are_there():
    assert {"maze-small", "maze-large", "butterflies-small", "butterflies-large", "tetris"} < set(compiled())
    assert {f"minatar-{game}" for game in MINATAR} < set(compiled())
    assert set(OURS) - set(compiled()) == {
        "atari-freeway",
        "atari:",
        "gym:",
        "switch:",
        "gymnax:",
        "craftax:",
        "navix:",
    }
    assert set(worlds()) >= {*compiled(), "atari-freeway"}
    assert not [name for name in worlds() if name.endswith(":")]


def test_gymnasium_ids_are_unique_and_every_compiled_world_has_one():
    ids = [find("env", name).hints["gymnasium_id"] for name in compiled()]
    assert len(set(ids)) == len(ids)
    assert all(each.startswith("sadapt/") and each.endswith("-v0") for each in ids)
    assert not [name for name in OURS if name not in compiled() and "gymnasium_id" in find("env", name).hints]


@pytest.mark.parametrize("name", OURS)
def test_hints_are_known_ones(name):
    assert set(find("env", name).hints) <= HINTS


@pytest.mark.parametrize("name", OURS)
def test_hints_name_settings_that_exist_and_values_that_they_take(name):
    hints = find("env", name).hints
    usual, learners = hints.get("usual", {}), hints.get("learners", {})
    assert set(learners) <= set(TABLES["learner"])
    for learner in {*learners, "pqn"}:
        settings = Settings(world=f"{name}some" if name.endswith(":") else name, learner=learner)
        wanted = {**usual, **learners.get(learner, {})}
        assert set(wanted) <= names(settings)
        assert all_changed(settings, wanted) != settings or not wanted


@pytest.mark.parametrize("name", OURS)
def test_every_world_can_be_given_another_horizon(name):
    assert "horizon" in fields_of(find("env", name).settings)


@pytest.mark.parametrize("name", ["maze-small", "butterflies-small", "tetris", "minatar-breakout", "atari-freeway"])
def test_a_world_keeps_to_the_horizon_of_its_settings(name):
    part = find("env", name)
    assert make_any(name, part.settings(horizon=7)).horizon == 7
    assert make_any(name, part.settings()).horizon == part.hints["horizon"]
    assert isinstance(part.defaults(), WorldSettings)


def test_the_catalogue_is_read_without_jax():
    code = "import sys, sadapt.envs.table as table; assert len(table.names()) > 14; print('jax' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
