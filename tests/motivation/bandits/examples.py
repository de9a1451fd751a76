"""States of bandits that keep means, and choices of many worlds at once."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from sadapt.motivation.bandits.ucb import MeansState
from sadapt.motivation.episode import episodes
from sadapt.motivation.marginals import bernoulli
from tests.motivation.worlds import line


def state(means, counts, pending=None):
    empty = [0.0] * len(means)
    return MeansState(*(jnp.array(x, jnp.float32) for x in (means, counts, pending or empty)))


def choose(bandit):
    return jax.jit(episodes(line(), bernoulli((4, 1)), bandit).choose)
