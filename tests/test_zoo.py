"""The zoo: policies that come with the program, named wherever a run is, and told when they are broken."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from tools import zoo as filling

from sadapt import api, zoo
from sadapt.cli import main
from sadapt.envs.table import compiled
from sadapt.errors import UserError
from sadapt.runs import config
from sadapt.runs.agent import load

from .runs.conftest import QUIET, promotion, small

MOST = 8_000_000
NAMES = zoo.names()


@pytest.fixture(autouse=True)
def standard_promotion():
    with promotion():
        yield


@pytest.fixture
def other(tmp_path, monkeypatch):
    """A zoo of one policy, which may be broken."""
    for suffix in (zoo.POLICY, zoo.ABOUT):
        shutil.copy(zoo.FOLDER / f"tetris{suffix}", tmp_path)
    for function in (zoo.located, zoo.entries, zoo.names):
        monkeypatch.setattr(function, "__defaults__", (tmp_path,))
    return tmp_path


def refused(capsys, *words: str) -> str:
    """The one paragraph that a command answers with."""
    assert main(list(words)) == 2
    said = capsys.readouterr().err
    assert said.startswith("sadapt: error: ")
    assert said.count("\n") == 1
    return said


def test_it_is_small_and_every_policy_is_of_a_world_that_is_there():
    assert sum(file.stat().st_size for file in zoo.FOLDER.iterdir() if file.is_file()) < MOST
    assert {entry.env for entry in zoo.entries()} <= set(compiled())
    assert {"tetris", "maze-small"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_loads_as_what_its_json_says_and_acts(name):
    (entry,) = (each for each in zoo.entries() if each.name == name)
    agent = api.load(entry.source)
    assert agent.source == f"zoo:{name}"
    assert config.to_dict(agent.settings) == config.to_dict(config.from_dict(entry.settings, name))
    assert (agent.settings.env, agent.settings.objective, agent.step) == (entry.env, entry.objective, entry.step)
    assert ("s-max", "s-min")[agent.preferred_arm] == entry.arm
    assert not any("/" in value for value in (entry.source, json.dumps(entry.settings)))
    theta = np.full(agent.program.marginal.feature_shape, 0.1)
    obs = np.zeros(agent.env.obs_shape)
    if agent.env.agent_channel is not None:
        obs[0, 0, agent.env.agent_channel] = 1
    assert agent.act(obs, theta, 0.5) in range(agent.env.num_actions)


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_moves_surprise_its_own_way(name):
    """What the zoo is for: an agent that has learned something, by its own evaluation."""
    (entry,) = (each for each in zoo.entries() if each.name == name)
    for arm in {entry.arm} & {"s-max", "s-min"}:
        found = entry.evaluations[arm]
        moved = found["measures"]["surprise"]["mean"] - found["random"]["surprise"]["mean"]
        assert moved > 0 if arm == "s-max" else moved < 0


def test_the_command_lists_them(capsys):
    assert main(["zoo"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["policy", "agent", "arm"]
    assert [row.split()[0] for row in rows] == [f"zoo:{name}" for name in NAMES]
    assert main(["zoo", "--json"]) == 0
    told = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert told["tetris"]["evaluations"]["s-min"]["measures"]["return"]["mean"] <= 0


def test_eval_and_watch_take_a_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["eval", "zoo:tetris", "--episodes", "2", "--arm", "s-min"]) == 0
    said = capsys.readouterr().out
    assert "tetris: s-adapt on arm s-min" in said
    (row,) = [line.split() for line in said.splitlines() if line.startswith("return")]
    assert len(row) == 5
    assert float(row[1]) > float(row[3])
    assert main(["watch", "zoo:tetris", "--steps", "2"]) == 0
    assert (tmp_path / capsys.readouterr().out.strip()).stat().st_size > 1000


def test_a_name_that_is_not_there(capsys):
    said = refused(capsys, "watch", "zoo:tetriss")
    assert "did you mean 'zoo:tetris'?" in said
    assert "`sadapt zoo` lists them" in said


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: b"", lambda data: data[:-1] + b"?"])
def test_a_broken_policy_is_one_paragraph(other, capsys, damage):
    file = other / f"tetris{zoo.POLICY}"
    file.write_bytes(damage(file.read_bytes()))
    assert "zoo:tetris is damaged (" in (said := refused(capsys, "eval", "zoo:tetris"))
    assert "reinstall sadapt" in said


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"env": 3}', "\x00", None])
def test_a_broken_description_is_one_paragraph(other, capsys, text):
    file = other / f"tetris{zoo.ABOUT}"
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    assert "tetris.json is damaged (" in refused(capsys, "zoo")


def test_an_evaluation_without_its_numbers_is_noticed(other):
    file = other / f"tetris{zoo.ABOUT}"
    told = json.loads(file.read_text())
    told["evaluations"]["s-min"]["random"] = {}
    file.write_text(json.dumps(told))
    with pytest.raises(UserError, match="its evaluation on s-min has no random of return"):
        zoo.entries()


def test_the_tool_adds_a_run_with_its_evaluation(tmp_path, capsys):
    sizes = {"learner": "dqn", "total_timesteps": 500, "objective": "s-max"}
    run = api.train(small(**sizes), out=tmp_path / "run", options=QUIET)
    out = tmp_path / "zoo"
    assert filling.main([str(run), "--out", str(out), "--episodes", "2"]) == 0
    assert zoo.names(out) == ["tetris-s-max"]
    (entry,) = zoo.entries(out)
    assert (entry.arm, entry.step, entry.evaluations.keys()) == ("s-max", 500, {"s-max"})
    assert str(tmp_path) not in (out / "tetris-s-max.json").read_text()
    agent = load(out / "tetris-s-max.safetensors")
    again = api.evaluate(agent, episodes=2).measures["entropy"].mean
    assert again == pytest.approx(entry.evaluations["s-max"]["measures"]["entropy"]["mean"], rel=1e-5)
    run.write_status(state="stopped", step=500, total=500, seconds=1.0)
    assert filling.main([str(run), "--out", str(out)]) == 2
    assert "has not finished" in capsys.readouterr().err
