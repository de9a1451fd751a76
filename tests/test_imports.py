"""The package's own architecture, read from its source: imports point only downwards, and nothing is too long."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sadapt

ROOT = Path(sadapt.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

BASE = {"errors", "fields", "registry", "composite", "keys", "rarely", "film", "output"}
LEARNING = BASE | {"envs", "motivation", "learners"}
STORED = LEARNING | {"training", "runs"}
EVERYTHING = STORED | {"gym", "report", "experiments", "benchmarks"}

MAY_IMPORT = {
    "errors": set(),
    "fields": {"errors"},
    "registry": {"errors"},
    "composite": {"errors", "fields", "registry"},
    "keys": {"fields"},
    "rarely": set(),
    "film": {"errors"},
    "output": {"errors"},
    "zoo": {"errors"},
    "envs": BASE - {"output"},
    "motivation": BASE - {"output"} | {"envs"},
    "gym": BASE - {"output"} | {"envs", "motivation"},
    "learners": BASE - {"output"} | {"envs", "motivation"},
    "training": LEARNING - {"output"},
    "runs": LEARNING | {"training", "zoo"},
    "report": STORED - {"learners", "training"},
    "experiments": STORED | {"report"},
    "benchmarks": STORED | {"gym", "experiments"},
    "options": BASE | {"training"},
    "studies": EVERYTHING | {"zoo"},
    "api": EVERYTHING | {"options", "studies"},
    "cli": EVERYTHING | {"studies", "api", "zoo"},
    "__main__": {"cli"},
    "__init__": {"gym", "api"},
}
"""Each part of the package and the parts below it, lowest first; a part may always import itself."""

FREE_FOR_ALL = {"sadapt.__version__"}

LONGEST_MODULE, LONGEST_FUNCTION = 300, 60
LONG_MODULES = {
    "envs/seaquest.py": "the rules of one game, which has many",
    "envs/tiles.py": "pictures, drawn cell by cell",
    "envs/table.py": "a row for every world",
    "cli/study.py": "the parsers of all commands about many runs",
}
"""Modules that may have more lines, and why."""


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


def test_the_package_itself_imports_nothing_but_the_discovery_of_gymnasium():
    """Its calls come with JAX and are imported when one is asked for; type checkers see them all the same."""
    code = "import sys, sadapt; print(*sorted(name for name in sys.modules if name.startswith('sadapt')))"
    assert printed(code) == ["sadapt", "sadapt.gym", "sadapt.gym.discovery"]


@pytest.mark.parametrize(
    "module", ["sadapt.cli.train", "sadapt.training.presets", "sadapt.runs.config", "sadapt.experiments.plan"]
)
def test_what_only_reads_settings_does_not_wait_for_jax(module):
    assert printed(f"import sys, {module}; print('jax' in sys.modules)") == ["False"]


def printed(code: str) -> list[str]:
    """What a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every function and its number of lines, those of the functions within it counted too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def test_modules_are_read_in_one_sitting():
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in MODULES}
    too_long = {name: lines for name, lines in lengths.items() if lines > LONGEST_MODULE and name not in LONG_MODULES}
    assert too_long == {}
    assert LONG_MODULES.keys() <= lengths.keys()


def test_functions_fit_on_a_screen():
    too_long = [
        f"{path.relative_to(ROOT)}: {name} has {lines} lines"
        for path in MODULES
        for name, lines in functions(ast.parse(path.read_text()))
        if lines > LONGEST_FUNCTION
    ]
    assert too_long == []


def test_closures_are_counted_whole():
    source = "def outer():\n    def inner():\n        return 1\n\n    return inner\n\n\nasync def later(): ...\n"
    assert sorted(functions(ast.parse(source))) == [("inner", 2), ("later", 1), ("outer", 5)]


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
