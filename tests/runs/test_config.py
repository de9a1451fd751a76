"""Settings survive the way to disk and back; a mistake in a file is named."""

from __future__ import annotations

import json

import pytest

from sadapt.errors import UserError
from sadapt.learners.table import DQNSettings
from sadapt.registry import Choice
from sadapt.runs import config
from sadapt.training.presets import PRESETS, preset


@pytest.mark.parametrize("env", ["maze-small", "maze-large", "tetris", "minatar-freeway"])
@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("learner", [None, "dqn", "pqn"])
def test_there_and_back(env, name, learner):
    settings = preset(env, name, learner=learner)
    text = json.dumps(config.to_dict(settings), allow_nan=False)
    assert config.from_dict(json.loads(text), "here") == settings


def test_what_is_missing_has_its_default():
    found = config.from_dict({"env": "tetris", "learner": {"kind": "dqn", "gamma": 1}}, "here")
    assert found.learner == Choice("dqn", DQNSettings(gamma=1.0))
    assert isinstance(found.learner.settings.gamma, float)
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
        ({"env": "tetris", "bandit": {"kind": "ucb", "ucb": 2}}, r"unknown setting 'bandit.ucb'.*'ucb_c'"),
        ({"env": "tetris", "motivation": {"normalize": True}}, r"unknown setting 'motivation.normalize'.*'normalise'"),
        ({"env": "tetris", "marginal": {"kind": "gausian"}}, r"unknown marginal 'gausian'.*'gaussian'"),
        ({"env": "tetris", "world": {"layout": "map.txt"}}, r"unknown setting 'world.layout'"),
        ({"env": "tetris", "motivation": 3}, "motivation must be an object"),
        ({"env": "tetris", "motivation": {"normalise": 1}}, "normalise must be true or false"),
        ({"env": "tetris", "learner": {"kind": "dqm"}}, r"unknown learner 'dqm'.*'dqn'"),
        (
            {"env": "tetris", "learner": {"kind": "pqn", "learning_rate": "fast"}},
            "learning-rate must be a number",
        ),
        ({"env": "tetris", "learner": {"kind": "pqn", "batch_size": 3}}, "unknown setting 'learner.batch_size'"),
        ({"env": "tetris", "gamma": 0.5, "learner": {"kind": "pqn", "gamma": 0.9}}, "'gamma' is given twice"),
        ({"env": 3}, "--env must be the name of a world; got 3"),
        ({"env": "tetris", "learner": {"kind": ["pqn"]}}, r"--learner must be the name of a learner; got \['pqn'\]"),
        ({"env": "tetris", "imports": 3}, "--import must be a list of strings; got 3"),
        ({"env": "tetris", "imports": "own"}, "--import must be a list of strings; got 'own'"),
    ],
)
def test_a_mistake_is_named(given, words):
    with pytest.raises(UserError, match=words):
        config.from_dict(given, "here")


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"seed": ' + "9" * 5000 + "}"], ids=["cut", "deep", "long"])
def test_a_file_that_is_no_json(tmp_path, text):
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(UserError, match="is not JSON"):
        config.read(file)


def test_differences_name_the_nested_key():
    a, b = (config.to_dict(preset("tetris", name, learner="pqn")) for name in PRESETS)
    found = config.differences(a, b)
    assert 'motivation.baseline: "time", "global"' in found
    assert "total_timesteps: 2500000, 10000000" in found
    assert config.differences(a, a) == []


def test_the_record_says_where_a_run_came_from():
    record = config.record(preset("tetris"))
    assert record["settings"]["env"] == "tetris"
    assert {"python", "jax", "numpy"} <= record["versions"].keys()


FORMER = {
    "env": "maze-large", "objective": "s-min", "seed": 2, "total_timesteps": 4_000_000, "num_envs": 64, "layout": None,
    "obs_key": None, "imports": None, "log_interval": None,
    "motivation": {
        "marginal": "gaussian", "pseudo_count": 0.0, "probability_clip": 1e-4, "std_floor": 0.1, "frame_size": 21,
        "ucb_c": 2.0, "bandit_patience": 0.75, "random_episodes": 100, "on_death": "auto", "horizon": 50,
        "normalise": True, "baseline": "time", "reward_clip": 5.0, "bootstrap": "auto",
    },
    "network": {"network": "window", "arms": "apart", "hidden": 64, "radius": 3},
    "learner": {"kind": "pqn", "gamma": 0.9},
}  # fmt: skip


def test_settings_of_the_version_before_are_read_by_their_names():
    found = config.from_dict(FORMER, "here")
    assert (found.env, found.objective, found.horizon, found.arms) == ("maze-large", "s-min", 50, "apart")
    assert (found.marginal.name, found.marginal.settings.std_floor) == ("gaussian", 0.1)
    assert (found.bandit.settings.ucb_c, found.motivation.bandit_patience) == (2.0, 0.75)
    assert (found.network.name, found.network.settings.hidden, found.network.settings.radius) == ("window", 64, 3)
    assert found.learner.settings.gamma == 0.9


def test_a_share_of_exploration_is_read_as_steps():
    written = {**FORMER, "learner": {"kind": "dqn", "exploration_fraction": 0.25}}
    assert config.from_dict(written, "here").learner.settings.exploration_steps == 1_000_000
    assert config.from_dict(FORMER | {"learner": {"kind": "pqn"}}, "here").learner.name == "pqn"


def test_a_part_that_is_not_known_here_stays_as_it_was_written():
    written = {"env": "their-world", "imports": ["theirs"], "world": {"size": 3},
               "learner": {"kind": "their-learner", "rate": 0.5}}  # fmt: skip
    found = config.from_dict(written, "here")
    assert (found.env, found.learner) == ("their-world", ("their-learner", {"rate": 0.5}))
    again = config.to_dict(found)
    assert again["world"] == {"size": 3}
    assert again["learner"] == {"kind": "their-learner", "rate": 0.5}
    assert config.from_dict(again, "here") == found
