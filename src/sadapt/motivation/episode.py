"""Episodes: the one place that resets, counts time, treats deaths, closes episodes and feeds the bandit.

A step of the training program is: the learner acts, the world answers, `absorb` turns the answer into a transition,
`settle` closes what has ended and begins anew. `begin`, `absorb` and `look` are for one world and vmapped by the
caller; `settle` is for all worlds side by side, because they share one bandit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Facts, Step
from sadapt.errors import UserError, nearest
from sadapt.motivation.augmented import Augmented
from sadapt.motivation.bandits import Bandit, BanditState
from sadapt.motivation.marginals import MAX_COUNT, Marginal, MarginalState
from sadapt.motivation.objectives import feedback

Array = jax.Array
ON_DEATH = ("end", "soft", "shock")


class Totals(NamedTuple):
    """Sums over the episode so far."""

    reward: Array
    surprise: Array
    deaths: Array
    counters: dict[str, Array]


class Episode(NamedTuple):
    """One world in the middle of an episode."""

    world: Any
    obs: Array
    """What the policy sees of the world: the latest observation, or a stack of them."""
    marginal: MarginalState
    t: Array
    arm: Array
    totals: Totals


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
    death: Array
    closed: Array
    """The episode ended with this step."""
    terminal: Array
    """No value lies beyond this step."""


class Summary(NamedTuple):
    """An episode that has ended; rows with `closed` false hold nothing."""

    closed: Array
    reward: Array
    length: Array
    deaths: Array
    surprise: Array
    """Mean over the episode's steps."""
    entropy: Array
    """H(p_theta_T) of the final marginal."""
    feedback: Array
    arm: Array
    counters: dict[str, Array]


class Episodes(NamedTuple):
    """How episodes run in one world."""

    begin: Callable[[Fresh, Array], Episode]
    absorb: Callable[[Array, Episode, Answer], tuple[Episode, Transition]]
    settle: Callable[..., tuple[BanditState, Episode, Summary]]
    choose: Callable[[Array, BanditState, Array], tuple[BanditState, Array]]
    look: Callable[[Episode], Augmented]
    restarts: Callable[[Any, Any], Any]
    """`restarts(t, terminated)`: whether the step taken at time t leaves a world that must start afresh."""
    horizon: int


def random_observation(env: Facts) -> Callable[[Array], Array]:
    """Draws an observation that carries no information: fair coin flips, or uniform between the bounds."""
    if not np.isfinite([env.low, env.high]).all():
        raise UserError(
            f"on_death 'shock' needs bounded observations to draw from; {env.name!r} gives values in "
            f"[{env.low:g}, {env.high:g}]: use --on-death soft or end"
        )
    if env.binary:
        return lambda key: (jax.random.bits(key, env.obs_shape, jnp.uint8) & 1).astype(env.obs_dtype)
    if np.issubdtype(np.dtype(env.obs_dtype), np.integer):
        return lambda key: jax.random.randint(key, env.obs_shape, int(env.low), int(env.high) + 1, env.obs_dtype)
    return lambda key: jax.random.uniform(key, env.obs_shape, env.obs_dtype, env.low, env.high)


def select(which: Array, yes: Any, no: Any) -> Any:
    """Leaf by leaf, `yes` where the scalar `which` holds, else `no`."""
    return jax.tree.map(lambda a, b: jnp.where(which, a, b), yes, no)


