"""Training speed: our learners against the machine's own matrix products, and against Stable-Baselines3."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import optax

from sadapt.benchmarks.timing import best_seconds
from sadapt.envs import make
from sadapt.training import compiled
from sadapt.training.presets import preset
from sadapt.training.program import Program, TrainState, program
from sadapt.training.settings import Settings

Array = jax.Array
PQN_TARGETS = {"maze-small": 10_000, "tetris": 30_000, "butterflies-large": 6_000, "maze-large": 6_000}
REFERENCE_GFLOPS = 70.0
"""Matrix-product rate of the core that the targets were written for."""


def matmul_gflops() -> float:
    """Rate of a product of 1024 x 2048 by 2048 x 512."""
    rows, inner, columns = 1024, 2048, 512
    a, b = jnp.ones((rows, inner)), jnp.ones((inner, columns))
    product = jax.jit(lambda a, b: a @ b)
    seconds = best_seconds(lambda: product(a, b).block_until_ready(), seconds=1.0)
    return 2 * rows * inner * columns / seconds / 1e9


def training_rate(settings: Settings, *, seconds: float) -> float:
    """Environment steps per second of training chunks, updates included, after the warm-up phase."""
    prog = program(make(settings.env), settings)
    chunks = _training_chunks(prog)
    return prog.learner.chunk_steps / best_seconds(lambda: next(chunks), seconds=seconds)


def _training_chunks(prog: Program) -> Iterator[TrainState]:
    """Trains on and on; the replay holds one chunk of random play when the first update comes."""
    state = compiled.start(prog, jax.random.key(0), jnp.float32(1.0))
    warm, learn = (jax.jit(compiled.chunk(prog, learn=flag), donate_argnums=0) for flag in (False, True))
    state = jax.block_until_ready(warm(state))
    while True:
        state = jax.block_until_ready(learn(state))
        yield state


def dqn_settings(env: str = "maze-small", **changes: Any) -> Settings:
    """The paper's DQN with S-Min."""
    base = dataclasses.replace(preset(env, "paper"), objective="s-min")
    return dataclasses.replace(base, learner=dataclasses.replace(base.learner, **changes))


def update_seconds(prog: Program, *, seconds: float, repeat: int = 50) -> float:
    """One DQN update: sampling, rebuilding theta, two forward passes, one backward pass, Adam."""
    state = next(_training_chunks(prog))

    @jax.jit
    def updates(state: TrainState) -> Any:
        final = jax.lax.scan(lambda s, _: (prog.update(s), None), state, None, length=repeat)[0]
        return final.learner.params

    return best_seconds(lambda: jax.block_until_ready(updates(state)), seconds=seconds) / repeat


def bare_update_seconds(prog: Program, *, batch: int = 32, seconds: float, repeat: int = 50) -> float:
    """Only the matrix products of that update (each forward twice, backward once) and Adam, nothing between them."""
    assert prog.network is not None
    params = prog.network.init(jax.random.key(0))
    adam = optax.adam(1e-4)
    rows = {path: batch * _positions(prog, path) for path, _ in _weights(params)}
    first = {path for path, _ in _weights(params) if "conv_0" in path}

    def noise(path: str, columns: int) -> Array:
        return jax.random.uniform(jax.random.key(columns), (rows[path], columns))

    inputs = {path: noise(path, weight[..., 0].size) for path, weight in _weights(params)}
    gradients = {path: noise(path, weight.shape[-1]) for path, weight in _weights(params)}

    def once(carry: tuple[Any, Any, Array], _: None) -> tuple[tuple[Any, Any, Array], None]:
        params, optimiser, total = carry
        gradient = jax.tree.map(jnp.zeros_like, params)
        for path, weight in _weights(params):
            matrix = weight.reshape(-1, weight.shape[-1])
            x, g = inputs[path] + total, gradients[path] + total
            total += 1e-9 * (jnp.max(x @ matrix) + jnp.max((x + 1.0) @ matrix))
            if path not in first:
                total += 1e-9 * jnp.max(g @ matrix.T)
            _set(gradient, path, (x.T @ g).reshape(weight.shape))
        change, optimiser = adam.update(gradient, optimiser, params)
        return (optax.apply_updates(params, change), optimiser, total), None

    @jax.jit
    def updates(params: Any, optimiser: Any) -> Any:
        return jax.lax.scan(once, (params, optimiser, jnp.float32(0)), None, length=repeat)[0]

    optimiser = adam.init(params)
    return best_seconds(lambda: jax.block_until_ready(updates(params, optimiser)), seconds=seconds) / repeat


def _weights(params: Any) -> list[tuple[str, Array]]:
    """Weight matrices and convolution kernels by path."""
    flat = jax.tree_util.tree_flatten_with_path(params)[0]
    named = [("/".join(str(part.key) for part in path), leaf) for path, leaf in flat]
    return [(name.removesuffix("/weight"), leaf) for name, leaf in named if name.endswith("/weight")]


def _set(tree: Any, path: str, value: Array) -> None:
    for part in path.split("/"):
        tree = tree[part]
    tree["weight"] = value


def _positions(prog: Program, path: str) -> int:
    """How often a kernel of the 10x10 network is applied to one example."""
    height, width = prog.env.obs_shape[:2]
    return (height - 2) * (width - 2) if "conv_0" in path else 1


def dqn_rate(*, buffer_size: int, seconds: float) -> float:
    """Environment steps per second of the paper's DQN on maze-small."""
    return training_rate(dqn_settings(buffer_size=buffer_size, learning_starts=1_000), seconds=seconds)


def pqn_rate(name: str, *, seconds: float) -> float:
    """Environment steps per second of PQN with the fast preset, S-Min."""
    return training_rate(dataclasses.replace(preset(name, "fast"), objective="s-min"), seconds=seconds)


def update_milliseconds(*, seconds: float) -> tuple[float, float]:
    """The paper's DQN on maze-small: one update, and its matrix products and Adam alone."""
    prog = program(make("maze-small"), dqn_settings(learning_starts=1_000, buffer_size=100_000))
    return 1e3 * update_seconds(prog, seconds=seconds), 1e3 * bare_update_seconds(prog, seconds=seconds)


def replay_gigabytes(name: str) -> tuple[float, float]:
    """A million steps as our replay keeps them, and as s, theta and their successors in float32."""
    env = make(name)
    memory = program(env, dqn_settings(name)).memory
    assert memory is not None
    return memory.bytes / 1e9, 8 * (math.prod(env.obs_shape) + math.prod(env.seen_shape)) * 1e6 / 1e9
