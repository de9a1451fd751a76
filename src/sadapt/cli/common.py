"""What the commands share: how options are declared, and how they are shown while they take time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Protocol

import tyro
from tyro.conf import arg

from sadapt.errors import UserError
from sadapt.fields import Count
from sadapt.registry import find

EnvName = Annotated[str, tyro.conf.Positional, arg(metavar="ENV", help_behavior_hint="")]
RunPath = Annotated[Path, tyro.conf.Positional, arg(metavar="RUN", help_behavior_hint="")]
OptionalFile = Annotated[Path | None, tyro.conf.DisallowNone, arg(metavar="FILE", help_behavior_hint="")]
OptionalFolder = Annotated[Path | None, tyro.conf.DisallowNone, arg(metavar="DIR", help_behavior_hint="")]
OptionalCount = Annotated[Count | None, tyro.conf.DisallowNone, arg(metavar="INT", help_behavior_hint="")]
Flag = Annotated[bool, arg(help_behavior_hint="")]
Quiet = Annotated[bool, arg(aliases=["-q"], help_behavior_hint="")]
Imports = Annotated[
    tuple[str, ...],
    tyro.conf.UseAppendAction,
    arg(
        name="import",
        metavar="MODULE",
        help="Your own module to import first, which registers worlds and parts; can be repeated.",
        help_behavior_hint="",
    ),
]


class Command(Protocol):
    """Options that know what to do."""

    def run(self) -> None: ...


def require_parts(**names: str) -> None:
    """Refuses parts that are not there, by their kinds, before JAX is imported."""
    from sadapt.training import settings  # noqa: F401 (fills the tables)

    for kind, name in names.items():
        find(kind, name)


def require_run(path: Path) -> None:
    """Refuses what is neither a file nor a run nor in the zoo, before JAX is imported."""
    from sadapt.runs.folder import find as find_run
    from sadapt.zoo import located

    if not located(path).is_file():
        find_run(path)


def require_suffix(option: str, path: Path, suffixes: tuple[str, ...]) -> None:
    if path.suffix.lower() not in suffixes:
        raise UserError(f"{option} must name a {', '.join(suffixes[:-1])} or {suffixes[-1]} file; got {str(path)!r}")


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str, float], None] | None]:
    """Shows on standard error which policy is playing: a bar on a terminal, a line each elsewhere."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        columns = (SpinnerColumn(), BarColumn(bar_width=24), TextColumn("{task.description}"))
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("starting", total=1.0)
            yield lambda name, done: bar.update(task, description=name, completed=done)
    else:
        yield lambda name, done: print(f"{done:4.0%} {name}", file=sys.stderr)
