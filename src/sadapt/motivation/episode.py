"""Episodes: the one place that resets, counts time, treats deaths, closes episodes and feeds the bandit.

A step of training is: the learner acts, the world answers, `absorb` turns the answer into a transition, `settle` closes
what has ended and begins anew. `begin`, `absorb` and `look` are for one world and vmapped by the caller; `settle` is
for all worlds side by side, which share one bandit. `stream` has the rules without resets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from sadapt.envs.base import Facts, Step
from sadapt.errors import UserError
from sadapt.motivation import measures
from sadapt.motivation.augmented import Augmented
from sadapt.motivation.bandits import Bandit, BanditState
from sadapt.motivation.death import Treatment, treatment
from sadapt.motivation.feedback import COMPARED, Feedback, RandomAgent, distance, of_entropy, own_way
from sadapt.motivation.marginals import MAX_COUNT, Marginal, MarginalState
from sadapt.motivation.measures import EndFacts, HeardFacts, Measure, StepFacts
from sadapt.motivation.sharing import choose, select, tell
from sadapt.rarely import rarely

Array = jax.Array


class Episode(NamedTuple):
    """One world in the middle of an episode."""

    world: Any
    obs: Array
    """What the policy sees of the world: the latest observation, or a stack of them."""
    marginal: MarginalState
    t: Array
    arm: Array
    so_far: dict[str, Array]
    """What is measured of the steps so far."""


class Fresh(NamedTuple):
    """A world that could start now; used only where one must."""

    world: Any
    obs: Array


class Answer(NamedTuple):
    """What the world made of an action, and a fresh start in case it is needed."""

    world: Any
    step: Step
    fresh: Fresh


class Transition(NamedTuple):
    """One step as learners remember it: raw parts of the reward, never the reward itself."""

    t: Array
    arm: Array
    extrinsic: Array
    surprise: Array
    successor: Array
    """The true next observation, also of a last step."""
    marginal: MarginalState
    """The marginal with `successor` added, before any restart."""
    closed: Array
    """What is seen next does not follow from this step: the episode ended, or a stream goes on with another arm."""
    terminal: Array
    """No value lies beyond this step."""


class Summary(NamedTuple):
    """An episode that has ended; rows with `closed` false hold nothing."""

    closed: Array
    arm: Array
    measures: dict[str, Array]
    random: RandomAgent | None = None
    """What a random agent has by now, where it is measured all the time."""


class EpisodeRules(NamedTuple):
    """How episodes run in one world."""

    begin: Callable[[Fresh, Array], Episode]
    absorb: Callable[[Array, Episode, Answer], tuple[Episode, Transition]]
    settle: Callable[[Array, BanditState, RandomAgent, Episode, Array, Fresh], tuple[BanditState, Episode, Summary]]
    """`settle(key, bandit, random agent, episodes, closed, fresh) -> (bandit, episodes, summary)`."""
    choose: Callable[[Array, BanditState, Array], tuple[BanditState, Array]]
    """`choose(key, bandit, wanted) -> (bandit, arms)`."""
    look: Callable[[Episode], Augmented]
    restarts: Callable[[Any, Any], Any]
    """`restarts(t, terminated)`: whether the step taken at time t leaves a world that must start afresh."""
    horizon: int
    measures: tuple[Measure, ...]
    """What is told of an episode."""
    clock: Callable[[Array], Array]
    """`clock(t)`: the time that the policy sees."""
    bandit: Callable[[], BanditState]
    """The bandit's state, or those of all groups, before the first choice."""
    stream: Stream | None = None

    def told(self, each: Any) -> Any:
        """Of what every group has, a bandit or a random agent, that of the group that is told of: the first."""
        grouped = self.stream is not None and self.stream.groups > 1
        return jax.tree.map(lambda x: x[0], each) if grouped else each


