"""`tools/same.py` finds what differs between two folders of results, names it, and overlooks what may differ."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

TOOL = Path(__file__).parent.parent / "tools" / "same.py"
spec = importlib.util.spec_from_file_location("same", TOOL)
same = importlib.util.module_from_spec(spec)
spec.loader.exec_module(same)

CASE = same.Case("any", "any world")
TABLE = "step,loss,q,steps_per_second\n10,0.5,1.25,900.1\n20,0.25,1.5,901.2\n"


def tensors():
    return {
        "dense/weight": np.arange(6, dtype=np.float32).reshape(2, 3),
        "dense/bias": np.zeros(2, np.float32),
        "head/bias": np.ones(3, np.float32),
    }


@pytest.fixture
def results(tmp_path):
    """Writes the two sides of a case and compares them."""

    def write(folder, table, arrays, run):
        (folder / "run" / run).mkdir(parents=True)
        (folder / "run" / run / "metrics.csv").write_text(table, encoding="utf-8")
        save_file(arrays, folder / f"{run or 'run'}.safetensors")

    def compare(table=TABLE, arrays=None, ignore=(), seeds=("",)):
        for seed in seeds:
            write(tmp_path / "here", TABLE, tensors(), seed)
            write(tmp_path / "REV", table, tensors() if arrays is None else arrays, seed)
        return same.judge(CASE, tmp_path / "here", tmp_path / "REV", ignore)

    return compare


def test_equal_folders_are_equal(results):
    metrics, parameters = results()
    assert metrics == (True, "equal (2 rows)")
    assert parameters == (True, "equal (3 arrays)")


def test_the_speed_may_differ(results):
    metrics, _ = results(TABLE.replace("901.2", "450.7"))
    assert metrics.same


def test_a_changed_digit_is_named_with_its_column_step_and_values(results):
    metrics, parameters = results(TABLE.replace("1.5", "1.500001"))
    assert metrics == (False, "q at step 20: 1.5 here, 1.500001 in REV")
    assert parameters.same


def test_the_first_of_several_differences_is_told(results):
    metrics, _ = results(TABLE.replace("0.25", "0.3").replace("1.25", "1.3"))
    assert metrics == (False, "q at step 10: 1.25 here, 1.3 in REV (2 columns differ)")


def test_a_missing_row_is_told(results):
    metrics, _ = results(TABLE + "30,0.1,2,900\n")
    assert metrics == (False, "2 rows here, 3 in REV")


MORE = "step,loss,q,entropy,steps_per_second\n10,0.5,1.25,7,900.1\n20,0.25,1.5,8,901.2\n"
FEWER = "step,q\n10,1.25\n20,1.5\n"


def test_a_column_that_is_gone_is_a_difference(results):
    metrics, _ = results(MORE)
    assert metrics == (False, "only in REV: entropy")


def test_a_column_that_is_new_is_told_and_changes_nothing(results):
    metrics, _ = results(FEWER)
    assert metrics == (True, "equal (2 rows), new here: loss")


@pytest.mark.parametrize(("table", "name"), [(MORE, "entropy"), (FEWER, "loss")])
def test_unless_it_is_ignored(results, table, name):
    metrics, _ = results(table, ignore=[name])
    assert metrics.same


def test_a_changed_tensor_is_named_with_its_distance(results):
    changed = tensors()
    changed["dense/weight"][1, 2] += 0.5
    changed["head/bias"][0] += 0.25
    metrics, parameters = results(arrays=changed)
    assert metrics.same
    assert parameters == (False, "2 of 3 arrays differ, most dense/weight: by 0.5")


def test_bytes_count_where_numbers_are_equal(results):
    _, parameters = results(arrays={**tensors(), "dense/bias": np.full(2, -0.0, np.float32)})
    assert parameters == (False, "1 of 3 arrays differ, most dense/bias: by 0")


def test_a_tensor_of_another_shape_is_named(results):
    _, parameters = results(arrays={**tensors(), "head/bias": np.ones(4, np.float32)})
    assert parameters == (False, "head/bias: float32 (3,) here, float32 (4,) in REV")


def test_a_number_beside_none_is_infinitely_far():
    assert same.distance(np.array([1.0, np.nan]), np.array([1.0, 2.0])) == np.inf
    assert same.distance(np.array([1.0, np.nan]), np.array([1.5, np.nan])) == 0.5


def test_a_renamed_tensor_is_told_and_equal(results):
    renamed = {name.replace("head", "top"): tensor for name, tensor in tensors().items()}
    _, parameters = results(arrays=renamed)
    assert parameters == (True, "equal but renamed (only here: head/bias; only in REV: top/bias)")


def test_a_tensor_that_was_renamed_and_changed_is_a_difference(results):
    renamed = {name.replace("head", "top"): tensor * 2 for name, tensor in tensors().items()}
    _, parameters = results(arrays=renamed)
    assert not parameters.same
    assert "dense/weight: by 5" in parameters.text
    assert "only in REV: top/bias" in parameters.text


def test_tensors_that_changed_places_are_a_difference(results):
    swapped = {**tensors(), "dense/bias": tensors()["head/bias"], "head/bias": tensors()["dense/bias"]}
    _, parameters = results(arrays=swapped)
    assert not parameters.same


def test_what_differs_is_named_for_each_seed(results):
    metrics, parameters = results(TABLE.replace("1.5", "1.6"), seeds=("s1", "s2"))
    assert metrics.text == "s1: q at step 20: 1.5 here, 1.6 in REV; s2: q at step 20: 1.5 here, 1.6 in REV"
    assert parameters == (True, "s1: equal (3 arrays); s2: equal (3 arrays)")


def test_no_results_are_not_equal_results(tmp_path):
    metrics, parameters = same.judge(CASE, tmp_path, tmp_path, ())
    assert not metrics.same
    assert not parameters.same


def test_wrappers_are_compared_array_by_array(tmp_path):
    for side, last in (("here", 2.0), ("REV", 2.5)):
        (tmp_path / side).mkdir()
        np.savez(tmp_path / side / "wrappers.npz", reward=np.array([1.0, last]), obs=np.zeros(3))
    metrics, _ = same.judge(same.Case("wrappers", ""), tmp_path / "here", tmp_path / "REV", ())
    assert metrics == (False, "1 of 2 arrays differ, most reward: by 0.5")


def test_a_command_that_fails_is_a_difference_with_its_last_words(tmp_path):
    source = tmp_path / "src"
    (source / "sadapt").mkdir(parents=True)
    (source / "sadapt" / "__init__.py").touch()
    (source / "sadapt" / "__main__.py").write_text("raise SystemExit('first\\nno such world')", encoding="utf-8")
    sides = [same.Side("here", "here", source, None), same.Side("in REV", "REV", source, None)]
    outcome = same.run_case(CASE, sides, tmp_path / "out", tmp_path / "cache", ())
    assert outcome.metrics == (False, "failed here: no such world; failed in REV: no such world")


def test_a_tree_that_is_not_the_imported_one_is_refused(tmp_path):
    side = same.Side("in REV", "REV", tmp_path, None)
    with pytest.raises(same.Mistake, match="does not import sadapt from"):
        same.require_own_sources(side, tmp_path / "cache")


def test_a_revision_is_materialised_as_it_was_committed(tmp_path, monkeypatch):
    def git(*words):
        subprocess.run(["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b.c", *words], check=True)

    root = tmp_path / "root"
    (root / "src" / "sadapt").mkdir(parents=True)
    module = root / "src" / "sadapt" / "__init__.py"
    module.write_text("old = True\n", encoding="utf-8")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "old")
    module.write_text("old = False\n", encoding="utf-8")
    monkeypatch.setattr(same, "ROOT", root)
    there = same.materialise(same.resolve("HEAD"), tmp_path / "there")
    here = same.snapshot(tmp_path / "here")
    assert (there / "sadapt" / "__init__.py").read_text(encoding="utf-8") == "old = True\n"
    assert (here / "sadapt" / "__init__.py").read_text(encoding="utf-8") == "old = False\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["no-such-revision"], "'no-such-revision' is no revision"),
        (["HEAD", "--only", "pqn-tetri"], "did you mean pqn-tetris?"),
        (["HEAD", "--keep", str(TOOL.parent)], "--keep needs a new or empty folder"),
    ],
)
def test_a_mistake_is_one_paragraph(words, told):
    done = subprocess.run([sys.executable, str(TOOL), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout


@pytest.mark.parametrize(("metrics", "code"), [("equal", 0), ("a; b", 1)])
def test_the_exit_code_tells_whether_something_differs(tmp_path, monkeypatch, capsys, metrics, code):
    outcome = same.Outcome("any", same.Verdict(code == 0, metrics), same.NOTHING, 7.0)
    monkeypatch.setattr(same, "resolve", lambda revision: "0" * 40)
    monkeypatch.setattr(same, "materialise", lambda commit, folder: folder)
    monkeypatch.setattr(same, "require_own_sources", lambda side, cache: None)
    monkeypatch.setattr(same, "run_case", lambda *_: outcome)
    assert same.main(["--only", "wrappers", "--keep", str(tmp_path / "kept")]) == code
    head, row, *rest = capsys.readouterr().out.splitlines()
    assert head.split() == ["case", "metrics", "parameters", "seconds"]
    assert row.split() == ["any", metrics.split(";")[0], "none", "7"]
    assert [line.split() for line in rest[:-2]] == ([["b"]] if code else [])


def test_every_case_has_a_name_of_its_own_and_is_listed(capsys):
    assert same.main(["--list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == [case.name for case in same.CASES]
    assert len(set(listed)) == len(listed)
