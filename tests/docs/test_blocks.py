"""Code blocks of README and of the site run as they stand, in a folder for each page, but for fewer steps.

A page is what a reader would do in one folder: its files are named as it says, and its blocks follow one another.
"""

from __future__ import annotations

import ast
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sadapt.cli import main
from tests.docs.pages import DOCS, NOT_HERE, ROOT, Block, blocks, commands, name_of, pages, possible, shortened

RUN = {"sh": "bash", "python": sys.executable}
SHOWN = ("text", "mermaid", "bibtex", "")
"""Nothing to run: what is printed, a drawing, a reference, a picture made of letters."""
CHECKED = ("toml", "console")
QUICK = ("docs/api.md", "docs/method.md", "docs/sweeps.md")
"""Pages whose blocks take seconds; the others are slow."""
LEFT_OUT = ("figures", "butterflies-*", "minatar-*", "maze-large")
"""Of the stored results, what pages can do without."""
INSTALLING = ("make", "pip", "source")
BESIDE = (*INSTALLING, "python")
"""Programs that a page may call beside ours; what they are asked for is looked up instead."""


def with_code() -> list[Path]:
    return [page for page in pages() if any(block.language in RUN for block in blocks(page))]


def code(language: str) -> list[tuple[str, Block]]:
    return [(name_of(page), block) for page in pages() for block in blocks(page) if block.language == language]


def test_every_block_is_run_checked_or_only_shown():
    known = {*RUN, *SHOWN, *CHECKED}
    assert not [
        (name_of(page), each.language) for page in pages() for each in blocks(page) if each.language not in known
    ]


def test_every_page_counts_its_fences():
    fences = {page: len(re.findall(r"^ *```", page.read_text(encoding="utf-8"), re.M)) for page in pages()}
    odd = [name_of(page) for page, found in fences.items() if found != 2 * len(blocks(page))]
    assert not odd


@pytest.mark.parametrize(("page", "block"), code("python"), ids=lambda value: value if isinstance(value, str) else "")
def test_python_is_python(page, block):
    ast.parse(block.text)


PARSING = """
import json, shlex, sys
from sadapt.cli import COMMANDS, _parse
for line in json.load(sys.stdin):
    try:
        words = shlex.split(line)
        while "=" in words[0]:
            del words[0]
        if words[1] != "--version" and "--help" not in words:
            _parse(words[1], words[2:])
    except BaseException as error:
        print(f"{line}: {error!r}")
"""


@pytest.fixture(scope="module")
def folder_of_files(tmp_path_factory):
    """All files that pages show by name, and runs that they name."""
    folder = tmp_path_factory.mktemp("files")
    for page in pages():
        write_files(page, folder)
    for run in ("tetris/s-adapt-pqn-s1", "maze-small/s-adapt-pqn-s1"):
        (folder / "runs" / run).mkdir(parents=True)
    settings = next((ROOT / "results/fast/maze-small").glob("s-adapt-pqn-s1/config.json"))
    shutil.copy(settings, folder / "runs/maze-small/s-adapt-pqn-s1")
    return folder


