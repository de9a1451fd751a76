"""PQN, a parallelised Q-network (Gallici et al., 2024): many worlds, Q(lambda) returns, no replay, no target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from sadapt.errors import UserError
from sadapt.learners.base import Learner, Payment, Report, View, explore, linear_epsilon
from sadapt.learners.networks import Network
from sadapt.motivation.episode import Episode, Transition
from sadapt.motivation.normalisation import NormaliserState

Array = jax.Array


@dataclass(frozen=True)
class PQNSettings:
    """The fast learner."""

    learning_rate: float = 5e-4
    """RAdam's first step size; it falls linearly to `final_learning_rate`."""
    final_learning_rate: float = 1e-4
    """RAdam's last step size."""
    gamma: float = 0.97
    """Discount per step."""
    q_lambda: float = 0.65
    """How far returns look before they trust the network."""
    num_steps: int = 32
    """Steps of every world between updates."""
    minibatch_size: int = 64
    """Transitions per gradient step."""
    update_epochs: int = 2
    """How often each transition is used."""
    max_grad_norm: float = 10.0
    """Gradients longer than this are shortened to it."""
    start_e: float = 1.0
    """First probability of a random action."""
    end_e: float = 0.02
    """Last probability of a random action."""
    exploration_fraction: float = 0.5
    """Share of the training in which that probability falls."""


class Rollout(NamedTuple):
    """The last `num_steps` steps of all worlds, [steps, worlds, ...]."""

    view: View
    value: Array
    action: Array
    t: Array
    arm: Array
    surprise: Array
    extrinsic: Array
    closed: Array
    terminal: Array


class PQNState(NamedTuple):
    """Everything that PQN remembers."""

    params: Any
    optimiser: Any
    rollout: Rollout
    cursor: Array


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


def pqn(
    settings: PQNSettings,
    network: Network,
    payment: Payment,
    *,
    num_envs: int,
    total_steps: int,
    chunk_steps: int = 16_384,
) -> Learner:
    """PQN over `num_envs` worlds side by side, in chunks of about `chunk_steps`."""
    samples = num_envs * settings.num_steps
    if samples % settings.minibatch_size:
        raise UserError(
            f"PQN collects num_envs x num_steps = {num_envs} x {settings.num_steps} = {samples} transitions an update; "
            f"the minibatch size must divide that, {settings.minibatch_size} does not"
        )
    minibatches = samples // settings.minibatch_size
    gradient_steps = max(1, total_steps // samples) * minibatches * settings.update_epochs
    rate = optax.linear_schedule(settings.learning_rate, settings.final_learning_rate, gradient_steps)
    optimise = optax.chain(optax.clip_by_global_norm(settings.max_grad_norm), optax.radam(rate))
    epsilon = linear_epsilon(settings.start_e, settings.end_e, settings.exploration_fraction * total_steps)

    def init(key: Array, episodes: Episode, now: View) -> PQNState:
        params = network.init(key)

        def room(example: Array) -> Array:
            return jnp.zeros((settings.num_steps, *example.shape), example.dtype)

        scalar, whole, flag = (jnp.zeros(num_envs, kind) for kind in (jnp.float32, jnp.int32, bool))
        rollout = Rollout(
            view=jax.tree.map(room, now),
            value=room(scalar),
            action=room(whole),
            t=room(whole),
            arm=room(whole),
            surprise=room(scalar),
            extrinsic=room(scalar),
            closed=room(flag),
            terminal=room(flag),
        )
        return PQNState(params, optimise.init(params), rollout, jnp.zeros((), jnp.int32))

    def write(state: PQNState, **rows: Any) -> Rollout:
        def put(buffer: Array, row: Array) -> Array:
            return jax.lax.dynamic_update_index_in_dim(buffer, row, state.cursor, 0)

        kept = state.rollout._asdict()
        return state.rollout._replace(**{name: jax.tree.map(put, kept[name], row) for name, row in rows.items()})

    def greedy(state: PQNState, now: View) -> Array:
        return jnp.argmax(network.apply(state.params, now), axis=-1).astype(jnp.int32)

    def act(key: Array, state: PQNState, now: View, step: Array) -> tuple[PQNState, Array]:
        q = network.apply(state.params, now)
        action = explore(key, jnp.argmax(q, axis=-1).astype(jnp.int32), epsilon(step), q.shape[-1])
        return state._replace(rollout=write(state, view=now, value=jnp.max(q, axis=-1), action=action)), action

    def observe(state: PQNState, action: Array, seen: Transition, episodes: Episode) -> PQNState:
        rollout = write(
            state,
            t=seen.t,
            arm=seen.arm,
            surprise=seen.surprise,
            extrinsic=seen.extrinsic,
            closed=seen.closed,
            terminal=seen.terminal,
        )
        return state._replace(rollout=rollout, cursor=(state.cursor + 1) % settings.num_steps)

    def loss(params: Any, batch: tuple[View, Array, Array, Array]) -> tuple[Array, Array]:
        now, action, target, weight = batch
        q = jnp.take_along_axis(network.apply(params, now), action[:, None], axis=1)[:, 0]
        return jnp.mean(weight * jnp.square(target - q)) / 2, jnp.mean(q)

    def update(key: Array, state: PQNState, now: View, normaliser: NormaliserState) -> tuple[PQNState, Report]:
        rollout = state.rollout
        reward = payment(normaliser, rollout.arm, rollout.t, rollout.surprise, rollout.extrinsic)
        v_last = jnp.max(network.apply(state.params, now), axis=-1)
        returns = jax.vmap(lambda_returns, in_axes=(1, 1, 1, 1, 0, None, None), out_axes=1)(
            reward, rollout.terminal, rollout.closed, rollout.value, v_last, settings.gamma, settings.q_lambda
        )
        weight = (~(rollout.closed & ~rollout.terminal)).astype(jnp.float32)
        data = jax.tree.map(lambda x: x.reshape(samples, *x.shape[2:]), (rollout.view, rollout.action, returns, weight))

        def step(carry: tuple[Any, Any], chosen: Array) -> tuple[tuple[Any, Any], Report]:
            params, optimiser = carry
            batch = jax.tree.map(lambda x: x[chosen], data)
            (cost, q), gradient = jax.value_and_grad(loss, has_aux=True)(params, batch)
            change, optimiser = optimise.update(gradient, optimiser, params)
            return (optax.apply_updates(params, change), optimiser), Report(cost, q)

        keys = jax.random.split(key, settings.update_epochs)
        order = jax.vmap(lambda k: jax.random.permutation(k, samples))(keys).reshape(-1, settings.minibatch_size)
        (params, optimiser), reports = jax.lax.scan(step, (state.params, state.optimiser), order)
        report = Report(jnp.mean(reports.loss), jnp.mean(reports.q))
        return state._replace(params=params, optimiser=optimiser), report

    turn = num_envs * settings.num_steps
    chunk = turn * max(1, chunk_steps // turn)
    return Learner(
        init=init,
        act=act,
        observe=observe,
        update=update,
        restart=lambda state, episodes: state,
        refresh=lambda state: state,
        greedy=greedy,
        epsilon=epsilon,
        steps_per_update=settings.num_steps,
        updates_per_turn=1,
        chunk_steps=chunk,
        warmup_steps=0,
    )
