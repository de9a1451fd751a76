"""Names for runs of one world: who learned, and what differs between the settings of those beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sadapt.motivation.objectives import OBJECTIVES

TOLD = ("env", "objective", "seed", "imports")
"""Settings that are told otherwise, or decide nothing."""


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Stored settings by their dotted names."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found


def labels(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name for each of several settings: the agent, and every setting by which it differs from its like.

    Agents are compared with those of the same objective, so that what every S-Min has is not told of each.
    """
    plain = [flat(each) for each in settings]
    named = []
    for each in plain:
        like = [other for other in plain if other["objective"] == each["objective"]]
        told = [name for name in each if name not in TOLD and any(_differ(name, each, other) for other in like)]
        named.append(", ".join([OBJECTIVES[each["objective"]].title, *(_spoken(name, each[name]) for name in told)]))
    return named


def _differ(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two settings differ in one of them; those of different parts are told by the part's name."""
    kind = f"{name.rpartition('.')[0]}.kind"
    return one.get(name) != other.get(name) and (name == kind or one.get(kind) == other.get(kind))


def _spoken(name: str, value: Any) -> str:
    """`gamma 0.9`; of a part its name alone (`ucb`)."""
    group, _, last = name.rpartition(".")
    if last == "kind":
        return f"{group} {value}"
    if isinstance(value, bool):
        return last.replace("_", " ") if value else f"no {last.replace('_', ' ')}"
    number = f"{value:g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    return f"{last.replace('_', ' ')} {'none' if value is None else number}"
