"""Says what a learner will take of memory before it is taken, and refuses what the machine does not have."""

from __future__ import annotations

import logging
import os

from sadapt.errors import UserError
from sadapt.training.program import Program

log = logging.getLogger(__name__)
SPARE = 0.9
"""Share of the free memory that a learner may take."""


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
    """Logs the plan; an error if it is larger than what is free."""
    need = prog.learner.need
    if need is None:
        return
    plan = f"{need.what}: {need.bytes / 1e9:.2f} GB"
    log.info(plan)
    free = free_bytes() if free is None else free
    if free is not None and need.bytes > SPARE * free:
        share = SPARE * free / need.bytes
        raise UserError(f"{plan}, but only {free / 1e9:.2f} GB of memory are free: {need.instead(share)}")
