"""Says what a run will take of memory before it is taken, and refuses what the machine does not have."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from sadapt.envs.base import Env
from sadapt.errors import UserError
from sadapt.keys import bits_like
from sadapt.learners.base import Need
from sadapt.motivation.bandits import fixed
from sadapt.motivation.episode import Fresh, episodes
from sadapt.motivation.marginals import Marginal
from sadapt.training.driver import shapes
from sadapt.training.program import Program, TrainState

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

log = logging.getLogger(__name__)
SPARE = 0.9
"""Share of the free memory that a run may take."""
STEP = 12
"""Bytes that are kept of every step of an episode that is played as a whole: a key and the entropy."""
SMALLER = "ask for a smaller network (--hidden, --radius) or for fewer steps at once (--num-steps)"


def free_bytes() -> int | None:
    """Memory that can be had without swapping, within what the shell allows; None where the system does not say."""
    known = [found for found in (_free_here(), _left_of_limit()) if found is not None]
    return min(known, default=None)


def _left_of_limit() -> int | None:
    """What `ulimit -d` leaves of memory; None where there is no limit."""
    if resource is None or (limit := resource.getrlimit(resource.RLIMIT_DATA)[0]) == resource.RLIM_INFINITY:
        return None
    try:
        with open("/proc/self/status", encoding="ascii") as lines:
            taken = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))
    except (OSError, StopIteration):
        taken = 0
    return max(limit - taken, 0)


def _free_here() -> int | None:
    """What the machine has left."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def require_memory(prog: Program, free: int | None = None, *, seeds: int = 1) -> None:
    """Logs the plan; an error if it is larger than what is free, that names the largest part and how to lower it."""
    if prog.learner.need is not None:
        log.info(_spoken(prog.learner.need))
    state = shapes(prog)
    needs = kept(prog, state)
    _require(needs, free)
    if seeds > 1:
        whole = sum(need.bytes for need in needs)
        _require([Need(f"{seeds:,} seeds at once", seeds * whole, _fewer("num-seeds", seeds))], free)
    if isinstance(prog.env, Env) and prog.rules.stream is None:
        one = _all_bytes(state.episodes) // prog.sizes.num_envs
        _require([episodes_need(prog.sizes.random_episodes, one, prog.rules.horizon, "random-episodes")], free)


def require_episodes(env: Env, marginal: Marginal, count: int) -> None:
    """The same for episodes of every action of a world, played side by side."""
    rules = episodes(env, marginal, fixed(0), on_death=env.on_death)
    one = jax.eval_shape(lambda key: rules.begin(Fresh(*env.reset(key)), jnp.int32(0)), jax.random.key(0))
    _require([episodes_need(count, _all_bytes(one), env.horizon, "episodes", env.num_actions)])


def _require(needs: list[Need], free: int | None = None) -> None:
    """Refuses what is together more than what is free."""
    free, total = free_bytes() if free is None else free, sum(need.bytes for need in needs)
    if free is None or total <= SPARE * free:
        return
    largest = max(needs, key=lambda need: need.bytes)
    share = max(1 - (total - SPARE * free) / largest.bytes, 0.0)
    raise UserError(f"{_spoken(largest)}, but only {free / 1e9:.2f} GB of memory is free: {largest.instead(share)}")


def kept(prog: Program, state: TrainState) -> list[Need]:
    """What a run's state takes: worlds and what is remembered of each, weights, and what the learner says itself."""
    count, leaves = prog.sizes.num_envs, jax.tree.leaves(state.learner)
    beside = sum(_bytes(leaf) for leaf in leaves if count > 1 and count in leaf.shape[:2])
    said = prog.learner.need
    weights = sum(map(_bytes, leaves)) - beside - (0 if said is None else said.bytes)
    return [
        Need(f"{count:,} worlds side by side", _all_bytes(state.episodes) + beside, _fewer("num-envs", count)),
        Need("the network and what teaches it", weights, lambda share: SMALLER),
        *([] if said is None else [said]),
    ]


def episodes_need(count: int, one: int, horizon: int, option: str, times: int = 1) -> Need:
    """What whole episodes take that are played side by side, of which one state has `one` bytes."""
    return Need(f"{count:,} episodes at once", count * times * (one + STEP * horizon), _fewer(option, count))


def _fewer(option: str, count: int) -> Callable[[float], str]:
    return lambda share: f"lower --{option} to {int(share * count):,} or less" if share * count >= 1 else SMALLER


def _all_bytes(tree: Any) -> int:
    return sum(map(_bytes, jax.tree.leaves(tree)))


def _bytes(leaf: Any) -> int:
    bits = bits_like(leaf)
    return int(math.prod(bits.shape) * bits.dtype.itemsize)


def _spoken(need: Need) -> str:
    return f"{need.what}: {need.bytes / 1e9:.2f} GB"
