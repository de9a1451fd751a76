"""The training program: world, motivation and learner composed into pure functions over one state.

The compiled driver scans them whole; the host driver calls them one by one around worlds that are not written in JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import AnyEnv, Facts, HostEnv
from sadapt.errors import UserError
from sadapt.learners.base import Learner, LearnerState, Report
from sadapt.learners.dqn import DQNSettings, dqn
from sadapt.learners.idle import idle
from sadapt.learners.networks import Network, paper, paper_kind, per_arm, plain, plain_conv, window
from sadapt.learners.pqn import pqn
from sadapt.learners.replay import Replay, replay
from sadapt.motivation import objectives
from sadapt.motivation.bandits import Bandit, BanditState, fixed, patient, ucb
from sadapt.motivation.episode import Answer, Episode, Episodes, Fresh, Summary, episodes
from sadapt.motivation.marginals import Marginal, bernoulli, gaussian, require_binary
from sadapt.motivation.normalisation import NormaliserState, running
from sadapt.motivation.objectives import ARMS, Objective
from sadapt.training.settings import Settings, require_possible

Array = jax.Array
CHUNK, CHUNK_OUTSIDE = 16_384, 1_024
"""Environment steps between looks at the clock, about half a second's worth in JAX and outside of it."""


class Tally(NamedTuple):
    """Sums since the last row of metrics: over episodes that ended, and over updates."""

    episodes: Array
    reward: Array
    length: Array
    deaths: Array
    surprise: Array
    entropy: Array
    arm: Array
    feedback: Array
    counters: dict[str, Array]
    updates: Array
    loss: Array
    q: Array


class TrainState(NamedTuple):
    """All of a run: what is not in here does not influence what comes next."""

    key: Array
    world_key: Array
    """Chance of the worlds in the step under way."""
    step: Array
    """Environment steps so far."""
    ended: Array
    """Episodes that have ended so far."""
    h_random: Array
    episodes: Episode
    bandit: BanditState
    normaliser: NormaliserState
    learner: LearnerState
    tally: Tally


class Program(NamedTuple):
    """One run as pure functions; `N` worlds side by side."""

    init: Callable[[Array, Fresh, Array], TrainState]
    """`init(key, N fresh worlds, h_random) -> state`."""
    act: Callable[[TrainState], tuple[TrainState, Array]]
    observe: Callable[[TrainState, Array, Answer], TrainState]
    update: Callable[[TrainState], TrainState]
    refresh: Callable[[TrainState], TrainState]
    greedy: Callable[[LearnerState, Episode], Array]
    learner: Learner
    rules: Episodes
    marginal: Marginal
    memory: Replay | None
    """The replay, for learners that have one."""
    network: Network | None
    env: AnyEnv
    settings: Settings


def build_marginal(env: Facts, settings: Settings) -> Marginal:
    """The marginal that the settings ask for, over what the world shows it."""
    wanted = settings.motivation
    kind: str = wanted.marginal
    if kind == "auto":
        kind = "bernoulli" if env.binary else "gaussian"
    if kind == "bernoulli":
        require_binary(env.name, env.low, env.high, env.obs_dtype)
        return bernoulli(env.seen_shape, clip=wanted.probability_clip, pseudo_count=wanted.pseudo_count)
    return gaussian(env.seen_shape, std_floor=wanted.std_floor, pseudo_count=wanted.pseudo_count)


def build_bandit(env: Facts, row: Objective, settings: Settings) -> Bandit:
    """UCB for S-Adapt, as patient as the settings ask for; the others have made up their minds."""
    if row.arm is not None:
        return fixed(row.arm, arms=len(ARMS))
    wanted = settings.motivation
    episodes = settings.total_timesteps / (env.horizon if wanted.horizon is None else wanted.horizon)
    return patient(ucb(len(ARMS), c=wanted.ucb_c), round(wanted.bandit_patience * episodes))


def build_rules(env: Facts, marginal: Marginal, bandit: Bandit, row: Objective, settings: Settings) -> Episodes:
    """Episodes as the settings and the objective want them."""
    wanted = settings.motivation
    ends = {"auto": row.intrinsic, "terminal": True, "through": False}[wanted.bootstrap]
    return episodes(
        env,
        marginal,
        bandit,
        on_death=death_treatment(env, settings),
        horizon=wanted.horizon,
        horizon_is_terminal=ends,
        death_is_terminal=not row.intrinsic,
    )


