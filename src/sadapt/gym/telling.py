"""What any Gymnasium environment tells of itself."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from sadapt.envs.gymnasium_one import own_limit


def named(env: Any) -> str:
    """What messages call an environment."""
    spec = getattr(env, "spec", None)
    return spec.id if spec is not None else type(env.unwrapped).__name__


def world_of(env: Any) -> Any:
    """The facts of a world of this package, which name the channels that its marginal models; None for others."""
    inner = env.unwrapped
    if isinstance(inner, VectorEnv) and getattr(inner, "envs", None):
        inner = inner.envs[0].unwrapped  # type: ignore[attr-defined]
    world = getattr(inner, "world", None)
    if world is None and isinstance(inner, VectorEnv) and inner.spec is not None and inner.spec.namespace == "sadapt":
        from sadapt.envs.registry import make

        name, layout = inner.spec.id, inner.spec.kwargs.get("layout")
        return make(gymnasium.spec(name).kwargs["name"], layout)
    return world if hasattr(world, "marginal_channels") else None


def time_limit(env: Any) -> int | None:
    """The number of steps after which `env` truncates, if it tells."""
    inner = env.unwrapped
    if isinstance(inner, VectorEnv):
        spec = inner.spec
        known = [
            getattr(inner, "max_episode_steps", None),
            time_limit(inner.envs[0]) if getattr(inner, "envs", None) else None,  # type: ignore[attr-defined]
            spec and (spec.kwargs.get("max_episode_steps") or spec.max_episode_steps),
        ]
        return next((limit for limit in known if limit), None)
    if env.has_wrapper_attr("_max_episode_steps"):
        return env.get_wrapper_attr("_max_episode_steps")
    told = env.spec.max_episode_steps if env.spec is not None else None
    return told or own_limit(env)
