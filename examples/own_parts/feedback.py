"""Two measures at once: the larger of the distances of entropy and of mean surprise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sadapt.fields import Checked, NotNegative
from sadapt.motivation.arrays import array_module
from sadapt.motivation.feedback import Feedback, Measures, RandomAgent, distance
from sadapt.registry import register


@dataclass(frozen=True)
class FurtherSettings(Checked):
    """How the two are weighted."""

    surprise_weight: NotNegative = 1.0
    """Weight of the distance of surprise."""


def further(settings: FurtherSettings = FurtherSettings(), xp: Any = None) -> Feedback:
    """f = max(d(entropy), w d(surprise)), with d(x) = |x - x_rand| in units of the random agent."""
    xp = array_module(xp)
    weights = {"entropy": 1.0, "surprise": settings.surprise_weight}

    def hear(measures: Measures, random: RandomAgent, arm: Any) -> Any:
        far = [w * abs(distance(measures[of], random, of, xp)) for of, w in weights.items()]
        return xp.maximum(*far)

    return Feedback(hear, of="entropy")


register("feedback", "further", further, settings=FurtherSettings)
