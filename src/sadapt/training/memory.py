"""Says what a run will take of memory before it is taken, and refuses what the machine does not have."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable
from typing import Any

import jax

from sadapt.envs.base import Env
from sadapt.errors import UserError
from sadapt.keys import bits_like
from sadapt.learners.base import Need
from sadapt.training.driver import shapes
from sadapt.training.program import Program, TrainState

log = logging.getLogger(__name__)
SPARE = 0.9
"""Share of the free memory that a run may take."""
MEASURED = 8
"""Bytes that are kept of a step of the random agent, at least."""
SMALLER = "ask for a smaller network (--hidden, --radius) or for fewer steps at once (--num-steps)"


def free_bytes() -> int | None:
    """Memory that can be had without swapping; None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def require_memory(prog: Program, free: int | None = None) -> None:
    """Logs the plan; an error if it is larger than what is free, that names the largest part and how to lower it."""
    if prog.learner.need is not None:
        log.info(_spoken(prog.learner.need))
    free = free_bytes() if free is None else free
    state = shapes(prog)
    for needs in (kept(prog, state), random_play(prog, state)):
        total = sum(need.bytes for need in needs)
        if free is None or total <= SPARE * free:
            continue
        largest = max(needs, key=lambda need: need.bytes)
        share = max(1 - (total - SPARE * free) / largest.bytes, 0.0)
        raise UserError(
            f"{_spoken(largest)}, but only {free / 1e9:.2f} GB of memory are free: {largest.instead(share)}"
        )


def kept(prog: Program, state: TrainState) -> list[Need]:
    """What a run's state takes: worlds and what is remembered of each, weights, and what the learner says itself."""
    count, leaves = prog.sizes.num_envs, jax.tree.leaves(state.learner)
    beside = sum(_bytes(leaf) for leaf in leaves if count > 1 and count in leaf.shape[:2])
    said = prog.learner.need
    weights = sum(map(_bytes, leaves)) - beside - (0 if said is None else said.bytes)
    return [
        Need(
            f"{count:,} worlds side by side", sum(map(_bytes, jax.tree.leaves(state.episodes))) + beside, _fewer(count)
        ),
        Need("the network and what teaches it", weights, lambda share: SMALLER),
        *([] if said is None else [said]),
    ]


def random_play(prog: Program, state: TrainState) -> list[Need]:
    """What the random agent's episodes take, which are played side by side in a world written in JAX."""
    if not isinstance(prog.env, Env):
        return []
    count = prog.sizes.random_episodes
    world = sum(map(_bytes, jax.tree.leaves(state.episodes))) // prog.sizes.num_envs
    seen = MEASURED * prog.rules.horizon
    instead = lambda share: f"lower --random-episodes to {max(int(share * count), 1):,} or less"  # noqa: E731
    return [Need(f"{count:,} random episodes", count * (world + seen), instead)]


def _fewer(count: int) -> Callable[[float], str]:
    return lambda share: f"lower --num-envs to {int(share * count):,} or less" if share * count >= 1 else SMALLER


def _bytes(leaf: Any) -> int:
    bits = bits_like(leaf)
    return int(math.prod(bits.shape) * bits.dtype.itemsize)


def _spoken(need: Need) -> str:
    return f"{need.what}: {need.bytes / 1e9:.2f} GB"
