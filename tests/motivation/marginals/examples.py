"""What the tests of marginals share: observations of either kind, and a family whose functions are compiled once."""

from __future__ import annotations

import functools
import math

import hypothesis.extra.numpy as hnp
import jax
import numpy as np
from hypothesis import strategies as st

from sadapt.motivation.marginals import bernoulli, gaussian

FAMILIES = {"bernoulli": bernoulli, "gaussian": gaussian}
SHAPE = (2, 3)
CLIP = 1e-4
BINARY = hnp.arrays(np.uint8, st.tuples(st.integers(1, 12), st.just(2), st.just(3)), elements=st.integers(0, 1))
REAL = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 12), st.just(2), st.just(3)),
    elements=st.floats(-100, 100, width=32, allow_subnormal=False),
)


@functools.cache
def compiled(family, **settings):
    """A family over SHAPE whose functions are compiled once for all examples."""
    marginal = family(SHAPE, **settings)
    functions = {name: jax.jit(getattr(marginal, name)) for name in ("update", "log_prob", "entropy", "features")}
    return marginal._replace(**functions)


def after(marginal, observations):
    state = marginal.init()
    for obs in observations:
        state = marginal.update(state, obs)
    return state


def binary_entropy(p):
    return sum(-q * math.log(q) for q in (p, 1 - p) if q > 0)
