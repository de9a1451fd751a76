"""What the program meets before and after its commands: streams that are closed or know few letters, a poor machine."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import closing

import jax
import pytest

from sadapt.cli import main
from sadapt.cli.entrance import Patient, told_failure
from sadapt.envs import table

PROGRAM = f"{sys.executable} -m sadapt"


def shell(line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A line of the shell, in which $SADAPT is the program."""
    full = ["bash", "-c", f"set -o pipefail; {line}"]
    env = {**os.environ, "SADAPT": PROGRAM, **variables}
    return subprocess.run(full, capture_output=True, text=True, timeout=120, env=env, check=False)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("$SADAPT list | head -1", 0),
        ("$SADAPT list | true", 0),
        ("$SADAPT list >&-", 0),
        ("$SADAPT list 2>&-", 0),
        ("$SADAPT list >&- 2>&- <&-", 0),
        ("$SADAPT lits 2>&-", 2),
        ("$SADAPT lits 2>&1 | true", 2),
    ],
)
def test_nobody_has_to_listen(line, code):
    done = shell(line)
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_disk_without_room_for_the_output_is_told():
    done = shell("$SADAPT list > /dev/full")
    assert (done.returncode, done.stderr) == (2, "sadapt: error: [Errno 28] No space left on device\n")


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_every_terminal_shows_every_letter_somehow(encoding):
    done = shell("$SADAPT train tetris --arms zusämmen…; $SADAPT train --help", PYTHONIOENCODING=encoding, LC_ALL="C")
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert done.stderr.startswith("sadapt: error: unknown arms 'zus")
    assert "--total-timesteps" in done.stdout


def test_a_terminal_with_colours_is_told_in_one_plain_paragraph_too():
    here, there = pty.openpty()
    words = [sys.executable, "-m", "sadapt", "bench", "--seconds"]
    code = subprocess.run(words, stdout=there, stderr=there, timeout=120, check=False).returncode
    said = os.read(here, 4096).decode()
    os.close(here)
    os.close(there)
    assert code == 2
    assert said.startswith("sadapt: error: Missing value for argument '--seconds'.")
    assert said.endswith(" (sadapt bench --help shows every option)\r\n")
    assert not {"\x1b", "│", "─"} & set(said)
    assert said.count("\n") == 1


def test_a_stream_falls_silent_when_its_reader_has_gone():
    here, there = os.pipe()
    with closing(os.fdopen(there, "w", encoding="ascii")) as inner:
        stream = Patient(inner)
        print("first", file=stream, flush=True)
        assert os.read(here, 100) == b"first\n"
        print("naïve", file=stream, flush=True)
        assert os.read(here, 100) == b"na\\xefve\n"
        os.close(here)
        for _ in range(3):
            print("nobody reads this", file=stream, flush=True)
        assert not stream.isatty()


def test_a_platform_that_is_not_there_is_named():
    done = shell("$SADAPT probe tetris --episodes 1 --quiet", JAX_PLATFORMS="abacus")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sadapt: error: JAX_PLATFORMS is 'abacus', which cannot be used here")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("failure", [RuntimeError("no cuda"), AssertionError()])
def test_however_jax_says_that_a_platform_is_missing(monkeypatch, failure):
    def missing():
        raise failure

    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    monkeypatch.setattr(jax, "devices", missing)
    assert "JAX_PLATFORMS is 'cuda', which cannot be used here" in told_failure(ValueError("anything"))


@pytest.mark.parametrize(
    "failure",
    [MemoryError("Unable to allocate 7 TiB"), jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")],
)
def test_want_of_memory_is_one_paragraph(monkeypatch, capsys, failure):
    def greedy():
        raise failure

    monkeypatch.setattr(table, "names", greedy)
    assert main(["list"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("sadapt: error: not enough memory")
    assert said.count("\n") == 1


def test_the_programs_own_faults_are_not_explained_away():
    assert told_failure(ValueError("a bug")) is None
    assert told_failure(RuntimeError("a bug")) is None


INTERRUPTED = """
import os, runpy, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "sadapt.cli":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
runpy.run_module("sadapt", run_name="__main__")
"""


def test_an_interruption_before_the_first_import_is_one_line():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (130, "sadapt: stopped\n")
