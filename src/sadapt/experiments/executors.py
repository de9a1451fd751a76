"""Where the runs of a sweep are carried out: the cores of this machine, a Ray cluster, or SLURM.

All of them do the same: each run is one worker process on one core, and a run whose worker was lost (killed, silent for
too long, or gone with its machine) is given to another, which goes on from the last checkpoint.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sadapt.errors import UserError, installing
from sadapt.experiments.worker import Job, sign_of_life
from sadapt.runs.cores import available

TICK = 0.5
"""Seconds between looks at the workers."""
LOOKS = 25
"""Tasks of SLURM that may be looked at in vain each time, by turns: for each, submitit touches the folder of all."""
LAST_WORDS = 2_000
"""Characters that are kept of what a failed worker said."""
ALONE = {"address": "local", "_node_ip_address": "127.0.0.1", "include_dashboard": False}
"""A Ray cluster of this machine's own: its servers, which run what they are sent, listen to this machine alone."""
ATTEMPTS = 5
"""How often a run may lose its worker before the sweep gives it up."""
SIGNALLED = 128
"""Exit codes beyond it, and below 0, are those of workers that a signal has ended."""
GRACE = 120.0
"""Seconds that a worker has to save its run when it is asked to stop."""
SILENCE = 1_800.0
"""Seconds without a sign of life after which a worker is taken for hung, and killed."""


class Outcome(NamedTuple):
    """How a job ended."""

    job: Job
    code: int
    """0 is success; otherwise the worker's exit code."""
    message: str
    """What the worker printed: the pace that was asked for, or the reason why it failed."""
    seconds: float
    """How long it had its core."""


class Executor(Protocol):
    """Carries jobs out and yields their outcomes as they come; closing it early stops its workers, who save."""

    def __call__(self, jobs: Sequence[Job], *, workers: int | None, tick: Callable[[], None]) -> Iterator[Outcome]: ...


class Process:
    """A worker process; it ends when this one does."""

    def __init__(self, job: Job, core: int | None = None) -> None:
        self.job, self.began = job, time.monotonic()
        self.heard = self.began
        """Its last sign of life that is known."""
        words = [sys.executable, "-m", "sadapt.experiments.worker", *([] if core is None else [str(core)])]
        self.said, self.complained = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.child = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=self.said, stderr=self.complained, text=True, start_new_session=True
        )
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps(job._asdict()) + "\n")
        self.child.stdin.flush()

    def outcome(self) -> Outcome | None:
        """How it ended; None while it works. One that has hung is killed."""
        if self.child.poll() is None:
            if self._silence() < SILENCE:
                return None
            self.child.kill()
        code = self.child.wait()
        told = self.said if code == 0 else self.complained
        told.seek(0)
        words = told.read().strip()[-LAST_WORDS:] or (f"killed by signal {-code}" if code < 0 else "")
        self.close()
        return Outcome(self.job, code, words, time.monotonic() - self.began)

    def _silence(self) -> float:
        """Seconds since it began, or last touched its run; which is looked at only where that decides."""
        if time.monotonic() - self.heard >= SILENCE:
            with suppress(OSError):
                age = time.time() - sign_of_life(self.job).stat().st_mtime
                self.heard = max(self.heard, time.monotonic() - age)
        return time.monotonic() - self.heard

    def stop(self) -> None:
        """Asks it to save and end, and waits until it has."""
        self.child.terminate()
        try:
            self.child.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.close()

    def close(self) -> None:
        """Lets go of the files."""
        for file in (self.child.stdin, self.said, self.complained):
            if file is not None:
                file.close()


class Losses:
    """How often each run has lost its worker."""

    def __init__(self) -> None:
        self._times: dict[str, int] = {}

    def again(self, ended: Outcome) -> bool:
        """Whether an outcome is that of a lost worker, whose run another may take up."""
        if 0 <= ended.code <= SIGNALLED:
            return False
        self._times[ended.job.path] = self._times.get(ended.job.path, 0) + 1
        return self._times[ended.job.path] < ATTEMPTS


