"""Damage to checkpoints and exported policies that their checksum does not give away: it is made anew."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

from tools.fuzz.mutations import flip, json_value

DIGEST = "0" * 64


def parts(data: bytes) -> tuple[Any, bytes]:
    """The header of a safetensors file, and the numbers behind it."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def joined(header: Any, body: bytes) -> bytes:
    """A safetensors file; it vouches for itself if its header has a place for that."""
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    if isinstance(metadata, dict) and "sha256" in metadata:
        metadata["sha256"] = DIGEST
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    whole = len(text).to_bytes(8, "little") + text + body
    mark = b'"sha256":"' + DIGEST.encode()
    digest = hashlib.sha256(whole).hexdigest().encode()
    return whole.replace(mark, b'"sha256":"' + digest, 1)


def as_tensors(chance: random.Random, data: bytes) -> bytes:
    """Other facts, another header, or other numbers, under a checksum that is right."""
    try:
        header, body = parts(data)
        facts = json.loads(header["__metadata__"]["facts"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return flip(chance, data)
    kind = chance.randrange(6)
    if kind == 0:
        return chance.choice((2**63, 2**40, 2, 0)).to_bytes(8, "little") + data[8:]
    if kind == 1:
        return joined(json_value(chance, header), body)
    if kind == 2:
        return joined(header, flip(chance, body))
    if kind == 3:
        name = chance.choice([name for name in header if name != "__metadata__"])
        header[name] = json_value(chance, header[name])
        return joined(header, body)
    header["__metadata__"]["facts"] = json.dumps(json_value(chance, facts))
    return joined(header, body)
