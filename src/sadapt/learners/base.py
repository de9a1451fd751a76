"""The contract of a learner: act, observe, update; for all worlds side by side (leading axis N)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax

from sadapt.envs.base import Facts
from sadapt.learners.networks import Network
from sadapt.motivation.augmented import Augmented
from sadapt.motivation.episode import Episode, Transition
from sadapt.motivation.marginals import Marginal
from sadapt.motivation.normalisation import NormaliserState

Array = jax.Array
LearnerState = Any
"""A NamedTuple; its field `params` is all that the policy needs."""
Params = Any
View = Any
Report = Mapping[str, Array]
"""What an update says about itself, a number by each name of `Learner.reports`."""
Payment = Callable[[NormaliserState, Array, Array, Array, Array], Array]
"""`payment(normaliser, arm, time, surprise, extrinsic) -> reward`: raw parts in, normalised reward out."""


class Task(NamedTuple):
    """What a learner is told about the run."""

    env: Facts
    marginal: Marginal
    horizon: int
    """Steps in an episode at most; in a stream, in an excerpt."""
    clock: Callable[[Array], Array]
    """`clock(t)`: the time that the policy sees, t / T in episodes of T steps."""
    refill: int | None
    """Steps after which a stream's worlds start afresh; None: no such time matters."""
    network: Callable[[int], Network]
    """`network(outputs)`: the run's network with so many outputs."""
    payment: Payment
    num_envs: int
    """Worlds side by side, N."""
    total_steps: int
    """Environment steps of the run, for schedules."""
    chunk_steps: int
    """Environment steps that a chunk should take, about."""
    last_step: int = 0
    """Environment steps that are made in the end: more than `total_steps` in a run that was extended."""


class Need(NamedTuple):
    """Memory that a learner will take."""

    what: str
    bytes: int
    instead: Callable[[float], str]
    """`instead(share)`: what to ask for to need only that share."""


class Learner(NamedTuple):
    """A bundle of pure functions; a view is what the network keeps of an augmented observation."""

    init: Callable[[Array, Episode, View], LearnerState]
    """`init(key, episodes, views) -> state`."""
    act: Callable[[Array, LearnerState, View, Array], tuple[LearnerState, Array]]
    """`act(key, state, views, step) -> (state, actions)`, exploring as it sees fit at environment step `step`."""
    observe: Callable[[LearnerState, Array, Transition, Episode], LearnerState]
    """`observe(state, actions, transitions, episodes after them) -> state`."""
    update: Callable[[Array, LearnerState, View, NormaliserState], tuple[LearnerState, Report]]
    """`update(key, state, views, normaliser) -> (state, report)`."""
    policy: Callable[[Params, View], Array] | None
    """`policy(params, views) -> actions`, the best it knows, without exploration; None acts uniformly."""
    view: Callable[[Augmented], View]
    """What is kept of one augmented observation."""
    reports: Mapping[str, str]
    """What `update` reports, and the name of its chart in TensorBoard."""
    steps_per_update: int
    """Vector steps between updates."""
    chunk_steps: int
    """Environment steps in a chunk, a multiple of `num_envs * steps_per_update`."""
    updates_per_turn: int = 1
    """Updates made each time."""
    warmup_steps: int = 0
    """Environment steps before the first update, a multiple of `chunk_steps`."""
    restart: Callable[[LearnerState, Episode], LearnerState] = lambda state, episodes: state
    """`restart(state, episodes)` goes on with fresh episodes in place of those under way."""
    refresh: Callable[[LearnerState], LearnerState] = lambda state: state
    """Done at the start of every chunk of `chunk_steps` environment steps (DQN copies its target network)."""
    meanwhile: Callable[[LearnerState, LearnerState], LearnerState] | None = None
    """`meanwhile(played, learned) -> state`, where it played on with its old parameters during an update; None waits.

    For learners that make one update at a time and have no warm-up."""
    schedule: Callable[[Array], Mapping[str, Array]] = lambda step: {}
    """What depends on the environment step alone and belongs in the metrics, by name."""
    falls: Mapping[str, float] = {}
    """What falls over the length of the training, by name, and what it is at the end of that and from then on."""
    need: Need | None = None
    remedy: str = "other settings of the learner"
    """What to try when learning diverges."""
