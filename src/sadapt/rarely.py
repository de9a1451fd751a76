"""What only few worlds need at a time, computed only when one of them does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

Array = jax.Array


def rarely(which: Array, yes: Callable[..., Any], no: Any, *given: Any) -> Any:
    """`yes(*given)` where the scalar `which` holds, else `no`.

    Of worlds side by side (`vmap`) it is the same, but all of `yes` is skipped in steps in which no world asks for it,
    where `vmap` of a `cond` would always compute both. The values are the same to the last bit.
    """

    def either(which: Array, no: Any, given: tuple[Any, ...]) -> Any:
        return jax.tree.map(lambda a, b: jnp.where(which, a, b), yes(*given), no)

    chosen: Any = custom_vmap(lambda which, no, given: jax.lax.cond(which, lambda: yes(*given), lambda: no))

    def side_by_side(size: int, batched: Any, which: Array, no: Any, given: tuple[Any, ...]) -> tuple[Any, Any]:
        asks, plain, inputs = jax.tree.map(lambda is_batched: 0 if is_batched else None, batched)
        every = jax.vmap(either, in_axes=(asks, plain, inputs), axis_size=size)
        repeated: Any = jax.vmap(lambda no: no, in_axes=(plain,), axis_size=size)
        told = jax.lax.cond(jnp.any(which), lambda: every(which, no, given), lambda: repeated(no))
        return told, jax.tree.map(lambda _: True, told)

    chosen.def_vmap(side_by_side)
    return chosen(which, no, given)


def one_by_one(which: Array, yes: Callable[..., Any], no: Any, *given: Any) -> Any:
    """The same for what costs more than all else in a step, and more again when it is mapped.

    Of worlds side by side, `yes` is computed only for those that ask for it, one after another.
    """
    chosen: Any = custom_vmap(lambda which, no, given: jax.lax.cond(which, lambda: yes(*given), lambda: no))

    def side_by_side(size: int, batched: Any, which: Array, no: Any, given: tuple[Any, ...]) -> tuple[Any, Any]:
        asks, rows, inputs = (
            jax.tree.map(lambda x, is_batched: x if is_batched else jnp.broadcast_to(x, (size, *x.shape)), tree, each)
            for tree, each in zip((which, no, given), batched, strict=True)
        )
        asked = jnp.nonzero(asks, size=size, fill_value=0)[0]

        def write(place: Array, rows: Any) -> Any:
            row = asked[place]
            told = yes(*jax.tree.map(lambda x: x[row], inputs))
            return jax.tree.map(lambda every, one: every.at[row].set(one), rows, told)

        told = jax.lax.fori_loop(0, jnp.sum(asks, dtype=jnp.int32), write, rows)
        return told, jax.tree.map(lambda _: True, told)

    chosen.def_vmap(side_by_side)
    return chosen(which, no, given)
