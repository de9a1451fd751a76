"""Seasons: which of two regimes a world is in, and when the next one comes.

A season lasts a random number of steps, uniform around its mean; then the other one begins, without notice. Worlds draw
their own seasons, or share those of a calendar, all of them or a group: side by side, and begun together, they are then
always in the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.table import SeasonSettings
from sadapt.fields import MOST
from sadapt.keys import from_seed

Array = jax.Array
TINTS = np.array([(225, 240, 232), (255, 226, 196)], np.float32) / 255
"""The light of either season, in RGB."""
COUNTERS = ("season", "changes")
"""What a world with seasons reports of a step: the season's number, and whether it began with this step."""


class Calendar(NamedTuple):
    """The season that it is, the steps that it has left, and the seasons that were before it."""

    season: Array
    left: Array
    past: Array
    group: Array | None = None
    """uint32: the worlds that it is shared with; None where it is shared with none."""


class Seasons(NamedTuple):
    """How seasons follow each other."""

    begin: Callable[..., Calendar]
    """`begin(key, group=None)`: the first season, either one; that of the group where there is one."""
    tick: Callable[[Array, Calendar], tuple[Calendar, Array]]
    """`tick(key, calendar) -> (calendar, changed)`: one step more, which may be the first of another season."""


def seasons(settings: SeasonSettings) -> Seasons:
    """Seasons of random lengths: of each world's own, of a group of worlds, or of the calendar that all share."""
    shortest, longest = bounds(settings)
    shared = None if settings.calendar is None else from_seed(settings.calendar)

    def chance(key: Array, past: Array, group: Array | None) -> Array:
        if shared is not None:
            key = jax.random.fold_in(shared, past)
        elif group is not None:
            key = jax.random.fold_in(jax.random.fold_in(from_seed(0), group), past)
        return jax.random.bits(key, (2,), jnp.uint32)

    def length(word: Array) -> Array:
        return shortest + (word % jnp.uint32(longest - shortest + 1)).astype(jnp.int32)

    def begin(key: Array, group: Array | None = None) -> Calendar:
        past = jnp.zeros((), jnp.int32)
        words = chance(key, past, group)
        return Calendar((words[0] & 1).astype(jnp.int32), length(words[1]), past, group)

    def tick(key: Array, calendar: Calendar) -> tuple[Calendar, Array]:
        changed = calendar.left == 0
        one = changed.astype(jnp.int32)
        past = calendar.past + one
        left = jnp.where(changed, length(chance(key, past, calendar.group)[1]), calendar.left)
        return Calendar(calendar.season ^ one, left - 1, past, calendar.group), changed

    return Seasons(begin, tick)


def held(season: int) -> Seasons:
    """One season for ever."""

    def begin(key: Array, group: Array | None = None) -> Calendar:
        return Calendar(jnp.int32(season), jnp.int32(MOST), jnp.int32(0))

    return Seasons(begin, lambda key, calendar: (calendar, jnp.zeros((), bool)))


def bounds(settings: SeasonSettings) -> tuple[int, int]:
    """The shortest and the longest season."""
    aside = round(settings.season_spread * settings.season_steps)
    return max(1, settings.season_steps - aside), min(MOST, settings.season_steps + aside)


def told(calendar: Calendar, changed: Array) -> dict[str, Array]:
    """The counters of a step."""
    return dict(zip(COUNTERS, (calendar.season, changed.astype(jnp.int32)), strict=True))


def tinted(picture: np.ndarray, calendar: Calendar) -> np.ndarray:
    """A picture in the season's light."""
    return np.rint(picture * TINTS[int(calendar.season)]).astype(np.uint8)
