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
    Limit,
    NotNegative,
    Number,
    OneOf,
    Positive,
    Seed,
    Share,
    Whole,
    field_of,
    fields_of,
    flag,
    spelled,
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
    limit: Limit = math.inf
    finite: Number = 0.0
    seed: Seed = 1
    share: Share = 0.5
    below_half: BelowHalf = 0.1
    number: float = 0.0
    integer: int = 0
    text: str = ""
    truth: bool = False
    words: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    choice: Literal["left", "right"] = "left"
    colour: Annotated[str, OneOf(COLOURS)] = "red"
    maybe: Count | None = None
    maybe_number: float | None = None
    even: Annotated[int, Bound(lambda value: value % 2 == 0, "must be even")] = 0
    anything: Any = None
    inner: Inner = Inner()


TAKEN = [
    ("some_count", 1),
    ("some_count", 2**31 - 1),
    ("seed", 0),
    ("seed", 2**64 - 1),
    ("whole", 0),
    ("positive", 1e-30),
    ("positive", 1e300),
    ("limit", math.inf),
    ("not_negative", 0.0),
    ("share", 0.0),
    ("share", 1.0),
    ("below_half", 1e-7),
    ("number", -math.inf),
    ("integer", -3),
    ("text", "two words"),
    ("truth", True),
    ("words", ("a", "b")),
    ("places", (0, 2)),
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
    ("some_count", 2**31, "--some-count must be at most 2147483647; got 2147483648"),
    pytest.param(
        "some_count",
        10**5000,
        "--some-count must be at most 2147483647; got a number of 16610 bits",
        id="thousands of digits",
    ),
    ("whole", -1, "--whole must not be negative; got -1"),
    ("seed", -1, "--seed must not be negative; got -1"),
    ("seed", 2**64, "--seed must be at most 18446744073709551615; got 18446744073709551616"),
    ("seed", 1.5, "--seed must be a whole number; got 1.5"),
    ("positive", 0, "--positive must be more than 0; got 0"),
    ("positive", -0.25, "--positive must be more than 0; got -0.25"),
    ("positive", math.nan, "--positive must be a number; got nan"),
    ("positive", "nan", "--positive must be a number; got nan"),
    ("positive", "1", "--positive must be a number; got '1'"),
    ("positive", math.inf, "--positive must be finite; got inf"),
    ("not_negative", math.inf, "--not-negative must be finite; got inf"),
    ("finite", "-inf", "--finite must be finite; got -inf"),
    ("finite", 10**400, r"--finite must be a number; got 10{79}\.\.\.$"),
    ("limit", 0, "--limit must be more than 0; got 0"),
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
    ("text", "a\0b", r"--text must be text; got 'a\\x00b'"),
    ("truth", 1, "--truth must be true or false; got 1"),
    ("truth", "true", "--truth must be true or false; got 'true'"),
    ("words", "one", "--words must be a list of strings; got 'one'"),
    ("words", [1, 2], r"--words must be a list of strings; got \[1, 2\]"),
    ("words", {"one": 1}, "--words must be a list of strings; got {'one': 1}"),
    ("places", [0, 1.5], r"--places must be a list of whole numbers; got \[0, 1.5\]"),
    ("places", [True], r"--places must be a list of whole numbers; got \[True\]"),
    ("choice", np.array(["left", "right"]), "unknown choice array"),
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
        ("places", range(2), (0, 1)),
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
    inside_of = {
        "positive": 0 < value < math.inf,
        "not_negative": 0 <= value < math.inf,
        "limit": value > 0,
        "finite": abs(value) < math.inf,
        "share": 0 <= value <= 1,
    }
    for name, inside in inside_of.items():
        if inside:
            assert getattr(Everything(**{name: value}), name) == value
        else:
            with pytest.raises(UserError, match="--"):
                Everything(**{name: value})


@pytest.mark.parametrize(
    ("word", "value"),
    [("3", 3), ("-3", -3), ("1.5", 1.5), ("1e3", 1000.0), ("inf", math.inf), ("None", "None"), ("no", "no"), ("", "")],
)
def test_a_word_is_the_number_that_it_spells_or_itself(word, value):
    assert spelled(word) == value
    assert type(spelled(word)) is type(value)


def test_a_table_may_grow_after_the_settings_were_written(monkeypatch):
    with pytest.raises(UserError):
        Everything(colour="blue")
    monkeypatch.setitem(COLOURS, "blue", 3)
    assert Everything(colour="blue").colour == "blue"


def test_what_a_field_may_be_is_read_from_its_annotation():
    fields = fields_of(Everything)
    assert list(fields)[:3] == ["some_count", "whole", "positive"]
    assert (fields["maybe"].kind, fields["maybe"].optional) == (int, True)
    assert [bound.words for bound in fields["maybe"].bounds] == ["must be at least 1", "must be at most 2147483647"]
    assert (fields["share"].kind, fields["share"].optional) == (float, False)
    assert fields["choice"].choices == ("left", "right")
    assert fields["colour"].tables == (OneOf(COLOURS),)
    assert field_of(Annotated[Count, Bound(lambda value: value < 9, "must be below 9")]).kind is int
    assert len(field_of(Annotated[Count, Bound(lambda value: value < 9, "must be below 9")]).bounds) == 3


@pytest.mark.parametrize(("name", "shown"), [("ucb_c", "--ucb-c"), ("seed", "--seed"), ("imports", "--import")])
def test_flags_as_they_are_spelled(name, shown):
    assert flag(name) == shown
