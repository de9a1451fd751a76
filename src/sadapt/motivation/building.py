"""The motivation from its settings, for training and for the wrappers alike; only the arrays' module differs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from sadapt.fields import Checked, Limit, Positive
from sadapt.motivation import table as _table  # noqa: F401 (fills the tables of marginals and bandits)
from sadapt.motivation.bandits import Bandit, fixed
from sadapt.motivation.feedback import Feedback
from sadapt.motivation.marginals import InputSpec, Marginal
from sadapt.motivation.marginals.forgetting import MemorySettings, forgetting
from sadapt.motivation.normalisation import Normaliser, running, unnormalised
from sadapt.motivation.objectives import ARMS, Objective
from sadapt.registry import Choice, Own, made

ADAPTING = {"bandit": "race", "feedback": "surprise"}
"""How S-Adapt chooses its arm unless told otherwise, in training and in the wrappers; the paper has ucb and entropy."""
IN_STREAMS = {"bandit": "regimes"}
"""What is other in a stream, where regimes change."""
ADAPTING_WITH: dict[str, dict[str, Any]] = {"bandit": {"race_lead": 0.02}, "feedback": {"signed": True}}
"""Settings that go with these parts, by kind, and not with others in their place."""


@dataclass(frozen=True)
class PaymentSettings(Checked):
    """How surprise becomes reward."""

    normalise: bool = True
    """Whether rewards are normalised by their running mean and standard deviation, per arm."""
    baseline: Literal["global", "time"] = "global"
    """One running mean of the reward, or one per time step."""
    reward_clip: Limit = math.inf
    """Normalised rewards are clipped to this distance from 0."""
    reward_std_floor: Positive = 1e-4
    """Smallest standard deviation that rewards are divided by."""
    bootstrap: Literal["auto", "terminal", "through"] = "auto"
    """Whether values end at the horizon; auto ends them for intrinsic agents only."""

    def horizon_is_terminal(self, row: Objective) -> bool:
        """Whether no value lies beyond the horizon: theta ends there, the task may not."""
        return {"auto": row.intrinsic, "terminal": True, "through": False}[self.bootstrap]


def build_marginal(
    spec: InputSpec, choice: Choice, own: Own, memory: MemorySettings = MemorySettings(), *, xp: Any = None
) -> Marginal:
    """The marginal of what a world shows it, with this memory."""
    return forgetting(made("marginal", Marginal, choice, own, spec, xp=xp), spec, memory, xp=xp)


def build_feedback(choice: Choice, own: Own, *, xp: Any = None) -> Feedback:
    """What the bandit hears."""
    return made("feedback", Feedback, choice, own, xp=xp)


def build_bandit(row: Objective, choice: Choice, own: Own, *, xp: Any = None) -> Bandit:
    """The bandit of an agent that leaves the choice to one; the others have made up their minds."""
    if row.arm is not None:
        return fixed(row.arm, arms=len(ARMS), xp=xp)
    return made("bandit", Bandit, choice, own, len(ARMS), xp=xp)


def build_normaliser(
    row: Objective,
    horizon: int,
    wanted: PaymentSettings,
    *,
    half_life: float = math.inf,
    cyclic: bool = False,
    xp: Any = None,
) -> Normaliser:
    """Running statistics of the rewards, where they are normalised; with a half-life in steps of all worlds."""
    if row.reward is None or not wanted.normalise:
        return unnormalised()
    return running(
        len(ARMS),
        horizon,
        baseline=wanted.baseline,
        std_floor=wanted.reward_std_floor,
        clip=wanted.reward_clip,
        keep=None if math.isinf(half_life) else 0.5 ** (1 / half_life),
        cyclic=cyclic,
        xp=xp,
    )
