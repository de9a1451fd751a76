"""Signals that are dead, each said in one line: what was seen, what it means and what to change.

Nothing is refused here: a world may wake up under a better agent than a random one. Settings are spelled by whoever
asks, as flags or as keywords.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from sadapt.motivation.bandits import Standing
from sadapt.motivation.feedback import RandomAgent
from sadapt.motivation.marginals import Marginal
from sadapt.motivation.objectives import ARMS

log = logging.getLogger(__name__)
Spell = Callable[[str], str]
"""A setting's name as the reader gives it."""
FLOORS = {
    True: ("probability_clip", "std_floor", "feature_std_floor"),
    False: ("std_floor", "feature_std_floor", "probability_clip"),
}
"""Settings of marginals that keep their entropy from falling further, by whether entries are bits."""
ON_FLOOR = 3e-4
"""An entropy this close to its least, relative to it, is at its least; float32 is off by half as much."""
SAME = 2e-5
"""Episodes whose deviation is less than this, relative to their mean, are the same; float32 adds up a tenth of it."""
NOISE = 2.0
"""Standard errors within which two means are the same."""


def on_the_floor(random: RandomAgent, marginal: Marginal, settings: Any, spell: Spell, *, binary: bool) -> str | None:
    """Whether all entries of the marginal, which was made by these settings, end random play on their floor or clip."""
    least, found = marginal.least_entropy, float(random.mean["entropy"])
    if least is None or not abs(found - least) <= ON_FLOOR * abs(least):
        return None
    name = next((name for name in FLOORS[binary] if hasattr(settings, name)), None)
    return (
        f"random play leaves every entry of the marginal on its floor: its entropy is {found:.4g}, the lowest "
        "possible, as if nothing ever changed, so that surprise says next to nothing about what the agent does. "
        + (f"Lower {spell(name)}, which is {getattr(settings, name):g}, or give" if name else "Give")
        + f" another {spell('marginal')} or other observations"
    )


def without_spread(random: RandomAgent, of: str, measured: int, spell: Spell) -> str | None:
    """Whether `measured` measurements of random play are all the same; a feedback of one's own may go by others."""
    if of not in random.mean or measured < 2:
        return None
    mean, std = float(random.mean[of]), float(random.std[of])
    if not std <= SAME * max(abs(mean), 1.0):
        return None
    return (
        f"the {of} of all random episodes is the same ({mean:.4g}): actions seem not to affect what is seen, "
        "and the bandit may get the same feedback for both arms. Use a "
        f"{spell('feedback')} or {spell('marginal')} by which episodes differ, or other observations"
    )


def undecided(standing: Standing, errors: Any, of: str, spell: Spell) -> str | None:
    """Whether the best two arms differ by no more than noise: `errors` are the standard errors of their means."""
    means, counts, errors = (np.asarray(each, np.float64) for each in (*standing, errors))
    second, best = np.argsort(means)[-2:]
    apart = means[best] - means[second] > max(NOISE * math.hypot(errors[best], errors[second]), SAME)
    if counts.min() > 0 and apart:
        return None
    told = ", ".join(
        f"{mean:.4g} over {int(count):,} episodes of {arm}"
        for arm, mean, count in zip(ARMS, means, counts, strict=True)
    )
    return (
        f"the bandit has not decided: the arms' mean feedback, {told}, differs by no more than noise, so the "
        f"direction it prefers is chance. Train longer, or use another {spell('feedback')} or {spell('marginal')}; "
        f"`sadapt probe` shows how far either direction can move {of} in this world"
    )


def noise_of_random(random: RandomAgent, of: str, counts: Any) -> Any:
    """Standard errors of mean feedback over so many episodes, if these differ as random ones do."""
    unit = max(abs(float(random.mean[of])), float(random.std[of])) if of in random.mean else 0.0
    deviation = float(random.std[of]) / unit if unit > 0 else 0.0
    return deviation / np.sqrt(np.maximum(np.asarray(counts, np.float64), 1))


def warn(doubts: Iterable[str]) -> None:
    """Says each in a line of its own, once."""
    for doubt in dict.fromkeys(doubts):
        log.warning("warning: %s", doubt)


def told_in(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The warnings that a stored record holds; anything else that stands in their place is none."""
    found = record.get("warnings")
    return tuple(" ".join(each.split()) for each in found if isinstance(each, str)) if isinstance(found, list) else ()
