"""Gradient descent on what a rollout teaches: shuffled minibatches, each sample once an epoch.

Where every arm has a network of its own, a minibatch is of one arm: it costs what it costs a single network, and what
one arm learns, its optimiser's moments included, leaves the others as they were.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from sadapt.errors import UserError
from sadapt.learners.base import Params, Report
from sadapt.learners.networks import Network
from sadapt.learners.networks.per_arm import OnArm, stacked, unstacked

Array = jax.Array
Lessons = Any
"""A NamedTuple of arrays [samples, ...]: `views`, and `weight`, 0 for what is not to be learned from, among them."""
Cost = Callable[[Network, Params, Lessons], tuple[Array, Report]]
"""`cost(network, params, minibatch) -> (what is to fall, report)`."""


class Descent(NamedTuple):
    """An optimiser and the rhythm of its steps."""

    network: Network
    optimise: optax.GradientTransformation
    samples: int
    """In a rollout."""
    size: int
    """Of a minibatch."""
    epochs: int


def require_minibatches(what: str, num_envs: int, num_steps: int, size: int) -> int:
    """Transitions in a rollout; refuses minibatches that do not divide it."""
    samples = num_envs * num_steps
    if samples % size:
        raise UserError(
            f"{what} collects num_envs x num_steps = {num_envs} x {num_steps} = {samples} transitions per update; "
            f"the minibatch size must divide that, but {size} does not"
        )
    return samples


def begin(how: Descent, params: Params) -> Any:
    """The optimiser's first state; one an arm where they have networks apart."""
    if how.network.alone is None:
        return how.optimise.init(params)
    return {name: how.optimise.init(part) for name, part in params.items()}


def descend(how: Descent, key: Array, params: Params, optimiser: Any, lessons: Lessons, cost: Cost) -> Any:
    """`(params, optimiser, report)` after every epoch over the lessons; reports are means over minibatches."""
    shuffles = jax.vmap(lambda k: jax.random.permutation(k, how.samples))(jax.random.split(key, how.epochs))
    if how.network.alone is not None:
        return _by_arm(how, how.network.alone, shuffles, params, optimiser, lessons, cost)

    def step(carry: tuple[Any, Any], rows: Array) -> tuple[tuple[Any, Any], Report]:
        batch = jax.tree.map(lambda x: x[rows], lessons)
        return _stepped(how, partial(cost, how.network), *carry, batch)

    order = shuffles.reshape(-1, how.size)
    (params, optimiser), reports = jax.lax.scan(step, (params, optimiser), order)
    return params, optimiser, jax.tree.map(jnp.mean, reports)


def _stepped(how: Descent, cost: Callable[..., Any], params: Any, optimiser: Any, batch: Lessons) -> Any:
    gradient, report = jax.grad(cost, has_aux=True)(params, batch)
    change, optimiser = how.optimise.update(gradient, optimiser, params)
    return (optax.apply_updates(params, change), optimiser), report


def _by_arm(
    how: Descent, alone: Network, shuffles: Array, params: Params, optimiser: Any, lessons: Lessons, cost: Cost
) -> Any:
    """One arm after another; the last minibatch of each is filled up with samples of weight 0."""
    on_arm: OnArm = lessons.views
    arms, lessons = on_arm.arm.astype(jnp.int32), lessons._replace(views=on_arm.view)
    first = jax.tree.map(lambda x: x[: how.size], lessons)
    empty = jax.eval_shape(partial(cost, alone), params["arm_0"], first)[1]
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), empty)

    def one_arm(_: None, item: tuple[Array, Params, Any]) -> Any:
        index, params, optimiser = item
        mine = arms == index
        count = jnp.sum(mine, dtype=jnp.int32)
        order = jax.vmap(lambda shuffle: _in_front(mine[shuffle], shuffle))(shuffles)
        minibatches = -(-count // how.size)

        def step(number: Array, carry: tuple[Params, Any, Report]) -> tuple[Params, Any, Report]:
            params, optimiser, told = carry
            place = number % minibatches * how.size + jnp.arange(how.size)
            rows = order[number // minibatches, place % count]
            batch = jax.tree.map(lambda x: x[rows], lessons)
            batch = batch._replace(weight=jnp.where(place < count, batch.weight, 0.0))
            (params, optimiser), report = _stepped(how, partial(cost, alone), params, optimiser, batch)
            return params, optimiser, jax.tree.map(jnp.add, told, report)

        steps = how.epochs * minibatches
        return None, (*jax.lax.fori_loop(0, steps, step, (params, optimiser, nothing)), steps)

    number = len(params)
    every = (jnp.arange(number), stacked(params), stacked(optimiser))
    _, (params, optimiser, told, steps) = jax.lax.scan(one_arm, None, every)
    total = jnp.maximum(jnp.sum(steps), 1).astype(jnp.float32)
    report = jax.tree.map(lambda x: jnp.sum(x, axis=0) / total, told)
    return unstacked(params, number), unstacked(optimiser, number), report


def _in_front(mine: Array, shuffle: Array) -> Array:
    """The entries that are mine, in the same order, before room that nothing is written to."""
    place = jnp.where(mine, jnp.cumsum(mine) - 1, len(mine))
    return jnp.zeros_like(shuffle).at[place].set(shuffle, mode="drop")
