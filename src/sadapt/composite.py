"""Settings that name parts: the run's own stand beside groups, and beside those that each part brings.

Names of settings are unique within a composite, so that any of them can be given as a flag, a key of a file or a
keyword, wherever it lives.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any, NamedTuple, TypeVar

from sadapt.errors import UserError, nearest
from sadapt.fields import Checked, check_all, checked, fields_of, told
from sadapt.registry import OWN, TABLES, Choice, find, known, require_name, spoken

Settings = TypeVar("Settings", bound="Composite")


def part(kind: str, name: str = "") -> Any:
    """A field that holds a part of this kind, by default the one called `name` with its settings as they come."""
    if not name:
        return field(metadata={"kind": kind})
    return field(default_factory=lambda: usual(kind, name), metadata={"kind": kind})


def usual(kind: str, name: str) -> Choice:
    """A part with its settings as they come; an object of somebody's own brings those that all of its kind have."""
    require_name(kind, name)
    common = COMMON.get(kind)
    if name.startswith(OWN):
        return Choice(name, None if common is None else common())
    found = find(kind, name)
    return Choice(name, common() if common is not None and found.settings is None else found.defaults())


COMMON: dict[str, type] = {}
"""Settings of parts that bring none, by kind."""


class Composite(Checked):
    """A frozen dataclass with fields of `part`, groups of settings, and settings of its own."""

    def __post_init__(self) -> None:
        for kind, place in places(type(self)).items():
            object.__setattr__(self, place, _chosen(kind, getattr(self, place)))
        inner = places(type(self)).values()
        for name, kept in fields_of(type(self)).items():
            value = getattr(self, name)
            if name in own_names(type(self)):
                object.__setattr__(self, name, checked(kept, name, value))
            elif name not in inner and not isinstance(value, kept.kind):
                raise UserError(f"the {name} must be {kept.kind.__name__}(...); got {told(value)}")
        _require_unique(self)


def _chosen(kind: str, given: Any) -> Choice:
    """A part by its name alone, or with settings of its own, which are plain as long as it is not known here."""
    if not isinstance(given, Choice):
        return usual(kind, given)
    if given.name.startswith(OWN) or not known(kind, given.name):
        return given
    own = usual(kind, given.name)
    if given.settings is None:
        return own
    mine = fields_of(type(own.settings)) if own.settings is not None else {}
    if dataclasses.is_dataclass(given.settings) and fields_of(type(given.settings)).keys() == mine.keys():
        return given
    if isinstance(given.settings, Mapping) and given.settings.keys() <= mine.keys():
        return own._replace(settings=replace(own.settings, **given.settings))
    has = f"the settings {', '.join(mine)}" if mine else "no settings"
    raise UserError(f"the {spoken(kind)} {given.name!r} has {has}; got {told(given.settings)}")


class Group(NamedTuple):
    """Settings below a composite's own: the field that holds them, and the part's kind if it is one's."""

    place: str
    kind: str | None
    settings: Any


def places(kind: type) -> dict[str, str]:
    """The fields that hold parts, by their kind."""
    return _places(kind)


@functools.cache
def _places(kind: type) -> dict[str, str]:
    return {each.metadata["kind"]: each.name for each in dataclasses.fields(kind) if "kind" in each.metadata}


def own_names(kind: type) -> tuple[str, ...]:
    """Settings of the composite itself."""
    return _own_names(kind)


@functools.cache
def _own_names(kind: type) -> tuple[str, ...]:
    inner = {each.name for each in dataclasses.fields(kind) if "kind" in each.metadata or "group" in each.metadata}
    return tuple(each.name for each in dataclasses.fields(kind) if each.name not in inner)


def group(kind: type) -> Any:
    """A field that holds a group of settings."""
    return field(default_factory=kind, metadata={"group": True})


def groups(settings: Composite) -> Iterator[Group]:
    """Every group; those of parts that have none, or are not known here, are left out."""
    for each in dataclasses.fields(settings):  # type: ignore[arg-type]
        held = getattr(settings, each.name)
        inner = held.settings if "kind" in each.metadata else held if "group" in each.metadata else None
        if dataclasses.is_dataclass(inner):
            yield Group(each.name, each.metadata.get("kind"), inner)


