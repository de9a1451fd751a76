"""Training speed: our learners against the machine's own matrix products, and against Stable-Baselines3."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from sadapt.benchmarks.timing import Call, best_of, best_seconds
from sadapt.composite import all_changed, changed
from sadapt.envs import make
from sadapt.envs.base import HostEnv
from sadapt.motivation.feedback import nobody
from sadapt.runs.checkpoint import Shelf
from sadapt.training import compiled, host
from sadapt.training.presets import preset
from sadapt.training.program import Program, TrainState, build
from sadapt.training.settings import Settings

Array = jax.Array
PQN_TARGETS = {
    "maze-small": 10_000,
    "tetris": 30_000,
    "butterflies-large": 6_000,
    "maze-large": 6_000,
    "minatar-freeway": 8_000,
    "minatar-breakout": 8_000,
}
ATARI_TARGETS = {"s-min": 800, "s-adapt": 800}
"""Steps per second of PQN on Atari Freeway, the games themselves included, by objective."""
ADAPTING = ("maze-small", "butterflies-large", "minatar-breakout")
"""Where S-Adapt is timed beside S-Min."""
STREAMS = ("tetris", "maze-small", "butterflies-large", "seasons")
"""Where streams are timed beside episodes."""
REFERENCE_GFLOPS = 70.0
"""Matrix-product rate of the core that the targets were written for."""


def matmul_gflops() -> float:
    """Rate of a product of 1024 x 2048 by 2048 x 512."""
    rows, inner, columns = 1024, 2048, 512
    a, b = jnp.ones((rows, inner)), jnp.ones((inner, columns))
    product = jax.jit(lambda a, b: a @ b)
    seconds = best_seconds(lambda: product(a, b).block_until_ready(), seconds=1.0)
    return 2 * rows * inner * columns / seconds / 1e9


def training_rates(*all_settings: Settings, seconds: float) -> list[float]:
    """Environment steps per second of training chunks, updates included, after the warm-up phase."""
    progs = [build(settings) for settings in all_settings]
    calls = [training_chunks(prog).__next__ for prog in progs]
    taken = best_of(*calls, seconds=seconds)
    return [prog.learner.chunk_steps / each for prog, each in zip(progs, taken, strict=True)]


def training_chunks(prog: Program) -> Iterator[TrainState]:
    """Trains on and on; a replay holds `learning_starts` steps of random play when the first update comes."""
    state = compiled.start(prog, jax.random.key(0), nobody())
    warm, learn = (jax.jit(compiled.chunk(prog, learn=flag), donate_argnums=0) for flag in (False, True))
    for _ in range(prog.learner.warmup_steps // prog.learner.chunk_steps):
        state = jax.block_until_ready(warm(state))
    while True:
        state = jax.block_until_ready(learn(state))
        yield state


def dqn_settings(env: str = "maze-small", **changes: Any) -> Settings:
    """The paper's DQN with S-Min."""
    return all_changed(preset(env, "paper"), {"objective": "s-min", **changes})


def going_on(function: Callable[[Any], Any], state: Any) -> Call:
    """Calls that take the state where the last one left it, in the same memory, as training does."""
    run, held = jax.jit(function, donate_argnums=0), jax.tree.map(jnp.copy, state)

    def call() -> None:
        nonlocal held
        held = jax.block_until_ready(run(held))

    return call


def dqn_training(*, steps: int) -> Call:
    """Trains the paper's DQN on maze-small `steps` steps a call, with a replay of a million."""
    prog = build(dqn_settings(learning_starts=1_000, target_network_frequency=steps))
    return training_chunks(prog).__next__


def dqn_rates(*buffer_sizes: int, steps: int, seconds: float) -> list[float]:
    """Environment steps per second of the paper's DQN on maze-small, with replays of these sizes."""
    changes: dict[str, Any] = {"learning_starts": 1_000, "target_network_frequency": steps}
    every = [dqn_settings(buffer_size=size, **changes) for size in buffer_sizes]
    return training_rates(*every, seconds=seconds)


def atari_training(objective: str, *, steps: int) -> Call:
    """Trains the paper's DQN on Atari Freeway `steps` steps a call, around ale-py's games."""
    changes = {"buffer_size": 5_000, "learning_starts": 200, "target_network_frequency": steps}
    return outside_training(build(dqn_settings("atari-freeway", **{**changes, "objective": objective})))


def outside_training(prog: Program) -> Call:
    """Trains a chunk a call in worlds that are not written in JAX, after the warm-up phase."""
    assert isinstance(prog.env, HostEnv)
    worlds = prog.env.open(prog.sizes.num_envs)
    chunks = host.run(prog, worlds, host.start(prog, worlds, jax.random.key(0), nobody()))
    for _ in range(prog.learner.warmup_steps // prog.learner.chunk_steps):
        next(chunks)
    return lambda: jax.block_until_ready(next(chunks))


def atari_pqn_rate(objective: str, *, seconds: float) -> float:
    """Environment steps per second of PQN with the fast preset on Atari Freeway, around ale-py's games."""
    prog = build(changed(preset("atari-freeway", "fast"), "objective", objective))
    return prog.learner.chunk_steps / best_seconds(outside_training(prog), seconds=seconds)


def pqn_rate(name: str, *, seconds: float) -> float:
    """Environment steps per second of PQN with the fast preset, S-Min."""
    return training_rates(changed(preset(name, "fast"), "objective", "s-min"), seconds=seconds)[0]


def adapting_rates(name: str, *, seconds: float) -> tuple[float, float]:
    """The same of S-Adapt while its arms take turns, which is when it costs most, and of S-Min by turns with it."""
    undecided = {"objective": "s-adapt", "bandit_patience": 1.0}
    both = [all_changed(preset(name, "fast"), each) for each in (undecided, {"objective": "s-min"})]
    ours, single = training_rates(*both, seconds=seconds)
    return ours, single


def stream_rates(name: str, *, seconds: float) -> tuple[float, float]:
    """The same of S-Min in a stream, and in episodes by turns with it; S-Adapt's speed depends on the arms played."""
    both = [all_changed(preset(name, "fast", stream=on), {"stream": on, "objective": "s-min"}) for on in (True, False)]
    stream, episodic = training_rates(*both, seconds=seconds)
    return stream, episodic


def checkpoint_seconds() -> float:
    """Writing a checkpoint of the paper's DQN on maze-small, with its replay of a million steps."""
    prog = build(dqn_settings())
    state = jax.jit(lambda key: compiled.start(prog, key, nobody()))(jax.random.key(0))
    with tempfile.TemporaryDirectory() as folder:
        shelf = Shelf(Path(folder))
        return best_seconds(lambda: shelf.save(state, 0, {}), seconds=0.0)


def replay_gigabytes(name: str) -> tuple[float, float]:
    """A million steps as our replay keeps them, and as s, theta and their successors in float32."""
    env, need = make(name), build(dqn_settings(name)).learner.need
    assert need is not None
    return need.bytes / 1e9, 8 * (math.prod(env.obs_shape) + math.prod(env.input_shape)) * 1e6 / 1e9
