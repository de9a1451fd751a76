"""UCB for arms that change while they are learned: by recent feedback, in units of its own spread.

An arm's feedback rises as its policy is learned and as exploration falls, so an old mean says little, and less of an
arm that was left early. What an episode says fades with the share of all episodes that have come since: the s-th of t
weighs (s / t)^k, so that memory is always the same share 1 / (k + 1) of the past, however long the training is.

    argmax_i  mu_i + c sigma_i sqrt(log t / n_i)

with n_i the weights' sum, mu_i and sigma_i mean and deviation of arm i under these weights. Arms are compared while
they are as noisy as they differ; an arm that was left is forgotten, and tried again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sadapt.fields import Checked, NotNegative, Share
from sadapt.motivation.arrays import array_module
from sadapt.motivation.bandits.base import Bandit, Standing, abandoned, begun

PRIOR = 2.0
"""Episodes of the spread over all arms that an arm's own spread begins with."""
LEAST = 1e-3
"""Least number of episodes that a bonus is divided by."""


@dataclass(frozen=True)
class RecentSettings(Checked):
    """How eagerly the other arm is tried, and how soon what it gave is forgotten."""

    recent_c: NotNegative = 2.0
    """Exploration of the bandit, in deviations of the arm's recent feedback."""
    recent_memory: Share = 0.1
    """Share of the past that is remembered."""


class RecentState(NamedTuple):
    """Per arm: the recent feedback's mean, weight in episodes, squared deviations; episodes that ended, under way."""

    means: Any
    weights: Any
    squares: Any
    counts: Any
    pending: Any
    heard: Any
    """Episodes that ended altogether."""


def recent(arms: int, settings: RecentSettings = RecentSettings(), *, xp: Any = None) -> Bandit:
    """Feedback a + b f gives the same choices as f, for any b > 0; an arm never heard of goes first.

    The one with the fewest episodes under way before the others; equal scores are decided by the larger draw.
    """
    xp = array_module(xp)
    index = xp.arange(arms)
    power = xp.float32(1 / max(settings.recent_memory, 1e-6) - 1)

    def init() -> RecentState:
        zeros = xp.zeros((arms,), xp.float32)
        return RecentState(zeros, zeros, zeros, zeros, zeros, xp.zeros((), xp.int32))

    def spreads(state: RecentState) -> Any:
        """sigma_i^2, drawn to the variance over all arms where an arm has been heard of little."""
        total = xp.maximum(xp.sum(state.weights), xp.float32(1e-6))
        mean = xp.sum(state.weights * state.means) / total
        every = xp.sum(state.squares + state.weights * xp.square(state.means - mean)) / total
        return (state.squares + xp.float32(PRIOR) * every) / (state.weights + xp.float32(PRIOR))

    def select(draws: Any, state: RecentState) -> tuple[RecentState, Any]:
        pulls = xp.maximum(state.weights + state.pending, xp.float32(LEAST))
        log_total = xp.log(xp.maximum(state.heard.astype(xp.float32) + xp.sum(state.pending), xp.float32(1)))
        bonus = xp.float32(settings.recent_c) * xp.sqrt(spreads(state) * log_total / pulls)
        scores = xp.where(state.counts > 0, state.means + bonus, xp.float32(xp.inf))
        waiting = xp.where(xp.isinf(scores), -state.pending, xp.float32(0))
        best = (scores == xp.max(scores)) & (waiting == xp.max(xp.where(scores == xp.max(scores), waiting, -xp.inf)))
        arm = xp.argmax(xp.where(best, draws, xp.float32(-1))).astype(xp.int32)
        return begun(state, arm, xp), arm

    def update(state: RecentState, arm: Any, feedback: Any) -> RecentState:
        pulled = (index == arm).astype(xp.float32)
        heard = state.heard + 1
        fade = xp.power(state.heard.astype(xp.float32) / heard.astype(xp.float32), power)
        weights = fade * state.weights + pulled
        away = pulled * (feedback - state.means)
        means = state.means + away / xp.maximum(weights, xp.float32(1e-6))
        squares = fade * state.squares + away * (feedback - means)
        counts = state.counts + pulled
        return abandon(state, arm)._replace(means=means, weights=weights, squares=squares, counts=counts, heard=heard)

    def abandon(state: RecentState, arm: Any) -> RecentState:
        return abandoned(state, arm, xp)

    def standing(state: RecentState) -> Standing:
        return Standing(state.means, state.counts)

    return Bandit(init=init, select=select, update=update, abandon=abandon, standing=standing, arms=arms)
