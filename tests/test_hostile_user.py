"""What a careless or hostile user does, through the command line and `import sadapt` alone.

Nothing of the program's inside is used, so the file can be run against another revision too:
`SADAPT_SOURCE=/path/to/other/src pytest tests/test_hostile_user.py`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SMALL = ("--num-envs", "16", "--num-steps", "16", "--minibatch-size", "64", "--hidden", "8", "--random-episodes", "4",
         "--tensorboard", "off")  # fmt: skip
LIMIT = 120
"""Seconds after which a command hangs."""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.environ.get("SADAPT_SOURCE", str(ROOT / "src"))}


def begun(words, folder, **more) -> subprocess.Popen:
    line = [sys.executable, *words]
    return subprocess.Popen(line, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True, **more)


def said(words, folder, code=0) -> str:
    """What a command says on both of its streams; it must end with `code` and without a traceback."""
    process = begun(["-m", "sadapt", *words], folder, stdout=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail(f"sadapt {' '.join(words)} hangs")
    assert "Traceback" not in err, err
    assert process.returncode == code, err
    return out + err


def test_1_a_folder_that_is_somebodys_is_left_alone(tmp_path):
    theirs = tmp_path / "project" / "videos" / "holiday.gif"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("mine", encoding="utf-8")
    for words in ((), ("--overwrite",)):
        told = said(["train", "tetris", "--out", "project", *words], tmp_path, 2)
        assert "project" in told
        assert theirs.read_text(encoding="utf-8") == "mine"
    said(["train", "tetris", "--out", ""], tmp_path, 2)


@pytest.mark.parametrize(
    "wrong", ['marginal="bernouli"', 'learner="poo"', 'network="resnet"', "seed=1.5", "gamma=None"]
)
def test_2_python_refuses_what_the_command_line_refuses(tmp_path, wrong):
    with begun(["-c", f"import sadapt; sadapt.settings('tetris', {wrong})"], tmp_path) as process:
        _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    assert "UserError" in err
    name, _, value = wrong.partition("=")
    flag = said(["train", "tetris", f"--{name}", value.strip('"'), "--print-config"], tmp_path, 2)
    assert value.strip('"') in flag


def test_3_a_dead_signal_is_said_to_be_dead(tmp_path):
    words = ["train", "tetris", *SMALL, "--total-timesteps", "2048", "--marginal", "gaussian", "--std-floor", "9"]
    told = said([*words, "--out", "run", "--quiet"], tmp_path)
    assert "std-floor" in told
    assert "std-floor" in said(["eval", "run", "--episodes", "1"], tmp_path)


def test_4_worlds_of_gymnasium_can_be_probed(tmp_path):
    assert "entropy" in said(["probe", "gym:CartPole-v1", "--episodes", "2", "--quiet"], tmp_path)


@pytest.mark.parametrize("after", [0.5, 2.0])
def test_5_an_interruption_is_one_line_at_any_moment(tmp_path, after):
    process = begun(["-m", "sadapt", "train", "tetris", "--out", "run"], tmp_path, stdout=subprocess.DEVNULL)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert "Traceback" not in err
    assert process.returncode == 130


def test_6_the_number_of_steps_is_said_before_they_are_made(tmp_path):
    assert '"steps"' in said(["train", "tetris", "--total-timesteps", "20000", "--print-config"], tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ["bench", "--seconds", "-1"],
        ["train", "tetris", "--seed", str(2**70)],
        ["train", "maze-small", "--radius", "1000000"],
        ["train", "tetris", "--num-envs", "100000000"],
    ],
    ids=["seconds", "seed", "radius", "worlds"],
)
def test_7_what_cannot_be_is_refused_in_a_paragraph(tmp_path, words):
    assert said(words, tmp_path, 2).strip().count("\n") == 0


NAMED = """
import runpy
from matplotlib.figure import Figure
save = Figure.savefig
def named(figure, *words, **more):
    for legend in [axes.get_legend() for axes in figure.axes] + figure.legends:
        print(*(text.get_text() for text in legend.get_texts() if legend) if legend else (), sep="\\n")
    return save(figure, *words, **more)
Figure.savefig = named
runpy.run_module("sadapt", run_name="__main__", alter_sys=True)
"""
"""Runs a command, and prints the names of the curves of what it draws."""


def test_8_two_settings_are_two_curves_with_their_names(tmp_path):
    for rate in ("0.003", "0.0004"):
        words = ["train", "tetris", *SMALL, "--total-timesteps", "2048", "--learning-rate", rate]
        said([*words, "--out", rate, "--quiet"], tmp_path)
    drawn = subprocess.run(
        [sys.executable, "-c", NAMED, "plot", "0.003", "0.0004", "--out", "both.png"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=LIMIT, check=True,
    )  # fmt: skip
    for rate in (0.003, 0.0004):
        assert f"{rate:g}" in drawn.stdout


def test_9_what_cannot_be_counted_is_refused(tmp_path):
    said(["train", "tetris", "--total-timesteps", str(3 * 10**9), "--print-config"], tmp_path, 2)


OWN_WORLD = """
import gymnasium
gymnasium.register("Own-v0", "gymnasium.envs.classic_control:CartPoleEnv", max_episode_steps=100)
"""


def test_10_a_strangers_file_runs_nothing(tmp_path):
    """The run was made with a module that registers its world; elsewhere, a module of that name is a trap."""
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder, code in ((here, OWN_WORLD), (elsewhere, "open('trap', 'w')")):
        folder.mkdir()
        (folder / "worlds.py").write_text(code, encoding="utf-8")
    words = ["train", "gym:Own-v0", "--import", "worlds", *SMALL, "--num-envs", "2", "--minibatch-size", "32"]
    said([*words, "--total-timesteps", "1024", "--out", "run", "--quiet"], here)
    refusal = said(["eval", str(here / "run"), "--episodes", "1"], elsewhere, 2)
    assert not (elsewhere / "trap").exists()
    assert "worlds" in refusal


def test_11_a_bad_run_is_left_out_by_name(tmp_path):
    stored = sorted((ROOT / "results" / "fast" / "tetris").glob("*-s1"))[:2]
    for run in stored:
        shutil.copytree(run, tmp_path / "results" / run.name)
    (tmp_path / "results" / stored[0].name / "metrics.csv").write_bytes(bytes(range(256)))
    assert stored[0].name in said(["claims", "results"], tmp_path)


def test_12_training_outlives_its_reader(tmp_path):
    words = ["-m", "sadapt", "train", "tetris", *SMALL, "--total-timesteps", "2048", "--out", "run"]
    with begun(words, tmp_path, stdout=subprocess.PIPE) as process:
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(LIMIT) == 0, err
    assert "finished" in (tmp_path / "run" / "status.json").read_text(encoding="utf-8")
