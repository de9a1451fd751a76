"""A run's folder: what lies where, who may write into it, and how the run stands."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sadapt.composite import changed
from sadapt.errors import UserError
from sadapt.registry import OWN, import_modules, require_trusted
from sadapt.runs import config
from sadapt.runs.metrics_file import replace_text
from sadapt.training.settings import Settings, world_setting

if TYPE_CHECKING:
    from sadapt.runs.checkpoint import Shelf

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

    def __str__(self) -> str:
        return str(self.path)

    @property
    def checkpoints(self) -> Shelf:
        """The run's checkpoints."""
        from sadapt.runs.checkpoint import Shelf

        return Shelf(self.path / "checkpoints")

    def read_settings(self, *, trust: bool = False) -> Settings:
        """The run's settings, on the map that was copied beside them.

        Modules that they name are imported only if they are trusted, and must have been imported already if not.
        """
        require_modules(config.read_record(self.config)["settings"], str(self), trust=trust)
        settings = config.read(self.config)
        if world_setting(settings, "layout") is not None and self.layout.exists():
            return changed(settings, "layout", str(self.layout))
        return settings

    def keep_layout(self, settings: Settings) -> None:
        """A copy of the run's own map, if it has one."""
        layout = world_setting(settings, "layout")
        if layout is not None:
            text = layout if "\n" in layout else Path(layout).read_text(encoding="utf-8")
            self.layout.write_text(text, encoding="utf-8")

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


def settings_in(file: Path) -> Settings:
    """Settings from a run's config.json, or from a file that holds them alone."""
    if file.name == "config.json":
        return RunFolder(file.parent).read_settings()
    require_modules(config.read_record(file)["settings"], str(file), trust=False)
    return config.read(file)


def require_modules(settings: Any, source: str, *, trust: bool) -> None:
    """Imports the modules that stored settings name, if they are trusted; refuses those that are neither here yet."""
    named = settings.get("imports") if isinstance(settings, dict) else None
    modules = [named] if isinstance(named, str) else named or []
    if not isinstance(modules, list) or not all(isinstance(module, str) for module in modules):
        raise UserError(f"{source}: imports must be a list of modules' names; got {named!r}")
    if trust:
        import_modules(modules)
    require_trusted(modules, source)


def default_path(settings: Settings, root: str | Path = "runs") -> Path:
    """`runs/<env>/<objective>-<learner>-s<seed>`."""
    world = settings.env.removeprefix(OWN).replace(":", "-").replace("/", "-")
    return Path(root) / world / f"{settings.objective}-{settings.learner.name.removeprefix(OWN)}-s{settings.seed}"


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
