"""A run's folder: what lies where, who may write into it, and how the run stands."""

from __future__ import annotations

import errno
import json
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from sadapt.composite import changed
from sadapt.envs.layout import read as read_map
from sadapt.errors import UserError
from sadapt.fields import checked, field_of
from sadapt.motivation.doubts import told_in
from sadapt.registry import OWN, import_modules, require_trusted
from sadapt.runs import belongings, config, process
from sadapt.runs.facts import STATUS, fitting
from sadapt.runs.metrics_file import replace_text
from sadapt.training.settings import Settings, world_setting

if TYPE_CHECKING:
    from sadapt.runs.checkpoint import Shelf

try:
    import fcntl
except ImportError:  # not on Windows, where nothing keeps a second process away
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger(__name__)
TAKEN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
"""How the system says that another process has the lock; anything else means that there are no locks."""
LOST = "lost"
"""The state of a run whose process ended without a word."""


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
        self.lock = self.path / belongings.LOCK

    def __str__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"RunFolder({str(self.path)!r})"

    def __fspath__(self) -> str:
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
        return self.on_its_map(config.read(self.config))

    def on_its_map(self, settings: Settings) -> Settings:
        """The same settings on the run's own copy of the map, if there is one."""
        if world_setting(settings, "layout") is not None and self.layout.exists():
            return changed(settings, "layout", str(self.layout))
        return settings

    @property
    def named(self) -> str:
        """How a command is given it: its folder, and the modules that have to be imported for it."""
        try:
            needed = _modules(config.read_record(self.config)["settings"], str(self))
        except UserError:
            needed = ()
        return " ".join([str(self), *(f"--import {module}" for module in needed)])

    def anew(self) -> str:
        """What to do where nothing else helps."""
        return f"`sadapt train --config {self.config} --out {self} --overwrite` trains it from scratch"

    def read_status(self) -> dict[str, Any]:
        """How the run stands; empty if it has not said so yet, `lost` if it says "running" and its process is gone."""
        try:
            found = json.loads(self.status.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        found = fitting(found, STATUS)
        lost = found.get("state") == "running" and process.gone(found.get("process"))
        return {**found, "state": LOST} if lost else found

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was doubtful about the run, in sentences; none if nothing was."""
        return told_in(self.read_status())

    def write_status(self, **facts: Any) -> None:
        """Replaces `status.json`."""
        write_json(self.status, status(**facts))

    def require_free(self, *, overwrite: bool) -> None:
        """Refuses a folder that is not ours, or that holds a run which is not to be replaced."""
        belongings.require_ours(self.path)
        if self.config.exists() and not overwrite:
            raise UserError(
                f"{self} already holds a run: `sadapt resume {self.named}` continues it, --overwrite replaces it, "
                "--out names another folder"
            )

    def begin(self, record: Mapping[str, Any], layout: str | None, **facts: Any) -> None:
        """A new run in place of what a run has left here; its map and settings have been read before that goes."""
        texts = {} if layout is None else {self.layout.name: layout}
        texts |= {self.status.name: as_json(status(**facts)), self.config.name: as_json(record)}
        belongings.replace_run(self.path, texts)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keeps other processes from writing here; the claim ends with the process, however it ends."""
        self.path.mkdir(parents=True, exist_ok=True)
        with open(belongings.no_link(self.lock), "a+", encoding="ascii") as file:
            if fcntl is not None:
                self._lock(file)
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def _lock(self, file: TextIO) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in TAKEN:
                log.warning(
                    "the file system of %s does not support locks (%s): nothing stops a second process writing there",
                    self,
                    error.strerror,
                )
                return
            file.seek(0)
            owner = file.read().strip() or "unknown"
            raise Claimed(
                f"{self} is being written by another process ({owner}): wait for it, stop it, or use another --out"
            ) from error


def layout_text(settings: Settings) -> str | None:
    """The run's own map, if it has one."""
    layout = world_setting(settings, "layout")
    if layout is None:
        return None
    return layout if "\n" in layout else read_map(layout)


def status(state: str, **facts: Any) -> dict[str, Any]:
    """What `status.json` says; of a run that goes on also whose process it is."""
    told = {"process": process.this()} if state == "running" else {}
    return {"state": state, **facts, **told, "updated": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def settings_in(file: Path) -> Settings:
    """Settings from a run's config.json, or from a file that holds them alone."""
    if file.name == "config.json":
        return RunFolder(file.parent).read_settings()
    require_modules(config.read_record(file)["settings"], str(file), trust=False)
    return config.read(file)


def require_modules(settings: Any, source: str, *, trust: bool) -> None:
    """Imports the modules that stored settings name, if they are trusted; refuses those that are neither here yet."""
    modules = _modules(settings, source)
    if trust:
        import_modules(modules)
    require_trusted(modules, source)


def _modules(settings: Any, source: str) -> tuple[str, ...]:
    """The modules that stored settings name."""
    named = settings.get("imports") if isinstance(settings, dict) else None
    try:
        return checked(field_of(tuple[str, ...]), "imports", [named] if isinstance(named, str) else named or ())
    except UserError as error:
        raise UserError(f"{source}: {error}") from error


def default_path(settings: Settings, root: str | Path = "runs") -> Path:
    """`runs/<env>/<objective>-<learner>-s<seed>`, or `-started-s<seed>` of a run that begins with a policy."""
    world = settings.env.removeprefix(OWN).replace(":", "-").replace("/", "-")
    who = [settings.objective, settings.learner.name.removeprefix(OWN), *(["started"] if settings.start_from else [])]
    return Path(root) / world / "-".join([*who, f"s{settings.seed}"])


def only(run: Any) -> str | Path:
    """What names a single run: a path, or what `train` returned; refuses several, and anything else."""
    if isinstance(run, list | tuple) and len(run) == 1:
        return only(run[0])
    if isinstance(run, list | tuple):
        raise UserError(f"{len(run)} runs were given; name one of them: {', '.join(map(str, run[:4]))}")
    if not isinstance(run, str | os.PathLike):
        raise UserError(f"a run is a folder, what train returned, an exported policy or zoo:NAME; got {run!r}")
    return run if isinstance(run, str) else Path(run)


def find(path: str | Path | RunFolder) -> RunFolder:
    """The run in a folder, or the only one anywhere below it."""
    given = Path(only(path))
    if (given / "config.json").is_file():
        return RunFolder(given)
    found = sorted(file.parent for file in given.rglob("config.json")) if given.is_dir() else []
    if len(found) == 1:
        return RunFolder(found[0])
    if found:
        some = ", ".join(map(str, found[:4])) + (", ..." if len(found) > 4 else "")
        raise UserError(f"{given} holds {len(found)} runs; name one of them: {some}")
    raise UserError(
        f"{given} is not a run: "
        + ("there is no config.json in it" if given.is_dir() else "there is no such folder")
        + "; `sadapt train` prints the folder it writes"
    )


def write_json(path: Path, value: Any) -> None:
    """Writes JSON to the side and renames it."""
    replace_text(path, as_json(value))


def as_json(value: Any) -> str:
    """JSON as it stands in our files."""
    return json.dumps(value, indent=2) + "\n"
