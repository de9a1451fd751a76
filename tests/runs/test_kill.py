"""Training killed without warning, again and again, ends byte for byte as if it had been left alone.

Three kills a learner by default, and three of runs that have just begun; `make soak` asks for twenty.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from sadapt.runs import checkpoint
from sadapt.runs.belongings import PARTIAL
from sadapt.runs.folder import RunFolder
from sadapt.training.metrics import CLOCK

KILLS = int(os.environ.get("SADAPT_KILLS", "3"))
COMMON = (
    "--random-episodes 4 --hidden 16 --arms together --seed 3 --log-interval 2000 --checkpoint-interval 0.05 --quiet"
)
LEARNERS = {
    "pqn": "--num-envs 8 --num-steps 8 --minibatch-size 32 --total-timesteps 160000",
    "ppo": "--learner ppo --num-envs 8 --num-steps 8 --minibatch-size 32 --total-timesteps 160000",
    "dqn": "--learner dqn --network plain --num-envs 2 --batch-size 8 --buffer-size 60000 --learning-starts 1000 "
    "--total-timesteps 10000",
}
SHORT = "--num-envs 8 --num-steps 8 --minibatch-size 32 --total-timesteps 40000"
OTHERS = (
    "gymnax:CartPole-v1",
    "gymnax:Breakout-MinAtar",
    "gymnax:Acrobot-v1",
    "navix:Navix-Empty-5x5-v0",
    "navix:Navix-DoorKey-5x5-v0",
    "navix:Navix-LavaGapS5-v0",
    "craftax:Craftax-Classic-Symbolic-v1",
)
"""Worlds of the suites that are compiled, where they are installed."""
PATIENCE = 240
EARLY = 10.0
"""Seconds in which a run is still beginning."""


def start(words: list[str], cache: Path) -> subprocess.Popen:
    """The program in a process of its own; compiled programs are kept between them."""
    env = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(cache), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    program = Path(sys.executable).with_name("sadapt")
    return subprocess.Popen([program, *words], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_until(process: subprocess.Popen, seen) -> bool:
    """Whether `seen()` came true before the process ended."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        if seen():
            return True
    return False


def half_written(folder: RunFolder) -> bool:
    """Whether a checkpoint is being written, or was when its process was killed."""
    try:
        return any(folder.checkpoints.folder.glob(f"*{PARTIAL}"))
    except FileNotFoundError:  # the folder is being replaced
        return False


def some_time_after_the_start(folder: RunFolder, chance: random.Random):
    """True a random while after training, not compiling, has begun."""
    before = folder.metrics.stat().st_mtime_ns if folder.metrics.exists() else 0
    due: list[float] = []

    def seen() -> bool:
        time.sleep(0.002)
        if not due and folder.metrics.exists() and folder.metrics.stat().st_mtime_ns != before:
            due.append(time.monotonic() + chance.uniform(0, 0.5))
        return bool(due) and time.monotonic() >= due[0]

    return seen


def end_of(process: subprocess.Popen) -> str:
    """Waits for a success; returns what was said."""
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    return said


def metrics(folder: RunFolder) -> list[list[str]]:
    rows = [line.split(",") for line in folder.metrics.read_text().splitlines()]
    clock = rows[0].index(CLOCK)
    return [[cell for place, cell in enumerate(row) if place != clock] for row in rows]


def final_state(folder: RunFolder) -> dict[str, bytes]:
    tensors, _ = checkpoint.read(next(folder.checkpoints.newest()))
    return {name: tensor.tobytes() for name, tensor in tensors.items()}


def require_equal_to_undisturbed(words: list[str], where: Path, cache: Path, chance: random.Random) -> None:
    """Trains twice, the second time killed again and again, at least once while a checkpoint is written."""
    alone, killed = RunFolder(where / "alone"), RunFolder(where / "killed")
    end_of(start([*words, "--out", str(alone)], cache))
    kills = in_writing = 0
    process = start([*words, "--out", str(killed)], cache)
    while kills < KILLS or not in_writing:
        writing = kills % 3 == 1 or (kills >= KILLS and not in_writing)
        seen = partial(half_written, killed) if writing else some_time_after_the_start(killed, chance)
        if not wait_until(process, seen):
            end_of(process)
            # It finished before it was hit: the next one begins from nothing.
            process = start([*words, "--out", str(killed), "--overwrite"], cache)
            continue
        process.kill()
        process.communicate()
        kills += 1
        in_writing += half_written(killed)
        process = start(["resume", str(killed), "--quiet"], cache)
    end_of(process)
    assert metrics(killed) == metrics(alone)
    assert final_state(killed) == final_state(alone)


@pytest.mark.parametrize(
    "learner", [pytest.param(name, marks=[] if name == "pqn" else [pytest.mark.slow]) for name in LEARNERS]
)
def test_killed_and_resumed_equals_undisturbed(tmp_path, shared_programs, learner):
    words = ["train", "tetris", "--objective", "s-min", "--horizon", "20", *COMMON.split(), *LEARNERS[learner].split()]
    require_equal_to_undisturbed(words, tmp_path, shared_programs, random.Random(learner))


@pytest.mark.slow
@pytest.mark.parametrize("world", OTHERS)
def test_killed_and_resumed_in_worlds_of_others(tmp_path, shared_programs, world):
    pytest.importorskip(world.partition(":")[0])
    words = ["train", world, *COMMON.split(), *LEARNERS["pqn"].split()]
    require_equal_to_undisturbed(words, tmp_path, shared_programs, random.Random(world))


def test_killed_in_its_first_seconds_it_begins_again(tmp_path, shared_programs):
    """While it is imported, compiled and measured, there is no run yet or one that can be taken up.

    Each kill hits a run that has just begun; together they are spread over its first seconds, or all that it takes.
    """
    chance, cache, alone = random.Random("early"), shared_programs, RunFolder(tmp_path / "alone")
    words = ["train", "tetris", "--objective", "s-min", "--horizon", "20", *COMMON.split(), *SHORT.split(), "--out"]
    end_of(start([*words, str(tmp_path / "compiled")], cache))
    began = time.monotonic()
    end_of(start([*words, str(alone)], cache))
    lasting = min(time.monotonic() - began, EARLY)
    for kill in range(KILLS):
        killed = RunFolder(tmp_path / f"killed-{kill}")
        process = start([*words, str(killed)], cache)
        time.sleep((kill + chance.random()) / KILLS * lasting)
        process.kill()
        process.communicate()
        again = ["resume", str(killed), "--quiet"] if killed.config.exists() else [*words, str(killed)]
        end_of(start(again, cache))
        assert metrics(killed) == metrics(alone)
        assert final_state(killed) == final_state(alone)
