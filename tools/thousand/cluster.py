"""Workers that sleep: each is a process that does to its run's folder what a real one does, and nothing else.

A process of its own, `python -m tools.thousand.cluster`, which forks a worker for every line that it reads.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tools.thousand.touches import Touches, bytes_written, counted

from sadapt.experiments.worker import CHECKPOINT_INTERVAL, Job, signs_of_life
from sadapt.runs import config
from sadapt.runs.checkpoint import write
from sadapt.runs.folder import RunFolder
from sadapt.runs.metrics_file import COLUMNS, MetricsFile
from sadapt.runs.recorder import TELLING


class Life(NamedTuple):
    """How a worker spends its time."""

    rows: int = 20
    chunks: int = 5
    """Chunks of steps between rows."""
    seconds: float = 20.0
    """In all; a run of the fast preset writes about a row a second."""


def live(job: Job, life: Life, record: dict[str, Any], sleep: Callable[[float], None] = time.sleep) -> None:
    """From the claim to the last status, as `sadapt.runs.session.train` and its recorder go about it."""
    folder, total = RunFolder(job.path), int(job.settings["total_timesteps"])
    folder.config.exists()
    folder.require_free(overwrite=False)
    with folder.claimed():
        folder.require_free(overwrite=False)
        folder.begin({**record, "settings": job.settings}, None, state="running", step=0, total=total, seconds=0.0)
        table, touch, saved = MetricsFile(folder.metrics), signs_of_life(job), time.monotonic()
        told = saved

        def tell(state: str, step: int) -> None:
            nonlocal told
            told = time.monotonic()
            folder.write_status(state=state, step=step, total=total, seconds=0.0)

        tell("running", 0)
        for number in range(1, life.rows + 1):
            for _ in range(life.chunks):
                sleep(life.seconds / life.rows / life.chunks)
                touch()
            step = total * number // life.rows
            table.append({name: float(step) if name != "step" else step for name in COLUMNS})
            if time.monotonic() - told >= TELLING:
                tell("running", step)
            if number == life.rows or time.monotonic() - saved > CHECKPOINT_INTERVAL:
                _save(folder, table, step)
                saved = time.monotonic()
        tell("finished", total)
        table.close()


def _save(folder: RunFolder, table: MetricsFile, step: int) -> None:
    """A checkpoint; a small one, as its size is the run's own affair."""
    table.sync()
    place = folder.path / "checkpoints"
    place.mkdir(exist_ok=True)
    write(place / f"step-{step:012d}.safetensors", {"x": np.zeros(1_000, np.float32)}, {"step": step})


def main() -> None:
    """Reads jobs until there are no more, and waits for the workers."""
    warnings.filterwarnings("ignore", message=r"os\.fork\(\)", category=RuntimeWarning)
    root, life = Path(sys.argv[1]), Life(*json.loads(sys.argv[2]))
    touches, record = counted(root), {**config.record(config.from_dict({"env": "maze-small"}, "")), "settings": {}}
    for line in sys.stdin:
        given = json.loads(line)
        _reap(os.WNOHANG)
        if os.fork() == 0:
            os._exit(_worker(Job(**given["job"]), Path(given["result"]), life, record, touches))
    _reap(0)


def _worker(job: Job, result: Path, life: Life, record: dict[str, Any], touches: Touches) -> int:
    """A worker's whole life; its result tells what it has touched."""
    code, before = 0, bytes_written()
    touches.clear()
    try:
        live(job, life, record)
    except BaseException as error:
        code = 1
        print(f"{job.path}: {error!r}", file=sys.stderr, flush=True)
    told = [[kind, name, times] for (kind, name), times in touches.items()]
    partial = result.with_suffix(".partial")
    partial.write_text(json.dumps({"code": code, "bytes": bytes_written() - before, "touches": told}))
    partial.replace(result)
    return code


def _reap(how: int) -> None:
    try:
        while os.waitpid(-1, how)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    main()
