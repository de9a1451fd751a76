"""Compiled programs are kept by the second start, and nothing that happens to them matters."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sadapt.runs import programs

COMPILE = """
import sys
from sadapt.runs.programs import keep_programs
print(keep_programs())
import jax, jax.monitoring
hits = []
jax.monitoring.register_event_listener(lambda name, **rest: hits.append(name) if name.endswith("cache_hits") else None)
print(jax.jit(lambda x: x * 3 + 1)(2.0), len(hits))
"""


def environment(place: Path | str) -> dict[str, str]:
    """As it is but for JAX's own settings, with programs kept at `place`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    return {**kept, "JAX_PLATFORMS": "cpu", "SADAPT_CACHE": str(place)}


def start(place: Path | str, **more: str) -> tuple[list[str], list[str]]:
    """What a program that compiles one function says, line by line: on its output, and besides."""
    env = {**environment(place), **more}
    done = subprocess.run([sys.executable, "-c", COMPILE], env=env, capture_output=True, text=True, check=True)
    return done.stdout.split(), done.stderr.splitlines()


def kept(place: Path) -> list[Path]:
    return sorted(path for path in place.rglob("*-cache") if path.is_file())


def hits(output: list[str]) -> int:
    return int(output[-1])


def test_the_second_start_finds_what_the_first_compiled(tmp_path):
    first, said = start(tmp_path)
    assert (first[1], hits(first), said) == ("7.0", 0, [])
    assert stat.S_IMODE(Path(first[0]).stat().st_mode) == 0o700
    second, said = start(tmp_path)
    assert (second[1], said) == ("7.0", [])
    assert hits(second) > 0


@pytest.mark.parametrize(
    "damage",
    [lambda whole: whole[: len(whole) // 2], lambda whole: b"", lambda whole: whole[:99] + b"\xff\x00" + whole[101:]],
    ids=["cut", "empty", "changed"],
)
def test_a_damaged_program_is_compiled_again_with_one_line(tmp_path, damage):
    start(tmp_path)
    for path in kept(tmp_path):
        path.write_bytes(damage(path.read_bytes()))
    again, said = start(tmp_path)
    assert again[1] == "7.0"
    assert len(said) == 1
    assert "compiled again" in said[0]
    third, said = start(tmp_path)
    assert (third[1], said) == ("7.0", [])
    assert hits(third) > 0


@pytest.mark.skipif(os.geteuid() == 0, reason="whoever may do all writes everywhere")
def test_a_folder_that_cannot_be_written_is_left(tmp_path):
    tmp_path.chmod(0o500)
    found, said = start(tmp_path / "below")
    assert (found, said) == (["None", "7.0", "0"], [])


def test_a_file_in_the_folders_place_is_left(tmp_path):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    found, said = start(tmp_path / "file")
    assert (found, said) == (["None", "7.0", "0"], [])
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_two_at_once_compile_the_same(tmp_path):
    env = environment(tmp_path)
    pair = [subprocess.Popen([sys.executable, "-c", COMPILE], env=env, text=True, stdout=-1, stderr=-1) for _ in "12"]
    for process in pair:
        output, said = process.communicate()
        assert output.split()[1] == "7.0"
        assert said == ""


def test_it_can_be_switched_off_or_left_to_jax(tmp_path):
    assert start("off")[0] == ["None", "7.0", "0"]
    found, _ = start(tmp_path / "ours", JAX_COMPILATION_CACHE_DIR=str(tmp_path / "theirs"))
    assert found[0] == "None"
    assert not (tmp_path / "ours").exists()


def test_jax_may_be_there_already(tmp_path):
    code = COMPILE.replace("import sys\n", "import jax\n", 1)
    env = environment(tmp_path)
    for hit in (False, True):
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert (hits(done.stdout.split()) > 0, done.stderr) == (hit, "")


def test_the_oldest_programs_go_when_there_are_too_many(tmp_path):
    for age, name in enumerate(("young", "middle", "old")):
        (tmp_path / name).write_bytes(b"0123456789")
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    programs.prune(tmp_path, 25)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["middle", "young"]