def death_treatment(env: Facts, settings: Settings) -> str:
    """`on_death`, resolved."""
    wanted = settings.motivation.on_death
    return env.on_death if wanted == "auto" else wanted


def build_network(env: Facts, marginal: Marginal, row: Objective, settings: Settings) -> Network:
    """The network that the settings ask for, or one per arm."""
    network = one_network(env, marginal, row, settings)
    return per_arm(network, len(ARMS)) if row.arm is None and settings.network.arms == "apart" else network


def one_network(env: Facts, marginal: Marginal, row: Objective, settings: Settings) -> Network:
    """The network that the settings ask for."""
    wanted, theta = settings.network, marginal.feature_shape if row.sees_theta else None
    name: str = wanted.network
    if name == "auto":
        fast = (
            "window" if env.agent_channel is not None else "paper" if paper_kind(env.obs_shape) == "atari" else "plain"
        )
        name = "paper" if isinstance(settings.learner, DQNSettings) else fast
    shape, scale = env.policy_shape, 1 / env.high if np.dtype(env.obs_dtype).kind == "u" and env.high > 1 else 1.0
    if name == "paper":
        return paper(shape, theta, env.num_actions, paper_kind(shape), scale=scale)
    if name == "window":
        if env.agent_channel is None:
            raise UserError(f"the window network needs an agent to look around; {env.name!r} has none: use plain")
        return window(
            env.obs_shape, theta, env.num_actions, env.agent_channel, radius=wanted.radius, hidden=wanted.hidden
        )
    on_one_grid = theta is None or theta[:-1] == shape[:-1]
    if len(shape) == 3 and shape[0] * shape[1] >= 100 and on_one_grid:
        return plain_conv(shape, theta, env.num_actions, hidden=wanted.hidden, scale=scale)
    return plain(shape, theta, env.num_actions, hidden=(wanted.hidden, wanted.hidden), scale=scale)


