"""What the bandit hears when an episode ends: how far it ended from where a random agent leaves the world.

f = |x - x_rand| / s, where x is a measure of the episode and x_rand its mean over a random agent's episodes. The unit
s is |x_rand|, as in the paper, or the deviation of x between random episodes where that is more: an x_rand near 0,
which a Gaussian's entropy may have, would make any episode look far away. *Signed*, f = (-1)^alpha (x - x_rand) / s:
what an arm moves the wrong way counts against it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.fields import Checked, told
from sadapt.motivation.arrays import array_module
from sadapt.motivation.objectives import MINIMISE

Measures = Mapping[str, Any]


class RandomAgent(NamedTuple):
    """The random agent's measures: their means over episodes, and their deviations between them."""

    mean: dict[str, Any]
    std: dict[str, Any]
    unit: dict[str, Any] | None = None
    """What distances are divided by, where it has been worked out beforehand."""
    weight: Any = None
    """Recent measurements that these are of, where they are made all the time."""


MEASURED = ("mean", "std")


class Feedback(NamedTuple):
    """How an episode is judged."""

    hear: Callable[[Measures, RandomAgent, Any], Any]
    """`hear(an episode's measures, the random agent's, arm) -> f`, for one episode."""
    of: str
    """The measure that it compares: where a random agent's is kept, one that cannot be compared with is refused."""


@dataclass(frozen=True)
class FeedbackSettings(Checked):
    """How the distance from a random agent is counted."""

    signed: bool = False
    """Whether a move against the arm's direction counts as negative."""


def with_units(random: RandomAgent, xp: Any) -> RandomAgent:
    """max(|x_rand|, deviation of x_rand) of every measure, worked out once and not in every step."""
    return random._replace(unit={name: xp.maximum(abs(mean), random.std[name]) for name, mean in random.mean.items()})


def distance(value: Any, random: RandomAgent, of: str, xp: Any) -> Any:
    """(x - x_rand) / max(|x_rand|, deviation of x_rand)."""
    units = random.unit or with_units(random, xp).unit
    assert units is not None
    return (value - random.mean[of]) / units[of]


def own_way(moved: Any, arm: Any, xp: Any) -> Any:
    """(-1)^alpha x: positive where it moved as the arm wants it."""
    return xp.where(arm == MINIMISE, -moved, moved)


def away_from_random(of: str, *, signed: bool = False, xp: Any = None) -> Feedback:
    """The distance of one measure."""
    xp = array_module(xp)

    def hear(measures: Measures, random: RandomAgent, arm: Any) -> Any:
        moved = distance(measures[of], random, of, xp)
        return own_way(moved, arm, xp) if signed else abs(moved)

    return Feedback(hear, of)


def of_entropy(settings: FeedbackSettings = FeedbackSettings(), *, xp: Any = None) -> Feedback:
    """By the entropy of the episode's final marginal, as in the paper's text."""
    return away_from_random("entropy", signed=settings.signed, xp=xp)


def of_surprise(settings: FeedbackSettings = FeedbackSettings(), *, xp: Any = None) -> Feedback:
    """By the episode's mean surprise, the default of the authors' code."""
    return away_from_random("surprise", signed=settings.signed, xp=xp)


COMPARED = ("entropy", "surprise")
"""Measures of the random agent that every run keeps."""


def as_plain(random: RandomAgent) -> dict[str, dict[str, Any]]:
    """In the types that JSON knows; what was not measured is None."""
    return {
        part: {name: float(value) if np.isfinite(value) else None for name, value in held.items()}
        for part, held in (("mean", random.mean), ("std", random.std))
    }


def from_plain(given: Any, source: str) -> RandomAgent:
    """What `as_plain` gave."""
    try:
        parts = {part: {name: _number(given[part][name]) for name in COMPARED} for part in MEASURED}
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UserError(
            f"{source} holds no random agent (it lacks {error}): expected mean and std of {' and '.join(COMPARED)}, as "
            "estimate_random gives them"
        ) from error
    return RandomAgent(**parts)


def _number(given: Any) -> Any:
    if isinstance(given, str) or np.ndim(given):
        raise TypeError(f"a number where {told(given)} stands")
    return np.float32(np.nan if given is None else given)


def nobody() -> RandomAgent:
    """A random agent that was not measured, where only shapes count."""
    return RandomAgent(mean=dict.fromkeys(COMPARED, np.float32(1)), std=dict.fromkeys(COMPARED, np.float32(0)))


def known_by_entropy(entropy: float) -> RandomAgent:
    """A random agent of which only the mean entropy is known: nothing else can be compared with it."""
    unknown = dict.fromkeys(COMPARED, np.float32(np.nan))
    return RandomAgent(mean={**unknown, "entropy": np.float32(entropy)}, std={**unknown, "entropy": np.float32(0)})


def usable(random: RandomAgent, of: str, source: str) -> RandomAgent:
    """Refuses a random agent whose measure is not finite, or zero and always the same: nothing could be divided by it.

    A feedback of one's own may go by what is not kept of the random agent; then there is nothing to refuse.
    """
    if of not in random.mean:
        return random
    mean, std = float(random.mean[of]), float(random.std[of])
    if not np.isfinite([mean, std]).all():
        raise UserError(
            f"the random agent's {of} in {source!r} is {mean:g} ± {std:g}, so the bandit's feedback, which is relative "
            "to it, is undefined: it was never measured (use sadapt.gym.estimate_random), or the marginal gives no "
            "finite numbers there"
        )
    if max(abs(mean), std) < 1e-9:
        raise UserError(
            f"the random agent's {of} in {source!r} is {mean:g} in every episode, so the bandit's feedback, which is "
            "relative to it, is undefined: nothing that the marginal sees ever changes; let it see other channels, or "
            "use another marginal"
        )
    return random


def summed_up(found: Mapping[str, np.ndarray]) -> RandomAgent:
    """The measures that every run keeps, over the episodes of their arrays."""
    kept = {name: np.asarray(found[name], np.float64) for name in COMPARED}
    return RandomAgent(
        mean={name: np.mean(values) for name, values in kept.items()},
        std={name: np.std(values) for name, values in kept.items()},
    )


def unheard() -> RandomAgent:
    """Of a random agent that is measured all the time, before that: nothing, which weighs nothing."""
    nothing = dict.fromkeys(COMPARED, np.float32(0))
    return RandomAgent(mean=nothing, std=nothing, weight=np.float32(0))


def at_once(found: Mapping[str, Any], xp: Any) -> RandomAgent:
    """The random agent as several of its worlds show it at the same time."""
    mean = {name: xp.mean(values) for name, values in found.items()}
    std = {name: xp.std(values) for name, values in found.items()}
    return with_units(RandomAgent(mean, std, weight=xp.float32(len(next(iter(found.values()))))), xp)


def recent(random: RandomAgent, found: Mapping[str, Any], keep: float, xp: Any) -> RandomAgent:
    """Means and deviations with the latest measurements, what was known before weighing `keep` of what it did."""
    new = xp.float32(len(next(iter(found.values()))))
    before = xp.float32(keep) * (xp.float32(0) if random.weight is None else random.weight)
    share = new / (before + new)
    mean, std = {}, {}
    for name, values in found.items():
        shift = xp.mean(values) - random.mean[name]
        mean[name] = random.mean[name] + share * shift
        within = (1 - share) * xp.square(random.std[name]) + share * xp.var(values)
        std[name] = xp.sqrt(within + share * (1 - share) * xp.square(shift))
    return with_units(RandomAgent(mean, std, weight=before + new), xp)
