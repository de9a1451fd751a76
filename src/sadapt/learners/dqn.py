"""DQN as the paper trains it (CleanRL's settings): replay, target network, epsilon-greedy, squared error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from sadapt.learners.base import Learner, Payment, Report, View, explore, linear_epsilon
from sadapt.learners.networks import Network
from sadapt.learners.replay import Batch, Replay, ReplayState
from sadapt.motivation.episode import Episode, Transition
from sadapt.motivation.normalisation import NormaliserState

Array = jax.Array


@dataclass(frozen=True)
class DQNSettings:
    """The paper's DQN."""

    learning_rate: float = 1e-4
    """Adam's step size."""
    gamma: float = 0.99
    """Discount per step."""
    batch_size: int = 32
    """Transitions per update."""
    buffer_size: int = 1_000_000
    """Steps that the replay remembers."""
    snapshot_interval: int = 16
    """Frames between kept marginals; smaller is faster and larger in memory."""
    train_frequency: int = 4
    """Environment steps per update."""
    target_network_frequency: int = 1_000
    """Environment steps between copies into the target network."""
    learning_starts: int = 10_000
    """Environment steps before the first update."""
    start_e: float = 1.0
    """First probability of a random action."""
    end_e: float = 0.01
    """Last probability of a random action."""
    exploration_fraction: float = 0.1
    """Share of the training in which that probability falls."""
    double: bool = False
    """Double DQN: the online network picks the action that the target network values."""
    huber: bool = False
    """Huber loss instead of the squared error."""
    relabel: bool = False
    """Train the other arm, whose reward is the negative, on every transition too."""


class DQNState(NamedTuple):
    """Everything that DQN remembers."""

    params: Any
    target: Any
    optimiser: Any
    replay: ReplayState


def td_error(q_tm1: Array, a_tm1: Array, r_t: Array, discount_t: Array, q_t: Array, selector_t: Array) -> Array:
    """r_t + gamma_t * q_t[argmax selector_t] - q_tm1[a_tm1], for one transition."""
    target_t = r_t + discount_t * q_t[jnp.argmax(selector_t)]
    return jax.lax.stop_gradient(target_t) - q_tm1[a_tm1]


def both_arms(batch: Batch) -> Batch:
    """The batch, and the batch again as the other arm would have lived it: theta is the same, alpha is not."""
    other = batch._replace(
        arm=1 - batch.arm,
        before=batch.before._replace(arm=1 - batch.before.arm),
        after=batch.after._replace(arm=1 - batch.after.arm),
    )
    return jax.tree.map(lambda a, b: jnp.concatenate([a, b]), batch, other)


def dqn(
    settings: DQNSettings, network: Network, memory: Replay, payment: Payment, *, num_envs: int, total_steps: int
) -> Learner:
    """DQN over `num_envs` worlds side by side."""
    adam = optax.adam(settings.learning_rate)
    epsilon = linear_epsilon(settings.start_e, settings.end_e, settings.exploration_fraction * total_steps)
    view = jax.vmap(network.view)

    def init(key: Array, episodes: Episode, now: View) -> DQNState:
        params = network.init(key)
        return DQNState(params, jax.tree.map(jnp.copy, params), adam.init(params), memory.init(episodes))

    def greedy(state: DQNState, now: View) -> Array:
        return jnp.argmax(network.apply(state.params, now), axis=-1).astype(jnp.int32)

    def act(key: Array, state: DQNState, now: View, step: Array) -> tuple[DQNState, Array]:
        q = network.apply(state.params, now)
        return state, explore(key, jnp.argmax(q, axis=-1).astype(jnp.int32), epsilon(step), q.shape[-1])

    def observe(state: DQNState, action: Array, seen: Transition, episodes: Episode) -> DQNState:
        return state._replace(replay=memory.observe(state.replay, action, seen, episodes))

    def update(key: Array, state: DQNState, now: View, normaliser: NormaliserState) -> tuple[DQNState, Report]:
        batch = memory.sample(key, state.replay, settings.batch_size)
        if settings.relabel:
            batch = both_arms(batch)
        before, after = view(batch.before), view(batch.after)
        reward = payment(normaliser, batch.arm, batch.t, batch.surprise, batch.extrinsic)
        discount = settings.gamma * (~batch.terminal).astype(jnp.float32)
        q_t = network.apply(state.target, after)
        selector_t = network.apply(state.params, after) if settings.double else q_t

        def loss(params: Any) -> tuple[Array, Array]:
            q_tm1 = network.apply(params, before)
            error = jax.vmap(td_error)(q_tm1, batch.action, reward, discount, q_t, selector_t)
            cost = optax.huber_loss(error) if settings.huber else jnp.square(error)
            return jnp.mean(cost), jnp.mean(jnp.take_along_axis(q_tm1, batch.action[:, None], axis=1))

        (cost, q), gradient = jax.value_and_grad(loss, has_aux=True)(state.params)
        change, optimiser = adam.update(gradient, state.optimiser, state.params)
        params = optax.apply_updates(state.params, change)
        return state._replace(params=params, optimiser=optimiser), Report(cost, q)

    def restart(state: DQNState, episodes: Episode) -> DQNState:
        return state._replace(replay=memory.restart(state.replay, episodes))

    def refresh(state: DQNState) -> DQNState:
        return state._replace(target=jax.tree.map(jnp.copy, state.params))

    steps_per_update = max(1, settings.train_frequency // num_envs)
    updates_per_turn = max(1, num_envs // settings.train_frequency)
    turn = num_envs * steps_per_update
    chunk = max(turn, settings.target_network_frequency // turn * turn)
    warmup = -(-settings.learning_starts // chunk) * chunk
    return Learner(
        init, act, observe, update, restart, refresh, greedy, epsilon, steps_per_update, updates_per_turn, chunk, warmup
    )
