"""Settings that say their own bounds: type, choices and limits stand on the field and are checked when they are made.

@dataclass(frozen=True)
class Mine(Checked):
    decay: Share = 0.9
    '''What is kept of the past each step.'''
"""

from __future__ import annotations

import dataclasses
import functools
import math
import numbers
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from sadapt.errors import UserError, nearest


class Bound(NamedTuple):
    """A limit that a number must keep, in words that follow its name."""

    holds: Callable[[Any], bool]
    words: str


class OneOf(NamedTuple):
    """A name out of a table that may grow."""

    names: Mapping[str, Any]


Count = Annotated[int, Bound(lambda value: value >= 1, "must be at least 1")]
Whole = Annotated[int, Bound(lambda value: value >= 0, "must not be negative")]
Positive = Annotated[float, Bound(lambda value: value > 0, "must be more than 0")]
NotNegative = Annotated[float, Bound(lambda value: value >= 0, "must not be negative")]
Share = Annotated[float, Bound(lambda value: 0 <= value <= 1, "must lie between 0 and 1")]
BelowHalf = Annotated[float, Bound(lambda value: 1e-7 <= value < 0.5, "must lie between 0.0000001 and 0.5")]

SPOKEN = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
SPECIAL = ("inf", "-inf", "nan")
"""Numbers that JSON has no sign for."""


class Field(NamedTuple):
    """What a setting may be."""

    kind: Any
    """int, float, str, bool, a tuple of texts, a class of settings, or anything."""
    optional: bool
    choices: tuple[Any, ...]
    bounds: tuple[Bound, ...]
    tables: tuple[OneOf, ...]


class Checked:
    """A dataclass whose values are checked, and numbers given in another type turned into the right one."""

    def __post_init__(self) -> None:
        for name, field in fields_of(type(self)).items():
            object.__setattr__(self, name, checked(field, name, getattr(self, name)))


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
        if value not in field.choices:
            raise UserError(
                f"unknown {name.replace('_', ' ')} {value!r}: {nearest(str(value), map(str, field.choices))}"
            )
        return value
    value = _typed(field.kind, shown, value)
    for table in field.tables:
        if value not in table.names:
            raise UserError(f"unknown {name} {value!r}: {nearest(str(value), table.names)}")
    for bound in field.bounds:
        if not bound.holds(value):
            raise UserError(f"{shown} {bound.words}; got {value if isinstance(value, int) else format(value, 'g')}")
    return value


def _typed(kind: Any, shown: str, value: Any) -> Any:
    """The value in its field's type, where it can be had without loss."""
    truth = isinstance(value, bool) or type(value).__name__ == "bool"
    if (
        kind is float
        and not truth
        and (isinstance(value, numbers.Real) or (isinstance(value, str) and value in SPECIAL))
    ):
        if math.isnan(float(value)):
            raise UserError(f"{shown} must be a number; got {value}")
        return float(value)
    if kind is int and not truth and isinstance(value, numbers.Integral):
        return int(value)
    if kind is bool and truth:
        return bool(value)
    if kind is str and isinstance(value, str):
        return value
    if get_origin(kind) is tuple and isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return tuple(value)
    if kind in SPOKEN or get_origin(kind) is tuple:
        raise UserError(f"{shown} must be {SPOKEN.get(kind, 'a list of texts')}; got {value!r}")
    return value


def flag(name: str) -> str:
    """A setting as it is spelled on the command line."""
    return "--" + ("import" if name == "imports" else name.replace("_", "-"))
