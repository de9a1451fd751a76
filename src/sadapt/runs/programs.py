"""Compiled programs, kept for the next start in a folder of the user's own.

What lies there is machine code and is run as it is: it never comes from a folder of runs, which may be a stranger's.
`SADAPT_CACHE` names another folder, or is `off`; a folder that JAX was given by the user is left as it is.
"""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
import zlib
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sadapt.runs.cores import processor

PLACE = "SADAPT_CACHE"
OFF = "off"
JAX_PLACE = "JAX_COMPILATION_CACHE_DIR"
ALL: dict[str, float | int] = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": 0.0,
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": -1,
}
"""Every program is worth keeping: small ones are many, and compiling each takes longer than reading it."""
MOST = 2**30
"""Bytes that a folder may hold; beyond them the oldest programs go."""
TROUBLE = ("Error reading persistent compilation cache", "Error writing persistent compilation cache")


def keep_programs() -> Path | None:
    """Has JAX keep what it compiles from here on; returns where, or None if it is not to or cannot.

    Best called before JAX is imported, which this does not do.
    """
    jax = sys.modules.get("jax")
    if os.environ.get(JAX_PLACE) or (jax and jax.config.jax_compilation_cache_dir):
        return None
    folder = place(f"programs-jax{version('jaxlib')}")
    if folder is None:
        return None
    prune(folder, MOST)
    if jax is None:
        os.environ.update({JAX_PLACE: str(folder), **{name: str(to) for name, to in ALL.items()}})
    else:
        for name, to in {JAX_PLACE: str(folder), **ALL}.items():
            jax.config.update(name.lower(), to)
    _listen(folder)
    return folder


def cache_folder() -> Path | None:
    """Where things may be kept for the user's next start; None if nothing is to be."""
    wanted = os.environ.get(PLACE)
    if wanted == OFF:
        return None
    return Path(wanted or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sadapt")


def place(kind: str) -> Path | None:
    """The folder for things of a kind that depend on the kind of processor; None if there is none."""
    base = cache_folder()
    if base is None:
        return None
    folder = base / f"{kind}-{hashlib.sha256(processor().encode()).hexdigest()[:8]}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        writable = False
    return folder if writable else None


def prune(folder: Path, most: int) -> None:
    """Removes the oldest files of a folder that has grown beyond so many bytes."""
    with suppress(OSError):
        found = sorted(((entry.stat(), entry.path) for entry in os.scandir(folder)), key=lambda one: one[0].st_mtime)
        size = sum(stat.st_size for stat, _ in found)
        for stat, path in found:
            if size <= most:
                break
            Path(path).unlink(missing_ok=True)
            size -= stat.st_size


def _listen(folder: Path) -> None:
    """JAX's warnings about the folder become one line; programs that cannot be read go, and are compiled again."""
    show, told = warnings.showwarning, False

    def shown(message: Warning | str, *rest: Any, **named: Any) -> None:
        nonlocal told
        if not str(message).startswith(TROUBLE):
            show(message, *rest, **named)
            return
        _drop_damaged(folder)
        if not told:
            told = True
            print(
                f"sadapt: compiled programs in {folder} could not be used and will be compiled again", file=sys.stderr
            )

    warnings.showwarning = shown
    for text in TROUBLE:
        warnings.filterwarnings("always", message=text)


def _drop_damaged(folder: Path) -> None:
    for path in folder.glob("*-cache"):
        with suppress(OSError):
            if not _is_whole(path.read_bytes()):
                path.unlink()


def _is_whole(packed: bytes) -> bool:
    """Whether a program can be unpacked; one that was packed otherwise than by zlib is taken for damaged."""
    try:
        zlib.decompress(packed)
    except zlib.error:
        return False
    return True
