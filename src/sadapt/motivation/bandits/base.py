"""The contract of a bandit, which chooses the episode's arm, of any number: 0 = maximise surprise, 1 = minimise it.

Chance stays with the caller, who passes uniform draws that break ties. Episodes that have begun and not yet ended are
*pending*: they count as pulls, so that worlds side by side spread over the arms instead of all taking one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

BanditState = Any
LEAST = 1e-6
"""Least weight that anything is divided by."""


class Standing(NamedTuple):
    """A bandit's estimates, for display: the feedback expected from each arm, and how many of its episodes ended."""

    means: Any
    counts: Any


class Bandit(NamedTuple):
    """A choice among arms that learns from feedback."""

    init: Callable[[], BanditState]
    select: Callable[[Any, BanditState], tuple[BanditState, Any]]
    """`select(draws, state) -> (state, arm)`, `draws` uniform in [0, 1) per arm; the pull is pending from then on."""
    update: Callable[[BanditState, Any, Any], BanditState]
    """`update(state, arm, feedback) -> state`, closing one pending pull of `arm`."""
    abandon: Callable[[BanditState, Any], BanditState]
    """`abandon(state, arm) -> state`, as if one pending pull of `arm` had never been."""
    standing: Callable[[BanditState], Standing]
    arms: int
    errors: Callable[[BanditState], Any] | None = None
    """`errors(state)`: standard errors of the means, for bandits that know them."""
    attend: Callable[[BanditState, Any], BanditState] | None = None
    """`attend(state, random agent) -> state`: what a random agent has now, before its stretch is heard of; in streams,
    for bandits that go by it."""


def highest(draws: Any, scores: Any, xp: Any) -> Any:
    """The arm with the highest score; of several, the one with the largest draw."""
    return xp.argmax(xp.where(scores == xp.max(scores), draws, xp.float32(-1))).astype(xp.int32)


def begun(state: BanditState, arm: Any, xp: Any) -> BanditState:
    """The state with one more episode of `arm` under way, for states that count them in `pending`."""
    return state._replace(pending=state.pending + (xp.arange(len(state.pending)) == arm).astype(xp.float32))


def abandoned(state: BanditState, arm: Any, xp: Any) -> BanditState:
    """The same with one less."""
    one = (xp.arange(len(state.pending)) == arm).astype(xp.float32)
    return state._replace(pending=xp.maximum(state.pending - one, 0))


def listened(state: BanditState, arm: Any, feedback: Any, keep: Any, xp: Any) -> BanditState:
    """The state with one feedback more, all others weighing `keep` of what they did, and one pull of `arm` less.

    Per arm it holds `means` under these weights, their sums (`weights`), squared deviations (`squares`) and `counts`.
    """
    pulled = xp.arange(len(state.pending)) == arm
    one = pulled.astype(xp.float32)
    weights = keep * state.weights + one
    away = one * (feedback - state.means)
    means = state.means + away / xp.maximum(weights, xp.float32(LEAST))
    squares = keep * state.squares + away * (feedback - means)
    counts = state.counts + pulled.astype(xp.int32)
    return abandoned(state, arm, xp)._replace(means=means, weights=weights, squares=squares, counts=counts)
