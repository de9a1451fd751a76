"""This machine's cores, and a process kept on one of them."""

from __future__ import annotations

import os
import platform
from pathlib import Path

SINGLE = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def available() -> list[int]:
    """Numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def processor() -> str:
    """What the processor calls itself, or the kind that it is of."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def one_core(core: int | None = None) -> None:
    """Pins this process to `core`, the last one that it may use if none is named, and XLA to a single thread.

    To be called before JAX is imported, which sizes its thread pools then.
    """
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {SINGLE}".strip()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {available()[-1] if core is None else core})
