"""A `metrics.csv` that is none is said to be damaged, by name."""

from __future__ import annotations

import pytest

from sadapt.errors import UserError
from sadapt.runs import metrics_file


@pytest.mark.parametrize(
    "content",
    [
        b"\x89PNG\r\n\x1a\n\x00\xff",
        b"step,return\n1,\xff\n",
        b"step,return\n1,two\n",
        b"step,return\n1,2,3\n",
        b"step\n\x00\n",
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


def test_what_is_empty_is_missing(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_text("step,return\n1,\n2,0.5\n")
    assert metrics_file.read(path) == [{"step": 1, "return": None}, {"step": 2, "return": 0.5}]
