"""States of bandits that keep means, and choices of many worlds at once."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from sadapt.motivation.bandits.ucb import MeansState, fresh_means
from sadapt.motivation.episode import episodes
from sadapt.motivation.marginals import bernoulli
from tests.motivation.worlds import line


def state(means, counts, pending=None, xp=jnp) -> MeansState:
    fresh = fresh_means(len(means), xp)
    given = {"means": means, "counts": counts, "pending": pending or fresh.pending}
    return fresh._replace(**{name: xp.asarray(x, getattr(fresh, name).dtype) for name, x in given.items()})


def choose(bandit):
    return jax.jit(episodes(line(), bernoulli((4, 1)), bandit).choose)
