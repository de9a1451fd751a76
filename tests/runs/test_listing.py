"""Runs in the plural: what is told of a folder of them, and of two of them beside each other."""

from __future__ import annotations

import json
import shutil

import pytest

from sadapt import api
from sadapt.cli import main
from sadapt.errors import UserError
from sadapt.runs import config
from sadapt.runs.folder import RunFolder
from sadapt.runs.listing import compared, listed

from .conftest import small

HEAD = "step,episodes,return,surprise,entropy,h_random,alpha,steps_per_second\n"
ROWS = "100,1,,3,2,4,0.25,50\n200,2,7,3,2,4,0.75,100\n300,2,,4,2,4,0.75,900\n"


def made(path, rows: str = ROWS, state: str | None = "stopped", **changes) -> RunFolder:
    """A run's folder as it is found on disk, without the training."""
    run = RunFolder(path)
    run.path.mkdir(parents=True)
    record = config.record(small(**{"total_timesteps": 400, **changes}))
    run.config.write_text(json.dumps({**record, "command": f"sadapt train {path.name}"}))
    run.metrics.write_text(HEAD + rows)
    if state is not None:
        run.write_status(state=state, step=300, total=400, seconds=10.0)
    return run


def test_a_run_tells_state_progress_last_return_arm_and_pace(tmp_path):
    made(tmp_path / "one")
    (found,) = listed(tmp_path)
    assert (found.state, found.step, found.total, found.progress) == ("stopped", 300, 400, 0.75)
    assert found.last_return == 7
    assert (found.arm, found.arm_share) == ("s-min", 0.75)
    assert found.pace == 100
    assert (found.env, found.objective, found.learner, found.seed) == ("tetris", "s-adapt", "pqn", 5)


def test_runs_without_a_status_without_rows_and_that_cannot_be_read_are_told_too(tmp_path):
    made(tmp_path / "a", state=None)
    made(tmp_path / "b", rows="400,2,7,3,2,4,0.75,\n", state=None, objective="s-max")
    made(tmp_path / "c", rows="", state="running")
    (tmp_path / "d").mkdir()
    broken = {**config.record(small()), "settings": {"env": "tetris", "num_envs": "many"}}
    (tmp_path / "d" / "config.json").write_text(json.dumps(broken))
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "config.json").write_text("{}")
    found = {each.run[-1]: each for each in listed(tmp_path)}
    assert {name: each.state for name, each in found.items()} == {
        "a": "unknown",
        "b": "finished",
        "c": "running",
        "d": "unreadable",
    }
    assert found["b"].arm is None
    assert (found["c"].last_return, found["c"].pace) == (None, 30)
    assert "--num-envs must be a whole number" in str(found["d"].why)


def test_the_command_prints_a_table_or_json(tmp_path, capsys):
    made(tmp_path / "one")
    assert main(["runs", str(tmp_path)]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["run", "state", "done", "steps", "return", "arm", "steps/s", "updated"]
    assert row.split()[:8] == [str(tmp_path / "one"), "stopped", "75%", "300", "7", "s-min", "75%", "100"]
    assert main(["runs", str(tmp_path), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["progress"], told["last_return"], told["arm"], told["pace"]) == (0.75, 7, "s-min", 100)


@pytest.mark.parametrize(("name", "why"), [("", "holds no runs"), ("nowhere", "is not a folder")])
def test_a_folder_without_runs_is_one_paragraph(tmp_path, capsys, name, why):
    assert main(["runs", str(tmp_path / name)]) == 2
    said = capsys.readouterr().err
    assert why in said
    assert said.count("\n") == 1


def test_two_runs_differ_in_settings_in_their_making_and_in_results(tmp_path):
    one = made(tmp_path / "one")
    longer = ROWS.replace("300,2,,4", "300,2,9,6") + "400,9,99,9,9,4,1,1\n"
    other = made(tmp_path / "other", longer, learning_rate=0.5, bandit="race", seed=6)
    found = compared(one, other)
    settings = {each.name: (each.first, each.second) for each in found.settings}
    assert settings["learner.learning_rate"] == (0.0005, 0.5)
    assert settings["bandit.kind"] == ("ucb", "race")
    assert settings["seed"] == (5, 6)
    assert "total_timesteps" not in settings
    assert {each.name for each in found.made} == {"command"}
    assert found.until == 300
    results = {each.name: (each.first, each.second, each.difference) for each in found.results}
    assert results["surprise"] == (4, 6, 2)
    assert results["entropy"] == (2, 2, 0)
    assert "return" not in results
    assert "steps_per_second" not in results
    assert not found.identical


def test_the_same_run_twice_has_no_differences(tmp_path, capsys):
    run = made(tmp_path / "one")
    shutil.copytree(run.path, tmp_path / "two")
    found = api.compare(run, tmp_path / "two")
    assert (found.settings, found.made, found.identical) == ([], [], True)
    assert main(["compare", str(run), str(tmp_path / "two")]) == 0
    said = capsys.readouterr().out
    assert "The settings are the same." in said
    assert "the same, except for the speed" in said
    assert main(["compare", str(run), str(tmp_path / "two"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["identical"] is True


def test_a_run_without_rows_has_no_results_to_compare(tmp_path, capsys):
    made(tmp_path / "one")
    made(tmp_path / "two", rows="")
    assert main(["compare", str(tmp_path / "one"), str(tmp_path / "two")]) == 0
    assert "There are no rows of metrics in both" in capsys.readouterr().out
    with pytest.raises(UserError, match="there is no such folder"):
        compared(tmp_path / "one", tmp_path / "three")
