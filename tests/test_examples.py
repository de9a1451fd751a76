"""The recipes in examples/ run, and tell about episodes."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
NEEDS = {
    "sb3_dqn": "stable_baselines3",
    "sb3_ppo": "stable_baselines3",
    "cleanrl_pqn": "torch",
    "minigrid_rooms": "minigrid",
}
RECIPES = {
    "sb3_dqn": (["tetris", "--total-timesteps", "600", "--every", "1", "--random-episodes", "2"], "settled on s-m"),
    "sb3_ppo": (["--total-timesteps", "300", "--every", "1", "--random-episodes", "3"], "task return"),
    "cleanrl_pqn": (
        ["maze-small", "--total-timesteps", "1800", "--num-envs", "8", "--random-episodes", "8"],
        "settled on s-m",
    ),
    "jax_loop": (["--total-timesteps", "300"], "mean feedback"),
    "minigrid_rooms": (["--total-timesteps", "300", "--random-episodes", "3"], "feedback"),
}


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(RECIPES)


QUICK = {"sb3_dqn", "minigrid_rooms"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in RECIPES]
)
def test_the_recipe_runs(name):
    if name in NEEDS and find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    options, told = RECIPES[name]
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *options],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert told in done.stdout
