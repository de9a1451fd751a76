"""Values that nobody expects: of every type, at every edge, too large, too long and in strange letters."""

from __future__ import annotations

import random
from typing import Any

STRANGE = (
    "\u202e\u0000\ud800",
    "\ud83d",
    "😀" * 50,
    "naïve…",
    "Ⅷ",
    "٣",
    "\x1b[31mred",
    "a\nb",
    "\t",
    " ",
    "",
    "[bold]x[/wrong]",
    "%s%n{0}{x}",
    "x" * 5_000,
)
NAMES = (
    "tetris",
    "maze-large",
    "gym:CartPole-v1",
    "gym:no:Such-v0",
    "atari:nope",
    "own:me",
    "s-min",
    "dqn",
    "null",
    "True",
)
NUMBERS = (
    0,
    -1,
    1,
    2,
    3,
    255,
    -(2**31),
    2**31 - 1,
    2**31,
    2**53 + 1,
    2**63,
    2**64,
    10**30,
    10**400,
    0.5,
    -0.0,
    1e-320,
    1e308,
)
ODD = (float("nan"), float("inf"), float("-inf"))
PATHS = (
    "missing",
    "missing/deeper/x",
    "notes.txt",
    "notes.txt/x",
    ".",
    "./",
    "x" * 300,
    "folder",
    "loop",
    "no\udcffwhere",
)
WORDS = (
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1_000",
    "0x10",
    "1.5",
    "-1",
    "0",
    "1",
    "99999999999",
    "2147483647",
    "true",
    "--",
    "-",
    "=",
)


def anything(chance: random.Random) -> Any:
    """A value that JSON knows, mostly of the wrong kind."""
    kind = chance.randrange(8)
    if kind <= 1:
        return chance.choice(NUMBERS)
    if kind == 2:
        return chance.choice(ODD)
    if kind == 3:
        return chance.choice(STRANGE)
    if kind == 4:
        return chance.choice((*NAMES, *PATHS, *WORDS))
    if kind == 5:
        return chance.choice((None, True, False, [], {}, [[]], {"": None}))
    if kind == 6:
        return [anything(chance) for _ in range(chance.randrange(1, 4))]
    return {chance.choice(("kind", "name", "x", "\udcff", "__class__")): anything(chance)}


def word(chance: random.Random) -> str:
    """A word of a command line: nothing that leads out of the current folder."""
    kind = chance.randrange(4)
    if kind == 0:
        return chance.choice(
            [text for text in STRANGE if "\0" not in text and "\ud800" not in text and text != "\ud83d"]
        )
    if kind == 1:
        return str(chance.choice(NUMBERS))
    return chance.choice((*NAMES, *WORDS, *PATHS))
