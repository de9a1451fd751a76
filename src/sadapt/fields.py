"""Settings that say their own bounds: type, choices and limits stand on the field and are checked when they are made.

@dataclass(frozen=True)
class Mine(Checked):
    decay: Share = 0.9
    '''What is kept of the past each step.'''
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import itertools
import math
import numbers
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from sadapt.errors import UserError, nearest


class Bound(NamedTuple):
    """A limit that a number must keep, in words that follow its name."""

    holds: Callable[[Any], bool]
    words: str


class OneOf(NamedTuple):
    """A name out of a table that may grow."""

    names: Mapping[str, Any]


MOST, LARGEST_SEED = 2**31 - 1, 2**64 - 1
"""What a 32-bit counter of the training program reaches, and the largest seed that is told from all others."""
FINITE = Bound(math.isfinite, "must be finite")
AT_MOST = Bound(lambda value: value <= MOST, f"must be at most {MOST}")
ABOVE_ZERO = Bound(lambda value: value > 0, "must be more than 0")
NO_LESS = Bound(lambda value: value >= 0, "must not be negative")

Count = Annotated[int, Bound(lambda value: value >= 1, "must be at least 1"), AT_MOST]
"""A whole number from 1."""
Whole = Annotated[int, NO_LESS, AT_MOST]
"""A whole number from 0."""
Seed = Annotated[int, NO_LESS, Bound(lambda value: value <= LARGEST_SEED, f"must be at most {LARGEST_SEED}")]
"""A seed of random numbers, from 0."""
Number = Annotated[float, FINITE]
"""A finite number."""
Positive = Annotated[float, ABOVE_ZERO, FINITE]
"""A finite number above 0."""
NotNegative = Annotated[float, NO_LESS, FINITE]
"""A finite number, 0 or more."""
Limit = Annotated[float, ABOVE_ZERO]
"""A number above 0; it may be infinite, which means no limit."""
Share = Annotated[float, Bound(lambda value: 0 <= value <= 1, "must lie between 0 and 1")]
"""A number from 0 to 1."""
BelowHalf = Annotated[float, Bound(lambda value: 1e-7 <= value < 0.5, "must lie between 0.0000001 and 0.5")]

SPOKEN = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
SPOKEN_LISTS = {int: "a list of whole numbers", str: "a list of strings"}
SPECIAL = ("inf", "-inf", "nan")
"""Numbers that JSON has no sign for."""
SPELLED = {"imports": "import", "start_from": "from"}
"""Settings that are called otherwise on the command line, by words that Python keeps to itself."""
LONGEST = 80
"""Letters of a value that a message shows."""


class Field(NamedTuple):
    """What a setting may be."""

    kind: Any
    """int, float, str, bool, a tuple of one of them, a class of settings, or anything."""
    optional: bool
    choices: tuple[Any, ...]
    bounds: tuple[Bound, ...]
    tables: tuple[OneOf, ...]


class Checked:
    """A dataclass whose values are checked, and numbers given in another type turned into the right one."""

    def __post_init__(self) -> None:
        check_all(self)


def check_all(settings: Any) -> None:
    """Checks every field of a dataclass, in place."""
    for name, field in fields_of(type(settings)).items():
        object.__setattr__(settings, name, checked(field, name, getattr(settings, name)))


def fields_of(kind: type) -> dict[str, Field]:
    """Every setting of a dataclass by name, from its annotations."""
    return _fields_of(kind)


@functools.cache
def _fields_of(kind: type) -> dict[str, Field]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: field_of(hints[field.name]) for field in dataclasses.fields(kind)}


def field_of(hint: Any) -> Field:
    """What a setting with this annotation may be."""
    extras = tuple(_extras(hint))
    bare = _bare(hint)
    options = [option for option in get_args(bare) if option is not type(None)]
    optional = get_origin(bare) in (Union, types.UnionType) and type(None) in get_args(bare)
    if optional:
        extras += tuple(extra for option in options for extra in _extras(option))
        bare = _bare(options[0]) if len(options) == 1 else Any
    choices = get_args(bare) if get_origin(bare) is Literal else ()
    return Field(
        kind=bare,
        optional=optional,
        choices=choices,
        bounds=tuple(extra for extra in extras if isinstance(extra, Bound)),
        tables=tuple(extra for extra in extras if isinstance(extra, OneOf)),
    )


def _bare(hint: Any) -> Any:
    return _bare(get_args(hint)[0]) if get_origin(hint) is Annotated else hint


def _extras(hint: Any) -> Iterator[Any]:
    if get_origin(hint) is Annotated:
        yield from hint.__metadata__
        yield from _extras(get_args(hint)[0])


def checked(field: Field, name: str, value: Any) -> Any:
    """The value as its field wants it, or an error that names the flag."""
    if value is None and field.optional:
        return None
    shown = flag(name)
    if field.choices:
        if not any(isinstance(value, type(choice)) and value == choice for choice in field.choices):
            raise unknown_name(name, value, map(str, field.choices))
        return value
    value = _typed(field.kind, shown, value)
    for table in field.tables:
        if value not in table.names:
            raise unknown_name(name, value, table.names)
    for bound in field.bounds:
        if not bound.holds(value):
            raise UserError(f"{shown} {bound.words}; got {told(value) if isinstance(value, int) else f'{value:g}'}")
    return value


def unknown_name(name: str, value: Any, valid: Iterable[str]) -> UserError:
    """The refusal of a name that is none of those that a setting takes."""
    return UserError(f"unknown {name.replace('_', ' ')} {told(value)}: {nearest(str(value), valid)}")


def _typed(kind: Any, shown: str, value: Any) -> Any:
    """The value in its field's type, where it can be had without loss."""
    if get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        if not isinstance(value, list | tuple | range) or not all(_fits(inner, each) for each in value):
            raise UserError(f"{shown} must be {SPOKEN_LISTS.get(inner, 'a list')}; got {told(value)}")
        return tuple(inner(each) for each in value) if inner in SPOKEN else tuple(value)
    if kind not in SPOKEN:
        return value
    if kind is float and isinstance(value, str) and value in SPECIAL:
        value = float(value)
    if not _fits(kind, value):
        raise UserError(f"{shown} must be {SPOKEN[kind]}; got {told(value)}")
    return kind(value)


