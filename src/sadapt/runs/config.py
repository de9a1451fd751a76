"""Settings as JSON and back, with where they came from; a mistake in a file is named by its key."""

from __future__ import annotations

import dataclasses
import json
import math
import platform
import shlex
import subprocess
import sys
import types
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sadapt import __version__
from sadapt.errors import UserError, nearest
from sadapt.learners.dqn import DQNSettings
from sadapt.learners.pqn import PQNSettings
from sadapt.training.settings import Settings

LEARNERS: dict[str, type] = {"dqn": DQNSettings, "pqn": PQNSettings}
RECORDED = ("jax", "jaxlib", "numpy", "optax")
"""Libraries whose versions decide a run's bytes."""


def learner_name(settings: Settings) -> str:
    """`dqn` or `pqn`."""
    return next(name for name, kind in LEARNERS.items() if isinstance(settings.learner, kind))


def to_dict(settings: Settings) -> dict[str, Any]:
    """Settings in the types that JSON knows; the learner's say which learner they are for."""
    plain = _finite(dataclasses.asdict(settings))
    plain["learner"] = {"kind": learner_name(settings), **plain["learner"]}
    return plain


def from_dict(given: Any, source: str) -> Settings:
    """Settings from JSON; what is missing has its default."""
    if not isinstance(given, dict) or not isinstance(given.get("env"), str):
        raise UserError(f"{source} holds no settings: expected an object with at least an 'env'")
    learner = given.get("learner", {"kind": "pqn"})
    kind = learner.get("kind") if isinstance(learner, dict) else learner
    if kind not in LEARNERS:
        raise UserError(f"{source}: unknown learner {kind!r}: {nearest(str(kind), LEARNERS)}")
    rest = {name: value for name, value in learner.items() if name != "kind"} if isinstance(learner, dict) else {}
    plain = {name: value for name, value in given.items() if name != "learner"}
    settings = _build(Settings, plain, source, "")
    return dataclasses.replace(settings, learner=_build(LEARNERS[kind], rest, source, "learner."))


def differences(a: dict[str, Any], b: dict[str, Any], prefix: str = "") -> list[str]:
    """Every key on which two settings disagree, as `name: first, second`."""
    found = []
    for name in sorted(a.keys() | b.keys()):
        x, y = a.get(name), b.get(name)
        if isinstance(x, dict) and isinstance(y, dict):
            found += differences(x, y, f"{prefix}{name}.")
        elif x != y:
            found.append(f"{prefix}{name}: {json.dumps(x)}, {json.dumps(y)}")
    return found


def record(settings: Settings) -> dict[str, Any]:
    """What `config.json` holds: settings, versions, revision and command."""
    return {
        "settings": to_dict(settings),
        "version": __version__,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in RECORDED}},
        "revision": revision(),
        "command": command(),
    }


def command() -> str:
    """The words that started this program, or `python` where it is not ours."""
    ours = Path(sys.argv[0]).name in ("sadapt", "__main__.py")
    return shlex.join(["sadapt", *sys.argv[1:]]) if ours else "python"


def revision() -> str | None:
    """The git commit of the program, with `+` if files have changed since; None where there is none."""
    folder = Path(__file__).parent

    def git(*words: str) -> str:
        asked = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
        return asked.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", Path(__file__).name)
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def read(path: Path) -> Settings:
    """Settings from a `config.json`, or from a file that holds the settings alone."""
    return from_dict(read_record(path)["settings"], str(path))


def read_record(path: Path) -> dict[str, Any]:
    """All of a `config.json`."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"{path} is not JSON ({error}); expected a run's config.json") from error
    if not isinstance(found, dict):
        raise UserError(f"{path} holds no settings: expected an object, as in a run's config.json")
    return found if "settings" in found else {"settings": found}


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _build(kind: type, given: Any, source: str, prefix: str) -> Any:
    if not isinstance(given, dict):
        raise UserError(f"{source}: {prefix[:-1]} must be an object; got {given!r}")
    hints = get_type_hints(kind)
    for name in given:
        if name not in hints:
            raise UserError(f"{source}: unknown setting {prefix + name!r}: {nearest(name, hints)}")
    return kind(**{name: _value(hints[name], value, source, prefix + name) for name, value in given.items()})


def _value(kind: Any, value: Any, source: str, name: str) -> Any:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _build(kind, value, source, f"{name}.")
    options = get_args(kind)
    if get_origin(kind) is Literal:
        if value not in options:
            raise UserError(f"{source}: {name} is {value!r}: {nearest(str(value), map(str, options))}")
        return value
    if get_origin(kind) in (Union, types.UnionType):
        if value is None:
            return None
        kind = next(option for option in options if option is not type(None))
    if kind is float and (isinstance(value, int | float) or value in ("inf", "-inf", "nan")):
        if not isinstance(value, bool):
            return float(value)
    elif isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    raise UserError(f"{source}: {name} must be {_spoken(kind)}; got {value!r}")


def _spoken(kind: type) -> str:
    return {int: "a whole number", float: "a number", str: "text", bool: "true or false"}.get(kind, kind.__name__)
