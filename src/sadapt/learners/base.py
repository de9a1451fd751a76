"""The contract of a learner: act, observe, update; for all worlds side by side (leading axis N)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from sadapt.motivation.episode import Episode, Transition
from sadapt.motivation.normalisation import NormaliserState

Array = jax.Array
LearnerState = Any
View = Any
Payment = Callable[[NormaliserState, Array, Array, Array, Array], Array]
"""`payment(normaliser, arm, time, surprise, extrinsic) -> reward`: raw parts in, normalised reward out."""


class Report(NamedTuple):
    """What an update says about itself."""

    loss: Array
    q: Array
    """Mean value of the actions that were taken."""


class Learner(NamedTuple):
    """A bundle of pure functions; `view` is the network's view of the worlds' augmented observations."""

    init: Callable[[Array, Episode, View], LearnerState]
    """`init(key, episodes, view) -> state`."""
    act: Callable[[Array, LearnerState, View, Array], tuple[LearnerState, Array]]
    """`act(key, state, view, step) -> (state, actions)`, exploring as the schedule says for environment step `step`."""
    observe: Callable[[LearnerState, Array, Transition, Episode], LearnerState]
    """`observe(state, actions, transitions, episodes after them) -> state`."""
    update: Callable[[Array, LearnerState, View, NormaliserState], tuple[LearnerState, Report]]
    """`update(key, state, view, normaliser) -> (state, report)`."""
    restart: Callable[[LearnerState, Episode], LearnerState]
    """`restart(state, episodes)` goes on with fresh episodes in place of those under way."""
    refresh: Callable[[LearnerState], LearnerState]
    """Done at the start of every chunk of `chunk_steps` environment steps (DQN copies its target network)."""
    greedy: Callable[[LearnerState, View], Array]
    """Best action without exploration."""
    epsilon: Callable[[Array], Array]
    """Exploration at an environment step."""
    steps_per_update: int
    """Vector steps between updates."""
    updates_per_turn: int
    """Updates made each time."""
    chunk_steps: int
    """Environment steps in a chunk, a multiple of `num_envs * steps_per_update`."""
    warmup_steps: int
    """Environment steps before the first update, a multiple of `chunk_steps`."""


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
