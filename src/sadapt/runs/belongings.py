"""What in a folder belongs to a run of ours: files known by name, beside our marker. Nothing else is ever removed."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from sadapt.errors import UserError

log = logging.getLogger(__name__)
MARKER, LOCK = ".sadapt", ".lock"
PARTIAL = ".partial"
"""How a file's name ends while it is being written."""
CONFIG = "config.json"
FILES = (CONFIG, "layout.txt", "status.json", "metrics.csv")
FOLDERS = ("checkpoints", "videos")
WRITTEN = (
    *FILES,
    *(name + PARTIAL for name in FILES),
    "events.out.tfevents.*",
    "checkpoints/step-*.safetensors",
    f"checkpoints/step-*.safetensors{PARTIAL}",
    "videos/s-m??-s*.gif",
)
"""Everything that a run writes, and the films that `sadapt watch` puts beside it."""
TOLD = "This folder is a run of sadapt. Replacing the run removes these files and no others:\n"
RECORDED = {"settings", "version", "versions"}
"""What every `config.json` of ours has had."""
SHOWN = 4


def is_ours(folder: Path) -> bool:
    """Whether a run of ours is here, or was beginning: by our marker, or by its `config.json`."""
    try:
        if (folder / MARKER).read_text(encoding="utf-8").startswith(TOLD):
            return True
    except (OSError, UnicodeDecodeError):
        pass
    try:
        found = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.keys() >= RECORDED


def require_ours(folder: Path) -> None:
    """Refuses a folder with anything in it that is no run of ours."""
    if not folder.is_dir() or is_ours(folder):
        return
    foreign = sorted(path.name for path in folder.iterdir() if path.name != LOCK)
    if foreign:
        some = ", ".join(foreign[:SHOWN]) + (", ..." if len(foreign) > SHOWN else "")
        raise UserError(
            f"{folder} holds files that are not from a sadapt run ({some}), so nothing is written there, with or "
            "without --overwrite: --out must name a new folder, an empty one, or a run's"
        )


def no_link(path: Path) -> Path:
    """The same place to write to, after a link that stood there has gone: what it led to is not ours."""
    if path.is_symlink():
        path.unlink()
    return path


def replace_run(folder: Path, texts: Mapping[str, str]) -> None:
    """Puts a run's first files into its folder in place of what a run has left there.

    They are complete beside the old run before it goes. Without `config.json` there is no run, so that goes first and
    comes last: whoever is killed in between leaves a beginning that can begin again.
    """
    staged = {name: folder / (name + PARTIAL) for name in texts}
    try:
        for name, path in staged.items():
            no_link(path).write_text(texts[name], encoding="utf-8")
        no_link(folder / MARKER).write_text(TOLD + "\n".join(WRITTEN) + "\n", encoding="utf-8")
    except OSError:
        for path in staged.values():
            path.unlink(missing_ok=True)
        raise
    remove_run(folder, keep={path.name for path in staged.values()})
    for name in sorted(staged, key=lambda name: name == CONFIG):
        staged[name].replace(folder / name)


def remove_run(folder: Path, keep: Collection[str] = ()) -> None:
    """Removes what runs of ours write; a link is removed, never what it leads to."""
    for name in FOLDERS:
        link = folder / name
        if link.is_symlink():
            log.warning("%s was a link; its target, %s, was left as it is", link, link.resolve())
            link.unlink()
    for pattern in WRITTEN:
        for path in folder.glob(pattern):
            if path.name not in keep and (path.is_symlink() or path.is_file()):
                path.unlink()
    for name in FOLDERS:
        with suppress(OSError):  # of somebody else's files in it, or because it is not there
            (folder / name).rmdir()
