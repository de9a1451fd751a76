"""What `train` and `settings` take, told to `help()` and to completion: every setting, its type and its meaning."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from sadapt.composite import groups, own_names, places
from sadapt.fields import Field, field_docs, fields_of
from sadapt.registry import TABLES, spoken
from sadapt.training.settings import Settings

WIDTH = 100
Function = TypeVar("Function", bound=Callable[..., Any])


class Preset:
    """The value of an option that is not given: what the preset, the world or the part says."""

    def __repr__(self) -> str:
        return "<preset>"


PRESET = Preset()


class Told(NamedTuple):
    """A setting as `help` tells it."""

    name: str
    field: Field
    about: str


def sections() -> Iterator[tuple[str, list[Told]]]:
    """Every setting there is: a run's own, those of its groups, and those of every part that brings some."""
    own = field_docs(Settings)
    yield "settings of every run", [_told(Settings, name, own) for name in own_names(Settings)]
    example = Settings(world="tetris")  # type: ignore[arg-type]
    for each in groups(example):
        if each.kind is None:
            yield f"settings of the {each.place}", _all(type(each.settings))
    for kind in places(Settings):
        seen: dict[type, list[str]] = {}
        for row in TABLES[kind].values():
            if row.settings is not None:
                seen.setdefault(row.settings, []).append(row.name)
        for settings, names in seen.items():
            yield f"settings of the {spoken(kind)} {', '.join(names)}", _all(settings)


def _all(kind: type) -> list[Told]:
    docs = field_docs(kind)
    return [_told(kind, name, docs) for name in fields_of(kind)]


def _told(kind: type, name: str, docs: dict[str, str]) -> Told:
    return Told(name, fields_of(kind)[name], docs.get(name, ""))


def documented(function: Function) -> Function:
    """The same function, whose signature names every setting and whose text tells what each of them means."""
    found = list(sections())
    lines = [inspect.cleandoc(function.__doc__ or "")]
    for title, told in found:
        lines += ["", f"{title}:"]
        for each in told:
            about = textwrap.indent(textwrap.fill(" ".join(each.about.split()), WIDTH - 8), " " * 8)
            lines += [f"    {each.name}: {_spelled(each.field)}", *([about] if about.strip() else [])]
    function.__doc__ = "\n".join(lines)
    given = inspect.signature(function)
    named = [each for each in given.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    taken = {each.name for each in named}
    extra = {each.name: each for _, told in found for each in told if each.name not in taken}
    more = [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=PRESET, annotation=_spelled(each.field))
        for each in extra.values()
    ]
    rest = [each for each in given.parameters.values() if each.kind is inspect.Parameter.VAR_KEYWORD]
    function.__signature__ = given.replace(parameters=[*named, *more, *rest])  # type: ignore[attr-defined]
    return function


def _spelled(field: Field) -> str:
    """A type as a person writes it."""
    if field.choices:
        word = " | ".join(map(repr, field.choices))
    elif field.tables:
        word = " | ".join(repr(name) for name in field.tables[0].names)
    else:
        word = getattr(field.kind, "__name__", str(field.kind)).removeprefix("typing.")
    return f"{word} | None" if field.optional else word
