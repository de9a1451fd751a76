"""Settings as JSON and back, with where they came from; a mistake in a file is named by its key."""

from __future__ import annotations

import dataclasses
import json
import math
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sadapt import __version__
from sadapt.composite import all_changed, names, own_names, places, usual
from sadapt.errors import UserError, nearest
from sadapt.fields import checked, fields_of, told
from sadapt.registry import OWN, Choice, known, require_name
from sadapt.training.settings import MotivationSettings, Settings

RECORDED = ("jax", "jaxlib", "numpy", "optax")
"""Libraries whose versions decide a run's bytes."""
KIND = "kind"
"""The key that names a part among its settings."""
KINDS = tuple(kind for kind in places(Settings) if kind != "env")
GROUPS = ("world", "motivation", *KINDS)


def to_dict(settings: Settings) -> dict[str, Any]:
    """Settings in the types that JSON knows; a part's say which part they are for."""
    plain: dict[str, Any] = {"env": settings.env, **{name: getattr(settings, name) for name in own_names(Settings)}}
    plain |= {"world": _plain(settings.world.settings), "motivation": _plain(settings.motivation)}
    for kind in KINDS:
        choice = getattr(settings, kind)
        plain[kind] = {KIND: choice.name, **_plain(choice.settings)}
    return _finite({**plain, "imports": list(settings.imports)})


def from_dict(given: Any, source: str) -> Settings:
    """Settings from JSON; what is missing has its default."""
    if not isinstance(given, Mapping) or "env" not in given:
        raise UserError(f"{source} holds no settings: expected an object with at least an 'env'")
    try:
        require_name("env", given["env"])
        return _former(given) if _is_former(given) else _read(given)
    except UserError as error:
        raise UserError(f"{source}: {error}") from error


def _read(given: Mapping[str, Any]) -> Settings:
    """Settings as `to_dict` writes them."""
    imports = checked(fields_of(Settings)["imports"], "imports", given.get("imports") or ())
    changes = {name: value for name, value in given.items() if name not in ("env", "imports", *GROUPS)}
    chosen: dict[str, Choice] = {}
    for kind, place in places(Settings).items():
        own = _object(given, place)
        name = given["env"] if kind == "env" else own.pop(KIND, None)
        if name is None:
            changes |= own
            continue
        chosen[place], settings = _chosen(kind, name, own, imports)
        _require_fields(f"{place}.", settings, chosen[place].settings)
        _require_once(changes, place, settings)
        changes |= settings
    motivation = _object(given, "motivation")
    _require_fields("motivation.", motivation, MotivationSettings())
    _require_once(changes, "motivation", motivation)
    return all_changed(Settings(**chosen, imports=imports), {**changes, **motivation})  # type: ignore[arg-type]


def _chosen(kind: str, name: str, own: dict[str, Any], imports: tuple[str, ...]) -> tuple[Choice, dict[str, Any]]:
    """A part, and the settings that are to be changed in it; of one that is not known here they stay as written."""
    require_name(kind, name)
    if not name.startswith(OWN) and (known(kind, name) or not imports):
        return usual(kind, name), own
    return Choice(name, own or None), {}


def _require_fields(prefix: str, given: Mapping[str, Any], settings: Any) -> None:
    """Refuses a key that its group does not have."""
    valid = fields_of(type(settings)) if dataclasses.is_dataclass(settings) else {}
    for name in given:
        if name not in valid:
            raise UserError(f"unknown setting {prefix + name!r}: {nearest(name, valid) if valid else 'it has none'}")


def _require_once(before: Mapping[str, Any], place: str, given: Mapping[str, Any]) -> None:
    """Refuses a setting of a group that stands elsewhere too."""
    for name in before.keys() & given.keys():
        raise UserError(f"the setting {name!r} is given twice, once under {place!r}: leave one of them out")


def _object(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = given.get(name)
    if found is not None and not isinstance(found, Mapping):
        raise UserError(f"{name} must be an object; got {told(found)}")
    return dict(found or {})


def _plain(settings: Any) -> dict[str, Any]:
    """A group of settings; those of a part that is not known here are plain already."""
    return dataclasses.asdict(settings) if dataclasses.is_dataclass(settings) else dict(settings or {})  # type: ignore[arg-type]


def _is_former(given: Mapping[str, Any]) -> bool:
    """Whether these are settings of 0.1, whose motivation and network held the settings of all parts."""
    return any(name in _object(given, group) for group, name in (("motivation", "marginal"), ("network", "network")))


def _former(given: Mapping[str, Any]) -> Settings:
    """Settings of 0.1: every one by its name, and those that the run's parts do not have left out."""
    flat = {name: value for name, value in given.items() if not isinstance(value, Mapping)}
    for name in ("motivation", "network", "learner"):
        flat |= _object(given, name)
    flat["learner"] = flat.pop(KIND, "pqn")
    if flat["learner"] == "dqn" and "exploration_fraction" in flat:
        flat["exploration_steps"] = max(1, round(flat["exploration_fraction"] * flat["total_timesteps"]))
    flat["imports"] = (flat["imports"],) if flat.get("imports") else ()
    settings = all_changed(Settings(world=flat.pop("env")), {kind: flat.pop(kind) for kind in KINDS if kind in flat})
    return all_changed(settings, {name: value for name, value in flat.items() if name in names(settings)})


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


def unasked(made: dict[str, Any], asked: dict[str, Any]) -> list[str]:
    """On what a run's settings disagree with those asked for; an arm left to the policy it began with may be any."""
    left_open = {"as_arm": "auto"} if asked["as_arm"] == "auto" and asked["start_from"] is not None else {}
    return differences({**made, **left_open}, asked)


def record(settings: Settings) -> dict[str, Any]:
    """What `config.json` holds: settings, versions, revision and command."""
    return {
        "settings": to_dict(settings),
        "version": __version__,
        "versions": {"python": platform.python_version(), **versions()},
        "revision": revision(),
        "command": command(),
    }


def versions() -> dict[str, str]:
    """The libraries that this program runs with."""
    return {name: version(name) for name in RECORDED}


def command() -> str:
    """The words that started this program, or `python` where it is not ours."""
    ours = Path(sys.argv[0]).name in ("sadapt", "__main__.py")
    return shlex.join(["sadapt", *sys.argv[1:]]) if ours else "python"


def revision() -> str | None:
    """The git commit of the program, with `+` if files have changed since; None where there is none."""
    folder = Path(__file__).parent

    def git(*words: str) -> str:
        asked = ["git", "--no-optional-locks", "-C", str(folder), *words]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

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
    except (ValueError, RecursionError) as error:
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
