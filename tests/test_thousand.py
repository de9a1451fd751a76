"""The sweep with sleeping workers: they do what real ones do to files, and no file or folder grows hot with them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LIFE = """
    import json, math, sys
    from pathlib import Path
    from sadapt.experiments import plan, worker
    from sadapt.experiments.sweep import Sweep
    from sadapt.runs import config, recorder
    from tools.thousand import cluster
    from tools.thousand.touches import WRITTEN, counted

    root = Path(sys.argv[1])
    toml = root / "mine.toml"
    toml.write_text('''[[fast]]
env = "maze-small"
objective = "random"
total_timesteps = 200_000''')
    sweep = Sweep(plan.read(str(toml), checked=False), root / "results")
    job = sweep.job(sweep.experiment.runs[0])
    recorder.TELLING = cluster.TELLING = math.inf
    record = config.record(sweep.experiment.runs[0].settings)
    touches = counted(root)
    if sys.argv[2] == "real":
        worker.carry_out(job)
    else:
        cluster.live(job, cluster.Life(rows=7, seconds=0.0), record)
    print(json.dumps({name: times for (kind, name), times in touches.items() if kind == WRITTEN}))
"""


def told(*words: str) -> dict:
    """What a process of its own prints as JSON."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def writes(folder: Path, which: str) -> dict[str, int]:
    folder.mkdir()
    code = "\n".join(line.removeprefix("    ") for line in LIFE.splitlines())
    found = told("-c", code, str(folder), which)
    return {re.sub(r"step-\d+", "step", Path(name).name): times for name, times in found.items()}


def test_a_sleeping_worker_writes_what_a_real_one_does(tmp_path):
    real, sleeping = writes(tmp_path / "a", "real"), writes(tmp_path / "b", "sleeping")
    assert sleeping == real


@pytest.fixture(scope="module")
def sweeps():
    """With ten workers, and with fifty."""
    common = ("--rows", "4", "--seconds", "1", "--json")
    return [told("-m", "tools.thousand", "--workers", str(workers), *common) for workers in (10, 50)]


def test_writes_and_bytes_of_a_run_do_not_grow_with_the_number_of_runs(sweeps):
    few, many = sweeps
    assert (few["finished"], many["finished"]) == (10, 50)
    assert many["written_per_run"] <= few["written_per_run"] + 1
    assert many["bytes_per_run"] == pytest.approx(few["bytes_per_run"], rel=0.05)


def test_no_file_is_written_for_every_run(sweeps):
    few, many = sweeps
    assert max(many["most_shared"], few["most_shared"]) <= 4
    assert many["most_in_a_run"] <= few["most_in_a_run"] + 2
