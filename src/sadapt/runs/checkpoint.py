"""Checkpoints: all of a run's state in one safetensors file that vouches for itself.

The file's header carries the SHA-256 of the whole file, taken with that digest's own place filled with zeros. A file is
written to the side, flushed to disk, and renamed, so that a file that has its name is complete.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from sadapt.keys import as_bits, bits_like, from_bits
from sadapt.runs.belongings import PARTIAL, no_link
from sadapt.runs.facts import OPTIONAL, REQUIRED, misfit
from sadapt.runs.tensors import Stored, on_device, stored_in

log = logging.getLogger(__name__)
NO_DIGEST = "0" * 64
BLOCK = 1 << 22
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)
"""What a file of somebody else's making may be answered with."""


class Damaged(Exception):
    """A checkpoint that cannot be used, and why."""


class DiskTrouble(OSError):
    """A file could not be written; what was there before is untouched."""


def tensors_of(tree: Any) -> dict[str, np.ndarray]:
    """Every leaf of a pytree by its path; random keys as their bits."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {_name(path): np.require(as_bits(leaf), requirements="C") for path, leaf in leaves}


def tree_like(template: Any, tensors: Mapping[str, np.ndarray | Stored]) -> Any:
    """The pytree of `template`'s shape (its leaves need only shape and dtype) filled with `tensors`."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    names = [_name(path) for path, _ in leaves]
    if missing := sorted(set(names) ^ tensors.keys()):
        raise Damaged(f"its state has other parts than this run's: {', '.join(missing[:5])}")
    filled = []
    for name, (_, leaf) in zip(names, leaves, strict=True):
        wanted, found = bits_like(leaf), tensors[name]
        if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
            told = (f"{each.dtype}{list(each.shape)}" for each in (found, wanted))
            raise Damaged("{} is {}; this run has {}".format(name, *told))
        filled.append(from_bits(on_device(found), leaf))
    return jax.tree_util.tree_unflatten(structure, filled)


def write(path: Path, tensors: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
    """Writes tensors and facts (anything JSON knows) to `path`, whole or not at all."""
    partial = no_link(path.with_name(path.name + PARTIAL))
    metadata = {"facts": json.dumps(facts, sort_keys=True), "sha256": NO_DIGEST}
    try:
        mode = _usual_mode(partial)
        save_file(tensors, partial, metadata)
        with open(partial, "r+b") as file:
            place = _digest_place(_header(file))
            digest = _digest(file, place)
            file.seek(place)
            file.write(digest.encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        partial.chmod(mode)
        partial.replace(path)
        _sync_folder(path.parent)
    except (OSError, SafetensorError) as error:
        partial.unlink(missing_ok=True)
        code = getattr(error, "errno", None) or errno.EIO
        raise DiskTrouble(code, str(error.strerror if isinstance(error, OSError) else error), str(path)) from error
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _usual_mode(partial: Path) -> int:
    """Who may read a new file, as the user's umask has it; safetensors makes its files private."""
    partial.unlink(missing_ok=True)
    partial.touch()
    return stat.S_IMODE(partial.stat().st_mode)


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Tensors and facts of a file, after its digest has been checked."""
    facts = facts_of(path)
    try:
        return load_file(path), facts
    except (*UNREADABLE, SafetensorError) as error:
        raise Damaged(f"it cannot be read: {error}") from error


def facts_of(path: Path) -> dict[str, Any]:
    """What a file tells beside its tensors, after its digest has been checked."""
    try:
        with open(path, "rb") as file:
            header = _header(file)
            place = _digest_place(header)
            told = header[place - 8 : place - 8 + len(NO_DIGEST)].decode("ascii", "replace")
            if _digest(file, place) != told:
                raise Damaged("its checksum does not match: bytes have changed since it was written")
        facts: dict[str, Any] = json.loads(json.loads(header)["__metadata__"]["facts"])
    except UNREADABLE as error:
        raise Damaged(f"it cannot be read: {error}") from error
    if wrong := misfit(facts, {}, REQUIRED | OPTIONAL):
        raise Damaged(wrong)
    return facts


def require_run(facts: dict[str, Any]) -> dict[str, Any]:
    """Refuses a file that does not tell of which run it is."""
    if wrong := misfit(facts, REQUIRED):
        raise Damaged(wrong)
    return facts


def stored(path: Path) -> dict[str, Stored]:
    """A checked file's tensors, which stay on disk until they are asked for."""
    try:
        with open(path, "rb") as file:
            return stored_in(path, _header(file))
    except UNREADABLE as error:
        raise Damaged(f"it cannot be read: {error}") from error


def _header(file: Any) -> bytes:
    """The JSON at the file's beginning."""
    file.seek(0, os.SEEK_END)
    size = file.tell()
    if size == 0:
        raise Damaged("it is empty")
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if length > size - 8:
        raise Damaged(f"it is cut off or no checkpoint: {size:,} bytes, the header alone would take {length:,}")
    return file.read(length)


def _digest_place(header: bytes) -> int:
    """Where in the file the digest stands."""
    mark = b'"sha256":"'
    at = header.find(mark)
    if at < 0:
        raise Damaged("it carries no checksum")
    return 8 + at + len(mark)


def _digest(file: Any, place: int) -> str:
    """SHA-256 of the file with zeros where its digest stands."""
    file.seek(0)
    total = hashlib.sha256(file.read(place))
    total.update(NO_DIGEST.encode("ascii"))
    file.seek(place + len(NO_DIGEST))
    while block := file.read(BLOCK):
        total.update(block)
    return total.hexdigest()


def _sync_folder(folder: Path) -> None:
    """Makes a rename last through a power cut, where the system knows how."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")


class Shelf:
    """The last few checkpoints of a run, newest last."""

    def __init__(self, folder: Path, keep: int = 2) -> None:
        self.folder, self.keep = folder, keep

    def paths(self) -> list[Path]:
        """Complete files, oldest first; what a killed process left half-written is not among them."""
        return sorted(self.folder.glob("step-*.safetensors"))

    def save(self, state: Any, step: int, facts: dict[str, Any]) -> Path:
        """Writes a checkpoint, then removes those beyond the last few and what killed processes left.

        One of a later step is what the run was not taken up from: it goes, too.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for left in self.folder.glob(f"*{PARTIAL}"):
            left.unlink()
        path = self.folder / f"step-{step:012d}.safetensors"
        write(path, tensors_of(state), {"step": step, **facts})
        there = self.paths()
        last = there.index(path) + 1
        for other in there[: max(last - self.keep, 0)] + there[last:]:
            other.unlink()
        return path

    def newest(self) -> Iterator[Path]:
        """Newest first."""
        return reversed(self.paths())