def _require_unique(settings: Composite) -> None:
    kind = type(settings)
    owners = dict.fromkeys([*own_names(kind), *places(kind)], "the run")
    for place, part_kind, held in groups(settings):
        mine = f"the {part_kind} {getattr(settings, place).name!r}" if part_kind else f"the {place}"
        for name in fields_of(type(held)):
            if name in owners:
                raise UserError(f"the setting {name!r} of {mine} is also one of {owners[name]}: rename it")
            owners[name] = mine


def names(settings: Composite) -> set[str]:
    """Everything that can be changed."""
    inner = (name for each in groups(settings) for name in fields_of(type(each.settings)))
    return {*own_names(type(settings)), *places(type(settings)), *inner}


def get(settings: Composite, name: str) -> Any:
    """A setting by its name, wherever it lives; of a part, its name."""
    if name in places(type(settings)):
        return getattr(settings, places(type(settings))[name]).name
    if name in own_names(type(settings)):
        return getattr(settings, name)
    for each in groups(settings):
        if name in fields_of(type(each.settings)):
            return getattr(each.settings, name)
    raise unknown(settings, name)


def changed(settings: Settings, name: str, value: Any) -> Settings:
    """The same settings with one of them changed, wherever it lives."""
    return all_changed(settings, {name: value})


def all_changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Several changes at once; parts first, which bring settings with them."""
    kinds, own = places(type(settings)), own_names(type(settings))
    for kind in (kind for kind in kinds if kind in changes):
        settings = switched(settings, kind, changes[kind])
    whole: dict[str, Any] = {name: value for name, value in changes.items() if name in own}
    left = {name: value for name, value in changes.items() if name not in own and name not in kinds}
    for place, part_kind, held in groups(settings):
        mine = {name: left.pop(name) for name in fields_of(type(held)) if name in left}
        if mine:
            new = replace(held, **mine)
            if not isinstance(new, Checked):  # somebody's own dataclass, which need not check itself
                check_all(new)
            whole[place] = new if part_kind is None else getattr(settings, place)._replace(settings=new)
    if left:
        raise unknown(settings, next(iter(left)))
    return replace(settings, **whole) if whole else settings  # type: ignore[type-var]


def switched(settings: Settings, kind: str, name: Any) -> Settings:
    """Another part, whose settings are its own; those that both have stay where they were not the usual ones."""
    place = places(type(settings))[kind]
    before, new = getattr(settings, place).settings, usual(kind, name)
    if dataclasses.is_dataclass(before) and dataclasses.is_dataclass(new.settings):
        shared = fields_of(type(before)).keys() & fields_of(type(new.settings)).keys()
        plain: Any = type(before)()  # type: ignore[misc]
        unusual = {each: getattr(before, each) for each in shared if getattr(before, each) != getattr(plain, each)}
        new = new._replace(settings=replace(new.settings, **unusual))  # type: ignore[type-var]
    return replace(settings, **{place: new})  # type: ignore[type-var]


def owners(settings: Composite, name: str) -> tuple[str, list[str]] | None:
    """The kind of part that has such a setting, and the parts; None if no part has it."""
    for kind in places(type(settings)):
        rows = [row for row in TABLES[kind].values() if row.settings is not None and name in fields_of(row.settings)]
        if rows:
            return kind, [row.name for row in rows]
    return None


def unknown(settings: Composite, name: str) -> UserError:
    """Says what the setting belongs to, or which one was meant."""
    found = owners(settings, name)
    if found is None:
        return UserError(f"unknown setting {name!r}: {nearest(name, names(settings))}")
    kind, parts = found
    mine = f"the {spoken(kind)} {get(settings, kind)!r}"
    instead = "" if kind == "env" else f", or ask for --{kind} {parts[0]}"
    return UserError(f"{mine} has no setting {name!r}, which is one of {', '.join(parts)}: leave it out{instead}")
