"""The world that a run's settings ask for."""

from __future__ import annotations

from sadapt.envs import make
from sadapt.envs.atari import atari_freeway
from sadapt.envs.base import AnyEnv
from sadapt.envs.gymnasium_world import PREFIX, gymnasium_world
from sadapt.errors import UserError
from sadapt.training.settings import Settings


def world(settings: Settings, *, layout_text: str | None = None) -> AnyEnv:
    """A built-in world by its name, or any Gymnasium world as `gym:ID`."""
    if settings.env.startswith(PREFIX):
        if settings.layout is not None:
            raise UserError(f"{settings.env} has no map, so --layout means nothing to it; leave it away")
        horizon = settings.motivation.horizon
        return gymnasium_world(settings.env, horizon=horizon, obs_key=settings.obs_key, imports=settings.imports)
    for flag, value in (("--obs-key", settings.obs_key), ("--import", settings.imports)):
        if value is not None:
            raise UserError(f"{flag} {value} is for worlds of Gymnasium (gym:ID); {settings.env!r} is none of them")
    if settings.env == "atari-freeway":
        return atari_freeway(frame_size=settings.motivation.frame_size)
    if layout_text is not None:
        return make(settings.env, layout_text=layout_text)
    return make(settings.env, settings.layout)
