"""What a random agent measures, kept for the next run of the same world, marginal and seed.

Only of worlds and marginals that come with this program: what is somebody's own may change without a word. Numbers lie
beside the compiled programs (`programs`), and are measured again by any other version of the sources that they rest on.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from sadapt.errors import UserError
from sadapt.motivation.feedback import as_plain, from_plain
from sadapt.registry import Own
from sadapt.runs import config
from sadapt.runs.folder import layout_text
from sadapt.runs.programs import place, prune
from sadapt.training.driver import Measured, Recall, measured_anew
from sadapt.training.settings import Settings

RESTS_ON = ("envs", "motivation", "training", "keys.py")
"""Sources whose change may change what a random agent measures."""
CHOICES = {"feedback", "bandit", "network", "learner"}
LENGTHS = {"total_timesteps", "planned_timesteps", "log_interval"}
UNASKED = {"objective", "seed", "arms", "imports", "start_from", "as_arm", *LENGTHS, *CHOICES}
"""Settings that random play does not depend on."""
ELSEWHERE = ":"
"""In the names of worlds that do not come with this program."""
MOST = 2**24
"""Bytes that are kept; beyond them the oldest go."""


def recall(settings: Settings, own: Own | None) -> Recall:
    """Looks up what has been measured of a seed; measures and keeps it where nothing has."""
    somebodys = own or settings.imports or ELSEWHERE in settings.env
    folder = None if somebodys else place(f"baselines-{sources()}")
    if folder is None:
        return measured_anew
    prune(folder, MOST)

    def recalled(seed: int, measure: Any) -> Measured:
        file = folder / f"{named(settings, seed)}.json"
        known = read(file)
        if known is not None:
            return known
        measured: Measured = measure()
        keep(file, measured)
        return measured

    return recalled


@cache
def sources() -> str:
    """A digest of the sources."""
    root = Path(__file__).parent.parent
    files = sorted(file for part in RESTS_ON for file in [root / part, *(root / part).rglob("*.py")] if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def named(settings: Settings, seed: int) -> str:
    """A digest of the run's settings but for those that random play does not depend on."""
    asked = {name: value for name, value in config.to_dict(settings).items() if name not in UNASKED}
    text = json.dumps([asked, seed, layout_text(settings)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def read(file: Path) -> Measured | None:
    """What was kept; None where there is nothing, or nothing that can be read."""
    try:
        kept = json.loads(file.read_bytes())
        return Measured(from_plain(kept["random"], str(file)), int(kept["rounds"]))
    except (OSError, ValueError, KeyError, TypeError, UserError):
        return None


def keep(file: Path, measured: Measured) -> None:
    """Writes it beside its place first, so that nobody reads half of it; what cannot be written is not kept."""
    beside = file.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        beside.write_text(json.dumps({"random": as_plain(measured.random), "rounds": measured.rounds}))
        beside.replace(file)
