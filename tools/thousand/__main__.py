"""`python -m tools.thousand` sweeps with 1,000 sleeping workers, and tells what that costs head and file system.

The head is the program's own: `sadapt sweep --executor slurm` before a terminal. In the place of submitit and its
machines stands a process that forks workers; a worker's result is a file that the head waits for, as with submitit.
"""

from __future__ import annotations

import argparse
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tools.thousand.cluster import Life
from tools.thousand.touches import LOOKED, WRITTEN, Touches, counted, total

from sadapt.cli.sweep import SweepCommand
from sadapt.experiments.executors import Outcome
from sadapt.experiments.worker import Job
from sadapt.output import Column, show, show_json

RESULTS = ".results"
"""The folder of the workers' results, which submitit touches for every look at one of them."""
PLAN = """
title = "{workers} workers that sleep"

[[fast]]
env = "maze-small"
objective = "random"
seed = {seeds}
total_timesteps = 2_000_000
"""


class Screen(io.StringIO):
    """A terminal that nobody looks at."""

    def isatty(self) -> bool:
        return True


class Task:
    """A worker as submitit shows it: looking at it touches the folder of all results, then asks for its own."""

    def __init__(self, result: Path) -> None:
        self.file = result

    def done(self) -> bool:
        self.file.parent.chmod(self.file.parent.stat().st_mode)
        return self.file.exists()

    def result(self) -> Outcome:
        told = json.loads(self.file.read_text(encoding="utf-8"))
        return Outcome(Job("", {}), told["code"], "", 0.0)

    def cancel(self) -> None:
        pass


class Cluster:
    """As many machines as there are runs."""

    def __init__(self, root: Path, life: Life) -> None:
        words = [sys.executable, "-m", "tools.thousand.cluster", str(root), json.dumps(life)]
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, text=True)
        self.results = root / RESULTS
        self.results.mkdir()
        self.first: float | None = None
        """When the first run was handed over."""

    def submit(self, _: Any, job: Job) -> Task:
        assert self.child.stdin is not None
        self.first = self.first or time.monotonic()
        result = self.results / f"{job.settings['seed']}.json"
        print(json.dumps({"job": job._asdict(), "result": str(result)}), file=self.child.stdin, flush=True)
        return Task(result)

    def update_parameters(self, **_: Any) -> None:
        pass

    def close(self) -> list[dict[str, Any]]:
        """What the workers say of themselves, when all have ended."""
        assert self.child.stdin is not None
        self.child.stdin.close()
        self.child.wait()
        return [json.loads(file.read_text(encoding="utf-8")) for file in self.results.glob("*.json")]


def simulated(root: Path, workers: int, life: Life) -> dict[str, Any]:
    """One sweep of so many runs into `root`; counts touches from here on, so once a process."""
    plan = root / "plan.toml"
    plan.write_text(PLAN.format(workers=workers, seeds=list(range(1, workers + 1))), encoding="utf-8")
    cluster, touches = Cluster(root, life), counted(root)
    submitit: Any = ModuleType("submitit")
    submitit.AutoExecutor = lambda folder: cluster
    sys.modules["submitit"], screen = submitit, Screen()
    began, before = time.monotonic(), _used()
    stdout, stderr = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = io.StringIO(), screen
    try:
        SweepCommand(experiment=str(plan), out=root / "results", executor="slurm", no_estimate=True).run()
    finally:
        sys.stdout, sys.stderr = stdout, stderr
    after, ended, head = _used(), time.monotonic(), Counter(touches)
    assert cluster.first is not None
    return {
        "workers": workers,
        **life._asdict(),
        "before_first": cluster.first - began,
        "wall": ended - began,
        "head_seconds": after.seconds - before.seconds,
        "head_megabytes": after.megabytes,
        "head_megabytes_more": after.megabytes - before.megabytes,
        **summary(workers, ended - cluster.first, head, cluster.close()),
    }


def summary(workers: int, seconds: float, head: Touches, told: list[dict[str, Any]]) -> dict[str, Any]:
    """Touches per second and per run, bytes, and the file that was written most often."""
    runs: Touches = Counter()
    for each in told:
        runs.update({(kind, name): times for kind, name, times in each["touches"]})
    written = {name: times for (kind, name), times in (head + runs).items() if kind == WRITTEN}
    shared = {name: times for name, times in written.items() if not _is_of_a_run(name) and RESULTS not in name}
    return {
        "finished": sum(each["code"] == 0 for each in told),
        "head_written_per_second": total(head, WRITTEN) / seconds,
        "head_looked_per_second": total(head, LOOKED) / seconds,
        "workers_written_per_second": total(runs, WRITTEN) / seconds,
        "workers_looked_per_second": total(runs, LOOKED) / seconds,
        "written_per_run": total(runs, WRITTEN) / workers,
        "bytes_per_run": sum(each["bytes"] for each in told) / workers,
        "most_in_a_run": max((times for name, times in written.items() if _is_of_a_run(name)), default=0),
        "most_shared": max(shared.values(), default=0),
        "hottest": max(shared, key=lambda name: shared[name], default=""),
        "looks_in_vain_per_second": (written.get(RESULTS, 0) - workers) / seconds,
    }


def _is_of_a_run(name: str) -> bool:
    return name.startswith("results/fast/") and name.count("/") > 3


def _used() -> SimpleNamespace:
    """Processor time and the most memory that this process has had."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return SimpleNamespace(seconds=used.ru_utime + used.ru_stime, megabytes=used.ru_maxrss / 1024)


def main() -> None:
    """Simulates and prints."""
    parser = argparse.ArgumentParser(prog="python -m tools.thousand", description=__doc__)
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=Life().rows, help="rows of metrics that each writes")
    parser.add_argument("--seconds", type=float, default=Life().seconds, help="how long each sleeps in all")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        told = simulated(Path(folder), given.workers, Life(rows=given.rows, seconds=given.seconds))
    if given.json:
        return show_json(told)
    figures = lambda value: f"{value:,.3g}" if isinstance(value, float) else str(value)  # noqa: E731
    return show(
        [{"what": name.replace("_", " "), "value": value} for name, value in told.items()],
        [Column("what", "what"), Column("value", "value", figures, right=True)],
    )


if __name__ == "__main__":
    main()
