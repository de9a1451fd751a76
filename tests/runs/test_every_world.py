"""Ten thousand steps in worlds of every kind, through the same command."""

from __future__ import annotations

import pytest

from sadapt.cli import main
from sadapt.runs import metrics_file
from sadapt.runs.folder import find

STEPS = 10_000
WORLDS = [
    *(f"minatar-{game}" for game in ("asterix", "breakout", "freeway", "seaquest", "space-invaders")),
    "atari-freeway",
    "gym:CartPole-v1",
    "gym:MountainCar-v0",
    "gym:FrozenLake-v1",
]


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["random", "s-adapt"])
@pytest.mark.parametrize("env", WORLDS)
def test_ten_thousand_steps(tmp_path, env, objective):
    if env.startswith("atari"):
        pytest.importorskip("ale_py")
    out = tmp_path / "run"
    words = ["--objective", objective, "--total-timesteps", str(STEPS), "--quiet", "--out", str(out)]
    assert main(["train", env, *words]) == 0
    status = find(out).read_status()
    assert status["state"] == "finished"
    assert status["step"] >= STEPS
    rows = metrics_file.read(out / "metrics.csv")
    assert rows[-1]["step"] == status["step"]
    assert all((row["loss"] is None) == (objective == "random") for row in rows)
