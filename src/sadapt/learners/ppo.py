"""PPO, proximal policy optimisation (Schulman et al., 2017): many worlds, a sampled policy, a clipped objective."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from sadapt.learners import rollout
from sadapt.learners.base import Learner, Report, Task, View
from sadapt.learners.descent import Descent, begin, descend, require_minibatches
from sadapt.learners.exploration import best_action, taken
from sadapt.learners.networks import Network
from sadapt.learners.rollout import Rollout
from sadapt.learners.table import PPOSettings
from sadapt.motivation.episode import Episode, Transition
from sadapt.motivation.normalisation import NormaliserState

Array = jax.Array
REPORTS = {
    "loss": "losses/loss",
    "value": "losses/values",
    "policy_entropy": "losses/entropy",
    "approx_kl": "losses/approx_kl",
}


class PPOState(NamedTuple):
    """Everything that PPO remembers."""

    params: Any
    optimiser: Any
    rollout: Rollout
    updates: Array
    """Updates so far, for the entropy bonus that falls."""


class Batch(NamedTuple):
    """Steps as the loss sees them."""

    views: View
    action: Array
    log_prob: Array
    """log pi(a | s) when it was taken."""
    advantage: Array
    target: Array
    """What the value is drawn to."""
    weight: Array
    """0 for steps that were cut off, else 1."""


def heads(outputs: Array) -> tuple[Array, Array]:
    """log pi(. | s) and v(s) from a network's outputs, the value last."""
    return jax.nn.log_softmax(outputs[..., :-1]), outputs[..., -1]


def gae(
    r_t: Array, terminal_t: Array, closed_t: Array, v_tm1: Array, v_last: Array, gamma: float, gae_lambda: float
) -> Array:
    """A_tm1 = r_t + gamma (1 - terminal_t) (v_t + lambda A_t) - v_tm1 along one world's rollout.

    `v_tm1[k]` is the value of the state in which step k was taken, `v_last` that of the state after the last one. A
    step that was cut off without being terminal has no successor here: its advantage is 0, as if not taken.
    """
    v_t = jnp.append(v_tm1[1:], v_last)

    def back(advantage_t: Array, step: tuple[Array, Array, Array, Array, Array]) -> tuple[Array, Array]:
        r, terminal, closed, now, following = step
        ahead = gamma * (following + gae_lambda * advantage_t)
        full = r + jnp.where(terminal, 0.0, ahead) - now
        result = jnp.where(closed & ~terminal, 0.0, full)
        return result, result

    return jax.lax.scan(back, jnp.zeros_like(v_last), (r_t, terminal_t, closed_t, v_tm1, v_t), reverse=True)[1]


def normalised(x: Array, weight: Array) -> Array:
    """x less its weighted mean, over its weighted deviation."""
    share = weight / jnp.maximum(jnp.sum(weight), 1.0)
    away = x - jnp.sum(share * x)
    return away / (jnp.sqrt(jnp.sum(share * jnp.square(away))) + 1e-8)


def clipped_loss(log_prob: Array, old_log_prob: Array, advantage: Array, clip_coef: float) -> Array:
    """-min(rho A, clip(rho, 1 - c, 1 + c) A) with rho = pi(a | s) / pi_old(a | s), for one step."""
    ratio = jnp.exp(log_prob - old_log_prob)
    return -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip_coef, 1 + clip_coef) * advantage)


def loss(settings: PPOSettings, ent_coef: Array, network: Network, params: Any, batch: Batch) -> tuple[Array, Report]:
    """mean of w (clipped loss + c_v (G - v(s))^2 / 2 - c_e H(pi(. | s))), and what there is to report of it."""
    log_probs, value = heads(network.apply(params, batch.views))
    log_prob = taken(log_probs, batch.action)
    entropy = -jnp.sum(jnp.exp(log_probs) * log_probs, axis=-1)
    policy_cost = clipped_loss(log_prob, batch.log_prob, batch.advantage, settings.clip_coef)
    value_cost = jnp.square(batch.target - value) / 2
    cost = jnp.mean(batch.weight * (policy_cost + settings.vf_coef * value_cost - ent_coef * entropy))
    log_ratio = log_prob - batch.log_prob
    report = {"value": value, "policy_entropy": entropy, "approx_kl": jnp.expm1(log_ratio) - log_ratio}
    return cost, {"loss": cost, **jax.tree.map(jnp.mean, report)}


