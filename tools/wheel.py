"""Builds the wheel, installs it in a clean environment and tries it from an empty folder: `make wheel`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
LARGEST = 12 * 2**20
"""Bytes that the wheel may have."""
FILM = "tetris.gif"
COMMANDS = (
    "--version",
    "list",
    "sweep",
    "zoo",
    f"watch zoo:tetris --out {FILM}",
    "probe maze-small --episodes 2",
    "claims results",
)


def run(*words: str | Path, cwd: Path = ROOT) -> str:
    """What a program prints; without our folders on Python's path, and an error if it fails."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} failed:\n{done.stdout[-2_000:]}{done.stderr[-2_000:]}")
    return done.stdout


def build(dist: Path) -> Path:
    """The wheel, made from this folder."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", dist, ROOT)
    return max(dist.glob("sadapt-*.whl"), key=lambda path: path.stat().st_mtime)


def check_contents(wheel: Path) -> None:
    """Refuses a wheel that is too large, or lacks what is no Python: maps, experiments, claims, trained policies."""
    if wheel.stat().st_size > LARGEST:
        raise SystemExit(f"{wheel} has {wheel.stat().st_size:,} bytes; at most {LARGEST:,} are wanted")
    inside = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    data = [path for path in (source / "sadapt").rglob("*.*") if path.suffix not in (".py", ".pyc")]
    missing = [str(path.relative_to(source)) for path in data if str(path.relative_to(source)) not in inside]
    if missing:
        raise SystemExit(f"{wheel} lacks {', '.join(missing)}")


def try_it(wheel: Path, folder: Path) -> list[str]:
    """Installs it and runs commands that need its data, far from this folder; what each said first."""
    place = folder / "venv"
    run(sys.executable, "-m", "venv", place)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    run(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    empty = folder / "empty"
    empty.mkdir()
    shutil.copytree(ROOT / "results", empty / "results", ignore=shutil.ignore_patterns("figures"))
    where = run(programs / "python", "-c", "import sadapt; print(sadapt.__file__)", cwd=empty)
    if not where.startswith(str(place)):
        raise SystemExit(f"the clean environment imports sadapt from {where}")
    said = [f"sadapt {line}: {run(programs / 'sadapt', *line.split(), cwd=empty).splitlines()[0]}" for line in COMMANDS]
    if not (empty / FILM).read_bytes().startswith(b"GIF8"):
        raise SystemExit(f"sadapt watch zoo:tetris wrote no film into {FILM}")
    return said


def main() -> None:
    wheel = build(ROOT / "dist")
    check_contents(wheel)
    with tempfile.TemporaryDirectory() as folder:
        print("\n".join(try_it(wheel, Path(folder))))
    print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 2**20:.2f} MB, works without the repository")


if __name__ == "__main__":
    main()
