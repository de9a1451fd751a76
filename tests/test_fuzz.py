"""`tools/fuzz` notices what must not happen, and draws the same inputs for the same seed."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tools.fuzz import cases, material, verdict
from tools.fuzz.cases import Case, Command, prepare
from tools.fuzz.mutations import as_csv, as_json, as_map, as_toml, damaged
from tools.fuzz.tensors import as_tensors, joined, parts
from tools.fuzz.trial import ALLOWED, Outcome

from sadapt.runs.checkpoint import _digest, _digest_place, _header

ROOT = Path(__file__).parent.parent
FINE = Outcome(0, 0.1, 0.1, 10**8, "all is well", stopped=False)
EVAL = Case(1, ("eval", "run"), Command("eval run"), (), real=False)
RESUME = Case(2, ("resume", "run"), Command("resume run", writes=("run",)), (), real=False)
FILES = {"run/config.json": "a", "run/notes.txt": "b", "other": "c"}
PLANTED = """
import json, os, sys, time
from pathlib import Path
from tools.fuzz import trial

def allocates():
    bytearray(3 << 30)
    return 0

actions = {
    "fine": lambda: print("said") or 0,
    "raises": lambda: {}["missing"],
    "exits": lambda: sys.exit(7),
    "dies": lambda: os.kill(os.getpid(), 11),
    "sleeps": lambda: time.sleep(60),
    "allocates": allocates,
}
here = Path(sys.argv[1])
told = {}
for name, action in actions.items():
    patience, stops = (2.0, True) if name == "sleeps" else (30.0, False)
    out = trial.run(action, here, here / name, patience=patience, stops=stops)
    told[name] = [out.code, out.said, out.stopped]
print(json.dumps(told))
"""


def test_a_trial_tells_how_a_process_ended(tmp_path):
    words = [sys.executable, "-c", PLANTED, str(tmp_path)]
    told = json.loads(subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    assert told["fine"] == [0, "said\n", False]
    assert told["raises"][0] == 1
    assert "Traceback (most recent call last)" in told["raises"][1]
    assert "KeyError: 'missing'" in told["raises"][1]
    assert told["exits"][0] == 7
    assert told["dies"][0] == -11
    assert told["sleeps"][::2] == [1, True]
    assert "KeyboardInterrupt" in told["sleeps"][1]
    assert "MemoryError" in told["allocates"][1]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (FINE._replace(code=7), "exit code 7"),
        (FINE._replace(code=-11), "exit code -11"),
        (FINE._replace(code=None, seconds=60), "hangs"),
        (FINE._replace(code=1, said="x\nTraceback (most recent call last):\ny"), "Traceback"),
        (FINE._replace(peak=2 * ALLOWED), "memory"),
        (FINE._replace(code=2, said="sadapt: error: not enough memory (x)"), "memory"),
    ],
)
def test_what_must_not_happen_is_a_finding(outcome, words):
    (found,) = verdict.findings(EVAL, outcome, FILES, FILES)
    assert words in found


@pytest.mark.parametrize("code", [0, 1, 2, 130, 143])
def test_a_refusal_or_a_stop_is_no_finding(code):
    assert verdict.findings(EVAL, FINE._replace(code=code), FILES, FILES) == []


@pytest.mark.parametrize(
    ("case", "code", "after", "wrong"),
    [
        (EVAL, 0, {**FILES, "run/config.json": "x"}, ["run/config.json"]),
        (EVAL, 0, {**FILES, "run/new": "x"}, ["run/new"]),
        (RESUME, 0, {**FILES, "run/config.json": "x", "run/new": "x"}, []),
        (RESUME, 0, {**FILES, "run/notes.txt": "x", "other": "x"}, ["other", "run/notes.txt"]),
        (RESUME, 2, {**FILES, "run/config.json": "x"}, ["run/config.json"]),
        (RESUME, 2, {"run/notes.txt": "b", "other": "c", "run/.lock": "x"}, ["run/config.json"]),
    ],
)
def test_files_that_should_not_change(case, code, after, wrong):
    assert verdict.changes(case, code, FILES, after) == wrong


@pytest.fixture
def stored(tmp_path):
    """Material that no program has made."""
    folder = tmp_path / "material"
    for name in (*material.RUNS, "results/tetris/x", "swept/x"):
        (folder / name).mkdir(parents=True)
        (folder / name / "config.json").write_text('{"settings": {"env": "tetris", "seed": 1}}')
        (folder / name / "metrics.csv").write_text("step,loss\n10,0.5\n20,0.25\n")
    for name in material.POLICIES:
        header = {"x": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}
        header["__metadata__"] = {"facts": '{"step": 1}', "sha256": ""}
        (folder / f"{name}.safetensors").write_bytes(joined(header, b"abcd"))
    (folder / "map.txt").write_text(material.MAP)
    (folder / "plan.toml").write_text(material.PLAN)
    return folder


def test_a_seed_names_its_inputs(tmp_path, stored):
    drawn = {
        name: [(prepare(seed, number, stored, tmp_path / name / str(number))) for number in range(60)]
        for name, seed in (("one", 5), ("again", 5), ("other", 6))
    }
    assert drawn["one"] == drawn["again"] != drawn["other"]
    assert verdict.contents(tmp_path / "one") == verdict.contents(tmp_path / "again")
    asked = {case.command.line.split()[0] for case in drawn["one"] + drawn["other"]}
    assert asked >= {"resume", "eval", "plot", "claims", "load", "sweep", "train"}
    assert any(case.words != tuple(case.command.line.split()) for case in drawn["one"])


def test_every_command_is_fed_with_material_that_there_is(stored):
    for command in cases.COMMANDS:
        assert all((stored / name).exists() for choices in command.files.values() for name in choices)


@pytest.mark.parametrize(
    ("special", "data"),
    [
        (as_json, b'{"a": [1, 2], "b": {"c": null}}'),
        (as_csv, b"step,loss\n1,2\n3,4\n"),
        (as_toml, material.PLAN.encode()),
        (as_map, material.MAP.encode()),
    ],
)
def test_damage_changes_files_and_bears_its_own(special, data):
    chance = random.Random(1)
    changed = [special(chance, data) for _ in range(50)]
    assert sum(each != data for each in changed) > 35
    again = [damaged(chance, "x", each, special) for each in changed]
    assert len(set(again)) > 25


def test_a_forged_file_vouches_for_itself():
    header = {"x": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}, "__metadata__": {"facts": "{}", "sha256": ""}}
    whole = joined(header, b"abcd")
    file = io.BytesIO(whole)
    place = _digest_place(_header(file))
    assert _digest(file, place) == whole[place : place + 64].decode()
    assert parts(whole)[1] == b"abcd"
    chance = random.Random(2)
    assert len({as_tensors(chance, whole) for _ in range(30)}) > 15
