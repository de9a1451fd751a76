"""A run's folder: what lies where, who may write into it, and how the run stands."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sadapt.errors import UserError
from sadapt.runs import config
from sadapt.runs.checkpoint import Shelf
from sadapt.runs.table import replace_text
from sadapt.training.settings import Settings

try:
    import fcntl
except ImportError:  # not on Windows, where nothing keeps a second process away
    fcntl = None  # type: ignore[assignment]


class Claimed(UserError):
    """Another process is writing into the folder."""


class RunFolder:
    """One run on disk; making this object touches nothing."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.config = self.path / "config.json"
        self.metrics = self.path / "metrics.csv"
        self.status = self.path / "status.json"
        self.videos = self.path / "videos"
        self.layout = self.path / "layout.txt"
        self.lock = self.path / ".lock"
        self.checkpoints = Shelf(self.path / "checkpoints")

    def __str__(self) -> str:
        return str(self.path)

    def read_settings(self) -> Settings:
        """The run's settings, on the map that was copied beside them."""
        settings = config.read(self.config)
        if settings.layout is not None and self.layout.exists():
            return replace(settings, layout=str(self.layout))
        return settings

    def read_status(self) -> dict[str, Any]:
        """How the run stands; empty if it has not said so yet."""
        try:
            found = json.loads(self.status.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def write_status(self, **facts: Any) -> None:
        """Replaces `status.json`."""
        write_json(self.status, {**facts, "updated": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})

    def clear(self) -> None:
        """Removes what a run has written here, and nothing else."""
        for file in (self.config, self.metrics, self.status, self.layout, *self.path.glob("events.*")):
            file.unlink(missing_ok=True)
        for folder in (self.checkpoints.folder, self.videos):
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keeps other processes from writing here; the claim ends with the process, however it ends."""
        self.path.mkdir(parents=True, exist_ok=True)
        with open(self.lock, "a+", encoding="ascii") as file:
            if fcntl is not None:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    file.seek(0)
                    owner = file.read().strip() or "unknown"
                    raise Claimed(
                        f"{self} is being written by another process ({owner}): "
                        "wait for it, stop it, or use another --out"
                    ) from error
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield


def default_path(settings: Settings, root: str | Path = "runs") -> Path:
    """`runs/<env>/<objective>-<learner>-s<seed>`."""
    world = settings.env.replace(":", "-").replace("/", "-")
    return Path(root) / world / f"{settings.objective}-{config.learner_name(settings)}-s{settings.seed}"


def find(path: str | Path) -> RunFolder:
    """The run in a folder, or the only one anywhere below it."""
    given = Path(path)
    if (given / "config.json").is_file():
        return RunFolder(given)
    found = sorted(file.parent for file in given.rglob("config.json")) if given.is_dir() else []
    if len(found) == 1:
        return RunFolder(found[0])
    if found:
        some = ", ".join(map(str, found[:4])) + (", ..." if len(found) > 4 else "")
        raise UserError(f"{given} holds {len(found)} runs; name one of them: {some}")
    raise UserError(
        f"{given} is no run: "
        + ("there is no config.json in it" if given.is_dir() else "there is no such folder")
        + "; `sadapt train` prints the folder that it writes"
    )


def write_json(path: Path, value: Any) -> None:
    """Writes JSON to the side and renames it."""
    replace_text(path, json.dumps(value, indent=2) + "\n")
