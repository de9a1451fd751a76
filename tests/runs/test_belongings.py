"""A folder that is not ours is not touched, and what replaces a run is complete before the old one goes."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress

import numpy as np
import pytest

from sadapt import api
from sadapt.cli import main
from sadapt.errors import UserError
from sadapt.runs import belongings, checkpoint
from sadapt.runs.folder import RunFolder

from .conftest import QUIET, small

RECORD = {"settings": {"env": "tetris"}, "version": "0.2.0", "versions": {}}
CHEAP = {"objective": "random", "total_timesteps": 16_000}


def contents(folder) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def project(folder, config: str | None = None):
    """Somebody's own work, under the very names that a run has."""
    for name in (
        "videos/holiday.mp4",
        "checkpoints/step-1.safetensors",
        "metrics.csv",
        "events.out.tfevents.1",
        "a.py",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"mine: {name}")
    if config is not None:
        (folder / "config.json").write_text(config)
    return folder


@pytest.mark.parametrize("config", [None, "{}", '{"settings": {"env": "production"}}', "no JSON"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_somebody_elses_folder_is_refused_and_left_alone(tmp_path, config, overwrite):
    folder = project(tmp_path / "proj", config)
    before = contents(folder)
    with pytest.raises(UserError, match=r"not from a sadapt run \(.*\).*new folder, an empty one"):
        api.train(small(), out=folder, options=QUIET, overwrite=overwrite)
    assert contents(folder) == before


def test_an_empty_name_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="--out is empty"):
        api.train(small(), out="", options=QUIET)
    for words in (["--out", ""], ["--overwrite", "--out", ""]):
        assert main(["train", "tetris", *words]) == 2
        assert "empty argument was given after --out" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def begun(path) -> RunFolder:
    folder = RunFolder(path)
    folder.path.mkdir()
    folder.begin(RECORD, None, state="running", step=0, total=1, seconds=0.0)
    return folder


def test_only_what_a_run_writes_is_removed(tmp_path):
    run = begun(tmp_path / "run")
    assert belongings.is_ours(run.path)
    theirs = (
        "notes.txt",
        "videos/holiday.mp4",
        "checkpoints/best.safetensors",
        "metrics.csv.bak",
        "policy.safetensors",
    )
    ours = (
        "metrics.csv",
        "videos/s-max-s0.gif",
        "checkpoints/step-000000000001.safetensors",
        "events.out.tfevents.1.me",
    )
    for name in (*theirs, *ours):
        (run.path / name).parent.mkdir(exist_ok=True)
        (run.path / name).write_text(name)
    run.begin({**RECORD, "again": True}, "A.G\n", state="running", step=0, total=2, seconds=0.0)
    left = set(contents(run.path)) - {belongings.MARKER}
    assert left == {*theirs, "config.json", "status.json", "layout.txt"}
    assert json.loads(run.config.read_text())["again"]


def test_links_are_removed_but_never_followed(tmp_path, caplog):
    run = begun(tmp_path / "run")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "step-000000000009.safetensors").write_text("kept")
    (elsewhere / "table.csv").write_text("kept")
    (run.path / "checkpoints").symlink_to(elsewhere)
    run.metrics.symlink_to(elsewhere / "table.csv")
    run.begin(RECORD, None, state="running", step=0, total=1, seconds=0.0)
    assert sorted(path.name for path in elsewhere.iterdir()) == ["step-000000000009.safetensors", "table.csv"]
    assert list(run.checkpoints.newest()) == []
    assert not run.metrics.exists()
    assert str(elsewhere) in caplog.text


@pytest.mark.parametrize("name", [".sadapt", ".lock", "config.json.partial", "status.json.partial"])
def test_nothing_is_written_through_a_link(tmp_path, name):
    run = begun(tmp_path / "run")
    theirs = tmp_path / "notes.txt"
    theirs.write_text("mine", encoding="utf-8")
    (run.path / name).unlink(missing_ok=True)
    (run.path / name).symlink_to(theirs)
    with run.claimed():
        run.begin(RECORD, None, state="running", step=0, total=1, seconds=0.0)
        run.write_status(state="running", step=1, total=1, seconds=0.0)
    assert theirs.read_text(encoding="utf-8") == "mine"
    assert belongings.is_ours(run.path)


def test_a_checkpoint_is_not_written_through_a_link(tmp_path):
    theirs, path = tmp_path / "notes.txt", tmp_path / "step-000000000001.safetensors"
    theirs.write_text("mine", encoding="utf-8")
    path.with_name(path.name + belongings.PARTIAL).symlink_to(theirs)
    checkpoint.write(path, {"weights": np.ones(3, np.float32)}, {})
    assert theirs.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("at", range(12))
def test_killed_while_it_is_replaced_it_is_the_old_run_or_the_new_one_or_none(tmp_path, monkeypatch, at):
    run = begun(tmp_path / "run")
    run.checkpoints.folder.mkdir()
    (run.checkpoints.folder / "step-000000000001.safetensors").write_text("old")
    run.metrics.write_text("old")
    old, calls = contents(run.path), []

    class Killed(BaseException):
        pass

    def dying(function):
        def call(*words, **more):
            if len(calls) == at:
                raise Killed
            calls.append(function)
            return function(*words, **more)

        return call

    kind = type(run.path)
    with monkeypatch.context() as patch:
        for name in ("unlink", "replace", "write_text", "rmdir"):
            patch.setattr(kind, name, dying(getattr(kind, name)))
        with suppress(Killed):
            run.begin({**RECORD, "new": True}, "A.G\n", state="running", step=0, total=2, seconds=0.0)
    if run.config.exists() and not json.loads(run.config.read_text()).get("new"):
        assert old.items() <= contents(run.path).items()
    elif run.config.exists():
        assert run.layout.read_text() == "A.G\n"
        assert not run.metrics.exists()
        assert list(run.checkpoints.newest()) == []
    else:
        run.require_free(overwrite=False)


def test_a_run_with_a_map_replaces_itself(tmp_path):
    layout = tmp_path / "mine.txt"
    layout.write_text("A...\n.##.\n...G\n")
    out = tmp_path / "run"
    words = f"train maze-small --layout {layout} --objective random --total-timesteps 1000 --num-envs 4 --horizon 20"
    assert main([*words.split(), "--random-episodes", "4", "--quiet", "--out", str(out)]) == 0
    layout.unlink()
    assert main(["train", "--config", str(out / "config.json"), "--overwrite", "--out", str(out), "--quiet"]) == 0
    assert (out / "layout.txt").read_text() == "A...\n.##.\n...G\n"
    assert RunFolder(out).read_status()["state"] == "finished"


def test_a_new_agent_never_has_the_old_ones_checkpoints(tmp_path, finished):
    run = RunFolder(tmp_path / "copy")
    shutil.copytree(finished.path, run.path)
    elsewhere = tmp_path / "elsewhere"
    (run.path / "checkpoints").rename(elsewhere)
    (run.path / "checkpoints").symlink_to(elsewhere)
    api.train(small(**CHEAP), out=run.path, options=QUIET, overwrite=True)
    facts = checkpoint.facts_of(next(run.checkpoints.newest()))
    assert facts["settings"]["objective"] == "random"
    assert len(list(elsewhere.iterdir())) == 1
