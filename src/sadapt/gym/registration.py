"""The worlds' Gymnasium ids; entry points are strings, so that registering builds no world and imports no JAX."""

from __future__ import annotations

import gymnasium

from sadapt.envs import table as _table  # noqa: F401 (fills the table of worlds)
from sadapt.registry import TABLES


def register_all() -> None:
    """Make every world known to `gymnasium.make` and `gymnasium.make_vec`; calling it again changes nothing."""
    for name, part in TABLES["env"].items():
        env_id = part.hints.get("gymnasium_id")
        if env_id is not None and env_id not in gymnasium.registry:
            gymnasium.register(
                env_id,
                entry_point="sadapt.gym.environments:WorldEnv",
                vector_entry_point="sadapt.gym.environments:WorldVectorEnv",
                max_episode_steps=part.hints["horizon"],
                kwargs={"name": name},
            )