def test_every_command_is_understood(folder_of_files):
    """As it stands, its flags among the settings of the parts that it names."""
    lines = [line for _, block in code("sh") for line in commands(block) if not any(each in line for each in NOT_HERE)]
    others = {line for line in lines if "sadapt" not in shlex.split(line)[:2]}
    assert not [line for line in others if shlex.split(line)[0] not in BESIDE]
    ours = sorted({line for line in lines if line not in others})
    assert len(ours) > 60
    done = subprocess.run(
        [sys.executable, "-c", PARSING],
        cwd=folder_of_files,
        input=json.dumps(ours),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def trained_into(line: str) -> tuple[str, ...] | None:
    """The folder that a command trains into, as its words name it; None if it trains nowhere."""
    words = shlex.split(line)
    if words[:2] != ["sadapt", "train"] or {"--help", "--print-config", "--overwrite"} & {*words}:
        return None
    given = dict(itertools.pairwise(words))
    if "--out" in given:
        return (given["--out"],)
    learner = given.get("--learner", "dqn" if given.get("--preset") == "paper" else "pqn")
    return (words[2], given.get("--objective", "s-adapt"), learner, given.get("--seed", "1"))


@pytest.mark.parametrize("page", with_code(), ids=name_of)
def test_no_page_trains_twice_into_one_folder(page):
    """The second command would be refused."""
    lines = [line for block in blocks(page) if block.language == "sh" for line in commands(block)]
    folders = [folder for line in lines if (folder := trained_into(line)) is not None]
    assert len(folders) == len(set(folders)), folders


def test_what_other_programs_are_asked_for_is_there():
    makefile, project = (ROOT / "Makefile").read_text(), tomllib.loads((ROOT / "pyproject.toml").read_text())
    for page, block in code("sh"):
        for words in map(shlex.split, commands(block)):
            if words[0] == "make":
                assert f"\n{words[1]}:" in makefile, (page, words)
            if words[0] == "pip":
                extras = re.findall(r"[\w]+", (re.search(r"\[(.*)\]", " ".join(words)) or [""] * 2)[1])
                assert set(extras) <= set(project["project"]["optional-dependencies"]), (page, words)
            if words[0] == "python" and words[1].endswith(".py"):
                assert (ROOT / words[1]).exists(), (page, words)


@pytest.mark.parametrize(("page", "block"), code("toml"), ids=lambda value: value if isinstance(value, str) else "")
def test_toml_is_toml(page, block):
    assert tomllib.loads(block.text)


@pytest.mark.parametrize("block", [block for _, block in code("console")], ids=lambda block: block.text.split("\n")[0])
def test_an_error_reads_as_the_page_says(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command, _, message = block.text.partition("\n")
    assert main(shlex.split(command)[2:]) == 2
    assert message.strip() in capsys.readouterr().err


def test_the_map_is_one(folder_of_files):
    from sadapt.envs import registry

    assert registry.make("maze-small", folder_of_files / "map.txt").obs_shape[:2] == (5, 10)


def write_files(page: Path, folder: Path) -> None:
    for block in blocks(page):
        if block.title:
            (folder / block.title).write_text(block.text, encoding="utf-8")


def environment(folder: Path, programs: Path) -> dict[str, str]:
    """In which `sadapt` is the program under test."""
    program = folder / "bin" / "sadapt"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sadapt "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{program.parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "JAX_COMPILATION_CACHE_DIR": str(programs),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.2",
        "MPLBACKEND": "Agg",
    }


def runnable(block: Block) -> str:
    """A block without what is not for here: other programs, and what is not installed."""
    if block.language == "python":
        return "" if any(module in block.text for module in NOT_HERE) else shortened(block.text)
    lines = [line for line in possible(block.text).splitlines(True) if line.split(maxsplit=1)[0] not in INSTALLING]
    return shortened(
        "".join(line for line in lines if not re.match(r"python (docs|examples|benchmarks|-m tools)", line))
    )


STANDS_FOR = {"results/README.md": {"again": "results"}}
"""Folders that a page makes in hours, and what is there already in their place."""


def run_page(page: Path, folder: Path, programs: Path) -> str:
    """What a page's blocks print, run one after another in the folder."""
    write_files(page, folder)
    if "results" in page.read_text(encoding="utf-8"):
        shutil.copytree(ROOT / "results", folder / "results", ignore=shutil.ignore_patterns(*LEFT_OUT))
    for made, instead in STANDS_FOR.get(name_of(page), {}).items():
        (folder / made).symlink_to(folder / instead)
    env, said = environment(folder, programs), ""
    for number, block in enumerate(each for each in blocks(page) if each.language in RUN and not each.title):
        text = runnable(block)
        (folder / f"block-{number}").write_text(text, encoding="utf-8")
        words = ["-e"] if block.language == "sh" else []
        done = subprocess.run(
            [RUN[block.language], *words, f"block-{number}"],
            cwd=folder,
            env={**env, "PYTHONPATH": os.pathsep.join([str(folder), env.get("PYTHONPATH", "")])},
            capture_output=True,
            text=True,
            timeout=1_800,
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout[-2_000:]}\n{done.stderr[-4_000:]}"
        assert "Traceback" not in done.stderr
        said += done.stdout
    return said


def _marks(page: Path) -> list[pytest.MarkDecorator]:
    return [] if name_of(page) in QUICK else [pytest.mark.slow]


LEAVES = {
    "README.md": ["runs/maze-small/s-adapt-pqn-s1/videos", "tetris.gif"],
    "docs/python.md": ["tetris.gif", "tetris.png", "tetris.safetensors"],
    "docs/own-parts.md": ["runs/tetris/s-adapt-pqn-s1/metrics.csv", "runs/calm/metrics.csv"],
    "docs/own-world.md": ["runs/gym-Corridor-v0", "runs/gym-CartPole-v1", "runs/lights", "runs/maze-small"],
    "docs/runs.md": ["maze.safetensors", "runs/maze-small/s-adapt-pqn-s3/metrics.csv"],
    "docs/sweeps.md": ["results/figures/F2.svg"],
}
"""What a reader who has followed a page finds in the folder."""
SAYS = {
    "docs/sweeps.md": ["Does a shorter memory help?: 24 runs in planned, 24 to do"],
    "docs/api.md": ["train"],
    "docs/method.md": ["final entropy"],
}
"""What a reader sees."""


def test_what_pages_promise_is_looked_for():
    known = {name_of(page) for page in pages()}
    assert {*LEAVES, *SAYS, *QUICK} <= known


@pytest.mark.parametrize("page", [pytest.param(page, marks=_marks(page), id=name_of(page)) for page in with_code()])
def test_a_page_can_be_followed(page, tmp_path, shared_programs):
    said = run_page(page, tmp_path, shared_programs)
    assert not [name for name in LEAVES.get(name_of(page), []) if not (tmp_path / name).exists()]
    assert not [words for words in SAYS.get(name_of(page), []) if words not in said]


@pytest.mark.slow
@pytest.mark.parametrize("notebook", sorted((DOCS / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_can_be_followed(notebook, tmp_path, shared_programs, monkeypatch):
    """From its first cell to its last, with fewer steps."""
    client, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    for name, value in environment(tmp_path, shared_programs).items():
        monkeypatch.setenv(name, value)
    read = nbformat.read(notebook, as_version=4)
    for cell in read.cells:
        cell.source = shortened(cell.source)
    client.NotebookClient(read, timeout=1_800, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert not [out for cell in read.cells for out in cell.get("outputs", []) if out.output_type == "error"]