class Stream(NamedTuple):
    """Where nothing is ever reset: steps between decisions, worlds (the last ones) that always act at random."""

    stretch: int
    random_envs: int
    rejoin: Callable[[Episode, Fresh], Episode]
    """`rejoin(episode, fresh)`: theta goes on in a world that had to be started afresh."""
    unheard: Callable[[], RandomAgent]
    """The random agent, or those of all groups, before the first stretch has ended."""
    groups: int = 1
    """Of worlds in the same regime, each with a bandit and random worlds of its own."""
    refill: int | None = None
    """Steps after which the worlds start afresh; None: only when they end by themselves."""
    paid: Callable[[RandomAgent, Array], Array] = lambda random, surprise: surprise
    """`paid(random agent, surprise) -> surprise` as it is paid for, of the worlds that are learned in."""


class Terms(NamedTuple):
    """All that the functions below take as given."""

    env: Facts
    marginal: Marginal
    bandit: Bandit
    feedback: Feedback
    on_death: Treatment
    horizon: int
    horizon_is_terminal: bool
    death_is_terminal: bool
    measures: tuple[Measure, ...]
    clock: Callable[[Array], Array]
    choose: Callable[[Array, BanditState, Array], tuple[BanditState, Array]]
    refill: int | None = None


def episodes(
    env: Facts,
    marginal: Marginal,
    bandit: Bandit,
    *,
    feedback: Feedback | None = None,
    on_death: str = "end",
    horizon: int | None = None,
    horizon_is_terminal: bool = True,
    death_is_terminal: bool = False,
) -> EpisodeRules:
    """Episodes of `horizon` steps in `env`.

    A death before the horizon ends the episode (`end`), or restarts the world while theta, t and alpha go on to the
    horizon (`soft`: it is seen as the fresh world; `shock`: as a random observation). The horizon cuts values if
    `horizon_is_terminal`; a survived death does if `death_is_terminal`.
    """
    last = env.horizon if horizon is None else horizon
    if not 1 <= last < MAX_COUNT:
        raise UserError(f"the horizon must be at least 1 step and less than {MAX_COUNT}; got {last}")
    treated = treatment(env, on_death)
    terms = Terms(
        env=env,
        marginal=marginal,
        bandit=bandit,
        feedback=of_entropy() if feedback is None else feedback,
        on_death=treated,
        horizon=last,
        horizon_is_terminal=horizon_is_terminal,
        death_is_terminal=death_is_terminal or treated.ends,
        measures=measures.episode_measures(env.counters),
        clock=lambda t: t.astype(jnp.float32) / last,
        choose=partial(choose, bandit),
    )
    return EpisodeRules(
        begin=partial(begin, terms),
        absorb=partial(absorb, terms),
        settle=partial(settle, terms),
        choose=terms.choose,
        look=partial(look, terms),
        restarts=lambda t, terminated: terminated | (t + 1 >= last),
        horizon=last,
        measures=terms.measures,
        clock=terms.clock,
        bandit=bandit.init,
    )


def begin(terms: Terms, fresh: Fresh, arm: Array) -> Episode:
    """An episode that has seen its first observation and nothing else."""
    env, marginal = terms.env, terms.marginal
    return Episode(
        world=fresh.world,
        obs=env.stacked(fresh.obs),
        marginal=marginal.update(marginal.init(), env.marginal_input(fresh.obs)),
        t=jnp.zeros((), jnp.int32),
        arm=arm,
        so_far=measures.begun(terms.measures, env.counters),
    )


