"""The package's own architecture, read from its source: imports point only downwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sadapt

ROOT = Path(sadapt.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

WORLDS = {"errors", "keys", "film", "envs"}
LEARNING = WORLDS | {"motivation", "learners"}
STORED = LEARNING | {"training", "runs"}
EVERYTHING = STORED | {"tables", "gym", "report", "experiments", "benchmarks"}

MAY_IMPORT = {
    "errors": set(),
    "keys": set(),
    "film": {"errors"},
    "tables": {"errors"},
    "envs": {"errors", "keys", "film"},
    "motivation": WORLDS,
    "gym": WORLDS | {"motivation"},
    "learners": WORLDS | {"motivation"},
    "training": LEARNING,
    "runs": LEARNING | {"training"},
    "report": STORED - {"learners", "training"} | {"tables"},
    "experiments": STORED | {"tables", "report"},
    "benchmarks": STORED | {"tables", "gym"},
    "api": EVERYTHING,
    "cli": EVERYTHING | {"api"},
    "__main__": {"cli"},
    "__init__": EVERYTHING | {"api"},
}
"""Each part of the package and the parts below it, lowest first; a part may always import itself."""

FREE_FOR_ALL = {"sadapt.__version__"}


def part_of(path: Path, root: Path) -> str:
    """The part that a file belongs to: its first folder, or its own name at the top."""
    first = path.relative_to(root).parts[0]
    return first.removesuffix(".py")


def imported(source: str, package: str) -> Iterator[str]:
    """Every absolute dotted name that a source imports, anywhere in it; `package` is where it lives."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def package_of(path: Path, root: Path) -> str:
    return ".".join([root.name, *path.relative_to(root).parts[:-1]])


def upward_imports(root: Path) -> list[str]:
    """Every import of the package's own parts that its table does not allow."""
    found = []
    for path in sorted(root.rglob("*.py")):
        part = part_of(path, root)
        for name in imported(path.read_text(), package_of(path, root)):
            top, _, rest = name.partition(".")
            if top != root.name or name in FREE_FOR_ALL:
                continue
            target = rest.partition(".")[0] or "__init__"
            if target not in MAY_IMPORT.get(part, set()) | {part}:
                found.append(f"{path.relative_to(root)} imports {name}")
    return found


def test_there_is_a_package_to_read():
    assert ROOT / "errors.py" in MODULES
    assert ROOT / "envs" / "base.py" in MODULES


def test_every_part_has_its_place():
    assert {part_of(path, ROOT) for path in MODULES} <= set(MAY_IMPORT)


def test_the_table_itself_points_downwards():
    lower: set[str] = set()
    for part, allowed in MAY_IMPORT.items():
        assert allowed <= lower, part
        lower.add(part)


def test_imports_point_only_downwards():
    assert upward_imports(ROOT) == []


def test_no_module_is_called_utils():
    names = {part for path in MODULES for part in path.relative_to(ROOT).with_suffix("").parts}
    assert not names & {"utils", "util", "legacy"}


def test_nothing_is_pickled():
    users = [path for path in MODULES for name in imported(path.read_text(), "sadapt") if name.startswith("pickle")]
    assert users == []


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("import sadapt.training", ["sadapt.training"]),
        ("import pickle as p, os", ["pickle", "os"]),
        ("from sadapt import cli, __version__", ["sadapt.cli", "sadapt.__version__"]),
        ("from sadapt.runs.folder import Run", ["sadapt.runs.folder.Run"]),
        ("from . import base", ["sadapt.envs.base"]),
        ("from .base import Env", ["sadapt.envs.base.Env"]),
        ("from .. import training", ["sadapt.training"]),
        ("from ..motivation import bandits", ["sadapt.motivation.bandits"]),
        ("def late():\n    from sadapt import training", ["sadapt.training"]),
        ("'from sadapt import train'", []),
    ],
)
def test_imports_are_read_in_every_spelling(statement, names):
    assert list(imported(statement, "sadapt.envs")) == names


def test_an_upward_import_is_found(tmp_path):
    root = tmp_path / "sadapt"
    (root / "envs").mkdir(parents=True)
    (root / "training").mkdir()
    (root / "envs" / "good.py").write_text("import jax\nfrom sadapt.errors import UserError\nfrom . import base\n")
    (root / "training" / "good.py").write_text("from sadapt import __version__\nfrom ..envs.base import Env\n")
    (root / "envs" / "bad.py").write_text("def f():\n    from ..training import driver\n")
    (root / "training" / "bad.py").write_text("import sadapt\n")
    assert upward_imports(root) == [
        "envs/bad.py imports sadapt.training.driver",
        "training/bad.py imports sadapt",
    ]
