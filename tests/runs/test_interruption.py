"""A signal is heard from the first moment on, whatever a library makes of it, and the run says that it was stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from sadapt import api
from sadapt.cli import main
from sadapt.errors import Stop, UserError
from sadapt.runs import process, session
from sadapt.runs.folder import RunFolder
from sadapt.runs.interruption import requests
from sadapt.training.driver import Driver

from .conftest import QUIET, small


def interrupt(number: int = signal.SIGINT) -> None:
    """Sends this process a signal, which Python hears before the next line."""
    os.kill(os.getpid(), number)
    time.sleep(0.01)


def at_once():
    interrupt()


def swallowed():
    with suppress(KeyboardInterrupt):
        interrupt()


def swallowed_and_gone_on():
    swallowed()
    for _ in range(3_000):
        time.sleep(0.01)


def turned_into_something_else():
    try:
        interrupt()
    except KeyboardInterrupt:
        raise ImportError("cannot import name 'x'") from None


def launching(monkeypatch, launch) -> None:
    """Runs whose first state takes `launch`."""
    monkeypatch.setattr(
        session,
        "driver",
        lambda prog, seeds: Driver(lambda recall: launch(), None, None, None, lambda: None),
    )


@pytest.mark.parametrize("how", [at_once, swallowed, swallowed_and_gone_on, turned_into_something_else])
def test_before_the_first_step_a_run_stops_at_once_and_says_so(tmp_path, monkeypatch, capsys, how):
    launching(monkeypatch, how)
    with pytest.raises(Stop, match="stopped before its first step; `sadapt resume") as stop:
        api.train(small(), out=tmp_path / "run", options=QUIET)
    assert stop.value.code == 130
    assert RunFolder(tmp_path / "run").read_status()["state"] == "stopped"
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_are_heard_alike(tmp_path, monkeypatch, number):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("whoever started the tests has this signal ignored, as nohup does, and so do we")
    launching(monkeypatch, lambda: interrupt(number))
    with pytest.raises(Stop) as stop:
        api.train(small(), out=tmp_path / "run", options=QUIET)
    assert stop.value.code == 128 + number


def test_a_run_that_was_to_be_replaced_is_still_there(tmp_path, monkeypatch, finished):
    launching(monkeypatch, at_once)
    before = {path: path.stat().st_mtime_ns for path in finished.path.rglob("*") if path.name != ".lock"}
    with pytest.raises(Stop, match="is as it was"):
        api.train(small(), out=finished.path, options=QUIET, overwrite=True)
    assert before == {path: path.stat().st_mtime_ns for path in finished.path.rglob("*") if path.name != ".lock"}


def test_a_run_that_cannot_begin_does_not_say_that_it_is_running(tmp_path, monkeypatch):
    def launch():
        raise UserError("no spread")

    launching(monkeypatch, launch)
    with pytest.raises(UserError, match="no spread"):
        api.train(small(), out=tmp_path / "run", options=QUIET)
    status = RunFolder(tmp_path / "run").read_status()
    assert (status["state"], status["message"]) == ("failed", "no spread")


@pytest.mark.parametrize("caught", ["Exception", "KeyboardInterrupt"])
def test_while_importing_one_line_is_said(tmp_path, monkeypatch, capsys, caught):
    (tmp_path / "interrupting.py").write_text(
        "import os, signal, time\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(0.01)\n"
        f"except {caught}:\n"
        "    raise ImportError('broken')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["train", "tetris", "--import", "interrupting"]) == 130
    assert len(capsys.readouterr().err.splitlines()) == 1
    sys.modules.pop("interrupting", None)


def test_a_run_started_to_outlive_its_terminal_does():
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with requests() as asked:
            interrupt(signal.SIGHUP)
        assert asked.received is None
    finally:
        signal.signal(signal.SIGHUP, former)


def test_a_run_whose_process_is_gone_is_not_running(tmp_path):
    run = RunFolder(tmp_path)
    run.write_status(state="running", step=5)
    assert run.read_status()["state"] == "running"
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    told = {**process.this(), "pid": child.pid, "began": None}
    child.wait()
    assert process.gone(told)
    assert not process.gone({**told, "host": "another"})
    reused = {**process.this(), "began": 1}
    assert process.gone(reused)
    for odd in (None, {}, {**told, "pid": -1}, {**told, "pid": "7"}, {**told, "pid": 2**70}):
        assert not process.gone(odd)
    run.write_status(state="running", step=5)
    text = run.status.read_text().replace(f'"pid": {os.getpid()}', f'"pid": {child.pid}')
    run.status.write_text(text)
    assert (run.read_status()["state"], run.read_status()["step"]) == ("lost", 5)
