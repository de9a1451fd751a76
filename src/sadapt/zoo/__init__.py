"""Trained policies that come with the program: `zoo:NAME` wherever a run is named.

Each is an exported policy, NAME.safetensors, beside NAME.json, which tells the settings that it was trained under and
what it does. `python -m tools.zoo RUN...` fills the folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from sadapt.errors import UserError, nearest

PREFIX = "zoo:"
FOLDER = Path(__file__).parent
POLICY, ABOUT = ".safetensors", ".json"
TOLD = {"env": str, "objective": str, "learner": str, "arm": str, "step": int, "settings": dict, "evaluations": dict}
"""What every policy's JSON tells, and as what."""
MEASURES = ("return", "entropy", "surprise")
"""What every evaluation tells, of the agent and of Random."""


class Entry(NamedTuple):
    """A policy of the zoo."""

    name: str
    env: str
    objective: str
    learner: str
    arm: str
    """The arm that it prefers."""
    step: int
    """Environment steps that it was trained for."""
    settings: dict[str, Any]
    evaluations: dict[str, dict[str, Any]]
    """By arm, as `sadapt eval --json` tells them."""
    bytes: int

    @property
    def source(self) -> str:
        """What it is called wherever a run is named."""
        return PREFIX + self.name


def is_named(path: object) -> bool:
    """Whether a policy of the zoo is meant."""
    return str(path).startswith(PREFIX)


def names(folder: Path = FOLDER) -> list[str]:
    """Every policy that there is."""
    return sorted(file.name.removesuffix(POLICY) for file in folder.glob(f"*{POLICY}"))


def located(path: str | Path, folder: Path = FOLDER) -> Path:
    """The file of a policy of the zoo; any other path is left as it is."""
    if not is_named(path):
        return Path(path)
    name, known = str(path).removeprefix(PREFIX), names(folder)
    if name not in known:
        if not known:
            raise UserError(f"no policy {str(path)!r}: there are none in this installation; reinstall sadapt")
        hint = nearest(str(path), [f"{PREFIX}{each}" for each in known])
        raise UserError(f"no policy {str(path)!r}: {hint}{'' if hint.endswith('?') else '.'} `sadapt zoo` lists them")
    return folder / f"{name}{POLICY}"


def broken(path: str | Path, what: object) -> UserError:
    """The refusal of a file that is not as it was packaged."""
    return UserError(f"{path} is damaged ({what}): reinstall sadapt to repair it")


def entries(folder: Path = FOLDER) -> list[Entry]:
    """Every policy, with what its JSON tells of it."""
    return [_entry(name, folder) for name in names(folder)]


def _entry(name: str, folder: Path) -> Entry:
    file = folder / f"{name}{ABOUT}"
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise broken(file, error) from error
    for key, kind in TOLD.items():
        if not isinstance(told, dict) or not isinstance(told.get(key), kind):
            raise broken(file, f"it does not tell its {key}")
    for arm, found in told["evaluations"].items():
        for part in ("measures", "random"):
            if not all(_is_spread(found, part, measure) for measure in MEASURES):
                raise broken(file, f"its evaluation on {arm} has no {part} of {', '.join(MEASURES)}")
    if told["arm"] not in told["evaluations"]:
        raise broken(file, f"it has no evaluation on {told['arm']}, the arm that it prefers")
    size = (folder / f"{name}{POLICY}").stat().st_size
    return Entry(name=name, bytes=size, **{key: told[key] for key in TOLD})


def _is_spread(found: Any, part: str, measure: str) -> bool:
    try:
        return isinstance(found[part][measure]["mean"], int | float)
    except (KeyError, TypeError, IndexError):
        return False
