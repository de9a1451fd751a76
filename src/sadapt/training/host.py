"""The host driver: the same program, called piece by piece around worlds that are not written in JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Env, HostEnv, HostWorlds, Step, WorldFailed
from sadapt.motivation.episode import Answer, Fresh
from sadapt.motivation.feedback import COMPARED, RandomAgent, nobody
from sadapt.motivation.sharing import select
from sadapt.training.packing import Packed, Packing, packing
from sadapt.training.parts import at_random
from sadapt.training.program import Program, TrainState, compose, learned, views
from sadapt.training.tally import add_update

Array = jax.Array
Absorb = Callable[[Packed, Array, Answer], Packed]
"""`absorb(packed, actions, answer) -> packed` after the worlds' answer to these actions."""
Options = dict[str, bool | str]
FRUGAL: Options = {
    "xla_cpu_copy_insertion_use_region_analysis": True,
    "xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED",
}
"""XLA's options for the update: weights that nobody reads any more are overwritten instead of copied first, and
intermediate results are used up while they are in the cache."""


class JaxWorlds:
    """A JAX world stepped from the host, on the same draws as in the compiled driver."""

    def __init__(self, env: Env, num_envs: int) -> None:
        def step(key: Array, state: object, actions: Array) -> tuple[object, Step]:
            return jax.vmap(env.step)(jax.random.split(key, num_envs), state, actions)

        def restart(key: Array, state: object, which: Array) -> tuple[object, Array]:
            keys = jax.random.split(key, num_envs)
            fresh, obs = jax.vmap(env.reset)(keys) if env.reset_on is None else jax.vmap(env.reset_on)(keys, state)
            return jax.vmap(select)(which, fresh, state), obs

        self._env, self._step, self._restart = env, jax.jit(step), jax.jit(restart)
        self._begin = jax.jit(lambda key: jax.vmap(env.reset)(jax.random.split(key, num_envs)))
        self._state: Any = None

    def step(self, key: Array, actions: np.ndarray) -> Step:
        self._state, answer = self._step(key, self._state, jnp.asarray(actions))
        return jax.device_get(answer)

    def restart(self, key: Array, which: np.ndarray) -> np.ndarray:
        begins = self._state is None
        self._state, obs = self._begin(key) if begins else self._restart(key, self._state, jnp.asarray(which))
        return np.asarray(obs)

    def render(self) -> np.ndarray:
        return self._env.render(jax.tree.map(lambda x: x[0], self._state))

    def close(self) -> None:
        pass


def start(prog: Program, worlds: HostWorlds, key: Array, random: RandomAgent) -> TrainState:
    """The state before the first step."""
    key_worlds, key_run = jax.random.split(key)
    obs = worlds.restart(key_worlds, np.ones(prog.worlds, bool))
    return jax.jit(prog.init)(key_run, Fresh((), jnp.asarray(obs)), random)


def shapes(prog: Program) -> TrainState:
    """A run's state as shapes and dtypes alone; nothing is computed."""
    obs: Any = jax.ShapeDtypeStruct((prog.worlds, *prog.env.obs_shape), prog.env.obs_dtype)
    return jax.eval_shape(prog.init, jax.random.key(0), Fresh((), obs), nobody())


class Plan(NamedTuple):
    """What the worlds are asked next, how far run and episodes are, and the chance that the worlds may take."""

    actions: Array
    step: Array
    t: Array
    key_step: Array
    key_fresh: Array


class Play(NamedTuple):
    """The program's steps around the worlds; each function consumes the packed that it is given."""

    packing: Packing[TrainState]
    steps: Callable[[Packed, int, Absorb], Packed]
    """`steps(packed, count, last)` acts `count` times; `last` absorbs the last answer."""
    observe: Absorb


