"""Settings per world: `paper` trains the paper's DQN, `fast` trains PQN within minutes on a laptop's core."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from sadapt.composite import all_changed, names
from sadapt.fields import unknown_name
from sadapt.registry import OWN, find, require_name
from sadapt.training.settings import Settings


class Preset(NamedTuple):
    """Where the defaults of a run come from."""

    learner: str
    bandit: str
    """The one that it is patient with."""
    num_envs: int
    outside: int
    """Worlds side by side where each is not written in JAX, and may be a process of its own."""
    total_timesteps: int | None
    """None leaves it to the world."""
    changes: dict[str, Any]


FAST_STEPS = 2_000_000
PATIENCE = 0.75
"""Share of the training before the bandit listens: exploration has ended at a half, what was learned shows then."""
PRESETS: dict[str, Preset] = {
    # Rewards relative to their mean at the same time step. S-Adapt has a network per arm: sharing one, the arm that is
    # learned second is held back by the first.
    "fast": Preset(
        "pqn",
        "ucb",
        64,
        8,
        None,
        {"bandit_patience": PATIENCE, "baseline": "time", "reward_clip": 5.0, "arms": "apart"},
    ),
    "paper": Preset("dqn", "ucb", 1, 1, 10_000_000, {}),
}


def preset(env: str, name: str = "fast", **parts: str | None) -> Settings:
    """Settings of preset `name` for the world `env`, with other parts where they are named: `learner="dqn"`."""
    require_preset(name)
    for kind, part in {"env": env, **{kind: part for kind, part in parts.items() if part is not None}}.items():
        require_name(kind, part)
    return _preset(env, name, **parts)


def require_preset(name: Any) -> None:
    """Refuses what is no preset."""
    if not isinstance(name, str) or name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)


@functools.lru_cache(maxsize=256)
def _preset(env: str, name: str, **parts: str | None) -> Settings:
    chosen = PRESETS[name]
    wanted = {"learner": chosen.learner, **{kind: part for kind, part in parts.items() if part is not None}}
    hints = {} if env.startswith(OWN) else find("env", env).hints
    settings = Settings(
        world=env,  # type: ignore[arg-type]
        total_timesteps=chosen.total_timesteps or hints.get("fast_steps", FAST_STEPS),
        num_envs=_side_by_side(chosen, wanted["learner"], compiled=hints.get("compiled", True)),
    )
    settings = all_changed(settings, wanted)
    of_world = {**hints.get("usual", {}), **hints.get("learners", {}).get(wanted["learner"], {})}
    there = names(settings) - (set() if settings.bandit.name == chosen.bandit else {"bandit_patience"})
    return all_changed(settings, {name: to for name, to in {**chosen.changes, **of_world}.items() if name in there})


def _side_by_side(chosen: Preset, learner: str, *, compiled: bool) -> int:
    """As many worlds as the preset has; those of `fast`, or as the learner likes, with another learner than its own."""
    likes = None if learner.startswith(OWN) else find("learner", learner).hints.get("num_envs")
    if learner == chosen.learner:
        return chosen.num_envs if compiled else chosen.outside
    return likes or (PRESETS["fast"].num_envs if compiled else PRESETS["fast"].outside)
