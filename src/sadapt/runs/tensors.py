"""Tensors of a safetensors file, from disk onto the device a block at a time: a state takes its memory once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

BLOCK = 1 << 22
"""Bytes that are on their way at a time."""
DTYPES = {
    "BOOL": np.bool_, "U8": np.uint8, "I8": np.int8, "U16": np.uint16, "I16": np.int16, "U32": np.uint32,
    "I32": np.int32, "U64": np.uint64, "I64": np.int64, "F16": np.float16, "BF16": jnp.bfloat16, "F32": np.float32,
    "F64": np.float64,
}  # fmt: skip


class Stored(NamedTuple):
    """A tensor on disk."""

    path: Path
    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def read(self, offset: int = 0, shape: tuple[int, ...] | None = None) -> np.ndarray:
        """The tensor, or as much of it as `shape` takes from byte `offset` of it on."""
        found = np.empty(self.shape if shape is None else shape, self.dtype)
        with open(self.path, "rb") as file:
            file.seek(self.offset + offset)
            if found.size and file.readinto(found.reshape(-1).view(np.uint8).data) != found.nbytes:
                raise OSError(f"{self.path} is cut off")
        return found


def stored_in(path: Path, header: bytes) -> dict[str, Stored]:
    """The tensors that a file's header tells of."""
    begin, size = 8 + len(header), path.stat().st_size
    found = {}
    for name, entry in json.loads(header).items():
        if name == "__metadata__":
            continue
        first, last = map(int, entry["data_offsets"])
        each = Stored(path, np.dtype(DTYPES[entry["dtype"]]), tuple(map(int, entry["shape"])), begin + first)
        if min((first, *each.shape)) < 0 or last - first != each.nbytes or begin + last > size:
            raise ValueError(f"its header says what is not so of {name}")
        found[name] = each
    return found


def on_device(tensor: np.ndarray | Stored) -> jax.Array:
    """A copy of JAX's own, which a program may consume."""
    if isinstance(tensor, np.ndarray):
        return jnp.array(tensor)
    if tensor.nbytes <= BLOCK:
        return jnp.array(tensor.read())
    filled = jnp.zeros(tensor.shape, tensor.dtype)
    for starts, offset, shape in blocks(tensor.shape, tensor.dtype.itemsize):
        filled = _put(filled, tensor.read(offset, shape), starts).block_until_ready()
    return filled


@partial(jax.jit, donate_argnums=0)
def _put(whole: jax.Array, block: Any, starts: Any) -> jax.Array:
    return jax.lax.dynamic_update_slice(whole, block, starts)


def blocks(shape: tuple[int, ...], itemsize: int) -> Iterator[tuple[tuple[int, ...], int, tuple[int, ...]]]:
    """Where each block of a tensor begins, its first byte, and its shape; a block's bytes lie side by side."""
    inner = [math.prod(shape[axis + 1 :]) * itemsize for axis in range(len(shape))]
    axis = next(axis for axis, size in enumerate(inner) if size <= BLOCK)
    rows = max(BLOCK // inner[axis], 1)
    offset = 0
    for outer in np.ndindex(shape[:axis]):
        for begin in range(0, shape[axis], rows):
            count = min(rows, shape[axis] - begin)
            yield (*outer, begin, *(0,) * (len(shape) - axis - 1)), offset, (*(1,) * axis, count, *shape[axis + 1 :])
            offset += count * inner[axis]
