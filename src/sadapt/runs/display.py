"""A run as it goes: a live panel on a terminal, a bar in a notebook, a line now and then elsewhere."""

from __future__ import annotations

import html
import importlib
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from sadapt.errors import UserError

if TYPE_CHECKING:
    from sadapt.runs.recorder import Display, Progress
    from sadapt.training.metrics import Row
    from sadapt.training.settings import Settings

AUTO = "auto"
"""What shows itself where somebody looks: on a terminal and in a notebook."""
SECONDS = 0.5
"""Between changes of a notebook's bar."""
RECENT = 20
"""Chunks over which the pace is averaged."""
LINES = 40
"""At most as many lines where there is no terminal."""
PREPARING = "compiling, and measuring a random agent"
"""What a run does before its first step; with worlds on the host the second takes longer."""


@contextmanager
def display(settings: Settings, *, quiet: bool) -> Iterator[Display | None]:
    """What to show a run's progress with, from when it has been found good; nothing if `quiet`."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _panel(settings) as shown:
            yield shown
    else:
        yield _lines(settings)


@contextmanager
def chosen(settings: Settings, asked: Display | str | None) -> Iterator[Display | None]:
    """What a call from Python shows a run with: the caller's own, nothing, or what suits the place (`auto`)."""
    if asked is None or callable(asked):
        yield asked
    elif asked != AUTO:
        raise UserError(f"display must be a function, 'auto' or None; got {asked!r}")
    elif (show := _notebooks()) is not None:
        yield _bar(settings, show)
    elif sys.stderr.isatty():
        with _panel(settings) as shown:
            yield shown
    else:
        yield None


def _notebooks() -> Callable[[str], Callable[[str], None]] | None:
    """Where this is a notebook: shows HTML, and returns what replaces it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    module = importlib.import_module("IPython.display")

    def show(text: str) -> Callable[[str], None]:
        handle = module.display(module.HTML(text), display_id=True)
        return lambda new: handle.update(module.HTML(new))

    return show


def _bar(settings: Settings, show: Callable[[str], Callable[[str], None]]) -> Display:
    """A bar of the browser's own, with the newest row beside it."""
    replace: Callable[[str], None] | None = None
    changed = 0.0

    def text(progress: Progress) -> str:
        who = f"<b>{html.escape(settings.env)}</b> {settings.objective} seed {settings.seed}"
        if not progress.step:
            return f"{who}: {beginning(settings, progress)}"
        facts = [f"{progress.step:,} of {progress.total:,} steps", f"{progress.steps_per_second:,.0f} steps/s"]
        facts += [f"{name} {value}" for name, value in summary(progress.row or {}).items() if progress.row]
        bar = f'<progress value="{progress.step}" max="{progress.total}"></progress>'
        return f"{who} {bar} {html.escape(', '.join(facts))}"

    def shown(progress: Progress) -> None:
        nonlocal replace, changed
        if replace is None:
            replace = show(text(progress))
        elif progress.step >= progress.total or time.monotonic() - changed >= SECONDS:
            replace(text(progress))
            changed = time.monotonic()

    return shown


def beginning(settings: Settings, progress: Progress) -> str:
    """What is said before the first step: how far it will go, why not just as far as asked, by which marginal."""
    steps = f"{progress.total:,} steps"
    if progress.total != settings.total_timesteps:
        steps += f" (whole chunks, for the {settings.total_timesteps:,} asked for)"
    picked = f"; marginal {progress.marginal}" if progress.marginal else ""
    return f"{steps}{picked}; {PREPARING}"


def _lines(settings: Settings) -> Display:
    told = -1

    def show(progress: Progress) -> None:
        nonlocal told
        if told < 0:
            told = 0
            who = f"{settings.env} {settings.objective} seed {settings.seed}"
            print(f"{who}: {beginning(settings, progress)}", file=sys.stderr, flush=True)
            return
        row, due = progress.row, told + progress.total / LINES
        if row is None or row["step"] != progress.step or not (progress.step >= due or progress.step >= progress.total):
            return
        told = progress.step
        words = [f"{progress.step / progress.total:4.0%}", f"step {progress.step:,}"]
        words += [f"{name} {value}" for name, value in summary(row).items()]
        words.append(f"{progress.steps_per_second:,.0f} steps/s")
        print("  ".join(words), file=sys.stderr, flush=True)

    return show


def summary(row: Row) -> dict[str, str]:
    """What a person wants to know of a row."""

    def text(name: str, form: str) -> str:
        value = row.get(name)
        return "-" if value is None else format(value, form)

    found = {"return": text("return", ".3g"), "surprise": text("surprise", ".3g")}
    found["entropy"] = f"{text('entropy', '.3g')} (random {text('h_random', '.3g')})"
    if row.get("deaths"):
        found["deaths"] = text("deaths", ".3g")
    if row.get("alpha") is not None:
        found["s-min episodes"] = text("alpha", ".0%")
    return found


@contextmanager
def _panel(settings: Settings) -> Iterator[Display]:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    console = Console(stderr=True, highlight=False)
    paces: deque[float] = deque(maxlen=RECENT)
    began = time.monotonic()
    first: list[int] = []

    def body(progress: Progress) -> Any:
        title = Text.assemble((settings.env, "bold"), "  ", (settings.objective, "bold"), f"  seed {settings.seed}")
        if not paces:
            told = f"{beginning(settings, progress)}: the first steps take a while"
            return Group(title, Text(told, style="dim"))
        pace = len(paces) / sum(1 / value for value in paces)
        left = (progress.total - progress.step) / pace
        grid = Table.grid(padding=(0, 2))
        grid.add_row(
            ProgressBar(total=progress.total, completed=progress.step, width=30),
            f"{progress.step:,} of {progress.total:,} steps",
            f"{pace:,.0f} steps/s",
            f"{clock(time.monotonic() - began)} gone, {clock(max(left, 0))} left",
        )
        facts = Table.grid(padding=(0, 2))
        if progress.row is not None:
            for name, value in summary(progress.row).items():
                facts.add_row(Text(name, style="dim"), value)
        return Group(title, grid, facts)

    live = Live(console=console, refresh_per_second=4)

    def show(progress: Progress) -> None:
        first.append(progress.step)
        if len(first) > 2 or progress.step >= progress.total:  # the first chunk's pace is the compiler's
            paces.append(progress.steps_per_second)
        live.update(body(progress))
        live.start()

    try:
        yield show
    finally:
        with suppress(OSError):  # the terminal may be gone
            live.stop()


def clock(seconds: float) -> str:
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
