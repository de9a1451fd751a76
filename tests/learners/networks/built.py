"""Networks of every kind, built for random maps."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.learners.networks import Network, Spec, paper, plain, window
from sadapt.learners.networks.paper import twins
from sadapt.learners.networks.plain import plain_conv
from sadapt.learners.networks.screen import screen
from sadapt.learners.table import PlainSettings
from sadapt.motivation.augmented import Augmented

AGENT = 1
OUTPUTS = 5
NETWORKS = {
    "paper mlp": (paper, (10, 4, 2), (10, 4, 1)),
    "paper conv-small": (paper, (10, 10, 3), (10, 10, 3)),
    "paper conv-large": (functools.partial(twins, kind="conv-large"), (17, 16, 3), (17, 16, 2)),
    "paper atari": (functools.partial(twins, kind="atari"), (36, 36, 1), (9, 9, 2)),
    "window": (window, (10, 12, 3), (10, 12, 2)),
    "plain": (plain, (10, 4, 2), (10, 4, 1)),
    "plain of a vector": (functools.partial(plain, settings=PlainSettings(hidden=16)), (4,), (8,)),
    "plain_conv": (plain, (10, 10, 4), (10, 10, 4)),
    "screen": (screen, (22, 22, 4), (7, 7, 2)),
    "plain_conv of a small map": (functools.partial(plain_conv, settings=PlainSettings()), (5, 7, 4), (5, 7, 8)),
}


def spec_of(obs_shape, theta_shape=None, outputs=OUTPUTS, **more):
    return Spec("a world", obs_shape, theta_shape, outputs, **more)


def scene(seed, obs_shape, theta_shape, batch=4):
    """Random maps with one agent each."""
    rng = np.random.default_rng(seed)
    obs = rng.integers(0, 2, size=(batch, *obs_shape)).astype(np.uint8)
    if len(obs_shape) == 3 and obs_shape[-1] > AGENT:
        obs[..., AGENT] = 0
        rows, columns = (rng.integers(size, size=batch) for size in obs_shape[:2])
        obs[np.arange(batch), rows, columns, AGENT] = 1
    theta, time = rng.random((batch, *theta_shape)), rng.random(batch)
    return Augmented(
        obs, theta.astype(np.float32), time.astype(np.float32), rng.integers(0, 2, batch).astype(np.float32)
    )


def random_params(network, seed=0):
    """Parameters of the right shapes, none of them at a value that hides it, without compiling `init`."""
    rng = np.random.default_rng(seed)

    def draw(leaf):
        spread = 1 / math.sqrt(math.prod(leaf.shape[:-1])) if leaf.ndim > 1 else 0.3
        return jnp.asarray(rng.normal(0.0 if leaf.ndim > 1 else 0.5, spread, leaf.shape), jnp.float32)

    return jax.tree.map(draw, jax.eval_shape(network.init, jax.random.key(0)))


def on_device(seen):
    """What is seen as JAX's arrays, as a learner hands it to a network."""
    return jax.tree.map(jnp.asarray, seen)


def forward(network, params, seen):
    return network.apply(params, jax.vmap(network.view)(on_device(seen)))


def count(network):
    return sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(network.init, jax.random.key(0))))


class Built(NamedTuple):
    network: Network
    params: dict
    seen: Augmented
    run: Callable[[Augmented], jax.Array]


@functools.cache
def build(name, theta=True):
    factory, obs_shape, theta_shape = NETWORKS[name]
    network = factory(spec_of(obs_shape, theta_shape if theta else None, agent_channel=AGENT))
    params = random_params(network)
    return Built(
        network, params, scene(0, obs_shape, theta_shape), jax.jit(lambda seen: forward(network, params, seen))
    )


def linear(inputs, outputs):
    """Parameters of a dense layer."""
    return inputs * outputs + outputs
