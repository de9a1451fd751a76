"""A tree of many arrays as few: a call of compiled code costs microseconds for every array that goes in or out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from sadapt.keys import as_bits, bits_like, from_bits

Array = jax.Array
Tree = TypeVar("Tree")
SMALL = 2_048
"""Arrays of up to so many elements travel together."""


class Packed(NamedTuple):
    """The leaves of a tree: large ones as they are, small ones end to end in a vector per dtype."""

    large: list[Array]
    small: dict[str, Array]


class Packing(NamedTuple, Generic[Tree]):
    """Both ways between trees of one shape and the same packed."""

    pack: Callable[[Tree], Packed]
    unpack: Callable[[Packed], Tree]


def packing(shapes: Tree) -> Packing[Tree]:
    """Both ways for trees like `shapes`, arrays or what `jax.eval_shape` says of them; keys travel as bits."""
    leaves, structure = jax.tree.flatten(shapes)
    dtypes = [bits_like(leaf).dtype.name if leaf.size <= SMALL else None for leaf in leaves]
    together = {name: [i for i, dtype in enumerate(dtypes) if dtype == name] for name in dtypes if name is not None}

    @jax.jit
    def join(small: dict[str, list[Array]]) -> dict[str, Array]:
        return {name: jnp.concatenate([as_bits(leaf).ravel() for leaf in parts]) for name, parts in small.items()}

    @jax.jit
    def part(small: dict[str, Array]) -> dict[str, list[Array]]:
        return {name: apart(vector, [leaves[i] for i in together[name]]) for name, vector in small.items()}

    def pack(tree: Tree) -> Packed:
        every = jax.tree.leaves(tree)
        large = [leaf for leaf, dtype in zip(every, dtypes, strict=True) if dtype is None]
        return Packed(large, join({name: [every[i] for i in which] for name, which in together.items()}))

    def unpack(packed: Packed) -> Tree:
        large, small = iter(packed.large), {name: iter(parts) for name, parts in part(packed.small).items()}
        return jax.tree.unflatten(structure, [next(large if dtype is None else small[dtype]) for dtype in dtypes])

    return Packing(pack, unpack)


def apart(vector: Array, shapes: list[Array]) -> list[Array]:
    """Arrays like `shapes` from a vector of them end to end."""
    bits = [bits_like(shape).shape for shape in shapes]
    ends = itertools.accumulate(map(math.prod, bits))
    parts = jnp.split(vector, list(ends)[:-1])
    return [from_bits(part.reshape(each), shape) for part, each, shape in zip(parts, bits, shapes, strict=True)]
