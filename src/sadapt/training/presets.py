"""Settings per world: `paper` trains the paper's DQN, `fast` trains PQN within minutes on a laptop's core."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from sadapt.composite import all_changed, names
from sadapt.fields import unknown_name
from sadapt.motivation.building import ADAPTING, ADAPTING_WITH, IN_STREAMS
from sadapt.registry import OWN, find, require_name
from sadapt.training.settings import Settings


class Preset(NamedTuple):
    """Where the defaults of a run come from."""

    parts: dict[str, str]
    """By kind; those that are not named are the settings' own defaults."""
    num_envs: int
    outside: int
    """Worlds side by side where each is not written in JAX, and may be a process of its own."""
    total_timesteps: int | None
    """None leaves it to the world."""
    changes: dict[str, Any]
    of_part: dict[str, dict[str, Any]]
    """Changes that go with the preset's own part of a kind, and not with another in its place."""
    compiled: dict[str, Any]
    """Changes where the world is written in JAX."""


FAST_STEPS = 2_000_000
PRESETS: dict[str, Preset] = {
    # Rewards relative to their mean at the same time step. Random play costs next to nothing there, and what its mean
    # is off by is added to one arm's feedback and taken from the other's.
    "fast": Preset(
        parts={"learner": "pqn", **ADAPTING},
        num_envs=64,
        outside=8,
        total_timesteps=None,
        changes={"baseline": "time", "reward_clip": 5.0},
        of_part=ADAPTING_WITH,
        compiled={"random_episodes": 1_000},
    ),
    "paper": Preset(
        parts={"learner": "dqn", **ADAPTING},
        num_envs=1,
        outside=1,
        total_timesteps=10_000_000,
        changes={},
        of_part=ADAPTING_WITH,
        compiled={},
    ),
}


def preset(env: str, name: str = "fast", *, stream: bool = False, **parts: str | None) -> Settings:
    """Settings of preset `name` for the world `env`, with other parts where they are named: `learner="dqn"`.

    `stream` takes the parts that suit a stream; that there is one is a setting like others.
    """
    require_preset(name)
    for kind, part in {"env": env, **{kind: part for kind, part in parts.items() if part is not None}}.items():
        require_name(kind, part)
    if stream:
        parts = {**IN_STREAMS, **{kind: part for kind, part in parts.items() if part is not None}}
    return _preset(env, name, **parts)


def require_preset(name: Any) -> None:
    """Refuses what is no preset."""
    if not isinstance(name, str) or name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)


@functools.lru_cache(maxsize=256)
def _preset(env: str, name: str, **parts: str | None) -> Settings:
    chosen = PRESETS[name]
    given = {kind: part for kind, part in parts.items() if part is not None}
    wanted = {**chosen.parts, **given}
    hints = {} if env.startswith(OWN) else find("env", env).hints
    is_compiled = hints.get("compiled", True)
    settings = Settings(
        world=env,  # type: ignore[arg-type]
        total_timesteps=chosen.total_timesteps or hints.get("fast_steps", FAST_STEPS),
        num_envs=_side_by_side(chosen, wanted["learner"], compiled=is_compiled),
    )
    settings = all_changed(settings, wanted)
    usual = [
        chosen.changes,
        *(chosen.of_part.get(kind, {}) for kind in wanted if wanted[kind] == chosen.parts.get(kind)),
    ]
    usual += [chosen.compiled] if is_compiled else []
    usual += [hints.get("usual", {}), hints.get("learners", {}).get(wanted["learner"], {})]
    there = names(settings)
    changes = {name: to for each in usual for name, to in each.items() if name in there and name not in given}
    return all_changed(settings, changes)


def _side_by_side(chosen: Preset, learner: str, *, compiled: bool) -> int:
    """As many worlds as the preset has; those of `fast`, or as the learner likes, with another learner than its own."""
    likes = None if learner.startswith(OWN) else find("learner", learner).hints.get("num_envs")
    if learner == chosen.parts["learner"]:
        return chosen.num_envs if compiled else chosen.outside
    return likes or (PRESETS["fast"].num_envs if compiled else PRESETS["fast"].outside)
