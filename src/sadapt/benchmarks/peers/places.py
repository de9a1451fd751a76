"""Virtual environments for peers whose pins collide with ours, made once in the user's cache folder."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sadapt.benchmarks.peers.process import Absent
from sadapt.runs.programs import cache_folder

log = logging.getLogger(__name__)
PINS = {
    "rejax": ("rejax==0.1.3", "gymnax==0.0.9", "jax==0.10.2", "flax==0.12.8", "optax==0.2.8", "distrax==0.1.9"),
    "gymnax": ("gymnax==1.0.1", "jax==0.10.2", "flax==0.12.8", "six==1.17.0"),
}
"""What is installed for each; rejax 0.1.3 takes gymnax's steps apart as they were before 1.0."""
PATIENCE = 900
"""Seconds that an installation may take."""


def interpreter(name: str) -> Path:
    """The Python of the peer `name`, whose environment is made if it is not there; `Absent` if it cannot be."""
    base = cache_folder()
    if base is None:
        raise Absent("it needs an environment of its own in the cache folder, and SADAPT_CACHE is off")
    version = ".".join(map(str, sys.version_info[:2]))
    kind = hashlib.sha256("\n".join([version, *PINS[name]]).encode()).hexdigest()[:8]
    place = base / "peers" / f"{name}-{kind}"
    python = python_in(place)
    if not python.exists():  # or it links to an interpreter that is gone
        log.warning(
            "making an environment for %s in %s: %s (a minute, once)", name, place.parent, " ".join(PINS[name][:2])
        )
        try:
            _make(place, PINS[name])
        except OSError as error:
            raise Absent(f"its environment could not be made in {place.parent}: {error.strerror or error}") from error
    return python


def python_in(place: Path) -> Path:
    """The interpreter of a virtual environment."""
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _make(place: Path, pins: tuple[str, ...]) -> None:
    """Beside its place, and moved there when it is whole: nothing that is half made looks finished."""
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{place.name}-", dir=place.parent, ignore_cleanup_errors=True) as making:
        half = Path(making) / "environment"
        _run([sys.executable, "-m", "venv", str(half)], "python -m venv")
        pip = [str(python_in(half)), "-I", "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
        _run([*pip, "install", *pins], f"pip install {' '.join(pins)}")
        if not python_in(place).exists():
            shutil.rmtree(place, ignore_errors=True)
        try:
            half.rename(place)
        except OSError:
            if not python_in(place).exists():  # else somebody was faster
                raise


def _run(command: list[str], what: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise Absent(f"{what} took longer than {PATIENCE} s") from None
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")] or done.stderr.splitlines()
        raise Absent(f"{what} failed ({errors[-1].removeprefix('ERROR: ') if errors else 'without a word'})")