def play(prog: Program, worlds: HostWorlds) -> Play:
    """How the worlds are played. Between calls the state is a packed: as it is it would take four times as long."""
    pack, unpack = state_packing = packing(shapes(prog))

    @partial(jax.jit, donate_argnums=0)
    def act(packed: Packed) -> tuple[Packed, Plan]:
        state, actions = prog.act(unpack(packed))
        return pack(state), Plan(actions, state.step, state.episodes.t, *jax.random.split(state.world_key))

    @partial(jax.jit, donate_argnums=0)
    def observe(packed: Packed, actions: Array, answer: Answer) -> Packed:
        return pack(prog.observe(unpack(packed), actions, answer))

    @partial(jax.jit, donate_argnums=0)
    def go_on(packed: Packed, actions: Array, answer: Answer) -> tuple[Packed, Plan]:
        return act(observe(packed, actions, answer))

    def answer(plan: Plan) -> Answer:
        """Steps the worlds, and starts those afresh whose episodes end."""
        try:
            step = worlds.step(plan.key_step, np.asarray(plan.actions))
            ended = prog.rules.restarts(np.asarray(plan.t), step.terminated)
            fresh: Any = worlds.restart(plan.key_fresh, ended) if ended.any() else step.obs
        except WorldFailed as failure:
            raise WorldFailed(f"at step {int(plan.step):,}: {failure}") from failure
        return Answer((), step, Fresh((), fresh))

    def steps(packed: Packed, count: int, last: Absorb) -> Packed:
        packed, plan = act(packed)
        for _ in range(count - 1):
            packed, plan = go_on(packed, plan.actions, answer(plan))
        return last(packed, plan.actions, answer(plan))

    return Play(state_packing, steps, observe)


def supported(options: Options) -> Options:
    """Those options that the compiler knows."""

    def known(option: Options) -> bool:
        try:
            jax.jit(lambda: 0, compiler_options=option)()
        except jax.errors.JaxRuntimeError:
            return False
        return True

    return {name: value for name, value in options.items() if known({name: value})}


Advance = Callable[[TrainState], TrainState]
"""A run's next chunk, `state -> state`; the state given is consumed."""


def driver(prog: Program, worlds: HostWorlds) -> Advance:
    """Plays and learns by turns, or at once where the worlds move aside and the learner can."""
    at_once = isinstance(prog.env, HostEnv) and prog.env.aside and prog.learner.meanwhile is not None
    return (meanwhile if at_once else by_turns)(prog, worlds)


def by_turns(prog: Program, worlds: HostWorlds) -> Advance:
    """The worlds wait for the update, and the update for the worlds."""
    learner = prog.learner
    (pack, unpack), steps, observe = play(prog, worlds)
    refresh = jax.jit(prog.refresh, donate_argnums=0)
    turns = learner.chunk_steps // (prog.sizes.num_envs * learner.steps_per_update)

    @partial(jax.jit, donate_argnums=0, compiler_options=supported(FRUGAL))
    def learn(packed: Packed, actions: Array, answer: Answer) -> Packed:
        return pack(prog.update(prog.observe(unpack(packed), actions, answer)))

    def advance(state: TrainState) -> TrainState:
        last = learn if int(state.step) >= learner.warmup_steps else observe
        packed = pack(refresh(state))
        for _ in range(turns):
            packed = steps(packed, learner.steps_per_update, last)
        return unpack(packed)

    return advance


