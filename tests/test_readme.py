"""README's blocks run as they stand, in folders of their own, but for fewer steps; sweeps are only planned.

A chapter is what a reader would do in one folder: its blocks depend on each other, its files are named as README says.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
MARKS = {
    "make": "make demo",
    "loop": "flowchart",
    "quick start": "sadapt list",
    "python": "from sadapt import evaluate",
    "act": "agent.act(",
    "paper": "sadapt sweep F2",
    "mine.toml": "[[fast]]",
    "map.txt": "####.#.##.",
    "corridor.py": "class Corridor",
    "gym": "sadapt train gym:CartPole-v1",
    "probe": "sadapt probe gym:Corridor-v0",
    "gymnasium": "gym.make_vec(",
    "my_module.py": "class CalmSettings",
    "calm": "--bandit calm",
    "wrapper": "SurpriseWrapper(env",
    "jax": "env.reset(key_reset)",
    "tree": "src/sadapt/",
}
"""A word by which each block is known."""
NAMED = {name: text for name, mark in MARKS.items() for _, text in BLOCKS if mark in text}
FILES = ("mine.toml", "map.txt", "corridor.py", "my_module.py")
LANGUAGES = {"sh": "bash", "python": sys.executable}
NOT_HERE = [module for module in ("minigrid", "stable_baselines3") if find_spec(module) is None]


def language(name: str) -> str:
    return next(language for language, text in BLOCKS if text == NAMED[name])


def shortened(text: str) -> str:
    """The same with as few steps as there can be; a sweep, whose runs have their own, is only planned."""
    text = re.sub(r"--total-timesteps \d+", "", text)
    text = re.sub(r"^sadapt train [^#\n]*", lambda line: f"{line[0].rstrip()} --total-timesteps 1 ", text, flags=re.M)
    text = re.sub(
        r"^sadapt sweep [^#\n]*", lambda line: f"{line[0].rstrip()} --dry-run --no-estimate ", text, flags=re.M
    )
    return re.sub(r"(total_timesteps=|\.learn\()[\d_]+", r"\g<1>1", text)


def possible(text: str) -> str:
    """Without the lines that need what is not installed here."""
    return "".join(line for line in text.splitlines(True) if not any(module in line for module in NOT_HERE))


def run(names: list[str], folder: Path, programs: Path) -> str:
    """What the blocks print, run one after another in the folder, beside README's files."""
    for name in FILES:
        (folder / name).write_text(NAMED[name], encoding="utf-8")
    program = folder / "bin" / "sadapt"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sadapt "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    env = {
        **os.environ,
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "JAX_COMPILATION_CACHE_DIR": str(programs),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
    }
    said = ""
    for name in names:
        text, words = possible(shortened(NAMED[name])), ["-e"] if language(name) == "sh" else []
        script = folder / f"block-{name}"
        script.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [LANGUAGES[language(name)], *words, str(script)],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=1_800,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout[-2_000:]}\n{done.stderr[-4_000:]}"
        assert "Traceback" not in done.stderr
        said += done.stdout
    return said


def test_every_block_is_known_here():
    known = [[name for name, mark in MARKS.items() if mark in text] for _, text in BLOCKS]
    assert sorted(name for names in known for name in names) == sorted(MARKS)
    assert all(len(names) == 1 for names in known)


def test_the_targets_are_there():
    targets = re.findall(r"^make (\w+)", NAMED["make"], re.M)
    assert targets == ["demo", "test"]
    made = subprocess.run(["make", "-n", "-C", str(ROOT), *targets], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr


PARSING = """
import json, shlex, sys
from sadapt.cli import COMMANDS, _parse
for line in json.load(sys.stdin):
    program, name, *words = shlex.split(line, comments=True)
    assert program == "sadapt"
    print(type(_parse(name, words)).__name__)
"""


def test_every_command_is_understood(tmp_path):
    """As it stands, its flags among the settings of the parts that it names."""
    for name in FILES:
        (tmp_path / name).write_text(NAMED[name], encoding="utf-8")
    (tmp_path / "runs/tetris/s-adapt-pqn-s1").mkdir(parents=True)
    lines = [line for code, text in BLOCKS if code == "sh" for line in possible(text).splitlines()]
    commands = [line for line in lines if line.startswith("sadapt")]
    assert len(commands) + 2 == len(lines), "every line but the two of make is a command"
    done = subprocess.run(
        [sys.executable, "-c", PARSING],
        cwd=tmp_path,
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("TrainCommand") == sum(line.startswith("sadapt train") for line in commands) > 6


def test_experiments_have_the_runs_that_they_say_and_figures_of_them(tmp_path, shared_programs):
    """Two worlds, two agents, two discounts, three seeds; F2 comes with the program."""
    for stored in (ROOT / "results/fast/butterflies-small").glob("s-*-pqn-s?"):
        shutil.copytree(stored, tmp_path / "results/fast/butterflies-small" / stored.name)
    said = run(["paper"], tmp_path, shared_programs)
    assert "Does a shorter memory help?: 24 runs in results, 24 to do" in said
    assert "not enough runs" in said
    assert list((tmp_path / "results/figures").glob("F*.svg"))


def test_the_map_is_one(tmp_path):
    from sadapt.envs import registry

    (tmp_path / "map.txt").write_text(NAMED["map.txt"], encoding="utf-8")
    env = registry.make("maze-small", tmp_path / "map.txt")
    assert env.obs_shape[:2] == (5, 10)


@pytest.mark.slow
def test_a_gymnasium_world_of_ones_own_is_trained_probed_and_filmed(tmp_path, shared_programs):
    """And MiniGrid, where it is installed."""
    run(["corridor.py", "gym", "probe"], tmp_path, shared_programs)
    trained = {folder.name for folder in (tmp_path / "runs").iterdir()}
    assert trained == {"gym-Corridor-v0", "gym-CartPole-v1"} | (
        set() if "minigrid" in NOT_HERE else {"gym-MiniGrid-FourRooms-v0"}
    )


@pytest.mark.parametrize("name", ["gymnasium", "jax"])
def test_a_few_lines_of_python_run(tmp_path, shared_programs, name):
    run([name], tmp_path, shared_programs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["quick start"], ["runs/maze-small/s-adapt-pqn-s1/videos", "runs/tetris/s-min-pqn-s1/metrics.csv"]),
        (["python", "act"], ["tetris.gif", "tetris.png", "tetris.safetensors"]),
        (["my_module.py", "calm"], ["runs/tetris/s-adapt-pqn-s1/metrics.csv"]),
    ],
)
def test_a_chapter_leaves_what_it_promises(tmp_path, shared_programs, names, left):
    run(names, tmp_path, shared_programs)
    assert not [name for name in left if not (tmp_path / name).exists()]


@pytest.mark.slow
@pytest.mark.skipif("stable_baselines3" in NOT_HERE, reason="stable_baselines3 is not installed")
def test_somebody_elses_learner_learns_from_surprise(tmp_path, shared_programs):
    run(["wrapper"], tmp_path, shared_programs)