def episodes(
    env: Facts,
    marginal: Marginal,
    bandit: Bandit,
    *,
    on_death: str = "end",
    horizon: int | None = None,
    horizon_is_terminal: bool = True,
    death_is_terminal: bool = False,
) -> Episodes:
    """Episodes of `horizon` steps in `env`.

    A death before the horizon ends the episode (`end`), or restarts the world while theta, t and alpha go on to the
    horizon (`soft`: it is seen as the fresh world; `shock`: as a random observation). The horizon cuts values if
    `horizon_is_terminal`; a survived death does if `death_is_terminal`.
    """
    if on_death not in ON_DEATH:
        raise UserError(f"unknown on_death {on_death!r}: {nearest(on_death, ON_DEATH)}")
    last = env.horizon if horizon is None else horizon
    if not 1 <= last < MAX_COUNT:
        raise UserError(f"the horizon must be at least 1 step and less than {MAX_COUNT}; got {last}")
    shock = random_observation(env) if on_death == "shock" else None
    deadly = death_is_terminal or on_death == "end"

    def begin(fresh: Fresh, arm: Array) -> Episode:
        zero, none = jnp.zeros((), jnp.float32), jnp.zeros((), jnp.int32)
        counters = {name: jnp.zeros((), jnp.float32) for name in env.counters}
        return Episode(
            world=fresh.world,
            obs=env.stacked(fresh.obs),
            marginal=marginal.update(marginal.init(), env.seen(fresh.obs)),
            t=none,
            arm=arm,
            totals=Totals(zero, zero, none, counters),
        )

    def absorb(key: Array, episode: Episode, answer: Answer) -> tuple[Episode, Transition]:
        step, death = answer.step, answer.step.terminated
        t = episode.t + 1
        world, successor, closed = answer.world, step.obs, t >= last
        if on_death == "end":
            closed = closed | death
        else:
            seen_as = answer.fresh.obs if shock is None else shock(key)
            world = select(death, answer.fresh.world, world)
            successor = jnp.where(death, seen_as, successor)
        seen = env.seen(successor)
        surprise = -marginal.log_prob(episode.marginal, seen)
        state = marginal.update(episode.marginal, seen)
        totals = Totals(
            reward=episode.totals.reward + step.reward,
            surprise=episode.totals.surprise + surprise,
            deaths=episode.totals.deaths + death.astype(jnp.int32),
            counters={
                name: total + step.counters[name].astype(jnp.float32) for name, total in episode.totals.counters.items()
            },
        )
        terminal = (closed & horizon_is_terminal) | (death & deadly)
        transition = Transition(
            episode.t, episode.arm, step.reward, surprise, successor, state, death, closed, terminal
        )
        seen_by_policy = env.pushed(episode.obs, successor)
        return Episode(world, seen_by_policy, state, t, episode.arm, totals), transition

    def choose(key: Array, state: BanditState, wanted: Array) -> tuple[BanditState, Array]:
        """One arm after another for every world that wants one; an entry of -1 for the others."""
        draws = jax.random.uniform(key, (*wanted.shape, bandit.arms))

        def one(state: BanditState, item: tuple[Array, Array]) -> tuple[BanditState, Array]:
            draw, wants = item
            pulled, arm = bandit.select(draw, state)
            return select(wants, pulled, state), jnp.where(wants, arm, -1)

        return jax.lax.scan(one, state, (draws, wanted))

    def report(state: BanditState, h_random: Array, ended: Episode, closed: Array) -> tuple[BanditState, Summary]:
        """Feedback of every closed episode, and the bandit that has heard it."""
        entropy = jax.vmap(marginal.entropy)(ended.marginal)
        heard = feedback(entropy, h_random)

        def one(state: BanditState, item: tuple[Array, Array, Array]) -> tuple[BanditState, None]:
            arm, f, is_closed = item
            return select(is_closed, bandit.update(state, arm, f), state), None

        state, _ = jax.lax.scan(one, state, (ended.arm, heard, closed))
        totals = ended.totals
        mean_surprise = totals.surprise / jnp.maximum(ended.t, 1).astype(jnp.float32)
        return state, Summary(
            closed, totals.reward, ended.t, totals.deaths, mean_surprise, entropy, heard, ended.arm, totals.counters
        )

    def settle(
        key: Array, state: BanditState, h_random: Array, ended: Episode, closed: Array, fresh: Fresh
    ) -> tuple[BanditState, Episode, Summary]:
        """Closes the episodes that have ended, tells the bandit, and begins new ones on the arms that it picks."""

        def some(state: BanditState) -> tuple[BanditState, Summary, Array]:
            state, summary = report(state, h_random, ended, closed)
            state, arms = choose(key, state, closed)
            return state, summary, arms

        def none(state: BanditState) -> tuple[BanditState, Summary, Array]:
            empty = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(some, state)[1])
            return state, empty, jnp.full(closed.shape, -1, jnp.int32)

        state, summary, arms = jax.lax.cond(jnp.any(closed), some, none, state)
        begun = jax.vmap(begin)(fresh, arms)
        return state, jax.vmap(select)(closed, begun, ended), summary

    def look(episode: Episode) -> Augmented:
        return Augmented(
            obs=episode.obs,
            theta=marginal.features(episode.marginal),
            time=episode.t.astype(jnp.float32) / last,
            arm=episode.arm.astype(jnp.float32),
        )

    def restarts(t: Any, terminated: Any) -> Any:
        return terminated | (t + 1 >= last)

    return Episodes(begin, absorb, settle, choose, look, restarts, last)
