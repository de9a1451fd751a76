"""Sweeps with real workers on the cheapest agent there is."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import types

import pytest

from sadapt.cli import main
from sadapt.errors import UserError
from sadapt.experiments import executors, plan, worker
from sadapt.experiments import sweep as sweeping
from sadapt.experiments.executors import Outcome, here, on_ray, on_slurm
from sadapt.experiments.sweep import Sweep, Watch, account, carry_out, expected_seconds, kind, measured_paces
from sadapt.runs.folder import RunFolder, write_json
from sadapt.runs.metrics_file import COLUMNS

TWO = """
[[fast]]
env = "maze-small"
objective = "random"
seed = [1, 2]
total_timesteps = 40_000
"""

LEARNING = """
[[fast]]
env = "tetris"
objective = "s-adapt"
seed = [1, 2, 3]
total_timesteps = 400_000
"""


def sweep_of(folder, text=TWO, out="results"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "mine.toml"
    path.write_text(text)
    return Sweep(plan.read(str(path), checked=False), folder / out)


def run_all(sweep, execute=here):
    return [outcome.code for _, outcome in carry_out(sweep, sweep.left(), execute)]


def metrics(sweep):
    return {run.path: sweep.folder(run).metrics.read_bytes() for run in sweep.experiment.runs}


def test_a_sweep_is_done_once_and_repeated_to_the_byte(tmp_path):
    sweep = sweep_of(tmp_path)
    assert run_all(sweep) == [0, 0]
    assert sweep.left() == []
    first, second = metrics(sweep).values()
    assert first != second
    assert b"steps_per_second" in first
    before = metrics(sweep)
    entry = account(sweep.out)[-1]
    assert (entry["finished"], entry["failed"]) == (2, 0)
    assert entry["core_seconds"] > 0
    assert entry["machine"].partition(",")[0].strip()

    gone = sweep.experiment.runs[0]
    shutil.rmtree(sweep.folder(gone).path)
    assert sweep.left() == [gone]
    assert run_all(sweep) == [0]
    assert metrics(sweep) == before
    assert len(account(sweep.out)) == 2

    for run in sweep.experiment.runs:
        sweep.folder(run).status.unlink()
    assert sweep.left() == []


def test_runs_with_other_settings_are_not_mixed_in(tmp_path):
    sweep = sweep_of(tmp_path)
    folder = sweep.folder(sweep.experiment.runs[1])
    folder.path.mkdir(parents=True)
    settings = sweep.job(sweep.experiment.runs[1]).settings
    write_json(folder.config, {"settings": {**settings, "num_envs": 8}})
    with pytest.raises(UserError, match="num_envs: 8, 64"):
        sweep.require_same_settings()
    with pytest.raises(UserError, match="holds a run with other settings"):
        worker.carry_out(sweep.job(sweep.experiment.runs[1]))
    assert not folder.metrics.exists()


def test_a_run_whose_arm_the_policy_chose_is_taken_up_again(tmp_path):
    text = TWO.replace('"random"', '"extrinsic"\nstart_from = "zoo:maze-small"')
    sweep = sweep_of(tmp_path, text)
    folder = sweep.folder(sweep.experiment.runs[0])
    folder.path.mkdir(parents=True)
    settings = sweep.job(sweep.experiment.runs[0]).settings
    write_json(folder.config, {"settings": {**settings, "as_arm": "s-max"}})
    sweep.require_same_settings()
    write_json(folder.config, {"settings": {**settings, "as_arm": "s-max", "start_from": None}})
    with pytest.raises(UserError, match="start_from: null"):
        sweep.require_same_settings()


def test_standing_is_read_from_what_lies_there(tmp_path):
    sweep = sweep_of(tmp_path)
    one, other = sweep.experiment.runs
    assert sweep.standing(one).state == "waiting"
    folder = sweep.folder(other)
    folder.path.mkdir(parents=True)
    folder.write_status(state="stopped", step=500, total=40_000, seconds=1.0)
    assert sweep.standing(other)[:2] == ("stopped", 500)
    assert sweep.left() == [other, one]
    folder.status.unlink()
    folder.metrics.write_text(f"{','.join(COLUMNS)}\n20000,1,1,1,1,1,\n40960,1,1,1,1,1,\n")
    assert sweep.standing(other).state == "finished"


def test_the_time_is_the_sum_over_cores_but_not_less_than_the_longest_run(tmp_path):
    sweep = sweep_of(tmp_path)
    runs = list(sweep.experiment.runs)
    paces = {kind(run): 1_000.0 for run in runs}
    alone = expected_seconds(sweep, runs[:1], paces, 1)
    assert alone == pytest.approx(48.0)
    assert expected_seconds(sweep, runs, paces, 1) == pytest.approx(2 * alone)
    assert expected_seconds(sweep, runs, paces, 8) == pytest.approx(alone)


def test_a_dry_run_says_how_long_all_of_it_takes_whatever_is_there(tmp_path, monkeypatch, capsys):
    """Two runs of 40,000 steps at 1,000 a second and 8 seconds to start, on two cores; one of them is finished."""
    sweep = sweep_of(tmp_path)
    folder = sweep.folder(sweep.experiment.runs[0])
    folder.path.mkdir(parents=True)
    folder.write_status(state="finished", step=40_000, total=40_000, seconds=1.0)
    write_json(folder.config, {"settings": {**sweep.job(sweep.experiment.runs[0]).settings, "num_envs": 8}})
    monkeypatch.setattr(
        "sadapt.experiments.sweep.here", lambda jobs, **rest: [Outcome(job, 0, "1000.0", 1.0) for job in jobs]
    )
    words = ["sweep", str(tmp_path / "mine.toml"), "--out", str(sweep.out), "--dry-run"]
    assert main([*words, "--workers", "1"]) == 0
    told = capsys.readouterr()
    assert "about 1:36 for all of it, about 0:48 for what is left, on 1 core of this machine" in told.out
    assert "would be refused" in told.err
    assert main([*words, "--workers", "2"]) == 0
    assert "about 0:48 for all of it, about 0:48 for what is left, on 2 cores" in capsys.readouterr().out


def command(sweep, *more):
    words = ["sweep", str(sweep.out.parent / "mine.toml"), "--out", str(sweep.out), *more]
    return subprocess.Popen(
        [sys.executable, "-m", "sadapt", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


BROKEN = [b"", b"{", b"[1, 2", b'"a"', b"\xff\xfe", b"null", b"[" * 5000]


@pytest.mark.parametrize("broken", [*BROKEN, b'{"some kind": "fast"}', b"[]"])
def test_a_damaged_memory_of_paces_is_measured_again(tmp_path, monkeypatch, broken):
    sweep = sweep_of(tmp_path)
    file = sweep.out / ".cache" / "paces.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(broken)
    monkeypatch.setattr(
        "sadapt.experiments.sweep.here", lambda jobs, **rest: [Outcome(job, 0, "250.0", 1.0) for job in jobs]
    )
    paces = measured_paces(sweep, sweep.experiment.runs, workers=1)
    assert [paces[kind(run)] for run in sweep.experiment.runs] == [250.0, 250.0]
    assert set(paces.values()) == {250.0}


@pytest.mark.parametrize("broken", [*BROKEN, b"{}"])
def test_a_damaged_account_is_put_aside(tmp_path, broken):
    sweep = sweep_of(tmp_path)
    sweep.out.mkdir()
    (sweep.out / "sweeps.json").write_bytes(broken)
    assert account(sweep.out) == []
    assert list(carry_out(sweep, [], lambda jobs, **rest: iter(()))) == []
    assert [entry["finished"] for entry in account(sweep.out)] == [0]
    assert (sweep.out / "sweeps.json.unreadable").read_bytes() == broken
    assert list(carry_out(sweep, [], lambda jobs, **rest: iter(()))) == []
    assert len(account(sweep.out)) == 2


def test_a_file_with_a_mistake_starts_nothing(tmp_path):
    sweep = sweep_of(tmp_path)
    (tmp_path / "mine.toml").write_text('[[fast]]\nenv = "tetriss"\n')
    told = command(sweep)
    assert "mine.toml, line 2: unknown world 'tetriss'" in told.communicate()[1]
    assert told.returncode == 2
    assert not sweep.out.exists()


def rows(sweep):
    return sum(len(path.read_bytes().splitlines()) for path in sweep.out.glob("**/metrics.csv"))


@pytest.mark.slow
def test_a_sweep_killed_five_times_ends_like_one_left_alone(tmp_path):
    alone = sweep_of(tmp_path / "alone", LEARNING)
    assert run_all(alone) == [0, 0, 0]
    killed = sweep_of(tmp_path / "killed", LEARNING)
    for attempt in range(5):
        process, before = command(killed, "--no-estimate"), rows(killed)
        while rows(killed) < before + 3 and process.poll() is None:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT if attempt == 2 else signal.SIGKILL)
        process.communicate()
        if attempt == 2:
            assert process.returncode == 130
    final = command(killed, "--no-estimate")
    final.communicate()
    assert final.returncode == 0
    assert metrics(killed) == metrics(alone)


@pytest.mark.slow
def test_slurm_jobs_do_the_same(tmp_path):
    pytest.importorskip("submitit")
    alone, scheduled = sweep_of(tmp_path / "alone"), sweep_of(tmp_path / "slurm")
    assert run_all(alone) == run_all(scheduled, on_slurm) == [0, 0]
    assert metrics(scheduled) == metrics(alone)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_node_of_a_ray_cluster_may_die(tmp_path):
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    from sadapt.experiments.executors import on_ray

    alone = sweep_of(tmp_path / "alone", LEARNING)
    assert run_all(alone) == [0, 0, 0]
    shared = sweep_of(tmp_path / "ray", LEARNING)
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    doomed = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        begun = time.monotonic()

        def lose_a_node():
            nonlocal doomed
            if doomed is not None and time.monotonic() - begun > 12:
                cluster.remove_node(doomed, allow_graceful=False)
                doomed = None

        outcomes = carry_out(shared, shared.left(), on_ray, tick=lose_a_node)
        assert [outcome.code for _, outcome in outcomes] == [0, 0, 0]
        assert doomed is None
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert metrics(shared) == metrics(alone)
    assert json.loads((shared.out / "sweeps.json").read_text())[-1]["finished"] == 3


ODD_WORKER = """
import json, os, signal, sys, time
from pathlib import Path

