"""Streams: worlds without episodes, in which theta forgets instead of being reset and values go on for ever.

A stretch is `stretch` steps on one arm. At its end the bandit hears how far it was from what a random agent has *now*,
and chooses again; world, theta and clock go on. A world that ends by itself starts afresh, seen as a fresh world or as
a shock, and theta goes on; so does one that runs down, every `refill` steps. The random agent is a stream too: some
worlds beside the others always act at random, and a stretch is compared with theirs at the same time. What they came to
before would not do: after a change of the world it is off in one direction, which speaks for one arm and against the
other. *Scouts* are worlds that keep to one arm for ever: the arm that nobody would choose now is learned and heard of
all the same.

*Groups* are streams side by side: worlds in the same regime at all times, with a bandit and random worlds of their own.
What they have in common is the learner, which so sees all regimes at any time and forgets none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Facts
from sadapt.errors import UserError
from sadapt.fields import MOST
from sadapt.motivation import measures
from sadapt.motivation.bandits import Bandit, BanditState
from sadapt.motivation.death import treatment
from sadapt.motivation.episode import (
    Episode,
    EpisodeRules,
    Fresh,
    Stream,
    Summary,
    Terms,
    absorb,
    begin,
    ended_measures,
    judged,
    look,
)
from sadapt.motivation.feedback import COMPARED, Feedback, RandomAgent, at_once, unheard
from sadapt.motivation.marginals import MAX_COUNT, Marginal
from sadapt.motivation.sharing import by_group, choose, grouped, stay, ungrouped

Array = jax.Array
Told = dict[str, Array]


class Stretches(NamedTuple):
    """How a stream is cut into decisions."""

    steps: int
    """In a stretch."""
    random_envs: int
    """Worlds that always act at random."""
    scouts: int = 0
    """Worlds of each arm, the first ones of a group, that always play it."""
    groups: int = 1
    """Streams side by side."""
    stay: bool = False
    """Whether worlds stay on their arms as far as the bandit's choices allow: theta is then less of a mixture."""
    relative: bool = False
    """Whether surprise is paid in units of what the random agent has now."""
    refill: int | None = None
    """Steps after which the worlds start afresh; None: only when they end by themselves."""


def stream(
    env: Facts,
    marginal: Marginal,
    bandit: Bandit,
    *,
    feedback: Feedback,
    on_death: str,
    horizon: int,
    stretches: Stretches,
    death_is_terminal: bool,
) -> EpisodeRules:
    """Stretches in `env`; `horizon` is how long an excerpt is that is played outside of training."""
    filled = marginal.filled
    if filled is None:
        raise UserError(
            "a stream needs a marginal that forgets, since theta is never reset: give --half-life or --window"
        )
    groups, refill = stretches.groups, stretches.refill
    if refill is not None and refill >= MAX_COUNT:
        raise UserError(
            f"a stream must be refilled within less than {MAX_COUNT} steps; got {refill}: give a smaller --refill"
        )
    terms = Terms(
        env=env,
        marginal=marginal,
        bandit=bandit,
        feedback=feedback,
        on_death=treatment(env, "soft" if on_death == "end" else on_death),
        horizon=MOST,
        horizon_is_terminal=False,
        death_is_terminal=death_is_terminal,
        measures=measures.episode_measures(env.counters),
        clock=(lambda t: filled(jnp.minimum(t, MAX_COUNT))) if refill is None else partial(since_refill, refill),
        choose=partial(choose_beside, bandit, stretches.scouts),
        refill=refill,
    )
    return EpisodeRules(
        begin=partial(begin, terms),
        absorb=partial(absorb, terms),
        settle=partial(settle, terms, stretches),
        choose=partial(choose_all, terms, groups),
        look=partial(look, terms),
        restarts=lambda t, terminated: terminated if refill is None else terminated | ((t + 1) % refill == 0),
        horizon=horizon,
        measures=terms.measures,
        clock=terms.clock,
        bandit=bandit.init if groups == 1 else partial(several, bandit.init, groups),
        stream=Stream(
            stretches.steps,
            stretches.random_envs,
            partial(rejoin, terms),
            unheard=unheard if groups == 1 else partial(several, unheard, groups),
            groups=groups,
            refill=refill,
            **({"paid": partial(relative, groups)} if stretches.relative else {}),
        ),
    )


def since_refill(refill: int, t: Array) -> Array:
    """The share of the time between two refills that has passed."""
    return (t % refill).astype(jnp.float32) / refill


