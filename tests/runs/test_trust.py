"""Files of strangers: whatever they name, nothing of it is imported; and files of ours are as private as asked for."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys

import pytest

from sadapt import api
from sadapt.cli import main
from sadapt.cli.train import tell
from sadapt.errors import UserError
from sadapt.runs import checkpoint
from sadapt.runs.folder import RunFolder

TRAP = "a_strangers_trap"


@pytest.fixture
def strange(finished, tmp_path, monkeypatch):
    """A folder with a run and a policy that name a module beside them, which must not be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / f"{TRAP}.py").write_text("raise SystemExit('the trap was imported')")
    run = tmp_path / "run"
    shutil.copytree(finished.path, run)
    policy = api.export(finished.path, tmp_path / "policy.safetensors")
    tensors, facts = checkpoint.read(policy)
    facts["settings"]["imports"] = [TRAP]
    checkpoint.write(policy, tensors, facts)
    record = json.loads((run / "config.json").read_text())
    record["settings"]["imports"] = [TRAP]
    (run / "config.json").write_text(json.dumps(record))
    (run / "status.json").write_text(json.dumps({"state": "stopped"}))
    yield tmp_path
    assert TRAP not in sys.modules


@pytest.mark.parametrize(
    "words",
    [
        "eval run",
        "eval policy.safetensors",
        "watch run",
        "watch policy.safetensors",
        "resume run",
        "export run",
        "export policy.safetensors --out again.safetensors",
        "train --config run/config.json --out other",
    ],
)
def test_every_command_refuses(strange, words, capsys):
    assert main(words.split()) == 2
    assert f"give --import {TRAP} (in Python: trust=True)" in capsys.readouterr().err


@pytest.mark.parametrize("call", [api.load, api.resume, api.evaluate, lambda path: api.watch(path, "film.gif")])
def test_every_call_refuses(strange, call):
    with pytest.raises(UserError, match="a file alone imports nothing"):
        call("run")


def test_whoever_trusts_it_imports_it(strange):
    with pytest.raises(SystemExit, match="the trap was imported"):
        api.load("policy.safetensors", trust=True)


@pytest.mark.parametrize("named", ["gym:a_strangers_trap:World-v0", "a_strangers_trap:World", "atari:a_strangers_trap"])
def test_a_world_that_is_a_module_is_not_imported_either(strange, named):
    record = json.loads((strange / "run" / "config.json").read_text())
    record["settings"] |= {"imports": [], "env": named, "world": {}}
    (strange / "run" / "config.json").write_text(json.dumps(record))
    with pytest.raises(UserError):
        api.resume("run")


def test_an_experiment_imports_nothing(strange, capsys):
    group = '[[fast]]\nenv = ["tetris"]\nobjective = ["random"]\nseed = [1]\n'
    for line in (f'imports = [["{TRAP}"]]', f'env = ["gym:{TRAP}:World-v0"]'):
        text = group.replace('env = ["tetris"]', line) if line.startswith("env") else group + line + "\n"
        (strange / "mine.toml").write_text(f'title = "?"\n{text}')
        main(["sweep", "mine.toml", "--out", "results", "--dry-run", "--no-estimate"])


def test_pictures_of_a_strangers_run_need_no_module(strange, capsys):
    assert main(["plot", "run", "--out", "curve.png"]) == 0


def test_the_commands_that_are_suggested_name_the_module(strange, capsys):
    run = RunFolder("run")
    tell([run], quiet=False)
    assert f"sadapt eval run --import {TRAP}\n" in capsys.readouterr().err
    with pytest.raises(UserError, match=f"`sadapt resume run --import {TRAP}`"):
        run.require_free(overwrite=False)
    run.config.write_text("{")
    assert run.named == "run"


@pytest.mark.parametrize("wrong", [5, [5], {"a": 1}])
def test_imports_that_are_no_names(strange, wrong, capsys):
    record = json.loads((strange / "run" / "config.json").read_text())
    record["settings"]["imports"] = wrong
    (strange / "run" / "config.json").write_text(json.dumps(record))
    assert main(["eval", "run"]) == 2
    assert "--import must be a list of strings" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="umask")
@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_checkpoints_respect_the_umask(tmp_path, umask, mode):
    import numpy as np

    path = tmp_path / "a.safetensors"
    before = os.umask(umask)
    try:
        for _ in range(2):
            checkpoint.write(path, {"a": np.zeros(3)}, {})
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode
