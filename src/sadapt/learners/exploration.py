"""Exploration by chance: epsilon-greedy, with an epsilon that falls, or in proportion to exp(q / temperature)."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

Array = jax.Array


def linear_epsilon(start: float, end: float, over: float) -> Callable[[Array], Array]:
    """Exploration that falls linearly from `start` to `end` within the first `over` environment steps."""

    def epsilon(step: Array) -> Array:
        done = jnp.clip(step.astype(jnp.float32) / max(over, 1.0), 0.0, 1.0)
        return start + (end - start) * done

    return epsilon


def explore(key: Array, best: Array, epsilon: Array, num_actions: int) -> Array:
    """epsilon-greedy: a uniform action with probability epsilon, else the best."""
    coin, choice = jax.random.uniform(key, (2, *best.shape))
    return jnp.where(coin < epsilon, (choice * num_actions).astype(best.dtype), best)


def best_action(values: Array) -> Array:
    """The action of the highest value, per row."""
    return jnp.argmax(values, axis=-1).astype(jnp.int32)


def soft_action(key: Array, values: Array, temperature: float) -> Array:
    """An action with probability proportional to exp(q / temperature), per row."""
    return jax.random.categorical(key, values / temperature, axis=-1).astype(jnp.int32)


def soft_value(values: Array, temperature: float) -> Array:
    """temperature log mean_a exp(q / temperature), per row: max q at temperature 0, mean q at an infinite one."""
    if temperature == 0:
        return jnp.max(values, axis=-1)
    return temperature * (jax.nn.logsumexp(values / temperature, axis=-1) - jnp.log(values.shape[-1]))


def taken(values: Array, action: Array) -> Array:
    """What an action's entry says, per row."""
    return jnp.take_along_axis(values, action[:, None], axis=1)[:, 0]
