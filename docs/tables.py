"""What pages say of the program, read off the program: settings, parts, the API's names."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import itertools
import math
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from sadapt.fields import flag
from sadapt.learners.table import register as _filled  # noqa: F401 (fills the tables of learners and networks)
from sadapt.motivation.building import PaymentSettings as _more  # noqa: F401 (those of marginals, feedbacks, bandits)
from sadapt.registry import TABLES, Part
from sadapt.training.settings import MotivationSettings, Settings

KINDS = {
    "env": "World",
    "marginal": "Marginal",
    "feedback": "Feedback",
    "bandit": "Bandit",
    "network": "Network",
    "learner": "Learner",
}


def meanings(kind: type) -> dict[str, str]:
    """The sentence below every field of a dataclass, those that it inherits too."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if not dataclasses.is_dataclass(each):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0].body  # type: ignore[attr-defined]
        for line, after in itertools.pairwise(body):
            if (
                isinstance(line, ast.AnnAssign)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                found[line.target.id] = str(after.value.value)  # type: ignore[union-attr]
    return found


def spoken(value: Any) -> str:
    """A default as it is typed."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None or value == ():
        return ""
    if isinstance(value, float):
        return "none" if math.isinf(value) else f"{value:g}"
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else str(value)


def of_dataclass(kind: type) -> str:
    """A table of its own settings: flag, keyword, default, meaning."""
    lines = ["| flag | default | meaning |", "|---|---|---|"]
    says = meanings(kind)
    for each in dataclasses.fields(kind):
        if "kind" in each.metadata or "group" in each.metadata:
            continue
        default = "" if each.default is dataclasses.MISSING else spoken(each.default)
        meaning = says[each.name].replace("|", "\\|").replace("\n", " ")
        lines.append(f"| `{flag(each.name)}` | {default} | {meaning} |")
    return "\n".join(lines)


def settings() -> str:
    """Every setting there is: the run's own, then those of every part, by kind."""
    text = f"### The run\n\n{of_dataclass(Settings)}\n\n### The motivation\n\n{of_dataclass(MotivationSettings)}\n"
    for kind, title in KINDS.items():
        text += f"\n## {title}\n"
        for owners, held in _by_settings(kind):
            text += f"\n### {title}: {', '.join(f'`{name}`' for name in owners)}\n\n{of_dataclass(held)}\n"
    return text


def _by_settings(kind: str) -> Iterator[tuple[list[str], type]]:
    """Parts that share a dataclass of settings, together."""
    shared: dict[type, list[str]] = {}
    for name, part in TABLES[kind].items():
        if part.settings is not None and not part.foreign:
            shared.setdefault(part.settings, []).append(f"{name}ID" if name.endswith(":") else name)
    for held, names in shared.items():
        yield names, held


def settings_of(kind: str, name: str) -> str:
    """The settings of one part."""
    held = TABLES[kind][name].settings
    return "It has none.\n" if held is None else of_dataclass(held)


def parts(kind: str) -> str:
    """All parts of a kind: name, what it is, its flags."""
    lines = ["| name | what it is | flags |", "|---|---|---|"]
    lines += [_row(part) for part in TABLES[kind].values() if not part.foreign]
    return "\n".join(lines)


def _row(part: Part) -> str:
    says = (inspect.getdoc(part.load()) or "").partition("\n")[0].replace("|", "\\|")
    own = [] if part.settings is None else [f"`{flag(each.name)}`" for each in dataclasses.fields(part.settings)]
    return f"| `{part.name}` | {says} | {' '.join(own)} |"


def public(module: str) -> list[tuple[str, str]]:
    """The names that a module offers, each with the place where it is defined."""
    home = importlib.import_module(module)
    return [(name, _defined(home, name)) for name in home.__all__]


def _defined(home: Any, name: str) -> str:
    there = getattr(home, name)
    if getattr(there, "__module__", "").startswith("sadapt") and hasattr(there, "__qualname__"):
        return f"{there.__module__}.{there.__qualname__}"
    return f"{home.__name__}.{name}"


def api(module: str, *elsewhere: str) -> str:
    """An entry for every name that a module offers, but for those that have theirs under another module."""
    known = {place for other in elsewhere for _, place in public(other)}
    entry = '::: {place}\n    options:\n      heading: "{module}.{name}"\n      toc_label: "{name}"\n'
    found = [(name, place) for name, place in public(module) if place not in known]
    return "\n".join(entry.format(place=place, module=module, name=name) for name, place in found)


TABLES_OF = {"settings": settings, "settings-of": settings_of, "parts": parts, "api": api}
"""What a page asks for by `<!-- table: NAME WORDS -->`."""
ASKED = re.compile(r"^<!-- table: (.+?) -->$", re.M)
"""On a line of its own: where a sentence only speaks of it, nothing is asked for."""


def filled(markdown: str) -> str:
    """A page's text with the tables that it asks for."""
    return ASKED.sub(lambda found: _asked(*found[1].split()), markdown)


def _asked(name: str, *words: str) -> str:
    return TABLES_OF[name](*words)
