"""How fast training could be on a device: a roofline of its arithmetic and traffic, and a price for every kernel.

seconds = max(FLOP / peak, bytes / bandwidth) + kernels * launch. On this machine the same is compared with what is
measured, so that one sees how far such an estimate is off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from sadapt.benchmarks import arithmetic
from sadapt.benchmarks.arithmetic import Cost
from sadapt.benchmarks.learners import atari_training, going_on, matmul_gflops, training_rates
from sadapt.benchmarks.row import Row
from sadapt.benchmarks.timing import best_seconds
from sadapt.composite import all_changed, names
from sadapt.envs.base import HostEnv, Step
from sadapt.motivation.episode import Answer, Fresh
from sadapt.training import compiled, driver
from sadapt.training.presets import preset
from sadapt.training.program import Program, TrainState, build
from sadapt.training.settings import Settings

WORLDS = ("maze-small", "butterflies-large", "minatar-breakout", "atari-freeway")
WIDE = "fast, wide"
CASES = (
    *((base, world) for base in ("fast", "paper") for world in WORLDS),
    *((WIDE, world) for world in WORLDS[:-1]),
)
WIDER = {"num_envs": 4_096, "minibatch_size": 4_096}
"""Of `WIDE`: what would keep a GPU busy; nobody has learned anything with it yet."""
SMALL = {"buffer_size": 2_000, "learning_starts": 1_000}
"""A replay for which XLA's count of bytes is right: it counts all of what a few entries are gathered from. Pace does
not depend on its size."""
ATARI_STEPS = 40


class Device(NamedTuple):
    """What a device can do at most."""

    name: str
    flops: float
    """FLOP a second, float32 without tensor cores."""
    bandwidth: float
    """Bytes a second to and from its memory."""
    launch: float
    """Seconds that a kernel takes however small it is; for GPUs an assumption."""
    memory: float | None = None
    """Bytes."""


GPUS = (
    Device("A100 40GB", 19.5e12, 1_555e9, 4e-6, 40e9),
    Device("RTX 4090", 82.6e12, 1_008e9, 4e-6, 24e9),
)
"""NVIDIA's data sheets: A100 Tensor Core GPU (SXM4, 40 GB), and Ada GPU architecture (GeForce RTX 4090)."""


def steps_per_second(cost: Cost, device: Device) -> float:
    """The roofline, of the cost of one environment step."""
    return 1 / (max(cost.flops / device.flops, cost.bytes / device.bandwidth) + cost.kernels * device.launch)


def this_machine() -> Device:
    """One core of it, measured: a large product, a copy beyond all caches, a chain of the smallest products."""
    large, times = jnp.ones(2**25), 8
    copy = going_on(lambda x: jax.lax.fori_loop(0, times, lambda _, y: y + 1, x), large)
    links, tiny = 1_000, jnp.ones((16, 16))
    chain = jax.jit(lambda x: jax.lax.scan(lambda y, _: (y @ tiny, None), x, None, length=links)[0])
    chained = best_seconds(lambda: chain(tiny).block_until_ready(), seconds=0.5)
    copied = best_seconds(copy, seconds=1.0) / times
    return Device("this core", 1e9 * matmul_gflops(), 2 * large.nbytes / copied, chained / links)


def turn(prog: Program) -> tuple[Callable[[TrainState], TrainState], int]:
    """What training repeats, steps and an update, and the environment steps in it.

    Of a world outside JAX it is what is left without the world.
    """
    count, channels = prog.sizes.num_envs, prog.env.obs_shape[-1]

    def step(state: TrainState, _: None) -> tuple[TrainState, None]:
        if not isinstance(prog.env, HostEnv):
            return compiled.one_step(prog, state), None
        newest = state.episodes.obs[..., -channels:]
        counters = {name: jnp.zeros(count) for name in prog.env.counters}
        answer = Step(newest, jnp.zeros(count), jnp.zeros(count, bool), counters)
        state, actions = prog.act(state)
        return prog.observe(state, actions, Answer((), answer, Fresh((), answer.obs))), None

    def run(state: TrainState) -> TrainState:
        return prog.update(jax.lax.scan(step, state, None, length=prog.learner.steps_per_update)[0])

    return run, count * prog.learner.steps_per_update


def settings_of(base: str, world: str, **changes: Any) -> Settings:
    """S-Min of a preset, as the other measurements of training have it."""
    settings = preset(world, base.partition(",")[0])
    changes = changes | (WIDER if base == WIDE else {})
    fitting = {name: to for name, to in changes.items() if name in names(settings)}
    return all_changed(settings, {"objective": "s-min", **fitting})


def cost_of_a_step(settings: Settings) -> Cost:
    """Of one environment step of training, its share of the updates included."""
    prog = build(settings)
    run, steps = turn(prog)
    return arithmetic.cost(run, driver.shapes(prog)) * (1 / steps)


def memory(settings: Settings) -> int:
    """Bytes that training takes on a device."""
    prog = build(settings)
    return arithmetic.bytes_in_use(turn(prog)[0], driver.shapes(prog))


def measured(base: str, world: str, *, seconds: float) -> float | None:
    """Steps per second on this core, with the world; None where that takes too long."""
    if base == WIDE:
        return None
    if world != "atari-freeway":
        changes = {"learning_starts": 1_000, "buffer_size": 100_000}
        return training_rates(settings_of(base, world, **changes), seconds=seconds)[0]
    if base != "paper" or find_spec("ale_py") is None:
        return None
    return ATARI_STEPS / best_seconds(atari_training("s-min", steps=ATARI_STEPS), seconds=seconds)


def rows(*, seconds: float) -> Iterator[Row]:
    """One row a preset and world: memory, cost of a step, expected steps/s; those of this core beside the measured."""
    here = this_machine()
    for base, world in CASES:
        step = cost_of_a_step(settings_of(base, world, **SMALL))
        found = measured(base, world, seconds=seconds)
        expected = steps_per_second(step, here)
        yield {
            "preset": base,
            "world": world,
            "memory": memory(settings_of(base, world)),
            **step._asdict(),
            **{gpu.name: steps_per_second(step, gpu) for gpu in GPUS},
            "expected": expected,
            "measured": found,
            "ratio": None if found is None else expected / found,
            "machine": here._asdict(),
        }
