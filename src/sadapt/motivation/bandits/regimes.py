"""A race in every regime of a world: which one it is, a random agent shows, and who won there is remembered.

With x = arsinh(mean surprise of the random agent now), nearly ln(2 surprise) from two nats on, the regime is the one
whose level m_r is nearest. An x that is further from all of them than `regimes_gap` deviations is a regime of its own,
as long as there is room for one; the deviation s is that of all x from the levels of their regimes:

    r = argmin_r |x - m_r|,    new if  |x - m_r| > gap max(s, 0.1)

Feedback is heard, and arms are chosen, by a `race` of this regime alone, so that the arm that was right when it was
last like this is back at once. A random agent does not learn: its levels stay the same for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sadapt.fields import Count, NotNegative, Positive
from sadapt.motivation.arrays import array_module
from sadapt.motivation.bandits.base import Bandit, Standing, abandoned, begun
from sadapt.motivation.bandits.race import RaceSettings, RaceState, race

NARROW = 0.1
"""Least deviation between stretches of one regime: a tenth of the surprise."""


@dataclass(frozen=True)
class RegimesSettings(RaceSettings):
    """When something counts as a regime of its own."""

    race_lead: NotNegative = 0.02
    """Least lead that counts (1 is what a random agent has); one standard deviation does where that is less."""
    regimes_most: Count = 4
    """Largest number of regimes; after that, everything belongs to the nearest one."""
    regimes_gap: Positive = 4.0
    """Standard deviations from all known regimes at which a new one begins."""


class RegimesState(NamedTuple):
    """A race for each regime, pulls under way, and how the regimes are told apart."""

    means: Any
    weights: Any
    squares: Any
    counts: Any
    heard: Any
    pending: Any
    level: Any
    """Mean of arsinh(surprise) of the random agent in each regime."""
    known: Any
    """Stretches in each regime."""
    squared: Any
    """Sum of squared deviations from these means."""
    now: Any
    """The regime that it is."""


def regimes(arms: int, settings: RegimesSettings = RegimesSettings(), *, xp: Any = None) -> Bandit:
    """`race`, apart for every regime that a random agent shows; without one to attend to there is one regime."""
    xp = array_module(xp)
    most = settings.regimes_most
    index, base = xp.arange(most), race(arms, settings, xp=xp)

    def init() -> RegimesState:
        zeros, whole = xp.zeros((most, arms), xp.float32), xp.zeros((most, arms), xp.int32)
        known, one = xp.zeros((most,), xp.int32), xp.zeros((), xp.int32)
        level = xp.zeros((most,), xp.float32)
        pending, squared = xp.zeros((arms,), xp.float32), xp.zeros((), xp.float32)
        return RegimesState(zeros, zeros, zeros, whole, known, pending, level, known, squared, one)

    def attend(state: RegimesState, random: Any) -> RegimesState:
        x = xp.arcsinh(random.mean["surprise"]).astype(xp.float32)
        met, seen = state.known > 0, xp.sum(state.known).astype(xp.float32)
        away = xp.where(met, xp.abs(x - state.level), xp.float32(xp.inf))
        nearest = xp.argmin(away)
        wide = xp.maximum(xp.sqrt(state.squared / xp.maximum(seen, xp.float32(1))), xp.float32(NARROW))
        new = (away[nearest] > xp.float32(settings.regimes_gap) * wide) & ~xp.all(met)
        now = xp.where(new, xp.argmin(met), nearest).astype(xp.int32)
        here = index == now
        known = state.known + here.astype(xp.int32)
        off = xp.where(new, xp.float32(0), x - state.level[now])
        level = xp.where(new & here, x, state.level)
        level = level + here.astype(xp.float32) * off / known.astype(xp.float32)[now]
        squared = state.squared + off * (x - level[now])
        return state._replace(level=level, known=known, squared=squared, now=now)

    def here(state: RegimesState) -> RaceState:
        """The race of the regime that it is."""
        now = state.now
        return RaceState(
            state.means[now],
            state.weights[now],
            state.squares[now],
            state.counts[now],
            state.pending,
            state.heard[now],
        )

    def select(draws: Any, state: RegimesState) -> tuple[RegimesState, Any]:
        arm = base.select(draws, here(state))[1]
        return begun(state, arm, xp), arm

    def update(state: RegimesState, arm: Any, feedback: Any) -> RegimesState:
        after, mine = base.update(here(state), arm, feedback), index == state.now
        rows = {name: getattr(after, name) for name in ("means", "weights", "squares", "counts")}
        put = {name: xp.where(mine[:, None], row, getattr(state, name)) for name, row in rows.items()}
        return state._replace(**put, heard=xp.where(mine, after.heard, state.heard), pending=after.pending)

    def abandon(state: RegimesState, arm: Any) -> RegimesState:
        return abandoned(state, arm, xp)

    def standing(state: RegimesState) -> Standing:
        return Standing(state.means[state.now], xp.sum(state.counts, axis=0))

    return Bandit(init=init, select=select, update=update, abandon=abandon, standing=standing, arms=arms, attend=attend)