def lessons(
    task: Task, settings: PPOSettings, seen: dict[str, Any], v_last: Array, normaliser: NormaliserState
) -> Batch:
    """A rollout's steps of all worlds, with their advantages A and what the values are drawn to, G = v + A."""
    reward = task.payment(normaliser, seen["arm"], seen["t"], seen["surprise"], seen["extrinsic"])
    advantage = jax.vmap(gae, in_axes=(1, 1, 1, 1, 0, None, None), out_axes=1)(
        reward, seen["terminal"], seen["closed"], seen["value"], v_last, settings.gamma, settings.gae_lambda
    )
    weight = (~(seen["closed"] & ~seen["terminal"])).astype(jnp.float32)
    scaled = normalised(advantage, weight) if settings.normalise_advantages else advantage
    target = seen["value"] + advantage
    return rollout.flattened(Batch(seen["view"], seen["action"], seen["log_prob"], scaled, target, weight))


def optimiser(settings: PPOSettings, gradient_steps: int) -> optax.GradientTransformation:
    """Adam with a step size that falls linearly, on gradients of limited length."""
    rate = optax.linear_schedule(settings.learning_rate, settings.final_learning_rate, gradient_steps)
    return optax.chain(optax.clip_by_global_norm(settings.max_grad_norm), optax.adam(rate, eps=1e-5))


def ppo(task: Task, settings: PPOSettings = PPOSettings()) -> Learner:
    """PPO over `task.num_envs` parallel worlds."""
    samples = require_minibatches("PPO", task.num_envs, settings.num_steps, settings.minibatch_size)
    updates = max(1, task.total_steps // samples)
    optimise = optimiser(settings, updates * (samples // settings.minibatch_size) * settings.update_epochs)
    bonus = optax.linear_schedule(settings.ent_coef, settings.final_ent_coef, updates)
    network = task.network(task.env.num_actions + 1)
    how = Descent(network, optimise, samples, settings.minibatch_size, settings.update_epochs)

    def init(key: Array, episodes: Episode, views: View) -> PPOState:
        params, scalar = network.init(key), jnp.zeros(task.num_envs, jnp.float32)
        examples = {"view": views, "action": scalar.astype(jnp.int32), "log_prob": scalar, "value": scalar}
        room = rollout.empty(task.num_envs, settings.num_steps, **examples)
        return PPOState(params, begin(how, params), room, jnp.zeros((), jnp.int32))

    def act(key: Array, state: PPOState, views: View, step: Array) -> tuple[PPOState, Array]:
        log_probs, value = heads(network.apply(state.params, views))
        action = jax.random.categorical(key, log_probs).astype(jnp.int32)
        log_prob = taken(log_probs, action)
        written = rollout.write(state.rollout, view=views, action=action, log_prob=log_prob, value=value)
        return state._replace(rollout=written), action

    def observe(state: PPOState, action: Array, transition: Transition, episodes: Episode) -> PPOState:
        return state._replace(rollout=rollout.observed(state.rollout, transition))

    def update(key: Array, state: PPOState, views: View, normaliser: NormaliserState) -> tuple[PPOState, Report]:
        v_last = heads(network.apply(state.params, views))[1]
        data = lessons(task, settings, state.rollout.steps, v_last, normaliser)
        cost = partial(loss, settings, bonus(state.updates))
        params, optimiser, report = descend(how, key, state.params, state.optimiser, data, cost)
        state = state._replace(params=params, optimiser=optimiser, updates=state.updates + 1)
        return state, report

    return Learner(
        init=init,
        act=act,
        observe=observe,
        update=update,
        policy=lambda params, views: best_action(network.apply(params, views)[..., :-1]),
        view=network.view,
        reports=REPORTS,
        steps_per_update=settings.num_steps,
        chunk_steps=samples * max(1, task.chunk_steps // samples),
        falls={"learning_rate": settings.final_learning_rate, "ent_coef": settings.final_ent_coef},
        remedy=f"a smaller --learning-rate (it is {settings.learning_rate:g})",
    )