job = json.loads(sys.stdin.readline())
log = Path(job["path"]).with_suffix(".log")
attempt = len(log.read_text()) if log.exists() else 0
log.write_text("x" * (attempt + 1))
fate = job["settings"]["fates"][min(attempt, len(job["settings"]["fates"]) - 1)]
if fate == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
elif fate == "hung":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(1000)
raise SystemExit(fate)
"""


@pytest.fixture
def odd_workers(tmp_path, monkeypatch):
    """Workers that only meet their fate, one for each attempt at a job."""
    (tmp_path / "odd_worker.py").write_text(ODD_WORKER)
    monkeypatch.setattr(executors, "TICK", 0.05)
    began = subprocess.Popen

    def start(words, **more):
        return began([sys.executable, str(tmp_path / "odd_worker.py")], **more)

    monkeypatch.setattr(subprocess, "Popen", start)

    def job(name, *fates):
        return worker.Job(path=str(tmp_path / name), settings={"fates": list(fates)})

    return job


def outcomes(jobs):
    return {outcome.job.path.rpartition("/")[2]: outcome for outcome in here(jobs, workers=2, tick=lambda: None)}


def test_a_run_whose_process_was_killed_is_taken_up_by_another(odd_workers):
    found = outcomes([odd_workers("kill", "killed", 143, 0), odd_workers("bad", 2), odd_workers("cursed", "killed")])
    assert {name: outcome.code for name, outcome in found.items()} == {"kill": 0, "bad": 2, "cursed": -signal.SIGKILL}
    assert found["cursed"].message == "killed by signal 9"
    assert executors.carry_out(odd_workers("alone", 7)).code == 7


def test_a_hung_worker_is_killed_and_its_run_taken_up(odd_workers, monkeypatch):
    monkeypatch.setattr(executors, "SILENCE", 1.0)
    assert outcomes([odd_workers("hung", "hung", 0)])["hung"].code == 0
    monkeypatch.setattr(executors, "GRACE", 0.2)
    process = executors.Process(odd_workers("deaf too", "hung"))
    time.sleep(0.5)
    process.stop()
    assert process.child.returncode == -signal.SIGKILL


def test_a_worker_that_touches_its_run_is_not_silent(tmp_path, odd_workers, monkeypatch):
    monkeypatch.setattr(executors, "SILENCE", 3.0)
    job = odd_workers("alive", "hung")
    sign = worker.sign_of_life(job)
    sign.parent.mkdir()
    sign.write_text("{}")
    process = executors.Process(job)
    process.heard -= 100
    os.utime(sign)
    assert process.outcome() is None
    process.heard -= 100
    os.utime(sign, (time.time() - 10, time.time() - 10))
    assert process.outcome().code == -signal.SIGKILL


def test_a_worker_gives_signs_of_life_now_and_then_and_not_after_every_chunk(tmp_path, odd_workers, monkeypatch):
    job = odd_workers("busy", "hung")
    sign = worker.sign_of_life(job)
    sign.parent.mkdir()
    sign.write_text("{}")
    os.utime(sign, (0, 0))
    touch = worker.signs_of_life(job)
    for _ in range(100):
        touch()
    assert sign.stat().st_mtime == 0
    monkeypatch.setattr(worker, "SIGN", 0.0)
    touch()
    assert sign.stat().st_mtime > 0
    assert worker.SIGN < executors.SILENCE


def test_a_worker_that_may_be_well_is_not_asked_for_a_sign_of_life(odd_workers, monkeypatch):
    process = executors.Process(odd_workers("well", "hung"))
    asked = []

    def sign_of_life(job):
        asked.append(job)
        return worker.sign_of_life(job)

    monkeypatch.setattr(executors, "sign_of_life", sign_of_life)
    assert [process.outcome() for _ in range(3)] == [None] * 3
    assert asked == []
    monkeypatch.setattr(executors, "GRACE", 0.2)
    process.stop()


class Sleeping:
    """A scheduler whose tasks end when they are told to."""

    def __init__(self, folder):
        self.tasks = []

    def update_parameters(self, **_):
        pass

    def submit(self, _, job):
        self.tasks.append(Task(job))
        return self.tasks[-1]


class Task:
    def __init__(self, job):
        self.job, self.over, self.looks = job, False, 0

    def done(self):
        self.looks += 1
        return self.over

    def result(self):
        return Outcome(self.job, 0, "", 1.0)

    def cancel(self):
        pass


def test_the_tasks_of_slurm_are_looked_at_by_turns(monkeypatch):
    """However many there are, a look around costs no more than so many looks in vain."""
    scheduler, rounds = Sleeping(None), []
    monkeypatch.setattr(executors, "_optional", lambda *_: types.SimpleNamespace(AutoExecutor=lambda folder: scheduler))
    monkeypatch.setattr(executors, "TICK", 0.0)
    jobs = [worker.Job(f"runs/{number}", {}) for number in range(3 * executors.LOOKS)]

    def tick():
        rounds.append(sum(task.looks for task in scheduler.tasks))
        for task in scheduler.tasks:
            task.over = len(rounds) >= 6

    ended = list(on_slurm(jobs, tick=tick))
    assert sorted(outcome.job.path for outcome in ended) == sorted(job.path for job in jobs)
    assert rounds[:6] == [executors.LOOKS * number for number in range(1, 7)]
    assert {task.looks for task in scheduler.tasks} == {3}


def test_a_sweep_is_watched_by_turns(tmp_path, monkeypatch):
    sweep = sweep_of(tmp_path, TWO.replace("[1, 2]", str(list(range(1, 8)))))
    monkeypatch.setattr(sweeping, "LOOKS", 3)
    looked = []

    def read_status(folder):
        looked.append(folder.path.name)
        return {}

    monkeypatch.setattr(RunFolder, "read_status", read_status)
    watch, over = Watch(sweep), {sweep.experiment.runs[1].path}
    looked.clear()
    watch.look(over)
    watch.look(over)
    assert [int(name.rpartition("-s")[2]) for name in looked] == [1, 3, 4, 5, 6, 7]
    watch.look({run.path for run in sweep.experiment.runs})
    assert len(looked) == 6
    assert watch[sweep.experiment.runs[1]].state == "waiting"


@pytest.mark.parametrize("address", [None, "10.0.0.1:6379"])
def test_ray_listens_to_this_machine_alone_unless_a_cluster_is_named(monkeypatch, address):
    asked = []

    class Ray:
        is_initialized = staticmethod(lambda: False)
        init = staticmethod(lambda **words: asked.append(words))
        remote = staticmethod(lambda **words: lambda function: function)

    monkeypatch.setitem(sys.modules, "ray", Ray)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if address is not None:
        monkeypatch.setenv("RAY_ADDRESS", address)
    assert list(on_ray([], tick=lambda: None)) == []
    assert asked[0].get("_node_ip_address") == ("127.0.0.1" if address is None else None)
    assert asked[0].get("address") == ("local" if address is None else None)
