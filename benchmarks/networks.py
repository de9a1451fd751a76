"""Time of the networks on one core, in microseconds of processor time per environment step or per sample.

    taskset -c 1 python benchmarks/networks.py [--quick]

PQN's share of a step is one acting forward pass (64 worlds) and two trainings of the sample; DQN's is a quarter of an
update of 32 samples and a forward pass of the target network. The ratio, in brackets after a minibatch's time,
compares training with its own matrix products alone (for DQN: with these and Adam). Everything runs inside a scan, as
in training, and is warmed up twice; the best of several runs counts.
"""

from __future__ import annotations

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from sadapt.learners.networks import Network, paper, plain, plain_conv, window
from sadapt.motivation.augmented import Augmented

ENVS, STEPS = 64, 32
SAMPLES = ENVS * STEPS
MINIBATCHES = (32, 64, 128, 256, 512)


class Case(NamedTuple):
    """A network in a world of these shapes, and the microseconds per step that training it may take in all."""

    network: Network
    obs_shape: tuple[int, ...]
    theta_shape: tuple[int, ...]
    agent_channel: int | None
    budget: float | None = None


def fast_cases() -> dict[str, Case]:
    """What PQN uses."""
    small, large = ((10, 10, 3), (10, 10, 3)), ((32, 32, 3), (32, 32, 2))
    tetris, minatar = ((10, 4, 2), (10, 4, 1)), ((10, 10, 4), (10, 10, 4))
    return {
        "window, 10x10": Case(window(*small, 5, 1), *small, 1, 100),
        "window, 10x10, stride 1": Case(window(*small, 5, 1, stride=1), *small, 1, 100),
        "window, 10x10, per arm": Case(window(*small, 5, 1, heads="per-arm"), *small, 1, 100),
        "window, 32x32": Case(window(*large, 5, 2), *large, 2, 160),
        "plain, tetris": Case(plain(*tetris, 12), *tetris, None, 33),
        "plain_conv, minatar": Case(plain_conv(*minatar, 6), *minatar, None),
    }


def paper_cases() -> dict[str, Case]:
    """What DQN uses."""
    shapes = {
        "paper, tetris": ((10, 4, 2), (10, 4, 1)),
        "paper, 10x10": ((10, 10, 3), (10, 10, 3)),
        "paper, 32x32": ((32, 32, 3), (32, 32, 2)),
        "paper, atari": ((84, 84, 4), (21, 21, 2)),
    }
    return {name: Case(paper(*both, 5), *both, None) for name, both in shapes.items()}


def scene(case: Case, count: int) -> Augmented:
    """Random observations, each with one agent."""
    key_obs, key_agent, key_theta = jax.random.split(jax.random.key(0), 3)
    obs = jax.random.bernoulli(key_obs, 0.2, (count, *case.obs_shape)).astype(jnp.uint8)
    if case.agent_channel is not None:
        height, width, _ = case.obs_shape
        cell = jax.random.randint(key_agent, (count,), 0, height * width)
        agent = jax.nn.one_hot(cell, height * width, dtype=jnp.uint8).reshape(count, height, width)
        obs = obs.at[..., case.agent_channel].set(agent)
    theta = jax.random.uniform(key_theta, (count, *case.theta_shape))
    return Augmented(obs, theta, jnp.linspace(0, 1, count), jnp.arange(count) % 2 * 1.0)


def best_time(body: Callable[[Any, Any], Any], carry: Any, xs: Any, repeats: int) -> float:
    """Least processor time of `carry = body(carry, x)` over all xs, in microseconds."""
    run = jax.jit(lambda carry, xs: jax.lax.scan(lambda c, x: (body(c, x), None), carry, xs)[0])
    for _ in range(2):
        jax.block_until_ready(run(carry, xs))
    times = []
    for _ in range(repeats):
        start = time.process_time()
        jax.block_until_ready(run(carry, xs))
        times.append(time.process_time() - start)
    return min(times) * 1e6


def products(jaxpr: Any) -> Iterator[Any]:
    """All matrix products of a traced function."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield equation
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from products(inner)


def products_alone(function: Callable[..., Any], *arguments: Any, repeats: int) -> float:
    """Microseconds of a function's matrix products and nothing else; operands change, lest they be hoisted."""
    found = list(products(jax.make_jaxpr(function)(*arguments).jaxpr))
    operands = [tuple(jnp.ones(v.aval.shape, v.aval.dtype) for v in equation.invars) for equation in found]

    def touch(x: jax.Array, value: jax.Array) -> jax.Array:
        return x.at[(0,) * x.ndim].set(value)

    def body(carry: Any, _: Any) -> Any:
        changed = []
        for equation, (left, right) in zip(found, carry, strict=True):
            result = jax.lax.dot_general(left, right, equation.params["dimension_numbers"])
            value = result[(0,) * result.ndim] * 1e-6
            changed.append((touch(left, value), touch(right, value)))
        return changed

    rounds = 8
    return best_time(body, operands, jnp.arange(rounds), repeats) / rounds


