"""A command from the words after its name; whatever is wrong with them is one sentence, the same as in Python.

Tyro only tells options and values apart. What a word means is said by `fields.spelled`, and whether it may be given by
the bounds on the command's fields, as for any other settings.
"""

from __future__ import annotations

import dataclasses
import inspect
import io
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, Literal, TypeGuard, get_args, get_origin

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from sadapt.errors import UserError, nearest
from sadapt.fields import check_all, checked, field_of, fields_of, flag, spelled

WIDEST, NARROWEST = 101, 41
HERE = "<description>"
"""Where a command's own words go, which tyro would break in the middle."""
TRUTHS = {"true": True, "false": False}
BORDER, COLOUR = "│|╭╮╰╯─+- ", re.compile(r"\x1b\[[0-9;]*m")
BOOLEAN = field_of(bool)
WORDS = ConstructorRegistry()


@WORDS.primitive_rule
def _taken_as_spelled(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """Numbers and names are taken as they are spelled, so that their field refuses them, and not tyro."""
    if info.type in (int, float):
        return _spelled_as(info.type.__name__.upper())
    if get_origin(info.type) is Literal:
        return _spelled_as(f"{{{','.join(map(str, get_args(info.type)))}}}")
    return None


def _spelled_as(metavar: str) -> PrimitiveConstructorSpec[Any]:
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=lambda words: spelled(words[0]),
        is_instance=lambda value: isinstance(value, int | float | str),
        str_from_instance=lambda value: [str(value)],
    )


def parsed(command: type, name: str, words: list[str], **options: Any) -> Any:
    """A command with its options read from the words after its name."""
    if "" in words:
        before = words[words.index("") - 1] if words.index("") else f"sadapt {name}"
        raise UserError(f"an empty argument was given after {before}: give a value, or leave it out")
    config = (tyro.conf.FlagCreatePairsOff, *options.pop("config", ()))
    flags = dict(_flags(command, options.get("default")))
    asked, said, helped = _spell_out(words, flags), io.StringIO(), _Like(sys.stdout)
    description = laid_out(options.pop("description", None) or inspect.getdoc(command) or "")
    try:
        with redirect_stderr(said), redirect_stdout(helped):
            found, left = tyro.cli(
                command,
                args=asked,
                prog=f"sadapt {name}",
                config=config,
                registry=WORDS,
                description=HERE,
                return_unknown_args=True,
                **options,
            )
    except SystemExit as ended:
        if not ended.code:
            print(_with_short_usage(helped.getvalue(), name).replace(HERE, description), end="")
            raise
        raise UserError(f"{_unboxed(said.getvalue())} (sadapt {name} --help shows every option)") from None
    if left:
        raise _unexpected(command, name, left, words, flags)
    check_all(found)
    return found


class _Like(io.StringIO):
    """Keeps what is printed, and is a terminal if what it stands for is one."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._terminal, self._encoding = bool(stream.isatty()), str(stream.encoding or "utf-8")

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self._terminal


def width() -> int:
    """Letters of a line of help."""
    return max(min(shutil.get_terminal_size().columns, WIDEST), NARROWEST) - 1


def laid_out(text: str) -> str:
    """A command's own words as wide as the terminal; lines that are set in, such as examples, stay as they are."""
    blocks = [block.splitlines() for block in text.strip().split("\n\n")]
    return "\n\n".join(
        "\n".join(lines) if any(line.startswith(" ") for line in lines) else textwrap.fill(" ".join(lines), width())
        for lines in blocks
    )


def _with_short_usage(text: str, name: str) -> str:
    """The same help, whose first line names what must be given, and not every option, if that is longer than a line."""
    usage, _, rest = text.partition("\n")
    if len(COLOUR.sub("", usage)) <= width():
        return text
    needed = re.sub(r"\[[^\]]*\]", "", COLOUR.sub("", usage)).removeprefix(f"usage: sadapt {name}").split()
    return f"usage: {' '.join([f'sadapt {name}', '[OPTIONS]', *needed])}\n{rest}"


def _flags(command: type, default: Any) -> Iterator[tuple[str, bool]]:
    """Every option of a command that is true or false, and what it is if it is not given."""
    usual = {each.name: each.default for each in dataclasses.fields(command)}
    for name, field in fields_of(command).items():
        if field.kind is bool:
            yield name, bool(usual[name] if default is None else getattr(default, name))
        elif _is_group(field.kind):
            yield from _flags(field.kind, None if default is None else getattr(default, name))


def _is_group(kind: Any) -> TypeGuard[type]:
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def _flag_named(word: str, flags: dict[str, bool]) -> tuple[str, bool] | None:
    """The flag that a word spells, and whether it turns it on."""
    if not word.startswith("--"):
        return None
    name = word.partition("=")[0].removeprefix("--").replace("-", "_")
    off = name.removeprefix("no_")
    return (name, True) if name in flags else (off, False) if off in flags else None


def _spell_out(words: list[str], flags: dict[str, bool]) -> list[str]:
    """The words with flags as tyro knows them: without a value, and only where they change what is usual."""
    wanted, others, at = {}, [], 0
    while at < len(words):
        word, at = words[at], at + 1
        named = _flag_named(word, flags)
        if named is None:
            others.append(word)
            continue
        name, on = named
        value = word.partition("=")[2] if "=" in word else "true"
        if "=" not in word and at < len(words) and words[at].lower() in TRUTHS:
            value, at = words[at], at + 1
        wanted[name] = _truth(name, value) == on
    changed = {name: on for name, on in wanted.items() if on != flags[name]}
    return [*(flag(name if on else f"no_{name}") for name, on in changed.items()), *others]


def _truth(name: str, word: str) -> bool:
    """What is given to a flag, which must be true or false."""
    return bool(checked(BOOLEAN, name, TRUTHS.get(word.lower(), spelled(word))))


def _unexpected(command: type, name: str, left: list[str], words: list[str], flags: dict[str, bool]) -> UserError:
    """Why a word fits nowhere."""
    first, more = left[0], f"(sadapt {name} --help shows every option)"
    if first.startswith("-"):
        given = first.partition("=")[0]
        return UserError(f"unknown option {given!r}: {nearest(given, _options(command, flags))} {more}")
    before = words[max(words.index(first) - 1, 0)] if first in words else ""
    if (named := _flag_named(before, flags)) is not None:
        _truth(named[0], first)
    return UserError(f"{first!r} is not expected here: put every value after its option {more}")


def _options(command: type, flags: dict[str, bool]) -> Iterator[str]:
    """Every option as it is spelled."""
    for name, field in fields_of(command).items():
        if _is_group(field.kind):
            yield from _options(field.kind, flags)
        else:
            yield flag(f"no_{name}" if flags.get(name) else name)


def _unboxed(text: str) -> str:
    """Tyro's message as one sentence, without its box, its title and what it says about help."""
    bare = [line.strip("│| ") for line in COLOUR.sub("", text).splitlines()]
    title, *told = [line for line in bare if line.strip(BORDER)] or [""]
    end = next((at for at, line in enumerate(told) if "helptext" in line), len(told))
    return " ".join(" ".join(told[:end]).split()) or title
