"""The command `sadapt`, also as `python -m sadapt`: it can be interrupted from its first line on."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def main() -> int:
    """Runs one command and returns its exit code; until that hears signals itself, Ctrl-C ends it with one line."""
    signal.signal(signal.SIGINT, _stop)
    from sadapt.cli import main as run

    return run()


def _stop(number: int, _: FrameType | None) -> None:
    os.write(2, b"sadapt: stopped\n")
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
