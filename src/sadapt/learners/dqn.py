"""DQN as the paper trains it (CleanRL's settings): replay, target network, epsilon-greedy, squared error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from sadapt.errors import UserError
from sadapt.fields import MOST
from sadapt.learners.base import Learner, Report, Task, View
from sadapt.learners.exploration import best_action, explore, linear_epsilon, taken
from sadapt.learners.replay import Batch, Replay, ReplayState, replay
from sadapt.learners.table import DQNSettings
from sadapt.motivation.episode import Episode, Transition
from sadapt.motivation.normalisation import NormaliserState

Array = jax.Array


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


def rhythm(settings: DQNSettings, num_envs: int) -> dict[str, int]:
    """How many steps and updates take turns, and how many make a chunk: from one copy of the target to the next."""
    steps_per_update = max(1, settings.train_frequency // num_envs)
    turn = num_envs * steps_per_update
    chunk = max(turn, settings.target_network_frequency // turn * turn)
    return {
        "steps_per_update": steps_per_update,
        "updates_per_turn": max(1, num_envs // settings.train_frequency),
        "chunk_steps": chunk,
        "warmup_steps": -(-settings.learning_starts // chunk) * chunk,
    }


def memory(task: Task, settings: DQNSettings) -> Replay:
    """The replay, large enough for a batch."""
    if settings.batch_size > settings.learning_starts or settings.batch_size > settings.buffer_size:
        raise UserError(
            f"a batch of {settings.batch_size} needs as many steps before learning starts and in the replay; "
            f"got --learning-starts {settings.learning_starts}, "
            f"--buffer-size {settings.buffer_size}; lower --batch-size"
        )
    largest = MOST // 2 * task.num_envs  # an index a step, and one for each episode's last frame
    if (last := max(task.total_steps, task.last_step)) > largest:
        raise UserError(f"--total-timesteps must be at most {largest} with this replay; got {last}")
    return replay(
        task.env,
        task.marginal,
        capacity=settings.buffer_size,
        num_envs=task.num_envs,
        horizon=task.clock,
        refill=task.refill,
        interval=settings.snapshot_interval,
    )


def optimiser(settings: DQNSettings) -> optax.GradientTransformation:
    """Adam as it comes."""
    return optax.adam(settings.learning_rate)


def exploration(settings: DQNSettings, total_steps: int) -> Callable[[Array], Array]:
    """epsilon by step: a shorter training is the beginning of a longer one, but explores no longer than it lasts."""
    return linear_epsilon(settings.start_e, settings.end_e, min(settings.exploration_steps, total_steps))


def dqn(task: Task, settings: DQNSettings = DQNSettings()) -> Learner:
    """DQN over `task.num_envs` parallel worlds."""
    adam = optimiser(settings)
    epsilon = exploration(settings, task.total_steps)
    network, kept = task.network(task.env.num_actions), memory(task, settings)
    view = jax.vmap(network.view)

    def init(key: Array, episodes: Episode, views: View) -> DQNState:
        params = network.init(key)
        return DQNState(params, jax.tree.map(jnp.copy, params), adam.init(params), kept.init(episodes))

    def act(key: Array, state: DQNState, views: View, step: Array) -> tuple[DQNState, Array]:
        q = network.apply(state.params, views)
        return state, explore(key, best_action(q), epsilon(step), q.shape[-1])

    def observe(state: DQNState, action: Array, transition: Transition, episodes: Episode) -> DQNState:
        return state._replace(replay=kept.observe(state.replay, action, transition, episodes))

    def update(key: Array, state: DQNState, views: View, normaliser: NormaliserState) -> tuple[DQNState, Report]:
        batch = kept.sample(key, state.replay, settings.batch_size)
        batch = both_arms(batch) if settings.relabel else batch
        before, after = view(batch.before), view(batch.after)
        reward = task.payment(normaliser, batch.arm, batch.t, batch.surprise, batch.extrinsic)
        discount = settings.gamma * (~batch.terminal).astype(jnp.float32)
        q_t = network.apply(state.target, after)
        selector_t = network.apply(state.params, after) if settings.double else q_t

        def loss(params: Any) -> tuple[Array, Array]:
            q_tm1 = network.apply(params, before)
            error = jax.vmap(td_error)(q_tm1, batch.action, reward, discount, q_t, selector_t)
            cost = optax.huber_loss(error) if settings.huber else jnp.square(error)
            return jnp.mean(cost), jnp.mean(taken(q_tm1, batch.action))

        (cost, q), gradient = jax.value_and_grad(loss, has_aux=True)(state.params)
        change, optimiser = adam.update(gradient, state.optimiser, state.params)
        params = optax.apply_updates(state.params, change)
        return state._replace(params=params, optimiser=optimiser), {"loss": cost, "q": q}

    return Learner(
        init=init,
        act=act,
        observe=observe,
        update=update,
        policy=lambda params, views: best_action(network.apply(params, views)),
        view=network.view,
        reports={"loss": "losses/td_loss", "q": "losses/q_values"},
        restart=lambda state, episodes: state._replace(replay=kept.restart(state.replay, episodes)),
        refresh=lambda state: state._replace(target=jax.tree.map(jnp.copy, state.params)),
        meanwhile=None,
        schedule=lambda step: {"epsilon": epsilon(step)},
        falls={"epsilon": settings.end_e},
        need=kept.need,
        remedy=f"a smaller --learning-rate (it is {settings.learning_rate:g})",
        **rhythm(settings, task.num_envs),
    )
