"""Damage to a file: bytes and lines of any, and what only JSON, CSV, TOML or maps can suffer."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any

from tools.fuzz import values

Damage = Callable[[random.Random, bytes], bytes]
LARGE = 100_000
"""Letters of a map that is not made any larger."""
WHOLE = (
    b"",
    b"\n",
    b"\0" * 64,
    b"\xff\xfe\x00\xd8",
    b"null",
    b"[]",
    b"{}",
    b'"' + b"x" * 300_000 + b'"',
    b"[" * 200_000,
    b'{"a":' * 100_000,
    b"9" * 5_000,
)
"""Contents instead of the file's own."""


def flip(chance: random.Random, data: bytes) -> bytes:
    """A few bits turned round."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 8) if data else 0):
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut(chance: random.Random, data: bytes) -> bytes:
    """The beginning alone, the end alone, or a hole."""
    first, last = sorted(chance.randint(0, len(data)) for _ in range(2))
    return chance.choice((data[:first], data[last:], data[:first] + data[last:]))


def insert(chance: random.Random, data: bytes) -> bytes:
    """Something in between."""
    at = chance.randint(0, len(data))
    what = chance.choice((b"\0", b"\xff", b"\r\n", b",", b'"', b"\xef\xbb\xbf", b"1e999", chance.randbytes(40), data))
    return data[:at] + what + data[at:]


def replace(chance: random.Random, _: bytes) -> bytes:
    """Another file altogether."""
    return chance.choice((*WHOLE, chance.randbytes(1_000)))


def lines(chance: random.Random, data: bytes) -> bytes:
    """A line twice, a line less, or all in another order."""
    split = data.splitlines(keepends=True)
    if not split:
        return data
    at, kind = chance.randrange(len(split)), chance.randrange(4)
    if kind == 0:
        split.insert(at, split[at])
    elif kind == 1:
        del split[at : at + chance.choice((1, 1, len(split) // 2))]
    elif kind == 2:
        chance.shuffle(split)
    else:
        split = [line.rstrip(b"\r\n") + b"\r\n" for line in split]
    return b"".join(split)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where anything stands in a JSON document."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(inner, (*path, key))


def json_value(chance: random.Random, document: Any) -> Any:
    """The document with one entry replaced, removed, renamed or added."""
    changed = copy.deepcopy(document)
    places = list(_places(changed))
    if not places:
        return values.anything(chance)
    path = chance.choice(places)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    kind, key = chance.randrange(8), path[-1]
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[chance.choice((*values.STRANGE, "kind", "env", f"{key}s"))] = holder.pop(key)
    elif kind == 2 and isinstance(holder, dict):
        holder[chance.choice((*values.STRANGE, "extra"))] = values.anything(chance)
    elif kind == 3:
        holder[key] = [holder[key]]
    else:
        holder[key] = values.anything(chance)
    return changed


def as_json(chance: random.Random, data: bytes) -> bytes:
    """A JSON document that is whole, but says something else."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return flip(chance, data)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        document = json_value(chance, document)
    return json.dumps(document, indent=chance.choice((None, 2))).encode()


def as_csv(chance: random.Random, data: bytes) -> bytes:
    """A table with other cells, columns or rows."""
    table = [line.split(",") for line in data.decode("ascii", "replace").splitlines()]
    if len(table) < 2:
        return insert(chance, data)
    kind, row, column = chance.randrange(6), chance.randrange(len(table)), chance.randrange(len(table[0]))
    if kind == 0:
        table = [[cell for place, cell in enumerate(cells) if place != column] for cells in table]
    elif kind == 1:
        table = [[*cells, cells[min(column, len(cells) - 1)]] for cells in table]
    elif kind == 2:
        table[row] = table[row][:column]
    elif kind == 3:
        for cells in table[1:]:
            cells[min(column, len(cells) - 1)] = _cell(chance)
    elif kind == 4:
        table[0][min(column, len(table[0]) - 1)] = _cell(chance)
    else:
        table[row][min(column, len(table[row]) - 1)] = _cell(chance)
    return ("\n".join(map(",".join, table)) + "\n").encode("utf-8", "surrogatepass")


def _cell(chance: random.Random) -> str:
    return chance.choice(
        ("", "nan", "-inf", "1e400", '"', "x" * 200_000, "--3", "²", "step", str(values.anything(chance))[:9_000])
    )


def as_toml(chance: random.Random, data: bytes) -> bytes:
    """A value of a TOML file replaced, or a key renamed."""
    text = data.decode("utf-8", "replace")
    found = list(re.finditer(r"^(\w+) = (.+)$", text, re.MULTILINE))
    if not found:
        return lines(chance, data)
    here = chance.choice(found)
    if chance.random() < 0.25:
        first, last, what = *here.span(1), chance.choice(("seeds", '"\\u0000"', "a.b.c", "imports", "env", "layout"))
    else:
        first, last, what = *here.span(2), _toml(chance)
    return (text[:first] + what + text[last:]).encode("utf-8", "replace")


def _toml(chance: random.Random) -> str:
    fixed = (
        "inf",
        "nan",
        "1979-05-27",
        "[[1, 2], []]",
        "{ a = 1 }",
        '"""\n"""',
        "[" * 2_000 + "]" * 2_000,
        "[1, 1]",
        "0b1",
        "[]",
    )
    return chance.choice((*fixed, json.dumps(values.anything(chance))))


def as_map(chance: random.Random, data: bytes) -> bytes:
    """A map with other letters, without an agent, or far too large."""
    text = data.decode("utf-8", "replace")
    at, kind = chance.randrange(max(len(text), 1)), chance.randrange(6)
    if kind == 0 or len(text) > LARGE:
        text = text[:at] + chance.choice("AG#b.X \t😀\0") + text[at + 1 :]
    elif kind == 1:
        text = text.replace(chance.choice("AG#."), chance.choice(("", ".", "#", "A")))
    elif kind == 2:
        text = "\n".join(row * chance.choice((2, 50, 400)) for row in text.splitlines())
    elif kind == 3:
        wide = chance.choice((3_000, 20_000))
        text = "AG" + "." * wide + ("\n" + "." * (wide + 2)) * chance.choice((1, 300))
    elif kind == 4:
        text = text * chance.choice((2, 1_000))
    else:
        text = text.replace("\n", chance.choice(("", "\r", "\n\n", "\u2028", "\f")))
    return text.encode("utf-8", "replace")


KINDS: dict[str, Damage] = {".json": as_json, ".csv": as_csv, ".toml": as_toml, ".txt": as_map}
"""What suits a file by its suffix."""


def damaged(chance: random.Random, name: str, data: bytes, special: Damage | None = None) -> bytes:
    """A file's bytes after one damage or two, most often of the kind that only its own format can suffer."""
    special = special or KINDS.get(PurePath(name).suffix)
    for _ in range(chance.choice((1, 1, 2))):
        if special is not None and chance.random() < 0.65:
            data = special(chance, data)
        else:
            data = chance.choice((flip, cut, insert, replace, lines))(chance, data)
    return data