def absorb(terms: Terms, key: Array, episode: Episode, answer: Answer) -> tuple[Episode, Transition]:
    """The world's answer as a transition, -log p_theta(s) asked before s is added to theta."""
    step, death, t = answer.step, answer.step.terminated, episode.t + 1
    world, successor, closed = answer.world, step.obs, t >= terms.horizon
    if terms.on_death.ends:
        closed = closed | death
    else:
        # The barrier: else the remainder is worked out anew for every cell that is chosen by it.
        again = death if terms.refill is None else jax.lax.optimization_barrier(death | (t % terms.refill == 0))
        world = select(again, answer.fresh.world, world)
        if terms.refill is not None or terms.on_death.shock is None:
            successor = jnp.where(again, answer.fresh.obs, successor)
        if terms.on_death.shock is not None:
            successor = rarely(death, terms.on_death.shock, successor, key)
    marginal_input = terms.env.marginal_input(successor)
    surprise = -terms.marginal.log_prob(episode.marginal, marginal_input)
    theta = terms.marginal.update(episode.marginal, marginal_input)
    facts = StepFacts(reward=step.reward, surprise=surprise, death=death, counters=step.counters)
    after = Episode(
        world=world,
        obs=terms.env.pushed(episode.obs, successor),
        marginal=theta,
        t=t,
        arm=episode.arm,
        so_far=measures.stepped(terms.measures, episode.so_far, facts),
    )
    return after, Transition(
        t=episode.t,
        arm=episode.arm,
        extrinsic=step.reward,
        surprise=surprise,
        successor=successor,
        marginal=theta,
        closed=closed,
        terminal=(closed & terms.horizon_is_terminal) | (death & terms.death_is_terminal),
    )


def look(terms: Terms, episode: Episode) -> Augmented:
    """The augmented observation (s, theta, t/T, alpha)."""
    return Augmented(
        obs=episode.obs,
        theta=terms.marginal.features(episode.marginal),
        time=terms.clock(episode.t),
        arm=episode.arm.astype(jnp.float32),
    )


def ended_measures(table: tuple[Measure, ...], ended: Episode, entropy: Array) -> dict[str, Array]:
    """What is told of an episode from its last state and its marginal's entropy."""
    return measures.finished(table, ended.so_far, EndFacts(length=ended.t, entropy=entropy))


def compared(
    table: tuple[Measure, ...], told: dict[str, Array], random: RandomAgent, f: Array, arm: Array
) -> dict[str, Array]:
    """The same with the feedback, and with how far each measure that is kept of a random agent has moved."""
    moved = {name: distance(told[name], random, name, jnp) for name in COMPARED}
    away = {name: abs(each) for name, each in moved.items()}
    pushed = own_way(moved["entropy"], arm, jnp)
    return measures.heard(table, told, HeardFacts(feedback=f, distance=away, pushed=pushed))


def judged(
    terms: Terms, key: Array, state: BanditState, random: RandomAgent, arm: Array, told: dict[str, Array], closed: Array
) -> tuple[BanditState, Summary, Array]:
    """The bandit that has heard of what closed and chosen anew, what is told of it, and the arms."""
    f = jax.vmap(terms.feedback.hear, in_axes=(0, None, 0))(told, random, arm)
    if terms.bandit.attend is not None:
        state = terms.bandit.attend(state, random)
    state = tell(terms.bandit, state, arm, f, closed)
    state, arms = terms.choose(key, state, closed)
    summary = Summary(closed=closed, arm=arm, measures=compared(terms.measures, told, random, f, arm))
    return state, summary, arms


def settle(
    terms: Terms, key: Array, state: BanditState, random: RandomAgent, ended: Episode, closed: Array, fresh: Fresh
) -> tuple[BanditState, Episode, Summary]:
    """Closes the episodes that have ended, tells the bandit, and begins new ones on the arms that it picks."""

    def some(state: BanditState) -> tuple[BanditState, Summary, Array]:
        told = ended_measures(terms.measures, ended, jax.vmap(terms.marginal.entropy)(ended.marginal))
        return judged(terms, key, state, random, ended.arm, told, closed)

    def none(state: BanditState) -> tuple[BanditState, Summary, Array]:
        empty = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(some, state)[1])
        return state, empty, jnp.full(closed.shape, -1, jnp.int32)

    state, summary, arms = jax.lax.cond(jnp.any(closed), some, none, state)
    begun = jax.vmap(partial(begin, terms))(fresh, arms)
    return state, jax.vmap(select)(closed, begun, ended), summary
