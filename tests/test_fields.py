"""Settings that say their own bounds: what each kind of field takes, turns into another type, or refuses by flag."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.errors import UserError
from sadapt.fields import (
    BelowHalf,
    Bound,
    Checked,
    Count,
    NotNegative,
    OneOf,
    Positive,
    Share,
    Whole,
    field_of,
    fields_of,
    flag,
)

COLOURS = {"red": 1, "green": 2}


@dataclass(frozen=True)
class Inner(Checked):
    """A group of settings."""

    depth: Count = 1


@dataclass(frozen=True)
class Everything(Checked):
    """One field of each kind."""

    some_count: Count = 1
    whole: Whole = 0
    positive: Positive = 1.0
    not_negative: NotNegative = 0.0
    share: Share = 0.5
    below_half: BelowHalf = 0.1
    number: float = 0.0
    integer: int = 0
    text: str = ""
    truth: bool = False
    words: tuple[str, ...] = ()
    choice: Literal["left", "right"] = "left"
    colour: Annotated[str, OneOf(COLOURS)] = "red"
    maybe: Count | None = None
    maybe_number: float | None = None
    even: Annotated[int, Bound(lambda value: value % 2 == 0, "must be even")] = 0
    anything: Any = None
    inner: Inner = Inner()


TAKEN = [
    ("some_count", 1),
    ("some_count", 10**12),
    ("whole", 0),
    ("positive", 1e-30),
    ("positive", math.inf),
    ("not_negative", 0.0),
    ("share", 0.0),
    ("share", 1.0),
    ("below_half", 1e-7),
    ("number", -math.inf),
    ("integer", -3),
    ("text", "two words"),
    ("truth", True),
    ("words", ("a", "b")),
    ("choice", "right"),
    ("colour", "green"),
    ("maybe", None),
    ("maybe", 7),
    ("maybe_number", None),
    ("even", -4),
    ("anything", [1, "2"]),
    ("anything", None),
    ("inner", Inner(3)),
]


@pytest.mark.parametrize(("name", "value"), TAKEN)
def test_what_is_within_its_bounds_is_taken_as_it_is(name, value):
    found = getattr(Everything(**{name: value}), name)
    assert found == value
    assert type(found) is type(value)


REFUSED = [
    ("some_count", 0, "--some-count must be at least 1; got 0"),
    ("some_count", 1.0, "--some-count must be a whole number; got 1.0"),
    ("some_count", "3", "--some-count must be a whole number; got '3'"),
    ("some_count", True, "--some-count must be a whole number; got True"),
    ("some_count", None, "--some-count must be a whole number; got None"),
    ("whole", -1, "--whole must not be negative; got -1"),
    ("positive", 0, "--positive must be more than 0; got 0"),
    ("positive", -0.25, "--positive must be more than 0; got -0.25"),
    ("positive", math.nan, "--positive must be a number; got nan"),
    ("positive", "nan", "--positive must be a number; got nan"),
    ("positive", "1", "--positive must be a number; got '1'"),
    ("not_negative", -1e-9, "--not-negative must not be negative; got -1e-09"),
    ("share", 1.5, "--share must lie between 0 and 1; got 1.5"),
    ("share", -0.5, "--share must lie between 0 and 1"),
    ("below_half", 0.5, "--below-half must lie between 0.0000001 and 0.5; got 0.5"),
    ("below_half", 1e-9, "--below-half must lie between"),
    ("number", True, "--number must be a number; got True"),
    ("number", [1.0], r"--number must be a number; got \[1.0\]"),
    ("number", np.zeros(3), "--number must be a number; got array"),
    ("integer", 2.5, "--integer must be a whole number; got 2.5"),
    ("text", 3, "--text must be text; got 3"),
    ("truth", 1, "--truth must be true or false; got 1"),
    ("truth", "true", "--truth must be true or false; got 'true'"),
    ("words", "one", "--words must be a list of texts; got 'one'"),
    ("words", [1, 2], r"--words must be a list of texts; got \[1, 2\]"),
    ("choice", "lef", "unknown choice 'lef': did you mean 'left'"),
    ("choice", None, "unknown choice None"),
    ("choice", ["left"], "unknown choice"),
    ("colour", "gren", "unknown colour 'gren': did you mean 'green'"),
    ("colour", 1, "--colour must be text; got 1"),
    ("maybe", 0, "--maybe must be at least 1; got 0"),
    ("maybe_number", "x", "--maybe-number must be a number; got 'x'"),
    ("even", 3, "--even must be even; got 3"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSED)
def test_what_is_not_is_refused_by_its_flag(name, value, message):
    with pytest.raises(UserError, match=message):
        Everything(**{name: value})
    with pytest.raises(UserError, match=message):
        replace(Everything(), **{name: value})


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("number", 3, 3.0),
        ("number", np.float32(0.5), 0.5),
        ("number", np.int64(2), 2.0),
        ("number", "inf", math.inf),
        ("number", "-inf", -math.inf),
        ("maybe_number", 2, 2.0),
        ("some_count", np.int32(4), 4),
        ("truth", np.bool_(True), True),
        ("words", ["a", "b"], ("a", "b")),
    ],
)
def test_numbers_are_turned_into_the_right_type(name, value, found):
    taken = getattr(Everything(**{name: value}), name)
    assert taken == found
    assert type(taken) is type(found)


@given(st.integers(-(10**9), 10**9))
def test_a_whole_number_is_a_number_without_loss(value):
    assert Everything(number=value).number == value
    assert Everything(integer=value).integer == value


@given(st.floats(allow_nan=False))
def test_bounds_of_floats_are_those_of_mathematics(value):
    for name, inside in (("positive", value > 0), ("not_negative", value >= 0), ("share", 0 <= value <= 1)):
        if inside:
            assert getattr(Everything(**{name: value}), name) == value
        else:
            with pytest.raises(UserError, match="--"):
                Everything(**{name: value})


def test_a_table_may_grow_after_the_settings_were_written(monkeypatch):
    with pytest.raises(UserError):
        Everything(colour="blue")
    monkeypatch.setitem(COLOURS, "blue", 3)
    assert Everything(colour="blue").colour == "blue"


def test_what_a_field_may_be_is_read_from_its_annotation():
    fields = fields_of(Everything)
    assert list(fields)[:3] == ["some_count", "whole", "positive"]
    assert (fields["maybe"].kind, fields["maybe"].optional) == (int, True)
    assert [bound.words for bound in fields["maybe"].bounds] == ["must be at least 1"]
    assert (fields["share"].kind, fields["share"].optional) == (float, False)
    assert fields["choice"].choices == ("left", "right")
    assert fields["colour"].tables == (OneOf(COLOURS),)
    assert field_of(Annotated[Count, Bound(lambda value: value < 9, "must be below 9")]).kind is int
    assert len(field_of(Annotated[Count, Bound(lambda value: value < 9, "must be below 9")]).bounds) == 2


@pytest.mark.parametrize(("name", "shown"), [("ucb_c", "--ucb-c"), ("seed", "--seed"), ("imports", "--import")])
def test_flags_as_they_are_spelled(name, shown):
    assert flag(name) == shown
