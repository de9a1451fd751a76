"""What strangers' files tell of a run is believed only where it is of the kind that a run writes."""

from __future__ import annotations

import json
import shutil

import pytest

from sadapt import api
from sadapt.errors import UserError
from sadapt.runs import checkpoint
from sadapt.runs.checkpoint import Damaged
from sadapt.runs.folder import RunFolder

WRONG: dict[str, list] = {
    "version": [None, 1, ["0.2.0"]],
    "settings": [None, [], "tetris"],
    "step": [None, -1, 1.5, "1", True, 10**400],
    "seconds": [None, "1", float("nan"), 10**400],
    "metrics": [None, {}, {"rows": 1, "bytes": -1, "sha256": ""}, {"rows": 1, "bytes": 5, "sha256": None}],
    "versions": [None, [], {"jax": 1}],
    "layout": [1, {}],
    "arms": [{}, {"means": [], "counts": [1]}, {"means": [1, "2"], "counts": [1, 2]}],
}
CASES = [(name, value) for name, values in WRONG.items() for value in values]


def forge(source, path, **changes):
    """The same file telling something else of itself, under a checksum that is right."""
    tensors, facts = checkpoint.read(source)
    checkpoint.write(path, tensors, {**facts, **changes})


@pytest.mark.parametrize(("name", "value"), CASES, ids=[f"{name}={value!r:.20}" for name, value in CASES])
def test_a_fact_of_another_kind_is_damage(finished, tmp_path, name, value):
    newest = next(finished.checkpoints.newest())
    path = tmp_path / newest.name
    forge(newest, path, **{name: value})
    with pytest.raises(Damaged, match=f"its {name} is"):
        checkpoint.facts_of(path)
    with pytest.raises(UserError, match="is not an exported policy"):
        api.load(path)


@pytest.mark.parametrize("name", ["version", "settings", "step"])
def test_a_fact_that_is_missing_is_damage_too(finished, tmp_path, name):
    newest = next(finished.checkpoints.newest())
    tensors, facts = checkpoint.read(newest)
    run = RunFolder(shutil.copytree(finished.path, tmp_path / "run"))
    for path in run.checkpoints.paths():
        checkpoint.write(path, tensors, {key: value for key, value in facts.items() if key != name})
    with pytest.raises(UserError, match="no checkpoint"):
        api.load(run)
    with pytest.raises(UserError, match="no checkpoint"):
        api.resume(run)


def test_headers_that_are_something_else_are_damage(tmp_path):
    for header in (b"[]", b"3", b"[" * 100_000, b'{"__metadata__": 3, "x": "\\"sha256\\":\\""}'):
        path = tmp_path / "a.safetensors"
        text = header + b' "sha256":"' + b"0" * 64 + b'"'
        path.write_bytes(len(text).to_bytes(8, "little") + text)
        with pytest.raises(Damaged):
            checkpoint.facts_of(path)


@pytest.mark.parametrize(
    ("told", "known"),
    [
        ({"state": "stopped", "step": "many", "seconds": [1]}, {"state": "stopped"}),
        ({"state": 3, "step": 5, "seconds": float("inf")}, {"step": 5}),
        ([1], {}),
        (None, {}),
    ],
)
def test_a_status_of_another_kind_is_as_if_it_were_not_said(tmp_path, told, known):
    folder = RunFolder(tmp_path)
    folder.status.write_text(json.dumps(told))
    assert folder.read_status() == known


def test_a_map_that_is_no_text_is_named(finished, tmp_path):
    run = RunFolder(shutil.copytree(finished.path, tmp_path / "run"))
    run.layout.write_bytes(b"\xff#A")
    with pytest.raises(UserError, match=r"layout\.txt is not a text file: byte 1 is not UTF-8"):
        api.load(run)
