"""One bandit for worlds side by side: it is asked and told one world after another, in the order of the worlds."""

from __future__ import annotations

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
