"""What a death before the horizon does to an episode: end it, or restart the world in the middle of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Facts
from sadapt.errors import UserError, nearest

Array = jax.Array
ON_DEATH = ("end", "soft", "shock")


class Treatment(NamedTuple):
    """How deaths are treated."""

    ends: bool
    """Whether a death closes the episode."""
    shock: Callable[[Array], Array] | None
    """`shock(key)`: what the agent sees in place of a death that it survives; None: the fresh world."""


def treatment(env: Facts, on_death: str) -> Treatment:
    """A death ends the episode (`end`), or is seen as the fresh world (`soft`) or a random observation (`shock`)."""
    if on_death not in ON_DEATH:
        raise UserError(f"unknown on_death {on_death!r}: {nearest(on_death, ON_DEATH)}")
    return Treatment(ends=on_death == "end", shock=random_observation(env) if on_death == "shock" else None)


def random_observation(env: Facts) -> Callable[[Array], Array]:
    """Draws an observation that carries no information: fair coin flips, or uniform between the bounds."""
    if not np.isfinite([env.low, env.high]).all():
        raise UserError(
            f"on_death 'shock' needs bounded observations to draw from; {env.name!r} gives values in "
            f"[{env.low:g}, {env.high:g}]: use --on-death soft or end"
        )
    if env.binary:
        return lambda key: (jax.random.bits(key, env.obs_shape, jnp.uint8) & 1).astype(env.obs_dtype)
    if np.issubdtype(np.dtype(env.obs_dtype), np.integer):
        return lambda key: jax.random.randint(key, env.obs_shape, int(env.low), int(env.high) + 1, env.obs_dtype)
    return lambda key: jax.random.uniform(key, env.obs_shape, env.obs_dtype, env.low, env.high)
