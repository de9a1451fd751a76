"""Everything that decides a training run, as frozen dataclasses; nobody writes into them later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from sadapt.composite import COMMON, Composite, group, part, places
from sadapt.envs.table import WorldSettings
from sadapt.fields import Count, OneOf, Seed, Share, Whole
from sadapt.learners import table as _table  # noqa: F401 (fills the tables of networks and learners)
from sadapt.motivation.building import PaymentSettings
from sadapt.motivation.marginals.forgetting import MemorySettings
from sadapt.motivation.objectives import OBJECTIVES
from sadapt.registry import OWN, Choice, find

COMMON["env"] = WorldSettings


@dataclass(frozen=True)
class MotivationSettings(PaymentSettings, MemorySettings):
    """How surprise becomes reward, what an episode is, and whether there are episodes at all."""

    bandit_patience: Share = 0.0
    """Share of the training in which the arms take turns before feedback counts; for bandits like ucb."""
    random_episodes: Count = 100
    """Episodes of random play that estimate H_rand."""
    on_death: Literal["auto", "end", "soft", "shock"] = "auto"
    """What a death before the horizon does; auto leaves it to the world. In a stream, end is soft."""
    stream: bool = False
    """Train without episodes: theta forgets instead of being reset, and the arm is chosen every --stretch steps."""
    stretch: Count | None = None
    """Steps of a stream between choices of the arm; by default the half-life, the window or what --refill says."""
    random_envs: Count = 8
    """Additional worlds that act at random beside a stream, or beside each of its groups; nothing learns from them."""
    scouts: Whole = 0
    """Parallel worlds of S-Adapt's stream that always play S-Max, and as many S-Min, so that both stay learned."""
    groups: Count | None = None
    """Streams side by side in a world with regimes, each with its own bandit and random worlds; by default 8."""
    stay: bool = True
    """Whether parallel worlds of a stream stay on their arms as far as the bandit's choices allow."""
    refill: Count | None = None
    """Steps after which a stream's worlds start afresh, theta going on; by default the horizon in Butterflies."""
    relative: bool = True
    """Whether a stream pays surprise in units of what the random worlds have now, so that regimes weigh alike."""


@dataclass(frozen=True)
class Settings(Composite):
    """One training run."""

    world: Choice = part("env")
    """World to train in."""
    objective: Annotated[str, OneOf(OBJECTIVES)] = "s-adapt"
    """Agent: rewarded by surprise (as the bandit picks, or one way), by the task, by both (s-task), or random."""
    seed: Seed = 1
    """Random seed."""
    total_timesteps: Count = 1_000_000
    """Environment steps, summed over parallel worlds."""
    planned_timesteps: Count | None = None
    """Environment steps that schedules are based on; by default all of the run's, fewer in an extended run."""
    num_envs: Count = 64
    """Number of parallel worlds."""
    log_interval: Count | None = None
    """Environment steps between rows of metrics; by default 1/200 of the run."""
    arms: Literal["together", "apart"] = "apart"
    """Whether S-Adapt has one network that takes the arm as input, as in the paper, or one per arm."""
    start_from: str | None = None
    """Run or exported policy whose network training starts from; {seed} in it stands for the seed."""
    as_arm: Literal["auto", "s-max", "s-min"] = "auto"
    """Arm for which Extrinsic sees theta, t/T and alpha; auto: the observation alone, or what --from's policy saw."""
    imports: tuple[str, ...] = ()
    """Modules to import first, which register your own worlds and parts."""
    motivation: MotivationSettings = group(MotivationSettings)
    marginal: Choice = part("marginal", "auto")
    feedback: Choice = part("feedback", "entropy")
    bandit: Choice = part("bandit", "ucb")
    network: Choice = part("network", "auto")
    learner: Choice = part("learner", "pqn")

    @property
    def env(self) -> str:
        """The world's name."""
        return self.world.name

    @property
    def planned(self) -> int:
        """Environment steps that schedules go by."""
        return self.planned_timesteps or self.total_timesteps

    @property
    def horizon(self) -> int | None:
        """Steps in an episode, where the world's settings say so."""
        return getattr(self.world.settings, "horizon", None)


def world_setting(settings: Settings, name: str) -> Any:
    """A setting of the world; None where it has no such setting."""
    return getattr(settings.world.settings, name, None)


def foreign_modules(settings: Settings) -> tuple[str, ...]:
    """Modules of parts that are somebody's own, beside those that were asked for."""
    chosen = [(kind, getattr(settings, place).name) for kind, place in places(type(settings)).items()]
    parts = (find(kind, name) for kind, name in chosen if not name.startswith(OWN))
    found = [part.module for part in parts if part.foreign and part.module != "__main__"]
    beside = [each for each in found if not any(f"{each}.".startswith(f"{module}.") for module in settings.imports)]
    return tuple(dict.fromkeys([*settings.imports, *beside]))
