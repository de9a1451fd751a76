"""Everything that decides a training run, as frozen dataclasses; nobody writes into them later."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, Literal

from sadapt.errors import UserError, nearest
from sadapt.learners.dqn import DQNSettings
from sadapt.learners.pqn import PQNSettings


@dataclass(frozen=True)
class MotivationSettings:
    """How surprise is measured and paid."""

    marginal: Literal["auto", "bernoulli", "gaussian"] = "auto"
    """Family of the state marginal; auto is Bernoulli where observations are binary."""
    pseudo_count: float = 0.0
    """Imagined all-zero observations before the first (0 is the paper's formula, 1 the authors' program)."""
    probability_clip: float = 1e-4
    """Bernoulli probabilities stay this far from 0 and 1."""
    std_floor: float = 0.1
    """Least standard deviation of the Gaussian marginal, in units of the observation."""
    frame_size: int = 21
    """Side of the grey frame that the marginal sees of an Atari screen."""
    ucb_c: float = math.sqrt(2)
    """Exploration of the bandit."""
    bandit_patience: float = 0.0
    """Share of the training in which the arms take turns, before the bandit begins to listen."""
    random_episodes: int = 100
    """Episodes of random play that estimate H_rand."""
    on_death: Literal["auto", "end", "soft", "shock"] = "auto"
    """What a death before the horizon does; auto leaves it to the world."""
    horizon: int | None = None
    """Steps in an episode; None leaves it to the world."""
    normalise: bool = True
    """Subtract the running mean of rewards and divide by their running deviation, per arm."""
    baseline: Literal["global", "time"] = "global"
    """One running mean of the reward, or one per time step."""
    reward_clip: float = math.inf
    """Normalised rewards stay within this distance of 0."""
    bootstrap: Literal["auto", "terminal", "through"] = "auto"
    """Whether values end at the horizon; auto ends them for intrinsic agents only."""


@dataclass(frozen=True)
class NetworkSettings:
    """What the policy looks through."""

    network: Literal["auto", "paper", "window", "plain"] = "auto"
    """auto is the paper's for dqn and for screens; else the window where there is an agent channel, or plain."""
    arms: Literal["together", "apart"] = "together"
    """Whether S-Adapt has one network that sees its arm, or one per arm."""
    hidden: int = 128
    """Units of the hidden layer of window and plain networks."""
    radius: int = 5
    """Cells that the window sees in each direction."""


@dataclass(frozen=True)
class Settings:
    """One training run."""

    env: str
    """World to train in."""
    objective: str = "s-adapt"
    """Agent: s-adapt, s-min, s-max, extrinsic or random."""
    seed: int = 1
    """Seed of everything random."""
    total_timesteps: int = 1_000_000
    """Environment steps, over all worlds side by side."""
    num_envs: int = 64
    """Worlds side by side."""
    layout: str | None = None
    """A map of your own for mazes and butterflies, as a text file."""
    obs_key: str | None = None
    """Which part of a dictionary observation to see, in Gymnasium worlds that show one."""
    imports: str | None = None
    """A module to import first, which registers Gymnasium worlds of your own."""
    log_interval: int | None = None
    """Environment steps between rows of metrics; a two-hundredth of the run if not given."""
    motivation: MotivationSettings = field(default_factory=MotivationSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    learner: DQNSettings | PQNSettings = field(default_factory=PQNSettings)


AT_LEAST_ONE = {
    "total_timesteps",
    "num_envs",
    "log_interval",
    "horizon",
    "random_episodes",
    "frame_size",
    "hidden",
    "radius",
    "batch_size",
    "buffer_size",
    "snapshot_interval",
    "train_frequency",
    "target_network_frequency",
    "learning_starts",
    "num_steps",
    "minibatch_size",
    "update_epochs",
}
POSITIVE = {"reward_clip", "std_floor", "max_grad_norm"}
NOT_NEGATIVE = {"seed", "pseudo_count", "ucb_c", "final_learning_rate"}
SHARES = {"bandit_patience", "gamma", "q_lambda", "start_e", "end_e", "exploration_fraction"}


def require_possible(settings: Settings) -> None:
    """Refuses values that no run could have, by the name of the flag."""
    given = {**vars(settings), **vars(settings.motivation), **vars(settings.network), **vars(settings.learner)}
    for name, value in given.items():
        if value is None:
            continue
        flag = "--" + name.replace("_", "-")
        if name in AT_LEAST_ONE and value < 1:
            raise UserError(f"{flag} must be at least 1; got {value}")
        if name in POSITIVE and not value > 0:
            raise UserError(f"{flag} must be more than 0; got {value:g}")
        if name in NOT_NEGATIVE and not value >= 0:
            raise UserError(f"{flag} must not be negative; got {value:g}")
        if name in SHARES and not 0 <= value <= 1:
            raise UserError(f"{flag} must lie between 0 and 1; got {value:g}")
    if not 0 < settings.motivation.probability_clip < 0.5:
        raise UserError(f"--probability-clip must lie between 0 and 0.5; got {settings.motivation.probability_clip:g}")


PARTS = ("motivation", "network", "learner")


def changed(settings: Settings, name: str, value: Any) -> Settings:
    """The same settings with one of them changed, wherever among the parts it lives."""
    change: dict[str, Any] = {name: value}
    if name in vars(settings) and (name not in PARTS or is_dataclass(value)):
        return replace(settings, **change)
    for part in PARTS:
        if name in vars(getattr(settings, part)):
            inner: dict[str, Any] = {part: replace(getattr(settings, part), **change)}
            return replace(settings, **inner)
    valid = {*vars(settings), *(key for part in PARTS for key in vars(getattr(settings, part)))}
    raise UserError(f"unknown setting {name!r}: {nearest(name, valid - set(PARTS))}")