def _fits(kind: Any, value: Any) -> bool:
    """Whether a value can be had in this type without loss."""
    truth = isinstance(value, bool) or type(value).__name__ == "bool"
    if kind is bool or truth:
        return kind is bool and truth
    if kind is int:
        return isinstance(value, numbers.Integral)
    if kind is float:
        return isinstance(value, numbers.Real) and _is_number(value)
    if kind is str:
        return isinstance(value, str) and "\0" not in value  # which no name of a file may have
    return not isinstance(kind, type) or isinstance(value, kind)


def _is_number(value: Any) -> bool:
    try:
        return not math.isnan(float(value))
    except OverflowError:
        return False


def told(value: Any) -> str:
    """A value as messages show it, cut where it is longer than a line."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits, which Python does not print
        return f"a number of {int(value).bit_length()} bits"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def spelled(text: str) -> Any:
    """What a word of the command line says: a number if it is one, else the word itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def flag(name: str) -> str:
    """A setting as it is spelled on the command line."""
    return "--" + SPELLED.get(name, name.replace("_", "-"))


def field_docs(kind: type) -> dict[str, str]:
    """The sentence below every field of a dataclass, those that it inherits too."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if not dataclasses.is_dataclass(each):
            continue
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
        except (OSError, SyntaxError, IndexError):
            continue
        assert isinstance(body, ast.ClassDef)
        for named, said in itertools.pairwise(body.body):
            if isinstance(named, ast.AnnAssign) and isinstance(named.target, ast.Name) and (text := _text(said)):
                found[named.target.id] = text
    return found


def _text(said: ast.stmt) -> str | None:
    """A statement that is nothing but a text."""
    if isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant) and isinstance(said.value.value, str):
        return inspect.cleandoc(said.value.value)
    return None
