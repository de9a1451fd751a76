"""Q-learning from the last step alone: no replay, no rollout, no target network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from sadapt.fields import Checked, Positive, Share
from sadapt.learners.base import Learner, Report, Task
from sadapt.learners.exploration import best_action, explore
from sadapt.motivation.episode import Episode, Transition
from sadapt.registry import register


@dataclass(frozen=True)
class OnlineSettings(Checked):
    """How it learns."""

    step_size: Positive = 0.05
    """Learning rate."""
    discount: Share = 0.9
    """Discount per step."""
    curiosity: Share = 0.1
    """Share of random actions."""


class OnlineState(NamedTuple):
    """Weights, and the last step of every world."""

    params: Any
    view: Any
    action: Any
    transition: Transition


def online(task: Task, settings: OnlineSettings = OnlineSettings()) -> Learner:
    """theta <- theta + step_size * delta * grad q(s, a),  delta = r + discount max_a' q(s', a') - q(s, a)."""
    network = task.network(task.env.num_actions)

    def init(key: jax.Array, episodes: Episode, views: Any) -> OnlineState:
        zero, whole, no = (jnp.zeros(task.num_envs, kind) for kind in (jnp.float32, jnp.int32, bool))
        nothing = Transition(
            t=whole,
            arm=episodes.arm,
            extrinsic=zero,
            surprise=zero,
            successor=(),  # type: ignore[arg-type]
            marginal=(),
            closed=no,
            terminal=no,
        )
        return OnlineState(network.init(key), views, whole, nothing)

    def act(key: jax.Array, state: OnlineState, views: Any, step: jax.Array) -> tuple[OnlineState, jax.Array]:
        best = best_action(network.apply(state.params, views))
        action = explore(key, best, jnp.float32(settings.curiosity), task.env.num_actions)
        return state._replace(view=views, action=action), action

    def observe(state: OnlineState, action: Any, transition: Transition, episodes: Episode) -> OnlineState:
        return state._replace(transition=transition._replace(successor=(), marginal=()))  # type: ignore[arg-type]

    def update(key: jax.Array, state: OnlineState, views: Any, normaliser: Any) -> tuple[OnlineState, Report]:
        last = state.transition
        reward = task.payment(normaliser, last.arm, last.t, last.surprise, last.extrinsic)
        ahead = jnp.max(network.apply(state.params, views), axis=-1)
        target = reward + settings.discount * jnp.where(last.terminal, 0.0, ahead)
        known = ~(last.closed & ~last.terminal)

        def loss(params: Any) -> jax.Array:
            q = jnp.take_along_axis(network.apply(params, state.view), state.action[:, None], axis=1)[:, 0]
            return jnp.mean(known * jnp.square(target - q)) / 2

        cost, gradient = jax.value_and_grad(loss)(state.params)
        params = jax.tree.map(lambda w, g: w - settings.step_size * g, state.params, gradient)
        return state._replace(params=params), {"loss": cost}

    return Learner(
        init=init,
        act=act,
        observe=observe,
        update=update,
        policy=lambda params, views: best_action(network.apply(params, views)),
        view=network.view,
        reports={"loss": "losses/td_loss"},
        steps_per_update=1,
        chunk_steps=task.num_envs * max(1, task.chunk_steps // task.num_envs),
        remedy=f"a smaller --step-size (it is {settings.step_size:g})",
    )


register("learner", "online", online, settings=OnlineSettings, num_envs=16)
