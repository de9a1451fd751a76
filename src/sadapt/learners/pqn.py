"""PQN, a parallelised Q-network (Gallici et al., 2024): many worlds, Q(lambda) returns, no replay, no target."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from sadapt.errors import UserError
from sadapt.learners import rollout
from sadapt.learners.base import Learner, Report, Task, View
from sadapt.learners.exploration import best_action, explore, linear_epsilon
from sadapt.learners.networks import Network
from sadapt.learners.rollout import Rollout
from sadapt.learners.table import PQNSettings
from sadapt.motivation.episode import Episode, Transition
from sadapt.motivation.normalisation import NormaliserState

Array = jax.Array


class PQNState(NamedTuple):
    """Everything that PQN remembers."""

    params: Any
    optimiser: Any
    rollout: Rollout


def lambda_returns(
    r_t: Array, terminal_t: Array, closed_t: Array, v_tm1: Array, v_last: Array, gamma: float, q_lambda: float
) -> Array:
    """G_tm1 = r_t + gamma (1 - terminal_t) ((1 - lambda) v_t + lambda G_t) along one world's rollout.

    `v_tm1[k]` is max_a q of the state in which step k was taken, `v_last` that of the state after the last one. A step
    that was cut off without being terminal has no successor here: its return is its own value, as if not taken.
    """
    v_t = jnp.append(v_tm1[1:], v_last)

    def back(return_t: Array, step: tuple[Array, Array, Array, Array, Array]) -> tuple[Array, Array]:
        r, terminal, closed, now, following = step
        ahead = gamma * ((1 - q_lambda) * following + q_lambda * return_t)
        full = r + jnp.where(terminal, 0.0, ahead)
        result = jnp.where(closed & ~terminal, now, full)
        return result, result

    return jax.lax.scan(back, v_last, (r_t, terminal_t, closed_t, v_tm1, v_t), reverse=True)[1]


def loss(network: Network, params: Any, batch: tuple[View, Array, Array, Array]) -> tuple[Array, Array]:
    """mean of w (G - q(s, a))^2 / 2, and the mean of q(s, a)."""
    views, action, target, weight = batch
    q = jnp.take_along_axis(network.apply(params, views), action[:, None], axis=1)[:, 0]
    return jnp.mean(weight * jnp.square(target - q)) / 2, jnp.mean(q)


def optimiser(settings: PQNSettings, gradient_steps: int) -> optax.GradientTransformation:
    """RAdam with a step size that falls linearly, on gradients of limited length."""
    rate = optax.linear_schedule(settings.learning_rate, settings.final_learning_rate, gradient_steps)
    return optax.chain(optax.clip_by_global_norm(settings.max_grad_norm), optax.radam(rate))


def require_minibatches(what: str, num_envs: int, num_steps: int, size: int) -> int:
    """Transitions in a rollout; refuses minibatches that do not divide it."""
    samples = num_envs * num_steps
    if samples % size:
        raise UserError(
            f"{what} collects num_envs x num_steps = {num_envs} x {num_steps} = {samples} transitions an update; "
            f"the minibatch size must divide that, {size} does not"
        )
    return samples


def pqn(task: Task, settings: PQNSettings = PQNSettings()) -> Learner:
    """PQN over `task.num_envs` worlds side by side."""
    samples = require_minibatches("PQN", task.num_envs, settings.num_steps, settings.minibatch_size)
    updates = max(1, task.total_steps // samples)
    optimise = optimiser(settings, updates * (samples // settings.minibatch_size) * settings.update_epochs)
    epsilon = linear_epsilon(settings.start_e, settings.end_e, settings.exploration_fraction * task.total_steps)
    network = task.network(task.env.num_actions)

    def init(key: Array, episodes: Episode, views: View) -> PQNState:
        params = network.init(key)
        value, action = (jnp.zeros(task.num_envs, kind) for kind in (jnp.float32, jnp.int32))
        room = rollout.empty(task.num_envs, settings.num_steps, view=views, value=value, action=action)
        return PQNState(params, optimise.init(params), room)

    def act(key: Array, state: PQNState, views: View, step: Array) -> tuple[PQNState, Array]:
        q = network.apply(state.params, views)
        action = explore(key, best_action(q), epsilon(step), q.shape[-1])
        written = rollout.write(state.rollout, view=views, value=jnp.max(q, axis=-1), action=action)
        return state._replace(rollout=written), action

    def observe(state: PQNState, action: Array, transition: Transition, episodes: Episode) -> PQNState:
        return state._replace(rollout=rollout.observed(state.rollout, transition))

    def update(key: Array, state: PQNState, views: View, normaliser: NormaliserState) -> tuple[PQNState, Report]:
        seen = state.rollout.steps
        reward = task.payment(normaliser, seen["arm"], seen["t"], seen["surprise"], seen["extrinsic"])
        v_last = jnp.max(network.apply(state.params, views), axis=-1)
        returns = jax.vmap(lambda_returns, in_axes=(1, 1, 1, 1, 0, None, None), out_axes=1)(
            reward, seen["terminal"], seen["closed"], seen["value"], v_last, settings.gamma, settings.q_lambda
        )
        weight = (~(seen["closed"] & ~seen["terminal"])).astype(jnp.float32)
        data = rollout.flattened((seen["view"], seen["action"], returns, weight))

        def step(carry: tuple[Any, Any], chosen: Array) -> tuple[tuple[Any, Any], Report]:
            params, optimiser = carry
            batch = jax.tree.map(lambda x: x[chosen], data)
            (cost, q), gradient = jax.value_and_grad(partial(loss, network), has_aux=True)(params, batch)
            change, optimiser = optimise.update(gradient, optimiser, params)
            return (optax.apply_updates(params, change), optimiser), {"loss": cost, "q": q}

        order = rollout.shuffled(key, samples, settings.update_epochs, settings.minibatch_size)
        (params, optimiser), reports = jax.lax.scan(step, (state.params, state.optimiser), order)
        return state._replace(params=params, optimiser=optimiser), jax.tree.map(jnp.mean, reports)

    return Learner(
        init=init,
        act=act,
        observe=observe,
        update=update,
        policy=lambda params, views: best_action(network.apply(params, views)),
        view=network.view,
        reports={"loss": "losses/td_loss", "q": "losses/q_values"},
        steps_per_update=settings.num_steps,
        chunk_steps=samples * max(1, task.chunk_steps // samples),
        schedule=lambda step: {"epsilon": epsilon(step)},
        remedy=f"a smaller --learning-rate (it is {settings.learning_rate:g})",
    )
