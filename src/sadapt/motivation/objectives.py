"""Agents as rows of a table: how reward is made, who picks alpha, what the policy sees; the paper's and S-Task."""

from __future__ import annotations

from typing import Any, NamedTuple

from sadapt.errors import UserError, nearest
from sadapt.motivation.arrays import array_module

MAXIMISE, MINIMISE = 0, 1
ARMS = ("s-max", "s-min")
"""Arm i of the bandit: alpha = 0 pays +surprise, alpha = 1 pays -surprise."""


class Objective(NamedTuple):
    """One agent."""

    title: str
    arm: int | None
    """The arm that it always pulls; None leaves the choice to the bandit."""
    reward: str | None
    """Paid by `surprise`, by the task (`extrinsic`) or by `both`; None does not learn."""
    sees_theta: bool
    """Whether the policy sees theta, t/T and alpha beside the observation."""
    colour: str
    """In films and figures alike; Okabe and Ito's."""

    @property
    def intrinsic(self) -> bool:
        return self.reward in ("surprise", "both")

    @property
    def adaptive(self) -> bool:
        """Whether a bandit picks its arm."""
        return self.arm is None


OBJECTIVES: dict[str, Objective] = {
    "s-adapt": Objective("S-Adapt", arm=None, reward="surprise", sees_theta=True, colour="#009E73"),
    "s-min": Objective("S-Min", arm=MINIMISE, reward="surprise", sees_theta=True, colour="#0072B2"),
    "s-max": Objective("S-Max", arm=MAXIMISE, reward="surprise", sees_theta=True, colour="#D55E00"),
    "s-task": Objective("S-Task", arm=None, reward="both", sees_theta=True, colour="#E69F00"),
    "extrinsic": Objective("Extrinsic", arm=MAXIMISE, reward="extrinsic", sees_theta=False, colour="#CC79A7"),
    "random": Objective("Random", arm=MAXIMISE, reward=None, sees_theta=False, colour="#7A7A7A"),
}


COLOURS = {name: row.colour for name, row in OBJECTIVES.items()}


def objective(name: str) -> Objective:
    """The row called `name`."""
    if name not in OBJECTIVES:
        raise UserError(f"unknown objective {name!r}: {nearest(name, OBJECTIVES)}")
    return OBJECTIVES[name]


def payment(row: Objective, arm: Any, surprise: Any, extrinsic: Any, xp: Any = None) -> Any:
    """(-1)^alpha * surprise for the intrinsic agents, the task's reward for the others, or their sum."""
    if not row.intrinsic:
        return extrinsic
    signed = array_module(xp).where(arm == MINIMISE, -surprise, surprise)
    return signed + extrinsic if row.reward == "both" else signed
