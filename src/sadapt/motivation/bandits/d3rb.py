"""D3RB (Pacchiano, Dann and Gentile, 2023): arms are learners, whose regret is kept in balance.

Each arm has an estimate d_i of its regret per root of its pulls. The arm with the least d_i sqrt(n_i) is pulled; an arm
that does too badly to be consistent with its estimate has it doubled:

    u_i / n_i + d_i / sqrt(n_i) + b_i  <  max_j (u_j / n_j - b_j),     b_i = c sqrt(ln(M ln n_i / delta) / n_i)

with u_i the sum of its feedback (kept as the mean u_i / n_i) and M the number of arms. It needs to know neither the
arms' learning curves nor when the training ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sadapt.fields import Checked, Positive, Share
from sadapt.motivation.arrays import array_module, carried
from sadapt.motivation.bandits.base import Bandit, Standing, abandoned, begun, highest


@dataclass(frozen=True)
class D3RBSettings(Checked):
    """Balancing the arms' regret, in units of the feedback."""

    d3rb_c: Positive = 1.0
    """Width of the confidence interval around an arm's mean."""
    d3rb_start: Positive = 1.0
    """Initial estimate of each arm's regret, per square root of its pulls."""
    d3rb_delta: Share = 0.05
    """Acceptable probability of a wrong doubling."""


class D3RBState(NamedTuple):
    """Per arm: mean of its feedback, episodes that ended, that are under way, and the estimate of its regret."""

    means: Any
    counts: Any
    pending: Any
    regret: Any
    lost: Any
    """What rounding has cut off the means, so far."""


def d3rb(arms: int, settings: D3RBSettings = D3RBSettings(), *, xp: Any = None) -> Bandit:
    """Regret balancing with estimates that double; an arm never pulled goes first, ties are broken at random."""
    xp = array_module(xp)
    index = xp.arange(arms)

    def init() -> D3RBState:
        zeros = xp.zeros((arms,), xp.float32)
        regret = xp.full((arms,), settings.d3rb_start, xp.float32)
        return D3RBState(zeros, xp.zeros((arms,), xp.int32), zeros, regret, lost=zeros)

    def standing(state: D3RBState) -> Standing:
        return Standing(state.means, state.counts)

    def select(draws: Any, state: D3RBState) -> tuple[D3RBState, Any]:
        balance = state.regret * xp.sqrt(state.counts.astype(xp.float32) + state.pending)
        arm = highest(draws, -balance, xp)
        return begun(state, arm, xp), arm

    def update(state: D3RBState, arm: Any, feedback: Any) -> D3RBState:
        pulled = index == arm
        counts = state.counts + pulled.astype(xp.int32)
        n = xp.maximum(counts, 1).astype(xp.float32)
        means, lost = carried(xp, pulled, state.means, state.lost, (feedback - state.means) / n)
        inner = xp.float32(arms / settings.d3rb_delta) * xp.maximum(xp.log(n), xp.float32(1))
        width = xp.float32(settings.d3rb_c) * xp.sqrt(xp.log(inner) / n)
        best = xp.max(xp.where(counts > 0, means - width, xp.float32(-xp.inf)))
        failing = (means + state.regret / xp.sqrt(n) + width < best) & pulled
        regret = xp.where(failing, 2 * state.regret, state.regret)
        return abandon(state, arm)._replace(means=means, counts=counts, regret=regret, lost=lost)

    def abandon(state: D3RBState, arm: Any) -> D3RBState:
        return abandoned(state, arm, xp)

    return Bandit(init=init, select=select, update=update, abandon=abandon, standing=standing, arms=arms)
