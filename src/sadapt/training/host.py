"""The host driver: the same program, called piece by piece around worlds that are not written in JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Env, HostWorlds, Step, WorldFailed
from sadapt.motivation.episode import Answer, Fresh, select
from sadapt.motivation.objectives import usable_baseline
from sadapt.training.program import Program, TrainState, program

Array = jax.Array


class JaxWorlds:
    """A JAX world stepped from the host, on the same draws as in the compiled driver."""

    def __init__(self, env: Env, num_envs: int) -> None:
        def step(key: Array, state: object, actions: Array) -> tuple[object, Step]:
            return jax.vmap(env.step)(jax.random.split(key, num_envs), state, actions)

        def restart(key: Array, state: object, which: Array) -> tuple[object, Array]:
            fresh, obs = jax.vmap(env.reset)(jax.random.split(key, num_envs))
            return jax.vmap(select)(which, fresh, state), obs

        self._env, self._step, self._restart = env, jax.jit(step), jax.jit(restart)
        self._state, _ = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), num_envs))

    def step(self, key: Array, actions: np.ndarray) -> Step:
        self._state, answer = self._step(key, self._state, jnp.asarray(actions))
        return jax.device_get(answer)

    def restart(self, key: Array, which: np.ndarray) -> np.ndarray:
        self._state, obs = self._restart(key, self._state, jnp.asarray(which))
        return np.asarray(obs)

    def render(self) -> np.ndarray:
        return self._env.render(jax.tree.map(lambda x: x[0], self._state))

    def close(self) -> None:
        pass


def start(prog: Program, worlds: HostWorlds, key: Array, h_random: float) -> TrainState:
    """The state before the first step."""
    key_worlds, key_run = jax.random.split(key)
    obs = worlds.restart(key_worlds, np.ones(prog.settings.num_envs, bool))
    return jax.jit(prog.init)(key_run, Fresh((), jnp.asarray(obs)), jnp.float32(h_random))


def stepping(prog: Program, worlds: HostWorlds) -> Callable[[TrainState], TrainState]:
    """One step of all worlds, `state -> state`; the state given is consumed."""
    act, observe = (jax.jit(f, donate_argnums=0) for f in (prog.act, prog.observe))

    def step(state: TrainState) -> TrainState:
        state, actions = act(state)
        key_step, key_fresh = jax.random.split(state.world_key)
        answer = worlds.step(key_step, np.asarray(actions))
        ended = prog.rules.restarts(np.asarray(state.episodes.t), answer.terminated)
        fresh = worlds.restart(key_fresh, ended) if ended.any() else answer.obs
        return observe(state, actions, Answer((), answer, Fresh((), jnp.asarray(fresh))))

    return step


def driver(prog: Program, worlds: HostWorlds) -> Callable[[TrainState], TrainState]:
    """A run's next chunk, `state -> state`; the state given is consumed."""
    learner = prog.learner
    step = stepping(prog, worlds)
    refresh, update = (jax.jit(f, donate_argnums=0) for f in (prog.refresh, prog.update))
    turns = learner.chunk_steps // (prog.settings.num_envs * learner.steps_per_update)

    def advance(state: TrainState) -> TrainState:
        now = int(state.step)
        learn = now >= learner.warmup_steps
        state = refresh(state)
        for _ in range(turns):
            for _ in range(learner.steps_per_update):
                try:
                    state = step(state)
                except WorldFailed as failure:
                    raise WorldFailed(f"at step {now:,}: {failure}") from failure
                now += prog.settings.num_envs
            if learn:
                state = update(state)
        return state

    return advance


def baseline(prog: Program, worlds: HostWorlds, key: Array) -> float:
    """H_rand: the mean final entropy of at least `random_episodes` episodes of random play."""
    idle = program(prog.env, replace(prog.settings, objective="random"))
    step, wanted = stepping(idle, worlds), prog.settings.motivation.random_episodes
    state = start(idle, worlds, key, 1.0)
    while float(state.tally.episodes) < wanted:
        for _ in range(prog.rules.horizon):
            state = step(state)
    return usable_baseline(float(state.tally.entropy / state.tally.episodes), prog.env.name)


def revived(prog: Program, worlds: HostWorlds, state: TrainState) -> TrainState:
    """A stored state with fresh worlds: the episodes that were under way are given up."""
    key, key_worlds, key_arms = jax.random.split(state.key, 3)
    everywhere = np.ones(prog.settings.num_envs, bool)
    fresh = Fresh((), jnp.asarray(worlds.restart(key_worlds, everywhere)))

    def begin(state: TrainState, fresh: Fresh) -> TrainState:
        idle = state.bandit._replace(pending=jnp.zeros_like(state.bandit.pending))
        bandit, arms = prog.rules.choose(key_arms, idle, jnp.asarray(everywhere))
        begun = jax.vmap(prog.rules.begin)(fresh, arms)
        learned = prog.learner.restart(state.learner, begun)
        return state._replace(key=key, bandit=bandit, episodes=begun, learner=learned)

    return jax.jit(begin, donate_argnums=0)(state, fresh)


def run(prog: Program, worlds: HostWorlds, state: TrainState) -> Iterator[TrainState]:
    """Yields the state after every chunk until the run's last step."""
    advance = driver(prog, worlds)
    while int(state.step) < prog.settings.total_timesteps:
        state = advance(state)
        yield state
