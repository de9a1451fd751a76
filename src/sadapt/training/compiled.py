"""The compiled driver: whole chunks of training as one XLA program, for worlds written in JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from sadapt.envs.base import Env
from sadapt.keys import from_seed
from sadapt.motivation.baseline import random_agent
from sadapt.motivation.episode import Answer, Fresh
from sadapt.motivation.feedback import RandomAgent, nobody, usable
from sadapt.motivation.rollout import fresh_where
from sadapt.training.program import Program, TrainState

Array = jax.Array
Chunk = Callable[[TrainState], TrainState]


def _world(prog: Program) -> Env:
    assert isinstance(prog.env, Env), f"{prog.env.name} is not written in JAX"
    return prog.env


def answer_worlds(prog: Program, state: TrainState, actions: Array) -> Answer:
    """Steps every world once, with a fresh one at hand."""
    count = prog.worlds
    key_step, key_fresh = jax.random.split(state.world_key)
    worlds, steps = jax.vmap(_world(prog).step)(jax.random.split(key_step, count), state.episodes.world, actions)
    goes_on = _world(prog).reset_on
    if goes_on is not None:
        return Answer(worlds, steps, Fresh(*jax.vmap(goes_on)(jax.random.split(key_fresh, count), worlds)))
    if not _world(prog).costly_reset:
        return Answer(worlds, steps, fresh_worlds(prog, key_fresh))
    ended = prog.rules.restarts(state.episodes.t, steps.terminated)
    keys = jax.random.split(key_fresh, count)
    return Answer(worlds, steps, jax.vmap(partial(fresh_where, _world(prog)))(ended, keys, worlds, steps.obs))


def fresh_worlds(prog: Program, key: Array) -> Fresh:
    """As many worlds as run side by side, just reset; those of a group in the same regime."""
    world, stream, keys = _world(prog), prog.rules.stream, jax.random.split(key, prog.worlds)
    if stream is None or stream.groups == 1 or world.reset_in is None:
        each = partial(jax.lax.map, world.reset) if world.costly_reset else jax.vmap(world.reset)
        return Fresh(*each(keys))
    words = jax.random.bits(jax.random.fold_in(key, 1), (stream.groups,), jnp.uint32)
    sizes = (prog.sizes.num_envs, stream.random_envs)
    mine = jnp.concatenate([jnp.repeat(words, size // stream.groups) for size in sizes])
    return Fresh(*jax.vmap(world.reset_in)(keys, mine))


def one_step(prog: Program, state: TrainState) -> TrainState:
    """Act, let the worlds answer, observe."""
    state, actions = prog.act(state)
    return prog.observe(state, actions, answer_worlds(prog, state, actions))


def start(prog: Program, key: Array, random: RandomAgent) -> TrainState:
    """The state before the first step."""
    key_worlds, key_run = jax.random.split(key)
    return prog.init(key_run, fresh_worlds(prog, key_worlds), random)


def chunk(prog: Program, *, learn: bool = True) -> Chunk:
    """`state -> state` over `chunk_steps` environment steps, with or without updates."""
    learner, num_envs = prog.learner, prog.sizes.num_envs
    vector_steps = learner.chunk_steps // num_envs

    def step(state: TrainState, _: None) -> tuple[TrainState, None]:
        return one_step(prog, state), None

    def turn(state: TrainState, _: None) -> tuple[TrainState, None]:
        state, _ = jax.lax.scan(step, state, None, length=learner.steps_per_update)
        return prog.update(state), None

    def run(state: TrainState) -> TrainState:
        state = prog.refresh(state)
        if not learn:
            return jax.lax.scan(step, state, None, length=vector_steps)[0]
        return jax.lax.scan(turn, state, None, length=vector_steps // learner.steps_per_update)[0]

    return run


def baseline(prog: Program) -> Callable[[int], RandomAgent]:
    """`seed -> the random agent` in this run's world, by its own marginal, horizon and treatment of deaths.

    In a stream it is measured all the time, so that nothing is known before.
    """
    if prog.rules.stream is not None:
        return lambda seed: nobody()
    world = _world(prog)
    measure = random_agent(
        world.alone or world,
        prog.marginal,
        on_death=prog.parts.on_death,
        horizon=prog.rules.horizon,
        count=prog.sizes.random_episodes,
    )
    return lambda seed: measure(keys_of(seed)[0])


def usable_in(prog: Program, random: RandomAgent) -> RandomAgent:
    """Refuses a random agent that this run's feedback cannot be compared with."""
    return usable(random, prog.parts.feedback.of, prog.env.name)


def driver(prog: Program, over: Callable[[Chunk], Chunk] = lambda chunk: chunk) -> Chunk:
    """A run's next chunk, `state -> state`, compiled; the state given is consumed.

    `over` transforms a chunk before it is compiled (`jax.vmap` trains several seeds at once).
    """
    compiled = {learn: jax.jit(over(chunk(prog, learn=learn)), donate_argnums=0) for learn in (False, True)}

    def advance(state: TrainState) -> TrainState:
        return compiled[int(jnp.max(state.step)) >= prog.learner.warmup_steps](state)

    return advance


def run(prog: Program, state: TrainState, over: Callable[[Chunk], Chunk] = lambda chunk: chunk) -> Iterator[TrainState]:
    """Yields the state after every chunk until the run's last step; the state given is consumed."""
    advance = driver(prog, over)
    while int(jnp.max(state.step)) < prog.sizes.total_steps:
        state = advance(state)
        yield state


def keys_of(seed: int) -> tuple[Array, Array]:
    """The keys of the baseline and of the run, from the run's seed."""
    key_baseline, key_run = jax.random.split(from_seed(seed))
    return key_baseline, key_run


def launch(prog: Program, seed: int, random_of: Callable[[int], RandomAgent] | None = None) -> TrainState:
    """A run's first state, from its seed; its random agent is measured where it is not known."""
    random = usable_in(prog, (random_of or baseline(prog))(seed))
    return jax.jit(lambda key, random: start(prog, key, random))(keys_of(seed)[1], random)


def shapes(prog: Program) -> TrainState:
    """A run's state as shapes and dtypes alone; nothing is computed."""
    return jax.eval_shape(lambda key: start(prog, key, nobody()), jax.random.key(0))


def launch_seeds(
    prog: Program, seeds: Sequence[int], random_of: Callable[[int], RandomAgent] | None = None
) -> TrainState:
    """First states of several seeds, stacked, and spread over the devices where their number divides."""
    known = random_of or baseline(prog)
    random = jax.tree.map(lambda *each: jnp.stack(each), *[usable_in(prog, known(seed)) for seed in seeds])
    begin = jax.jit(jax.vmap(lambda key, random: start(prog, key, random)))
    states = begin(jnp.stack([keys_of(seed)[1] for seed in seeds]), random)
    devices = jax.devices()
    if len(devices) == 1 or len(seeds) % len(devices):
        return states
    mesh = Mesh(np.asarray(devices), ("seeds",))
    return jax.device_put(states, NamedSharding(mesh, PartitionSpec("seeds")))