def program(env: AnyEnv, settings: Settings) -> Program:
    """Composes a run."""
    require_possible(settings)
    row = objectives.objective(settings.objective)
    num_envs, wanted = settings.num_envs, settings.motivation
    marginal = build_marginal(env, settings)
    bandit = build_bandit(env, row, settings)
    rules = build_rules(env, marginal, bandit, row, settings)
    normaliser = running(len(ARMS), rules.horizon, baseline=wanted.baseline, clip=wanted.reward_clip)

    def payment(state: NormaliserState, arm: Array, time: Array, surprise: Array, extrinsic: Array) -> Array:
        raw = objectives.reward(row, arm, surprise, extrinsic)
        return normaliser.apply(state, arm, time, raw) if wanted.normalise else raw

    memory, network = None, None
    chunk = CHUNK_OUTSIDE if isinstance(env, HostEnv) else CHUNK
    if row.reward is None:
        learner = idle(env.num_actions, num_envs=num_envs, chunk_steps=chunk)
    else:
        network = build_network(env, marginal, row, settings)
        chosen = settings.learner
        sizes = {"num_envs": num_envs, "total_steps": settings.total_timesteps}
        if isinstance(chosen, DQNSettings):
            if chosen.batch_size > chosen.learning_starts or chosen.batch_size > chosen.buffer_size:
                raise UserError(
                    f"a batch of {chosen.batch_size} needs as many steps before learning starts and in the replay; "
                    f"got --learning-starts {chosen.learning_starts}, "
                    f"--buffer-size {chosen.buffer_size}; lower --batch-size"
                )
            memory = replay(
                env,
                marginal,
                capacity=chosen.buffer_size,
                num_envs=num_envs,
                horizon=rules.horizon,
                interval=chosen.snapshot_interval,
            )
            learner = dqn(chosen, network, memory, payment, **sizes)
        else:
            learner = pqn(chosen, network, payment, **sizes, chunk_steps=chunk)

    def see(episodes: Episode) -> Any:
        if network is None:
            return ()
        return jax.vmap(lambda episode: network.view(rules.look(episode)))(episodes)

    def init(key: Array, fresh: Fresh, h_random: Array) -> TrainState:
        key_learner, key_arms, key_run, key_world = jax.random.split(key, 4)
        bandit_state, arms = rules.choose(key_arms, bandit.init(), jnp.ones(num_envs, bool))
        begun = jax.vmap(rules.begin)(fresh, arms)
        return TrainState(
            key=key_run,
            world_key=key_world,
            step=jnp.zeros((), jnp.int32),
            ended=jnp.zeros((), jnp.int32),
            h_random=jnp.asarray(h_random, jnp.float32),
            episodes=begun,
            bandit=bandit_state,
            normaliser=normaliser.init(),
            learner=learner.init(key_learner, begun, see(begun)),
            tally=empty_tally(env),
        )

    def act(state: TrainState) -> tuple[TrainState, Array]:
        key, key_act, key_world = jax.random.split(state.key, 3)
        learned, actions = learner.act(key_act, state.learner, see(state.episodes), state.step)
        return state._replace(key=key, world_key=key_world, learner=learned), actions

    def observe(state: TrainState, actions: Array, answer: Answer) -> TrainState:
        key, key_shock, key_arms = jax.random.split(state.key, 3)
        shocks = jax.random.split(key_shock, num_envs)
        after, seen = jax.vmap(rules.absorb)(shocks, state.episodes, answer)
        bandit_state, begun, summary = rules.settle(
            key_arms, state.bandit, state.h_random, after, seen.closed, answer.fresh
        )
        statistics = state.normaliser
        if row.reward is not None and wanted.normalise:
            raw = objectives.reward(row, seen.arm, seen.surprise, seen.extrinsic)
            statistics = normaliser.update(statistics, seen.arm, seen.t, raw)
        return state._replace(
            key=key,
            step=state.step + num_envs,
            ended=state.ended + jnp.sum(summary.closed, dtype=jnp.int32),
            episodes=begun,
            bandit=bandit_state,
            normaliser=statistics,
            learner=learner.observe(state.learner, actions, seen, begun),
            tally=add_episodes(state.tally, summary),
        )

    def update(state: TrainState) -> TrainState:
        def once(state: TrainState, _: None) -> tuple[TrainState, None]:
            key, key_update = jax.random.split(state.key)
            learned, report = learner.update(key_update, state.learner, see(state.episodes), state.normaliser)
            return state._replace(key=key, learner=learned, tally=add_update(state.tally, report)), None

        if learner.updates_per_turn == 1:
            return once(state, None)[0]
        return jax.lax.scan(once, state, None, length=learner.updates_per_turn)[0]

    def refresh(state: TrainState) -> TrainState:
        return state._replace(learner=learner.refresh(state.learner))

    def greedy(state: LearnerState, episodes: Episode) -> Array:
        return learner.greedy(state, see(episodes))

    return Program(
        init, act, observe, update, refresh, greedy, learner, rules, marginal, memory, network, env, settings
    )


def empty_tally(env: Facts) -> Tally:
    """Nothing has happened yet; every sum has a buffer of its own, as donation wants it."""
    sums: dict[str, Any] = {name: jnp.zeros((), jnp.float32) for name in Tally._fields}
    return Tally(**{**sums, "counters": {name: jnp.zeros((), jnp.float32) for name in env.counters}})


def add_episodes(tally: Tally, summary: Summary) -> Tally:
    """Counts the episodes that ended in this step."""

    def total(so_far: Array, values: Array) -> Array:
        return so_far + jnp.sum(jnp.where(summary.closed, values.astype(jnp.float32), 0.0))

    return tally._replace(
        episodes=total(tally.episodes, summary.closed),
        reward=total(tally.reward, summary.reward),
        length=total(tally.length, summary.length),
        deaths=total(tally.deaths, summary.deaths),
        surprise=total(tally.surprise, summary.surprise),
        entropy=total(tally.entropy, summary.entropy),
        arm=total(tally.arm, summary.arm),
        feedback=total(tally.feedback, summary.feedback),
        counters={name: total(so_far, summary.counters[name]) for name, so_far in tally.counters.items()},
    )


def add_update(tally: Tally, report: Report) -> Tally:
    """Counts one update."""
    return tally._replace(updates=tally.updates + 1, loss=tally.loss + report.loss, q=tally.q + report.q)
