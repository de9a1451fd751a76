"""Keeps a process on one core; to be called before JAX is imported, which sizes its thread pools then."""

from __future__ import annotations

import os

SINGLE = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def available() -> list[int]:
    """Numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def one_core(core: int | None = None) -> None:
    """Pins this process to `core`, the last one that it may use if none is named, and XLA to a single thread."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {SINGLE}".strip()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {available()[-1] if core is None else core})
