"""A `metrics.csv` that is none is said to be damaged, by name."""

from __future__ import annotations

import pytest

from sadapt.errors import UserError
from sadapt.runs import metrics_file

HEADER = ",".join(metrics_file.COLUMNS) + "\n"


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\x00\xff",
        b"step,return\n1,\xff\n",
        b"step,return\n1,two\n",
        b"step,return\n1,2,3\n",
        b"step\n\x00\n",
        HEADER.encode() + b"9.5,1,1,1,1,1,1\n",
        HEADER.encode() + b"1,1,1,1,1," + b"9" * 400 + b",1\n",
        HEADER.encode() + b"1,1,1,1,1,1e300,1\n",
    ],
)
def test_what_is_not_rows_of_numbers_is_refused(tmp_path, content):
    path = tmp_path / "metrics.csv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"metrics\.csv is damaged"):
        metrics_file.read(path)


def test_rows_without_a_step_are_cut_off(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_bytes(b"step,return\n1,5\n\x00\xff,1\n2,7\n9,1\n")
    metrics_file.cut(path, 3)
    assert path.read_bytes() == b"step,return\n1,5\n2,7\n"


def test_what_is_empty_or_not_finite_is_missing(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text(HEADER + "1,1,,inf,-1,nan,\n2,1,0.5,3,-1,-inf,0\n")
    names = ("step", "return", "surprise", "entropy", "h_random", "alpha")
    found = [[row[name] for name in names] for row in metrics_file.read(path)]
    assert found == [[1, None, None, -1, None, None], [2, 0.5, 3, -1, None, 0]]


@pytest.mark.parametrize("name", metrics_file.COLUMNS)
def test_a_column_that_is_gone_is_named(tmp_path, name):
    path = tmp_path / "metrics.csv"
    path.write_text(HEADER.replace(name, "other") + "1,1,1,1,1,1,1\n")
    with pytest.raises(UserError, match=rf"metrics\.csv is damaged \(it has no column {name}\)"):
        metrics_file.read(path)
