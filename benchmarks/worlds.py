"""How many steps per second the worlds make on one core, many of them in one compiled loop."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

if __name__ == "__main__":
    # Before JAX is imported: it sizes its thread pools by what it finds at the start.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp

from sadapt.envs import make, names

Array = jax.Array

WARM_UPS = 2
"""Calls before the first timed one: the second may compile again."""

TARGETS = {
    "maze-small": 2_000_000,
    "maze-large": 200_000,
    "butterflies-small": 1_000_000,
    "butterflies-large": 120_000,
    "tetris": 700_000,
}
"""Steps per second that a world should make at least, 256 at once on one core."""


def measure(name: str, num_envs: int = 256, *, steps: int = 8, seconds: float = 3.0) -> float:
    """Steps per second under random play: the best of as many short runs as fit into `seconds`."""
    env = make(name)

    def advance(carry: tuple[object, Array], key: Array) -> tuple[tuple[object, Array], None]:
        states, seen = carry
        key_actions, key_steps = jax.random.split(key)
        actions = jax.random.randint(key_actions, (num_envs,), 0, env.num_actions, jnp.int32)
        states, step = jax.vmap(env.step)(jax.random.split(key_steps, num_envs), states, actions)
        # A sum over all that is seen, so that the compiler cannot leave any of it out.
        return (states, seen + jnp.sum(step.obs, dtype=jnp.uint32)), None

    @jax.jit
    def play(key: Array, states: object) -> tuple[object, Array]:
        return jax.lax.scan(advance, (states, jnp.uint32(0)), jax.random.split(key, steps))[0]

    states, _ = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), num_envs))
    keys = jax.random.split(jax.random.key(1), WARM_UPS)
    for key in keys:
        states, _ = jax.block_until_ready(play(key, states))
    key, best = keys[-1], float("inf")
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        jax.block_until_ready(play(key, states))
        best = min(best, time.perf_counter() - begin)
    return num_envs * steps / best


def main() -> None:
    """`python benchmarks/worlds.py [NAME ...] [--num-envs N] [--seconds S] [--json]`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="worlds to measure; all if none is given")
    parser.add_argument("--num-envs", type=int, default=256, help="worlds side by side")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long to measure each world")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    args = parser.parse_args()
    chosen = args.names or names()
    if not args.json:
        print(f"{'world':24}{'steps/s':>14}{'target':>14}")
    measured = {}
    for name in chosen:
        measured[name] = measure(name, args.num_envs, seconds=args.seconds)
        if not args.json:
            target = f"{TARGETS[name]:,}" if name in TARGETS else ""
            print(f"{name:24}{measured[name]:14,.0f}{target:>14}", flush=True)
    if args.json:
        json.dump({name: round(rate) for name, rate in measured.items()}, sys.stdout)
        print()


if __name__ == "__main__":
    main()
