"""All runs as one table: the numbers of the files, the same bytes each time, and pandas where it is wanted."""

from __future__ import annotations

import csv
import gzip
import json
import sys

import pytest

import sadapt.report
from sadapt.cli import main
from sadapt.errors import UserError
from sadapt.report.stored import load as load_runs
from sadapt.report.table import FILE, compressed, costs
from sadapt.runs.folder import write_json
from tests.report.test_figures import ROWS, store


@pytest.fixture
def stored(tmp_path):
    root = tmp_path / "runs"
    for seed in (1, 2):
        store(root, "maze-small", "s-adapt", seed)
    store(root, "maze-small", "s-adapt", 1, gamma=0.5)
    store(root, "tetris", "random", 1)
    store(root, "tetris", "random", 2, rows=5)
    return root


def test_every_row_of_every_finished_run_is_there_once(stored):
    rows = list(csv.DictReader(gzip.decompress(compressed(load_runs(stored), stored)).decode().splitlines()))
    assert len(rows) == 4 * ROWS
    assert len({(row["run"], row["step"]) for row in rows}) == 4 * ROWS
    for row in rows:
        lines = (stored / row["run"] / "metrics.csv").read_text().splitlines()
        (line,) = (each for each in csv.DictReader(lines) if each["step"] == row["step"])
        assert all((float(row[name]) == float(value)) if value else row[name] == "" for name, value in line.items())
    assert {(row["objective"], row["seed"], row["variant"]) for row in rows} == {
        ("s-adapt", "1", "gamma 0.97"),
        ("s-adapt", "2", "gamma 0.97"),
        ("s-adapt", "1", "gamma 0.5"),
        ("random", "1", ""),
    }
    assert len({row["settings"] for row in rows}) == 3


def test_the_same_runs_give_the_same_bytes(stored, capsys):
    assert main(["table", str(stored)]) == 0
    assert "runs.csv.gz holds them all" in capsys.readouterr().out
    first = (stored / FILE).read_bytes()
    assert main(["table", str(stored), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == len(first)
    assert (stored / FILE).read_bytes() == first


def test_a_frame_from_the_runs_and_from_their_table_is_the_same(stored, tmp_path):
    pytest.importorskip("pandas")
    alone = tmp_path / "alone"
    alone.mkdir()
    assert main(["table", str(stored), "--out", str(alone / FILE)]) == 0
    frame = sadapt.report.load(stored)
    assert frame.equals(sadapt.report.load(alone))
    assert frame.equals(sadapt.report.load(alone / FILE))
    assert frame.groupby(["env", "objective", "variant", "seed"])["return"].last().max() == 2 * ROWS
    assert frame["alpha"].isna().sum() == ROWS  # Random has no arms


def test_without_pandas_it_is_said_what_to_do(stored, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match=r"pip install 'sadapt\[pandas\]'"):
        sadapt.report.load(stored)


def test_mistakes(stored, tmp_path, capsys):
    assert main(["table", str(stored), "--out", str(tmp_path / "a.txt")]) == 2
    assert ".csv.gz" in capsys.readouterr().err
    pytest.importorskip("pandas")
    with pytest.raises(UserError, match="holds no runs"):
        sadapt.report.load(tmp_path / "nowhere")
    (tmp_path / "a.csv.gz").write_bytes(b"no table")
    with pytest.raises(UserError, match="is not a table of runs"):
        sadapt.report.load(tmp_path / "a.csv.gz")


def test_core_hours_are_the_runs_own(stored):
    for seed, seconds in ((1, 1800.0), (2, 5400.0)):
        write_json(stored / f"maze-small-s-adapt-{seed}-0" / "status.json", {"state": "finished", "seconds": seconds})
    maze, tetris = costs(load_runs(stored))
    assert (maze.world, maze.runs, maze.steps, maze.core_hours) == ("maze-small", 3, 3 * 100 * ROWS, 2.0)
    assert (tetris.runs, tetris.core_hours) == (1, 0.0)