def _lost(job: Job, why: object) -> Outcome:
    """The outcome of a worker that is gone with its machine."""
    return Outcome(job, -1, f"its worker was lost, the last time because: {why}"[:LAST_WORDS], 0.0)


def here(jobs: Sequence[Job], *, workers: int | None = None, tick: Callable[[], None]) -> Iterator[Outcome]:
    """One process pinned to each core of this machine."""
    cores = available()
    slots: list[int | None] = [cores[index % len(cores)] for index in range(workers or len(cores))]
    waiting, working, losses = list(reversed(jobs)), dict[int, Process](), Losses()
    try:
        while waiting or working:
            for slot, core in enumerate(slots):
                if slot not in working and waiting:
                    working[slot] = Process(waiting.pop(), core)
            for slot, process in list(working.items()):
                if (ended := process.outcome()) is not None:
                    del working[slot]
                    if losses.again(ended):
                        waiting.append(ended.job)
                    else:
                        yield ended
            tick()
            time.sleep(TICK)
    finally:
        for process in working.values():
            process.child.terminate()
        for process in working.values():
            process.stop()


def carry_out(job: Job) -> Outcome:
    """One job on the machine that this is called on; the scheduler decides about cores."""
    process = Process(Job(*job))
    try:
        while (ended := process.outcome()) is None:
            time.sleep(TICK)
        return ended
    except BaseException:
        process.stop()
        raise


def on_ray(jobs: Sequence[Job], *, workers: int | None = None, tick: Callable[[], None]) -> Iterator[Outcome]:
    """A Ray cluster: the one that RAY_ADDRESS names, or one of this machine's cores, which nobody else can reach."""
    ray = _optional("ray", "ray")
    if not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level="error", **({} if os.environ.get("RAY_ADDRESS") else ALONE))
    remote = ray.remote(num_cpus=1, max_retries=0, retry_exceptions=False)(carry_out)
    waiting, working, losses = list(reversed(jobs)), dict[Any, Job](), Losses()
    try:
        while waiting or working:
            while waiting and (workers is None or len(working) < workers):
                job = waiting.pop()
                working[remote.remote(job)] = job
            for reference in ray.wait(list(working), timeout=TICK)[0]:
                job = working.pop(reference)
                try:
                    ended = Outcome(*ray.get(reference))._replace(job=job)
                except ray.exceptions.RayError as error:
                    ended = _lost(job, error)
                if losses.again(ended):
                    waiting.append(job)
                else:
                    yield ended
            tick()
    finally:
        for reference in working:
            ray.cancel(reference, force=False)


def on_slurm(jobs: Sequence[Job], *, workers: int | None = None, tick: Callable[[], None]) -> Iterator[Outcome]:
    """SLURM through submitit, one job a run; where there is no SLURM, submitit's processes on this machine."""
    submitit = _optional("submitit", "slurm")
    folder = Path(jobs[0].path).parent / ".slurm" if jobs else Path(".slurm")
    scheduler = submitit.AutoExecutor(folder=folder)
    scheduler.update_parameters(cpus_per_task=1, timeout_min=24 * 60, name="sadapt")
    waiting, working, losses = list(reversed(jobs)), deque[tuple[Any, Job]](), Losses()
    try:
        while waiting or working:
            while waiting and (workers is None or len(working) < workers):
                job = waiting.pop()
                working.append((scheduler.submit(carry_out, job), job))
            looks = 0
            while looks < min(LOOKS, len(working)):
                task, job = working[0]
                if not task.done():
                    working.rotate(-1)
                    looks += 1
                    continue
                working.popleft()
                try:
                    ended = Outcome(*task.result())._replace(job=job)
                except Exception as error:  # submitit raises what it likes: of its own, or the worker's
                    ended = _lost(job, error)
                if losses.again(ended):
                    waiting.append(job)
                else:
                    yield ended
            tick()
            time.sleep(TICK)
    finally:
        for task, _ in working:
            task.cancel()


EXECUTORS: dict[str, Executor] = {"local": here, "ray": on_ray, "slurm": on_slurm}


def _optional(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UserError(f"--executor {extra} needs {module}: {installing(extra)}") from error