def gradient(network: Network) -> Callable[[Any, Any], Any]:
    """Of the squared error of the first action's value."""
    return jax.grad(lambda params, batch: jnp.mean(jnp.square(network.apply(params, batch)[:, 0] - 1.0)))


def training(network: Network, optimiser: optax.GradientTransformation) -> Callable[[Any, Any], Any]:
    """One gradient step."""
    slope = gradient(network)

    def step(carry: Any, batch: Any) -> Any:
        params, state = carry
        change, state = optimiser.update(slope(params, batch), state, params)
        return optax.apply_updates(params, change), state

    return step


def size(params: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(params))


def pqn_row(name: str, case: Case, minibatches: tuple[int, ...], repeats: int) -> str:
    """Acting, and training at several minibatch sizes."""
    network, seen = case.network, scene(case, SAMPLES)
    params = network.init(jax.random.key(1))
    optimiser = optax.chain(optax.clip_by_global_norm(10.0), optax.radam(1e-4))
    views = jax.jit(jax.vmap(network.view))(seen)
    worlds = jax.tree.map(lambda x: x.reshape(STEPS, ENVS, *x.shape[1:]), seen)

    def act(total: jax.Array, now: Augmented) -> jax.Array:
        return total + jnp.sum(network.apply(params, jax.vmap(network.view)(now)))

    def look(_: Any, now: Augmented) -> Any:
        return jax.vmap(network.view)(now)

    looking = best_time(look, jax.tree.map(lambda x: x[:ENVS], views), worlds, repeats) / SAMPLES
    acting = best_time(act, jnp.zeros(()), worlds, repeats) / SAMPLES
    step = training(network, optimiser)
    times, ratios = [], []
    for minibatch in minibatches:
        order = jax.random.permutation(jax.random.key(2), SAMPLES).reshape(-1, minibatch)

        def shuffled(carry: Any, chosen: jax.Array) -> Any:
            return step(carry, jax.tree.map(lambda x: x[chosen], views))

        times.append(best_time(shuffled, (params, optimiser.init(params)), order, repeats) / SAMPLES)
        batch = jax.tree.map(lambda x: x[:minibatch], views)  # noqa: B023
        ratios.append(times[-1] / (products_alone(gradient(network), params, batch, repeats=repeats) / minibatch))
    cells = "".join(f"{t:7.1f} ({r:3.1f})" for t, r in zip(times, ratios, strict=True))
    budget = "" if case.budget is None else f" of {case.budget:.0f}"
    total = acting + 2 * times[minibatches.index(64)]
    return f"{name:26}{size(params):9,d}{looking:7.1f}{acting:7.1f}{cells}{total:9.1f}{budget}"


def dqn_row(name: str, case: Case, repeats: int) -> str:
    """One update of 32 samples."""
    batch, rounds = 32, 4
    network, seen = case.network, scene(case, batch * rounds)
    params = network.init(jax.random.key(1))
    optimiser = optax.adam(1e-4)
    views = jax.tree.map(lambda x: x.reshape(rounds, batch, *x.shape[1:]), jax.vmap(network.view)(seen))
    step = training(network, optimiser)

    def forward(total: jax.Array, now: Any) -> jax.Array:
        return total + jnp.sum(network.apply(params, now))

    def adam(carry: Any, _: Any) -> Any:
        params, state = carry
        change, state = optimiser.update(params, state, params)
        return optax.apply_updates(params, change), state

    target = best_time(forward, jnp.zeros(()), views, repeats) / rounds
    update = best_time(step, (params, optimiser.init(params)), views, repeats) / rounds
    alone = best_time(adam, (params, optimiser.init(params)), jnp.arange(rounds), repeats) / rounds
    dots = products_alone(gradient(network), params, jax.tree.map(lambda x: x[0], views), repeats=repeats)
    ratio = update / (dots + alone)
    times = f"{target:10.0f}{update:10.0f}{alone:10.0f}{ratio:8.1f}{(target + update) / 4:10.0f}"
    return f"{name:26}{size(params):9,d}{times}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one minibatch size, fewer repeats, no Atari")
    quick = parser.parse_args().quick
    minibatches, repeats = ((64,), 5) if quick else (MINIBATCHES, 15)
    sizes = "".join(f"{f'mb {m}':>13}" for m in minibatches)
    print(f"{'PQN, us per step':26}{'params':>9}{'view':>7}{'act':>7}{sizes}   act + 2 x mb 64")
    for name, case in fast_cases().items():
        print(pqn_row(name, case, minibatches, repeats), flush=True)
    head = f"{'target':>10}{'train':>10}{'adam':>10}{'ratio':>8}{'per step':>10}"
    print(f"\n{'DQN, us per batch of 32':26}{'params':>9}{head}")
    for name, case in paper_cases().items():
        if not (quick and "atari" in name):
            print(dqn_row(name, case, repeats), flush=True)


if __name__ == "__main__":
    main()
