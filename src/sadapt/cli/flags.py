"""Settings as flags: those of a run, of its world and of its parts, mirrored from where they are declared."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable
from dataclasses import field
from typing import Annotated, Any, get_type_hints

import tyro
from tyro.conf import arg

from sadapt.cli.common import require_parts
from sadapt.cli.parsing import parsed
from sadapt.composite import Composite, Group, get, groups, names, owners, unknown
from sadapt.errors import UserError
from sadapt.fields import SPELLED, field_docs, field_of, fields_of
from sadapt.registry import OWN, import_modules, known, spoken
from sadapt.training.presets import preset

METAVARS = {"layout": "FILE", "start_from": "RUN"}


def title(settings: Composite, group: Group) -> str:
    """What a group of settings is called: `learner pqn`."""
    if group.kind is None or get(settings, group.kind).startswith(OWN):
        return group.place
    return f"{spoken(group.kind)} {get(settings, group.kind)}"


def mirrored(held: Any) -> type:
    """The same group of settings as flags, which are checked when they become settings again."""
    kind = type(held)
    docs, hints = field_docs(kind), get_type_hints(kind, include_extras=True)
    flags: list[Any] = [
        (name, flag_of(hints[name], docs.get(name, ""), name), getattr(held, name)) for name in fields_of(kind)
    ]
    mirror = dataclasses.make_dataclass(kind.__name__, flags, frozen=True)
    mirror.__doc__ = kind.__doc__
    return mirror


def flag_of(hint: Any, about: str, name: str) -> Any:
    """A setting's annotation for the command line."""
    told = field_of(hint)
    if told.tables:
        return Annotated[told.kind, arg(help=about, metavar=f"{{{','.join(told.tables[0].names)}}}")]
    if told.optional:
        metavar = METAVARS.get(name) or getattr(told.kind, "__name__", "VALUE").upper()
        if name in SPELLED:
            shown = arg(name=SPELLED[name], help=about, metavar=metavar, help_behavior_hint="")
            return Annotated[told.kind | None, tyro.conf.DisallowNone, shown]
        return Annotated[
            told.kind | None, tyro.conf.DisallowNone, arg(help=about, metavar=metavar, help_behavior_hint="")
        ]
    return Annotated[told.kind, arg(help=about)]


def group_flags(settings: Composite, only: Iterable[str] | None = None) -> list[Any]:
    """A field of flags for every group of settings, or for those in these fields alone."""
    found = []
    for each in groups(settings):
        if only is None or each.place in only:
            mirror, name = mirrored(each.settings), title(settings, each)
            found.append((f"{each.place}_settings", Annotated[mirror, arg(name=name)], field(default_factory=mirror)))
    return found


def changed_flags(command: Any, only: Iterable[str]) -> dict[str, Any]:
    """What the flags of these groups say that the settings below the command do not."""
    return {
        name: value
        for each in groups(command.base)
        if each.place in only
        for name, value in vars(getattr(command, f"{each.place}_settings")).items()
        if value != getattr(each.settings, name)
    }


def first_look(words: list[str], options: dict[str, Any]) -> tuple[argparse.Namespace, str | None]:
    """What is said of these options, given with their defaults, and which world; imports what is asked for."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    first.add_argument("--import", default=[], action="append", dest="imports")
    for name, usual in options.items():
        first.add_argument(f"--{name}", default=usual)
    try:
        given, rest = first.parse_known_args(words)
    except argparse.ArgumentError as error:
        raise UserError(str(error)) from error
    import_modules(given.imports)
    world = next((word for word in rest if known("env", word)), None)
    return given, world or (rest[0] if rest and not rest[0].startswith("-") else None)


def require_its_own(settings: Composite, words: list[str]) -> None:
    """Refuses a flag that is a setting of another world or part, by whose it is."""
    if get(settings, "env") == OWN:
        return
    for word in (word.partition("=")[0] for word in words if word.startswith("--")):
        name = word.removeprefix("--").replace("-", "_")
        if name not in names(settings) and owners(settings, name) is not None:
            raise unknown(settings, name)


def parsed_over(
    kind: type, command: str, words: list[str], settings: Composite, given: dict[str, Any], **options: Any
) -> Any:
    """The command, its flags read over what it is by default; `base` are the settings below."""
    require_its_own(settings, words)
    helps, world = not {"-h", "--help"}.isdisjoint(words), get(settings, "env")
    default = kind(env=tyro.MISSING if world == OWN or helps else world, **given)
    config = (tyro.conf.OmitArgPrefixes,)
    found = parsed(kind, command, ["--help"] if helps else words, default=default, config=config, **options)
    object.__setattr__(found, "base", settings)
    return found


def parsed_in_world(kind: type, command: str, words: list[str], parts: dict[str, str], only: Iterable[str]) -> Any:
    """A command with the settings of its world, and of those of these parts that lie in the fields `only`, as flags."""
    said, world = first_look(words, parts)
    given = {each: getattr(said, each) for each in parts}
    if world is not None:
        require_parts(env=world, **given)
    settings = preset(OWN if world is None else world, **given)
    fields = group_flags(settings, only)
    filled = dataclasses.make_dataclass(kind.__name__, fields, bases=(kind,), frozen=True, kw_only=True)
    filled.__doc__ = kind.__doc__
    return parsed_over(filled, command, words, settings, {**given, "imports": tuple(said.imports)})
