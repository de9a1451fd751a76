"""A process by more than its number, which the system gives away again, so that others can tell whether it is gone."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any


def this() -> dict[str, Any]:
    """This process: its machine, its number there, and when it began in the machine's own count."""
    return {"host": platform.node(), "pid": os.getpid(), "began": _began(os.getpid())}


def gone(process: Any) -> bool:
    """Whether a process, as `this` told it, has ended for certain; nothing is known of another machine's."""
    if os.name != "posix" or not isinstance(process, dict) or process.get("host") != platform.node():
        return False
    pid = process.get("pid")
    if not isinstance(pid, int) or isinstance(pid, bool) or not 0 < pid < 2**31:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    began, now = process.get("began"), _began(pid)
    return None not in (began, now) and began != now


def _began(pid: int) -> int | None:
    """Clock ticks from the machine's start to the process's; None where the system does not say."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(told.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
