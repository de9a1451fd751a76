"""What messages suggest can be done as they say it."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from sadapt.errors import installing

ROOT = Path(__file__).parent.parent


def programs(folder: Path, monkeypatch, *names: str) -> Path:
    """A folder of programs, in which the shell looks."""
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_pip_is_named_alone_where_it_is_that_of_this_python(tmp_path, monkeypatch):
    own = programs(tmp_path / "own", monkeypatch, "pip", "python")
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    assert installing("report") == "pip install 'sadapt[report]'"


def test_another_pip_in_the_shell_is_not_used(tmp_path, monkeypatch):
    programs(tmp_path / "shell", monkeypatch, "pip")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv/bin/python"))
    assert installing("report") == ".venv/bin/python -m pip install 'sadapt[report]'"
    monkeypatch.setenv("PATH", "")
    assert installing("report") == ".venv/bin/python -m pip install 'sadapt[report]'"


def test_every_extra_is_told_on_the_page_and_every_extra_named_is_one():
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8").partition("## Extras")[2].partition("\n## ")[0]
    told = {name for row in re.findall(r"^\| (`.*?) \|", page, re.M) for name in re.findall(r"`(\w+)`", row)}
    assert told == extras
    asked = {
        name
        for file in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"installing\([\"'](\w+)", file.read_text(encoding="utf-8"))
    }
    assert asked
    assert asked <= extras
