"""The networks and learners that come with the program: their settings, and where their code is.

Nothing here imports JAX, so that flags can be read and refused at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sadapt.fields import Bound, Checked, Count, Limit, NotNegative, Positive, Share
from sadapt.registry import register


@dataclass(frozen=True)
class PlainSettings(Checked):
    """Size of the network that sees the whole observation."""

    hidden: Count = 128
    """Units of the hidden layer of window and plain networks."""


@dataclass(frozen=True)
class WindowSettings(PlainSettings):
    """Size of the network that sees what is around the agent."""

    radius: Annotated[Count, Bound(lambda value: value <= 1000, "must be at most 1000")] = 5
    """Cells that the window covers in each direction."""


@dataclass(frozen=True)
class DQNSettings(Checked):
    """The paper's DQN."""

    learning_rate: Positive = 1e-4
    """Adam's learning rate."""
    gamma: Share = 0.99
    """Discount per step."""
    batch_size: Count = 32
    """Transitions per update."""
    buffer_size: Count = 1_000_000
    """Steps kept in the replay."""
    snapshot_interval: Count = 16
    """Frames between snapshots of the marginal; smaller is faster but needs more memory."""
    train_frequency: Count = 4
    """Environment steps per update."""
    target_network_frequency: Count = 1_000
    """Environment steps between copies into the target network."""
    learning_starts: Count = 10_000
    """Environment steps before the first update."""
    start_e: Share = 1.0
    """Initial probability of a random action."""
    end_e: Share = 0.01
    """Final probability of a random action."""
    exploration_steps: Count = 1_000_000
    """Environment steps over which that probability falls, as in the paper's 10M; in a shorter run, all of them."""
    double: bool = False
    """Double DQN: the online network picks the action and the target network evaluates it."""
    huber: bool = False
    """Huber loss instead of the squared error."""
    relabel: bool = False
    """Also train the other arm on every transition, with the reward negated."""


@dataclass(frozen=True)
class PQNSettings(Checked):
    """The fast learner."""

    learning_rate: Positive = 5e-4
    """RAdam's initial learning rate; it falls linearly to `final_learning_rate`."""
    final_learning_rate: NotNegative = 1e-4
    """RAdam's final learning rate."""
    gamma: Share = 0.97
    """Discount per step."""
    q_lambda: Share = 0.65
    """Lambda of the returns: 0 trusts the network after one step, 1 never."""
    num_steps: Count = 32
    """Steps per world between updates."""
    minibatch_size: Count = 64
    """Transitions per gradient step."""
    update_epochs: Count = 2
    """How many times each transition is used."""
    max_grad_norm: Limit = 10.0
    """Gradients with a larger norm are scaled down to this."""
    start_e: Share = 1.0
    """Initial probability of a random action."""
    end_e: Share = 0.02
    """Final probability of a random action."""
    exploration_fraction: Share = 0.5
    """Share of the training over which that probability falls."""
    temperature: NotNegative = 0.0
    """Actions that are not random have a probability proportional to exp(q / temperature); 0 takes the best one."""
    munchausen: Share = 0.0
    """Share of q(s, a) - v(s) that is added to every return, so that gaps between actions grow; 0 adds nothing."""


@dataclass(frozen=True)
class PPOSettings(Checked):
    """Proximal policy optimisation."""

    learning_rate: Positive = 1e-3
    """Adam's initial learning rate; it falls linearly to `final_learning_rate`."""
    final_learning_rate: NotNegative = 1e-5
    """Adam's last step size."""
    gamma: Share = 0.97
    """Discount per step."""
    gae_lambda: Share = 0.75
    """Lambda of the advantages: 0 trusts the value after one step, 1 never."""
    clip_coef: Limit = 0.2
    """Clipping range of the ratio of new to old action probabilities."""
    ent_coef: NotNegative = 0.02
    """Initial weight of the policy's entropy; it falls linearly to `final_ent_coef`."""
    final_ent_coef: NotNegative = 0.003
    """Final weight of the policy's entropy."""
    vf_coef: NotNegative = 0.5
    """Weight of the value's squared error."""
    num_steps: Count = 32
    """Steps per world between updates."""
    minibatch_size: Count = 256
    """Transitions per gradient step."""
    update_epochs: Count = 4
    """How many times each transition is used."""
    max_grad_norm: Limit = 0.5
    """Gradients with a larger norm are scaled down to this."""
    normalise_advantages: bool = True
    """Whether the advantages of an update are normalised to mean 0 and standard deviation 1."""


register("network", "auto", "sadapt.learners.networks.auto:auto", WindowSettings)
register("network", "paper", "sadapt.learners.networks.paper:paper")
register("network", "window", "sadapt.learners.networks.window:window", WindowSettings)
register("network", "plain", "sadapt.learners.networks.plain:plain", PlainSettings)
register("network", "screen", "sadapt.learners.networks.screen:screen", PlainSettings)

register("learner", "dqn", "sadapt.learners.dqn:dqn", DQNSettings, num_envs=1, network="paper")
register("learner", "pqn", "sadapt.learners.pqn:pqn", PQNSettings)
register("learner", "ppo", "sadapt.learners.ppo:ppo", PPOSettings)