def several(init: Callable[[], Any], groups: int) -> Any:
    """A state for every group."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (groups, *jnp.shape(x))), init())


def relative(groups: int, random: RandomAgent, surprise: Array) -> Array:
    """(surprise - x_rand) / max(|x_rand|, deviation of x_rand) of the latest stretch: what the bandit hears, by steps.

    What a regime adds to every step, or multiplies it by, is the random agent's too. Before its first stretch: 0.
    """
    each = jax.tree.map(lambda x: jnp.repeat(x, len(surprise) // groups), random)
    assert each.unit is not None
    unit = jnp.where(each.unit["surprise"] > 0, each.unit["surprise"], 1.0)
    return jnp.where(each.weight > 0, (surprise - each.mean["surprise"]) / unit, 0.0)


def choose_all(terms: Terms, groups: int, key: Array, state: BanditState, wanted: Array) -> tuple[BanditState, Array]:
    """The arms of all worlds that want one, by the bandits of their groups."""
    if groups == 1:
        return terms.choose(key, state, wanted)
    state, arms = by_group(terms.choose, groups)(key, state, grouped(wanted, groups))
    return state, ungrouped(arms)


def scouted(arms: int, scouts: int, worlds: int) -> np.ndarray:
    """int32[worlds]: the arm that a scout keeps to, -1 where there is none."""
    return np.concatenate([np.repeat(np.arange(arms), scouts), np.full(worlds - arms * scouts, -1)]).astype(np.int32)


def choose_beside(
    bandit: Bandit, scouts: int, key: Array, state: BanditState, wanted: Array
) -> tuple[BanditState, Array]:
    """The bandit's arms for all worlds that want one and are no scouts."""
    kept = scouted(bandit.arms, scouts, len(wanted))
    state, arms = choose(bandit, key, state, wanted & (kept < 0))
    return state, jnp.where(kept < 0, arms, kept)


def rejoin(terms: Terms, episode: Episode, fresh: Fresh) -> Episode:
    """A fresh world, whose first observation is one more that theta has seen."""
    theta = terms.marginal.update(episode.marginal, terms.env.marginal_input(fresh.obs))
    return episode._replace(world=fresh.world, obs=terms.env.stacked(fresh.obs), marginal=theta)


def first_told(summary: Summary) -> Summary:
    """All groups' summaries as one in which the first group alone is told of, since the others' regimes are others."""
    closed = summary.closed.at[1:].set(False)
    return ungrouped(summary._replace(closed=closed, random=None))._replace(random=summary.random)


def settle(
    terms: Terms,
    stretches: Stretches,
    key: Array,
    state: BanditState,
    random: RandomAgent,
    ended: Episode,
    closed: Array,
    fresh: Fresh,
) -> tuple[BanditState, Episode, Summary]:
    """Ends all stretches at once, every so many steps: random worlds are heard first, then the bandit hears of others.

    All worlds have begun together and none is ever reset, so that they are at the same step.
    """
    others, groups = stretches.random_envs, stretches.groups

    def one_group(key: Array, state: BanditState, arm: Array, mine: Told, random: Told) -> Any:
        now = at_once(random, jnp)
        state, summary, arms = judged(terms, key, state, now, arm, mine, jnp.ones(len(arm), bool))
        decides = jnp.asarray(scouted(terms.bandit.arms, stretches.scouts, len(arms)) < 0)
        arms = stay(terms.bandit.arms, arm, arms) if stretches.stay else arms
        return state, summary._replace(random=now, closed=decides), arms

    def some(state: BanditState) -> tuple[BanditState, Summary, Array]:
        told = ended_measures(
            terms.measures,
            ended._replace(t=jnp.full_like(ended.t, stretches.steps)),
            jax.vmap(terms.marginal.entropy)(ended.marginal),
        )
        mine = (ended.arm[:-others], {name: values[:-others] for name, values in told.items()})
        given = (*mine, {name: told[name][-others:] for name in COMPARED})
        if groups > 1:
            given = grouped(given, groups)
        state, summary, arms = by_group(one_group, groups)(key, state, *given)
        if groups > 1:
            summary, arms = first_told(summary), ungrouped(arms)
        return state, summary, jnp.concatenate([arms, ended.arm[-others:]])

    def none(state: BanditState) -> tuple[BanditState, Summary, Array]:
        empty = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(some, state)[1])
        return state, empty._replace(random=random), ended.arm

    over = ended.t[0] % stretches.steps == 0
    state, summary, arms = jax.lax.cond(over, some, none, state)
    nothing = measures.begun(terms.measures, terms.env.counters)
    so_far = {name: jnp.where(over, nothing[name], values) for name, values in ended.so_far.items()}
    return state, ended._replace(arm=arms, so_far=so_far), summary
