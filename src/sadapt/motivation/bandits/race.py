"""A race between arms that change while they are learned: those that cannot be told apart take turns.

An arm's feedback rises as its policy is learned and as exploration falls. Three things follow: an old mean says
little; an arm that is pulled less is learned less, and then looks worse than it is; and the feedback's scale is not
known beforehand. So what an episode says fades with the share of all episodes that have come since: the s-th of t
weighs (s / t)^k, so that memory is always the same share 1 / (k + 1) of the past, however long the training is. With
n_i the weights' sum and mu_i, sigma_i the mean and deviation of arm i under these weights, arm i is out of the race if

    mu_best - mu_i  >  max(z sqrt(sigma_best^2 / n_best + sigma_i^2 / n_i), min(l, sigma))

and of those in it the one that was pulled least is next. Who is out is forgotten, so that n_i shrinks, and is tried
again when it can no longer be told from the best. The least lead l is for arms of which neither can do anything yet: a
difference of next to nothing may be certain, and says nothing of what they will have learned. Where the feedback's
scale is so small that l means nothing, a deviation of single episodes, sigma^2 = (sigma_best^2 + sigma_i^2) / 2, is
lead enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sadapt.fields import Checked, NotNegative, Share
from sadapt.motivation.arrays import array_module
from sadapt.motivation.bandits.base import LEAST, Bandit, Standing, abandoned, begun, highest, listened

PRIOR = 2.0
"""Episodes of the spread over all arms that an arm's own spread begins with."""


@dataclass(frozen=True)
class RaceSettings(Checked):
    """When arms are told apart."""

    race_z: NotNegative = 4.0
    """Standard errors between the recent means of two arms at which the worse one is out."""
    race_lead: NotNegative = 0.0
    """Least lead that counts (1 is what a random agent has); one standard deviation does where that is less."""
    race_memory: Share = 0.3
    """Share of past episodes that is remembered."""


class RaceState(NamedTuple):
    """Per arm: the recent feedback's mean, weight in episodes, squared deviations; episodes that ended, under way."""

    means: Any
    weights: Any
    squares: Any
    counts: Any
    pending: Any
    heard: Any
    """Episodes that ended altogether."""


def race(arms: int, settings: RaceSettings = RaceSettings(), *, xp: Any = None) -> Bandit:
    """Arms take turns until they can be told apart; without a least lead, a + b f gives the choices of f, b > 0."""
    xp = array_module(xp)
    power = xp.float32(1 / max(settings.race_memory, LEAST) - 1)
    least = xp.float32(LEAST)

    def init() -> RaceState:
        zeros = xp.zeros((arms,), xp.float32)
        return RaceState(zeros, zeros, zeros, xp.zeros((arms,), xp.int32), zeros, xp.zeros((), xp.int32))

    def variances(state: RaceState) -> Any:
        """sigma_i^2, drawn to the variance over all arms where an arm has been heard of little."""
        total = xp.maximum(xp.sum(state.weights), least)
        mean = xp.sum(state.weights * state.means) / total
        every = xp.sum(state.squares + state.weights * xp.square(state.means - mean)) / total
        return (state.squares + xp.float32(PRIOR) * every) / (state.weights + xp.float32(PRIOR))

    def select(draws: Any, state: RaceState) -> tuple[RaceState, Any]:
        spread = variances(state)
        errors = spread / xp.maximum(state.weights + state.pending, least)
        heard = state.counts > 0
        best = xp.argmax(xp.where(heard, state.means, xp.float32(-xp.inf)))
        behind = state.means[best] - state.means
        lead = xp.minimum(xp.float32(settings.race_lead), xp.sqrt((spread + spread[best]) / 2))
        out = heard & (behind > xp.maximum(xp.float32(settings.race_z) * xp.sqrt(errors + errors[best]), lead))
        pulls = xp.where(out, xp.float32(xp.inf), state.counts.astype(xp.float32) + state.pending)
        arm = highest(draws, -pulls, xp)
        return begun(state, arm, xp), arm

    def update(state: RaceState, arm: Any, feedback: Any) -> RaceState:
        heard = state.heard + 1
        fade = xp.power(state.heard.astype(xp.float32) / heard.astype(xp.float32), power)
        return listened(state, arm, feedback, fade, xp)._replace(heard=heard)

    def abandon(state: RaceState, arm: Any) -> RaceState:
        return abandoned(state, arm, xp)

    def standing(state: RaceState) -> Standing:
        return Standing(state.means, state.counts)

    def standard_errors(state: RaceState) -> Any:
        return xp.sqrt(variances(state) / xp.maximum(state.weights, least))

    return Bandit(
        init=init,
        select=select,
        update=update,
        abandon=abandon,
        standing=standing,
        arms=arms,
        errors=standard_errors,
    )
