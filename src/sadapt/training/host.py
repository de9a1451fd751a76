"""The host driver: the same program, called piece by piece around worlds that are not written in JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Env, Step
from sadapt.motivation.episode import Answer, Fresh, select
from sadapt.training.program import Program, TrainState

Array = jax.Array


class HostWorlds(Protocol):
    """Worlds side by side that live outside XLA. Keys are for those that take their chance from them."""

    def step(self, key: Array, actions: np.ndarray) -> Step:
        """Steps every world once."""

    def restart(self, key: Array, which: np.ndarray) -> np.ndarray:
        """Resets the worlds in `which`; returns observations whose rows count only there."""


class JaxWorlds:
    """A JAX world stepped from the host, on the same draws as in the compiled driver."""

    def __init__(self, env: Env, num_envs: int) -> None:
        def step(key: Array, state: object, actions: Array) -> tuple[object, Step]:
            return jax.vmap(env.step)(jax.random.split(key, num_envs), state, actions)

        def restart(key: Array, state: object, which: Array) -> tuple[object, Array]:
            fresh, obs = jax.vmap(env.reset)(jax.random.split(key, num_envs))
            return jax.vmap(select)(which, fresh, state), obs

        self._step, self._restart = jax.jit(step), jax.jit(restart)
        self._state, _ = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), num_envs))

    def step(self, key: Array, actions: np.ndarray) -> Step:
        self._state, answer = self._step(key, self._state, jnp.asarray(actions))
        return jax.device_get(answer)

    def restart(self, key: Array, which: np.ndarray) -> np.ndarray:
        self._state, obs = self._restart(key, self._state, jnp.asarray(which))
        return np.asarray(obs)


def start(prog: Program, worlds: HostWorlds, key: Array, h_random: float) -> TrainState:
    """The state before the first step."""
    key_worlds, key_run = jax.random.split(key)
    obs = worlds.restart(key_worlds, np.ones(prog.settings.num_envs, bool))
    return jax.jit(prog.init)(key_run, Fresh((), jnp.asarray(obs)), jnp.float32(h_random))


def driver(prog: Program, worlds: HostWorlds) -> Callable[[TrainState], TrainState]:
    """A run's next chunk, `state -> state`; the state given is consumed."""
    learner, num_envs = prog.learner, prog.settings.num_envs
    act, refresh = jax.jit(prog.act), jax.jit(prog.refresh)
    observe, update = (jax.jit(f, donate_argnums=0) for f in (prog.observe, prog.update))
    turns = learner.chunk_steps // (num_envs * learner.steps_per_update)

    def advance(state: TrainState) -> TrainState:
        learn = int(state.step) >= learner.warmup_steps
        state = refresh(state)
        for _ in range(turns):
            for _ in range(learner.steps_per_update):
                state, actions = act(state)
                key_step, key_fresh = jax.random.split(state.world_key)
                step = worlds.step(key_step, np.asarray(actions))
                ended = prog.rules.restarts(np.asarray(state.episodes.t), step.terminated)
                fresh = worlds.restart(key_fresh, ended) if ended.any() else step.obs
                state = observe(state, actions, Answer((), step, Fresh((), jnp.asarray(fresh))))
            if learn:
                state = update(state)
        return state

    return advance


def run(prog: Program, worlds: HostWorlds, state: TrainState) -> Iterator[TrainState]:
    """Yields the state after every chunk until the run's last step."""
    advance = driver(prog, worlds)
    while int(state.step) < prog.settings.total_timesteps:
        state = advance(state)
        yield state
