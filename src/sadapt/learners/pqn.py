"""PQN, a parallelised Q-network (Gallici et al., 2024): many worlds, Q(lambda) returns, no replay, no target.

With `munchausen` m, m (q(s, a) - v(s)) is added to every return (Vieillard et al., 2020): gaps between actions grow to
1 / (1 - m) times what they are worth, and noise in them averages out over updates.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from sadapt.learners import rollout
from sadapt.learners.base import Learner, Report, Task, View
from sadapt.learners.descent import Descent, begin, descend, require_minibatches
from sadapt.learners.exploration import best_action, explore, linear_epsilon, soft_action, soft_value, taken
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

    `v_tm1[k]` is the value of the state in which step k was taken, max_a q unless there is a temperature, `v_last` that
    of the state after the last one. A step that was cut off without being terminal has no successor here: its return is
    its own value, as if not taken.
    """
    v_t = jnp.append(v_tm1[1:], v_last)

    def back(return_t: Array, step: tuple[Array, Array, Array, Array, Array]) -> tuple[Array, Array]:
        r, terminal, closed, now, following = step
        ahead = gamma * ((1 - q_lambda) * following + q_lambda * return_t)
        full = r + jnp.where(terminal, 0.0, ahead)
        result = jnp.where(closed & ~terminal, now, full)
        return result, result

    return jax.lax.scan(back, v_last, (r_t, terminal_t, closed_t, v_tm1, v_t), reverse=True)[1]


class Batch(NamedTuple):
    """Steps as the loss sees them."""

    views: View
    action: Array
    target: Array
    weight: Array
    """0 for steps that were cut off, else 1."""


def loss(network: Network, params: Any, batch: Batch) -> tuple[Array, Report]:
    """mean of w (G - q(s, a))^2 / 2, and the mean of q(s, a) beside it."""
    q = taken(network.apply(params, batch.views), batch.action)
    cost = jnp.mean(batch.weight * jnp.square(batch.target - q)) / 2
    return cost, {"loss": cost, "q": jnp.mean(q)}


def optimiser(settings: PQNSettings, gradient_steps: int) -> optax.GradientTransformation:
    """RAdam with a step size that falls linearly, on gradients of limited length."""
    rate = optax.linear_schedule(settings.learning_rate, settings.final_learning_rate, gradient_steps)
    return optax.chain(optax.clip_by_global_norm(settings.max_grad_norm), optax.radam(rate))


def pqn(task: Task, settings: PQNSettings = PQNSettings()) -> Learner:
    """PQN over `task.num_envs` parallel worlds."""
    samples = require_minibatches("PQN", task.num_envs, settings.num_steps, settings.minibatch_size)
    updates = max(1, task.total_steps // samples)
    optimise = optimiser(settings, updates * (samples // settings.minibatch_size) * settings.update_epochs)
    epsilon = linear_epsilon(settings.start_e, settings.end_e, settings.exploration_fraction * task.total_steps)
    network = task.network(task.env.num_actions)
    how = Descent(network, optimise, samples, settings.minibatch_size, settings.update_epochs)

    def init(key: Array, episodes: Episode, views: View) -> PQNState:
        params = network.init(key)
        value, action = (jnp.zeros(task.num_envs, kind) for kind in (jnp.float32, jnp.int32))
        gap = {"gap": value} if settings.munchausen else {}
        room = rollout.empty(task.num_envs, settings.num_steps, view=views, value=value, action=action, **gap)
        return PQNState(params, begin(how, params), room)

    def act(key: Array, state: PQNState, views: View, step: Array) -> tuple[PQNState, Array]:
        q = network.apply(state.params, views)
        if settings.temperature:
            key, key_soft = jax.random.split(key)
            chosen = soft_action(key_soft, q, settings.temperature)
        else:
            chosen = best_action(q)
        action, value = explore(key, chosen, epsilon(step), q.shape[-1]), soft_value(q, settings.temperature)
        gap = {"gap": taken(q, action) - value} if settings.munchausen else {}
        written = rollout.write(state.rollout, view=views, value=value, action=action, **gap)
        return state._replace(rollout=written), action

    def observe(state: PQNState, action: Array, transition: Transition, episodes: Episode) -> PQNState:
        return state._replace(rollout=rollout.observed(state.rollout, transition))

    def update(key: Array, state: PQNState, views: View, normaliser: NormaliserState) -> tuple[PQNState, Report]:
        seen = state.rollout.steps
        reward = task.payment(normaliser, seen["arm"], seen["t"], seen["surprise"], seen["extrinsic"])
        v_last = soft_value(network.apply(state.params, views), settings.temperature)
        returns = jax.vmap(lambda_returns, in_axes=(1, 1, 1, 1, 0, None, None), out_axes=1)(
            reward, seen["terminal"], seen["closed"], seen["value"], v_last, settings.gamma, settings.q_lambda
        )
        if settings.munchausen:
            returns = returns + settings.munchausen * seen["gap"]
        weight = (~(seen["closed"] & ~seen["terminal"])).astype(jnp.float32)
        data = rollout.flattened(Batch(seen["view"], seen["action"], returns, weight))
        params, optimiser, report = descend(how, key, state.params, state.optimiser, data, loss)
        return state._replace(params=params, optimiser=optimiser), report

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
        meanwhile=lambda played, learned: learned._replace(rollout=played.rollout),
        schedule=lambda step: {"epsilon": epsilon(step)},
        falls={"learning_rate": settings.final_learning_rate, "epsilon": settings.end_e},
        remedy=f"a smaller --learning-rate (it is {settings.learning_rate:g})",
    )