def meanwhile(prog: Program, worlds: HostWorlds) -> Advance:
    """The next steps are played with the parameters as they were while the last ones are learned from.

    A chunk ends with its last update, so that what lies between two chunks is whole and nothing depends on who was
    quicker.
    """
    learner, join = prog.learner, prog.learner.meanwhile
    assert join is not None
    (pack, unpack), steps, observe = play(prog, worlds)
    refresh = jax.jit(prog.refresh, donate_argnums=0)
    turns = learner.chunk_steps // (prog.sizes.num_envs * learner.steps_per_update)
    thread = ThreadPoolExecutor(1, "learning")

    @partial(jax.jit, donate_argnums=0)
    def lesson(packed: Packed) -> tuple[Packed, tuple[Any, ...]]:
        state = unpack(packed)
        key, key_update = jax.random.split(state.key)
        given = (key_update, state.learner, views(prog.parts, state.episodes), state.normaliser)
        return pack(state._replace(key=key)), given

    @partial(jax.jit, donate_argnums=0)
    def joined(packed: Packed, learned: Any, report: Any) -> Packed:
        state = unpack(packed)
        return pack(state._replace(learner=join(state.learner, learned), tally=add_update(state.tally, report)))

    @cache
    def learn() -> Callable[..., Any]:
        """The update, compiled by whoever asks first: what JAX was told in one thread need not hold in another."""
        given = jax.eval_shape(lesson, jax.eval_shape(pack, shapes(prog)))[1]
        return jax.jit(learner.update, compiler_options=supported(FRUGAL)).lower(*given).compile()

    def begun(given: tuple[Any, ...]) -> Future[Any]:
        update = learn()
        return thread.submit(lambda: jax.block_until_ready(update(*given)))

    def advance(state: TrainState) -> TrainState:
        packed, given = lesson(steps(pack(refresh(state)), learner.steps_per_update, observe))
        for _ in range(turns - 1):
            under_way = begun(given)
            packed = steps(packed, learner.steps_per_update, observe)
            packed, given = lesson(joined(packed, *under_way.result()))
        return unpack(joined(packed, *begun(given).result()))

    return advance


def baseline(prog: Program, worlds: HostWorlds, key: Array) -> tuple[RandomAgent, int]:
    """The random agent, from at least `random_episodes` episodes of random play, and the rounds that they took.

    Deviations between episodes are estimated from those between rounds of all worlds, sqrt(episodes a round) as large.
    """
    idle = compose(prog.env, at_random(prog.parts))
    (pack, unpack), steps, observe = play(idle, worlds)
    state = start(idle, worlds, key, nobody())
    rounds: list[dict[str, np.ndarray]] = []
    ended, before = 0.0, jax.device_get(state.tally)
    while ended < prog.sizes.random_episodes:
        state = unpack(steps(pack(state), prog.rules.horizon, observe))
        now = jax.device_get(state.tally)
        new = float(now.episodes - before.episodes)
        rounds.append({name: (now.measures[name] - before.measures[name]) / new for name in COMPARED})
        ended, before = float(now.episodes), now
    each = {name: np.asarray([one[name] for one in rounds], np.float64) for name in COMPARED}
    per_round = np.sqrt(ended / len(rounds))
    random = RandomAgent(
        mean={name: np.float32(before.measures[name] / before.episodes) for name in COMPARED},
        std={name: np.float32(per_round * np.std(values)) for name, values in each.items()},
    )
    return random, len(rounds)


def revived(prog: Program, worlds: HostWorlds, state: TrainState) -> TrainState:
    """A stored state with fresh worlds: episodes that were under way are given up, a stream goes on in them."""
    key, key_worlds, key_arms = jax.random.split(state.key, 3)
    everywhere = np.ones(prog.worlds, bool)
    fresh = Fresh((), jnp.asarray(worlds.restart(key_worlds, everywhere)))

    def begin(state: TrainState, fresh: Fresh) -> TrainState:
        given_up = prog.parts.bandit.abandon
        idle, _ = jax.lax.scan(lambda bandit, arm: (given_up(bandit, arm), None), state.bandit, state.episodes.arm)
        bandit, arms = prog.rules.choose(key_arms, idle, jnp.asarray(everywhere))
        begun = jax.vmap(prog.rules.begin)(fresh, arms)
        after = prog.learner.restart(state.learner, begun)
        return state._replace(key=key, bandit=bandit, episodes=begun, learner=after)

    def go_on(state: TrainState, fresh: Fresh) -> TrainState:
        assert prog.rules.stream is not None
        joined = jax.vmap(prog.rules.stream.rejoin)(state.episodes, fresh)
        after = prog.learner.restart(state.learner, learned(prog.parts, joined))
        return state._replace(key=key, episodes=joined, learner=after)

    return jax.jit(begin if prog.rules.stream is None else go_on, donate_argnums=0)(state, fresh)


def run(prog: Program, worlds: HostWorlds, state: TrainState) -> Iterator[TrainState]:
    """Yields the state after every chunk until the run's last step."""
    advance = driver(prog, worlds)
    while int(state.step) < prog.sizes.total_steps:
        state = advance(state)
        yield state
