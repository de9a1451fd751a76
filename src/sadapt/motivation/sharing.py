"""One bandit for worlds side by side: it is asked and told one world after another, in the order of the worlds.

Groups of worlds, each with a bandit of its own, lie one after another; whatever is done for one is mapped over them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from sadapt.motivation.bandits import Bandit, BanditState

Array = jax.Array


def select(which: Array, yes: Any, no: Any) -> Any:
    """Leaf by leaf, `yes` where the scalar `which` holds, else `no`."""
    return jax.tree.map(lambda a, b: jnp.where(which, a, b), yes, no)


def choose(bandit: Bandit, key: Array, state: BanditState, wanted: Array) -> tuple[BanditState, Array]:
    """One arm after another for every world that wants one; an entry of -1 for the others."""
    draws = jax.random.uniform(key, (*wanted.shape, bandit.arms))

    def one(state: BanditState, item: tuple[Array, Array]) -> tuple[BanditState, Array]:
        draw, wants = item
        pulled, arm = bandit.select(draw, state)
        return select(wants, pulled, state), jnp.where(wants, arm, -1)

    return jax.lax.scan(one, state, (draws, wanted))


def tell(bandit: Bandit, state: BanditState, arms: Array, heard: Array, closed: Array) -> BanditState:
    """The bandit that has heard the feedback of every closed episode, one after another."""

    def one(state: BanditState, item: tuple[Array, Array, Array]) -> tuple[BanditState, None]:
        arm, f, is_closed = item
        return select(is_closed, bandit.update(state, arm, f), state), None

    return jax.lax.scan(one, state, (arms, heard, closed))[0]


def stay(arms: int, before: Array, chosen: Array) -> Array:
    """The chosen arms dealt out anew: as many worlds on each, and as few as possible that leave the one they were on.

    Of the worlds on an arm the first ones stay; the others take what is left, in the order of the arms.
    """
    was, wanted = jax.nn.one_hot(before, arms, dtype=jnp.int32), jax.nn.one_hot(chosen, arms, dtype=jnp.int32)
    places = jnp.sum(wanted, axis=0)
    earlier = jnp.sum(was * (jnp.cumsum(was, axis=0) - was), axis=1)
    stays = earlier < places[before]
    left = places - jnp.sum(jnp.where(stays[:, None], was, 0), axis=0)
    turn = jnp.cumsum(~stays, dtype=jnp.int32) - 1
    return jnp.where(stays, before, jnp.searchsorted(jnp.cumsum(left), turn, side="right").astype(before.dtype))


def grouped(tree: Any, groups: int) -> Any:
    """[worlds, ...] as [groups, worlds of a group, ...]."""
    return jax.tree.map(lambda x: x.reshape(groups, len(x) // groups, *x.shape[1:]), tree)


def ungrouped(tree: Any) -> Any:
    """The other way round."""
    return jax.tree.map(lambda x: x.reshape(x.shape[0] * x.shape[1], *x.shape[2:]), tree)


def by_group(function: Callable[..., Any], groups: int) -> Callable[..., Any]:
    """`function(key, ...)` of one group for all of them; of a single one as it is."""
    if groups == 1:
        return function

    def every(key: Array, *others: Any) -> Any:
        return jax.vmap(function)(jax.random.split(key, groups), *others)

    return every
