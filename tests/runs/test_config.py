"""Settings survive the way to disk and back; a mistake in a file is named."""

from __future__ import annotations

import json

import pytest

from sadapt.errors import UserError
from sadapt.learners.dqn import DQNSettings
from sadapt.runs import config
from sadapt.training.presets import PRESETS, chosen


@pytest.mark.parametrize("env", ["maze-small", "maze-large", "tetris", "minatar-freeway"])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("learner", [None, "dqn", "pqn"])
def test_there_and_back(env, preset, learner):
    settings = chosen(env, preset, learner)
    text = json.dumps(config.to_dict(settings), allow_nan=False)
    assert config.from_dict(json.loads(text), "here") == settings


def test_what_is_missing_has_its_default():
    found = config.from_dict({"env": "tetris", "learner": {"kind": "dqn", "gamma": 1}}, "here")
    assert found.learner == DQNSettings(gamma=1.0)
    assert isinstance(found.learner.gamma, float)
    assert found.seed == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "no settings"),
        ({"seed": 1}, "no settings"),
        ({"env": "tetris", "sede": 1}, r"unknown setting 'sede'.*'seed'"),
        ({"env": "tetris", "seed": "1"}, r"seed must be a whole number; got '1'"),
        ({"env": "tetris", "seed": True}, "seed must be a whole number"),
        ({"env": "tetris", "seed": 1.5}, "seed must be a whole number"),
        ({"env": "tetris", "motivation": {"ucb": 2}}, r"unknown setting 'motivation.ucb'.*'ucb_c'"),
        ({"env": "tetris", "motivation": {"marginal": "gausian"}}, r"motivation.marginal .*'gaussian'"),
        ({"env": "tetris", "motivation": 3}, "motivation must be an object"),
        ({"env": "tetris", "motivation": {"normalise": 1}}, "motivation.normalise must be true or false"),
        ({"env": "tetris", "learner": {"kind": "dqm"}}, r"unknown learner 'dqm'.*'dqn'"),
        (
            {"env": "tetris", "learner": {"kind": "pqn", "learning_rate": "fast"}},
            "learner.learning_rate must be a number",
        ),
        ({"env": "tetris", "learner": {"kind": "pqn", "batch_size": 3}}, "unknown setting 'learner.batch_size'"),
    ],
)
def test_a_mistake_is_named(given, words):
    with pytest.raises(UserError, match=words):
        config.from_dict(given, "here")


def test_a_file_that_is_no_json(tmp_path):
    file = tmp_path / "config.json"
    file.write_text("{")
    with pytest.raises(UserError, match="is not JSON"):
        config.read(file)


def test_differences_name_the_nested_key():
    a, b = (config.to_dict(chosen("tetris", preset, "pqn")) for preset in PRESETS)
    found = config.differences(a, b)
    assert 'motivation.baseline: "time", "global"' in found
    assert "total_timesteps: 2500000, 10000000" in found
    assert config.differences(a, a) == []


def test_the_record_says_where_a_run_came_from():
    record = config.record(chosen("tetris"))
    assert record["settings"]["env"] == "tetris"
    assert {"python", "jax", "numpy"} <= record["versions"].keys()
