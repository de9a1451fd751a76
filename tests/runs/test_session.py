"""Runs in folders: stopped and taken up they end as if left alone, and no mistake costs what is there."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import json
import logging
import os
import resource
import shutil
import signal
import time

import numpy as np
import pytest

from sadapt import __version__, api
from sadapt.cli import main
from sadapt.errors import Stop, UserError
from sadapt.runs import checkpoint, config, metrics_file, restoring, session
from sadapt.runs.folder import RunFolder, find
from sadapt.training.metrics import CLOCK
from sadapt.training.settings import world_setting

from .conftest import QUIET, promotion, small


def metrics(folder) -> list[dict]:
    return [{name: value for name, value in row.items() if name != CLOCK} for row in metrics_file.read(folder.metrics)]


def newest(folder):
    return checkpoint.read(next(folder.checkpoints.newest()))[0]


def same_end(a, b) -> None:
    """Equal metrics, and every tensor of the last checkpoint equal to the bit."""
    assert metrics(a) == metrics(b)
    one, other = newest(a), newest(b)
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        assert tensor.tobytes() == other[name].tobytes(), name


def stopping(at: int, number: int = signal.SIGINT):
    """A display that sends this process one signal when the run is past a step, and waits for it to be heard."""
    sent = []

    def show(progress):
        if progress.step >= at and not sent:
            sent.append(progress.step)
            os.kill(os.getpid(), number)
            time.sleep(0.1)

    return show


def stopped(settings, out, at, options=QUIET):
    with pytest.raises(Stop) as stop:
        api.train(settings, out=out, options=options, display=stopping(at))
    return stop.value


def copied(folder, tmp_path, name="copy") -> RunFolder:
    shutil.copytree(folder.path, tmp_path / name)
    return RunFolder(tmp_path / name)


def test_a_finished_run_has_everything(finished):
    names = {path.name.split(".")[0] for path in finished.path.iterdir()}
    assert {"config", "metrics", "status", "checkpoints", "events"} <= names
    status = finished.read_status()
    assert status["state"] == "finished"
    assert status["step"] >= status["total"] == 80_000
    rows = metrics_file.read(finished.metrics)
    assert [row["step"] for row in rows] == [16_384 * k for k in range(1, 6)]
    assert rows[-1]["n_max"] + rows[-1]["n_min"] <= rows[-1]["episodes"]
    assert json.loads(finished.config.read_text())["settings"]["env"] == "tetris"
    assert len(finished.checkpoints.paths()) == 1


def test_tensorboard_has_cleanrls_names(finished):
    text = b"".join(path.read_bytes() for path in finished.path.glob("events.*"))
    for name in (b"charts/episodic_return", b"losses/td_loss", b"surprise/entropy", b"bandit/share_s_min"):
        assert name in text


@pytest.mark.parametrize(
    ("learner", "number"),
    [("pqn", signal.SIGTERM), ("dqn", signal.SIGINT)],
)
@pytest.mark.slow
def test_stopped_and_resumed_is_as_if_left_alone(tmp_path, learner, number):
    settings = small(learner)
    alone = api.train(settings, out=tmp_path / "alone", options=QUIET)
    with pytest.raises(Stop, match="resume") as stop:
        api.train(
            settings, out=tmp_path / "run", options=QUIET, display=stopping(settings.total_timesteps // 3, number)
        )
    assert stop.value.code == 128 + number
    run = find(tmp_path / "run")
    assert run.read_status()["state"] == "stopped"
    assert metrics(run) != metrics(alone)
    api.resume(run)
    same_end(run, alone)


def test_a_run_without_a_checkpoint_begins_again(tmp_path, finished, caplog):
    run = copied(finished, tmp_path)
    shutil.rmtree(run.checkpoints.folder)
    run.write_status(state="running")
    api.resume(run)
    assert "starts again" in caplog.text
    same_end(run, finished)


def test_rows_after_the_checkpoint_are_made_again(tmp_path, finished):
    stopped(small(), tmp_path / "run", at=30_000)
    run = find(tmp_path / "run")
    with open(run.metrics, "a", encoding="ascii") as file:
        file.write("999999,1,2\n49152,77")
    api.resume(run)
    same_end(run, finished)


def test_a_finished_run_is_left_as_it_is(tmp_path, finished):
    run = copied(finished, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*") if path.name != ".lock"}
    api.resume(run)
    assert before == {path: path.stat().st_mtime_ns for path in run.path.rglob("*") if path.name != ".lock"}


def empty(path):
    path.write_bytes(b"")


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def flip(path):
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 4
    path.write_bytes(whole)


@pytest.fixture(scope="module")
def two_checkpoints(tmp_path_factory):
    """A run stopped in its middle with two checkpoints."""
    out = tmp_path_factory.mktemp("runs") / "two"
    with promotion():
        stopped(small(), out, at=30_000, options=dataclasses.replace(QUIET, checkpoint_interval=1e-6))
    run = find(out)
    assert len(run.checkpoints.paths()) == 2
    return run


@pytest.mark.parametrize("damage", [*(pytest.param(each, marks=pytest.mark.slow) for each in (empty, cut)), flip])
def test_a_damaged_checkpoint_is_named_and_the_one_before_used(tmp_path, two_checkpoints, finished, caplog, damage):
    run = copied(two_checkpoints, tmp_path)
    broken = run.checkpoints.paths()[-1]
    damage(broken)
    with caplog.at_level(logging.WARNING):
        api.resume(run)
    assert str(broken) in caplog.text
    same_end(run, finished)


def test_with_none_left_the_folder_is_untouched(tmp_path, two_checkpoints):
    run = copied(two_checkpoints, tmp_path)
    for path in run.checkpoints.paths():
        flip(path)
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file() and path.name != ".lock"}
    with pytest.raises(UserError, match=r"no checkpoint of .* can be used"):
        api.resume(run)
    assert before == {path: path.read_bytes() for path in before}


def test_a_checkpoint_of_other_settings_is_refused(tmp_path, two_checkpoints):
    run = copied(two_checkpoints, tmp_path)
    record = json.loads(run.config.read_text())
    record["settings"]["learner"]["gamma"] = 0.5
    run.config.write_text(json.dumps(record))
    with pytest.raises(UserError, match=r"other settings.*learner.gamma: 0.97, 0.5"):
        api.resume(run)


def test_a_checkpoint_of_another_version_is_refused(tmp_path, two_checkpoints, monkeypatch):
    run = copied(two_checkpoints, tmp_path)
    monkeypatch.setattr(restoring, "__version__", "9.9.9")
    with pytest.raises(UserError, match=rf"is from sadapt {__version__}, this is 9\.9\.9"):
        api.resume(run)


def test_a_full_disk_stops_the_run_and_keeps_what_is_there(tmp_path, two_checkpoints, finished):
    run = copied(two_checkpoints, tmp_path)
    kept = {path: path.read_bytes() for path in run.checkpoints.paths()}
    size = min(len(data) for data in kept.values())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, hard))
    try:
        with pytest.raises(Stop, match=r"could not be written .*is intact.* make room"):
            api.resume(run)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert kept == {path: path.read_bytes() for path in run.checkpoints.folder.iterdir()}
    api.resume(run)
    same_end(run, finished)


def test_a_folder_with_a_run_is_refused_unless_told(tmp_path, finished):
    run = copied(finished, tmp_path)
    (run.path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="already holds a run"):
        api.train(small(), out=run.path, options=QUIET)
    api.train(small(objective="random", total_timesteps=20_000), out=run.path, options=QUIET, overwrite=True)
    assert run.read_settings().objective == "random"
    assert (run.path / "notes.txt").read_text() == "mine"
    assert not list(run.path.glob("events.*"))


def test_a_second_process_is_refused(tmp_path, two_checkpoints):
    run = copied(two_checkpoints, tmp_path)
    with run.claimed(), pytest.raises(UserError, match="another process"):
        api.resume(run)
    with run.claimed(), pytest.raises(UserError, match="another process"):
        api.train(small(), out=run.path, options=QUIET, overwrite=True)


def test_a_run_that_diverges_keeps_its_last_good_checkpoint(tmp_path):
    options = dataclasses.replace(QUIET, checkpoint_interval=1e-6)
    settings = small(learning_rate=1e30, final_learning_rate=1e30)
    with pytest.raises(Stop, match=r"loss .* at step .*--learning-rate"):
        api.train(settings, out=tmp_path / "run", options=options)
    run = find(tmp_path / "run")
    assert run.read_status()["state"] == "diverged"
    for path in run.checkpoints.paths():
        tensors, _ = checkpoint.read(path)
        assert np.isfinite(tensors["tally/reports/loss"])


@pytest.mark.slow
def test_several_seeds_have_folders_of_their_own(tmp_path, finished):
    folders = session.train(small(), tmp_path / "runs", num_seeds=2, options=QUIET)
    assert [folder.path.name for folder in folders] == ["s5", "s6"]
    assert [folder.read_settings().seed for folder in folders] == [5, 6]
    first, alone = metrics(folders[0]), metrics(finished)
    assert [row["episodes"] for row in first] == [row["episodes"] for row in alone]
    np.testing.assert_allclose([row["entropy"] for row in first], [row["entropy"] for row in alone], rtol=0.05)
    assert metrics(folders[0]) != metrics(folders[1])
    with pytest.raises(UserError, match="holds 2 runs"):
        find(tmp_path / "runs")


def test_no_run_here(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        find(tmp_path / "nothing")
    with pytest.raises(UserError, match=r"no config\.json"):
        find(tmp_path)


@pytest.mark.slow
def test_the_users_map_goes_with_the_run(tmp_path):
    layout = tmp_path / "mine.txt"
    layout.write_text("A...\n.##.\n...G\n")
    changes = {
        "layout": str(layout),
        "objective": "random",
        "total_timesteps": 1_000,
        "horizon": 20,
        "random_episodes": 4,
    }
    run = api.train("maze-small", out=tmp_path / "run", options=QUIET, **changes)
    layout.unlink()
    assert world_setting(run.read_settings(), "layout") == str(run.layout)
    assert api.evaluate(run.path, episodes=2).measures["length"].mean == 20


def test_metrics_that_were_cut_are_made_again_from_the_checkpoint_before(tmp_path, two_checkpoints, finished, caplog):
    run = copied(two_checkpoints, tmp_path)
    lines = run.metrics.read_text().splitlines(keepends=True)
    run.metrics.write_text("".join(lines[:-1]))
    api.resume(run)
    assert f"{run.metrics} has {len(lines) - 2} whole rows, and {len(lines) - 1} should be there" in caplog.text
    same_end(run, finished)


@pytest.mark.parametrize(
    ("damage", "said"),
    [(lambda path: path.unlink(), "cannot be read"), (lambda path: path.write_bytes(b"\0"), "0 whole rows")],
)
def test_metrics_that_are_lost_are_named_when_a_run_goes_on(tmp_path, two_checkpoints, caplog, damage, said):
    run = copied(two_checkpoints, tmp_path)
    damage(run.metrics)
    api.resume(run)
    assert f"{run.metrics}" in caplog.text
    assert said in caplog.text
    status = run.read_status()
    assert status["state"] == "finished"
    assert said in status["metrics"]
    run.write_status(**{**status, "state": "stopped"})
    api.resume(run)
    assert said in run.read_status()["metrics"]


@pytest.mark.parametrize("line", [1, 2, 3])
def test_a_finished_run_with_a_hole_in_its_metrics_is_not_called_whole(tmp_path, finished, caplog, capsys, line):
    run = copied(finished, tmp_path)
    lines = run.metrics.read_text().splitlines(keepends=True)
    run.metrics.write_text("".join(lines[:line] + lines[line + 1 :]))
    assert main(["resume", str(run), "--quiet"]) == 0
    assert f"{run.metrics} has" in caplog.text
    assert "nothing left" not in capsys.readouterr().out


def test_a_finished_run_whose_checkpoint_is_damaged_is_not_sent_in_a_circle(tmp_path, finished, capsys):
    run = copied(finished, tmp_path)
    flip(next(run.checkpoints.newest()))
    anew = f"`sadapt train --config {run.config} --out {run} --overwrite`"
    for command in ("eval", "resume"):
        assert main([command, str(run)]) == 2
        assert anew in capsys.readouterr().err
    shutil.rmtree(run.checkpoints.folder)
    for command in ("eval", "resume"):
        assert main([command, str(run)]) == 2
        assert anew in capsys.readouterr().err


def test_a_run_without_a_checkpoint_is_sent_to_resume(tmp_path, two_checkpoints):
    run = copied(two_checkpoints, tmp_path)
    shutil.rmtree(run.checkpoints.folder)
    with pytest.raises(UserError, match=f"no checkpoint yet: `sadapt resume {run}`"):
        api.load(run)


def test_an_edited_map_is_refused_and_another_jax_is_said(tmp_path, caplog, monkeypatch):
    layout = tmp_path / "mine.txt"
    layout.write_text("A...\n.##.\n...G\n")
    words = {"layout": str(layout), "objective": "random", "horizon": 20, "total_timesteps": 40_000}
    with pytest.raises(Stop):
        api.train("maze-small", out=tmp_path / "run", options=QUIET, display=stopping(1_000), **words)
    run = find(tmp_path / "run")
    text = run.layout.read_text()
    run.layout.write_text(text.replace("##", ".#"))
    with pytest.raises(UserError, match=r"another map than .*layout\.txt is now"):
        api.resume(run)
    run.layout.write_text(text)
    theirs = config.versions()
    monkeypatch.setattr(config, "versions", lambda: {**theirs, "jax": "99.0"})
    api.resume(run)
    assert ", this is 99.0: the run continues, but may not end in the same bytes" in caplog.text


def test_seeds_trained_together_are_said_to_go_on_alone(tmp_path, caplog):
    settings = small(objective="random", total_timesteps=40_000)
    with pytest.raises(Stop) as stop:
        session.train(settings, tmp_path / "runs", num_seeds=2, options=QUIET, display=stopping(1))
    for name in ("s5", "s6"):
        assert f"`sadapt resume {tmp_path / 'runs' / name}`" in str(stop.value)
    api.resume(tmp_path / "runs" / "s6")
    assert "continues alone" in caplog.text


def test_a_display_that_is_gone_does_not_stop_the_run(tmp_path):
    shown = []

    def show(progress):
        shown.append(progress.step)
        if progress.step:
            raise BrokenPipeError(32, "Broken pipe")

    run = api.train(small(objective="random"), out=tmp_path / "run", options=QUIET, display=show)
    assert run.read_status()["state"] == "finished"
    assert shown == [0, 16_384]


def test_a_new_checkpoint_outlives_damaged_ones_of_later_steps(tmp_path, two_checkpoints, finished):
    run = copied(two_checkpoints, tmp_path)
    for step in (10**9, 10**9 + 1):
        (run.checkpoints.folder / f"step-{step:012d}.safetensors").write_bytes(b"damaged")
    api.resume(run)
    same_end(run, finished)


def test_a_file_system_without_locks_is_said_to_have_none(tmp_path, monkeypatch, caplog):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with RunFolder(tmp_path / "run").claimed():
        assert "does not support locks (No locks available)" in caplog.text
