"""`sadapt train` and `resume` as a user meets them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sadapt.cli import main
from sadapt.cli.train import TrainCommand
from sadapt.runs import metrics_file
from sadapt.training.presets import preset

WORDS = ["tetris", "--objective", "random", "--total-timesteps", "40000", "--horizon", "20", "--random-episodes", "4"]


@pytest.mark.parametrize("name", ["fast", "paper"])
@pytest.mark.parametrize("env", ["maze-small", "tetris", "maze-large"])
def test_without_flags_the_settings_are_the_presets(env, name):
    assert TrainCommand.parse([env, "--preset", name]).settings() == preset(env, name)
    assert TrainCommand.parse(["--preset", name, "--seed", "1", env]).settings() == preset(env, name)


def test_every_setting_is_a_flag():
    words = "tetris --learner dqn --gamma 0.5 --double --bandit ucb --ucb-c 3 --hidden 7 --marginal gaussian --seed 9"
    found = TrainCommand.parse(words.split()).settings()
    assert (found.learner.settings.gamma, found.learner.settings.double) == (0.5, True)
    assert (found.bandit.settings.ucb_c, found.network.settings.hidden, found.seed) == (3, 7, 9)
    assert found.marginal.name == "gaussian"
    assert found.num_envs == 1


def test_a_run_prints_its_folder_and_its_config_makes_the_same_run(tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["train", *WORDS, "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert said.out == f"{out}\n"
    assert "100%" in said.err
    again = tmp_path / "again"
    assert main(["train", "tetris", "--config", str(out / "config.json"), "--out", str(again), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    first, second = (metrics_file.read(folder / "metrics.csv") for folder in (out, again))
    assert [row["entropy"] for row in first] == [row["entropy"] for row in second]
    assert main(["resume", str(out)]) == 0
    assert "already finished" in capsys.readouterr().out


def test_the_configuration_can_be_printed_instead(capsys):
    assert main(["train", "maze-small", "--learning-rate", "0.25", "--print-config"]) == 0
    found = json.loads(capsys.readouterr().out)["settings"]
    assert found["learner"]["learning_rate"] == 0.25
    assert found["env"] == "maze-small"


def test_how_many_steps_will_be_trained_is_said_before(tmp_path, capsys):
    words = ["train", *WORDS, "--total-timesteps", "20000"]
    assert main([*words, "--print-config"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 32_768
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    assert "32,768 steps (whole chunks, for the 20,000 asked for)" in capsys.readouterr().err.splitlines()[0]
    assert json.loads((tmp_path / "run" / "config.json").read_text())["steps"] == 32_768
    assert metrics_file.read(tmp_path / "run" / "metrics.csv")[-1]["step"] == 32_768


def test_a_refusal_comes_before_anything_is_compiled(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["train", *WORDS, "--out", str(tmp_path)]) == 2
    assert main(["train", *WORDS, "--minibatch-size", "63", "--objective", "s-min"]) == 2
    assert "compiling" not in capsys.readouterr().err


def test_a_run_outlives_a_pipe_that_is_closed(tmp_path):
    words = [sys.executable, "-m", "sadapt", "train", *WORDS, "--out", str(tmp_path / "run")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert "compiling" in process.stdout.readline()
        process.stdout.close()
        process.wait()
    assert json.loads((tmp_path / "run" / "status.json").read_text())["state"] == "finished"
    assert process.returncode == 0


def test_help_is_grouped_and_begins_with_examples(capsys):
    assert main(["train", "--help"]) == 0
    text = capsys.readouterr().out
    assert text.index("examples:") < text.index("--objective") < text.index("motivation options")
    assert "--minibatch-size" in text
    assert main(["train", "--learner", "dqn", "--help"]) == 0
    assert "--buffer-size" in capsys.readouterr().out
    assert main(["train", "tetris", "--help"]) == 0
    usage, _, text = capsys.readouterr().out.partition("\n")
    assert usage.endswith(" ENV")
    assert "2500000" in text


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["tetriss"], "did you mean 'tetris'"),
        (["tetris", "--objectiv", "s-min"], "--objective"),
        (["tetris", "--seed", "one"], "seed"),
        (["tetris", "--preset", "fats"], "did you mean 'fast'"),
        (["tetris", "--learner", "dqm"], "did you mean 'dqn'"),
        (["tetris", "--objective", "s-mim"], "s-min"),
        (["tetris", "--total-timesteps", "-5"], "--total-timesteps must be at least 1"),
        (["tetris", "--horizon", "0"], "--horizon must be at least 1"),
        (["tetris", "--gamma", "1.5"], "--gamma must lie between 0 and 1"),
        (["tetris", "--learner", "dqn", "--batch-size", "64", "--buffer-size", "32"], "lower --batch-size"),
        (["tetris", "--minibatch-size", "63"], "minibatch size must divide"),
        (["tetris", "--num-seeds", "0"], "--num-seeds must be at least 1"),
        (["tetris", "--checkpoint-interval", "0"], "--checkpoint-interval"),
        (
            ["tetris", "--layout", "nowhere.txt"],
            "the world 'tetris' has no setting 'layout'",
        ),
        (["tetris", "--buffer-size=3"], "the learner 'pqn' has no setting 'buffer_size', which is one of dqn"),
        (["maze-small", "--layout", "nowhere.txt"], "nowhere.txt"),
        (["tetris", "--config", "nowhere.json"], "nowhere.json"),
        (["tetris", "--track"], "sadapt[wandb]"),
        (["tetris", "--preset"], "preset"),
    ],
)
def test_a_mistake_costs_a_paragraph(tmp_path, monkeypatch, capsys, words, hint):
    monkeypatch.chdir(tmp_path)
    assert main(["train", *words]) == 2
    said = capsys.readouterr()
    assert hint in (said.err + said.out).replace("\n", " ")
    assert "Traceback" not in said.err
    assert list(tmp_path.iterdir()) == []
