"""The worlds' Gymnasium ids; entry points are strings, so that registering builds no world and imports no JAX."""

from __future__ import annotations

from typing import NamedTuple

import gymnasium


class Row(NamedTuple):
    """A Gymnasium id, the world's name in the registry and the steps in its episodes."""

    id: str
    name: str
    horizon: int


WORLDS = (
    Row("sadapt/MazeSmall-v0", "maze-small", 100),
    Row("sadapt/MazeLarge-v0", "maze-large", 250),
    Row("sadapt/ButterfliesSmall-v0", "butterflies-small", 100),
    Row("sadapt/ButterfliesLarge-v0", "butterflies-large", 500),
    Row("sadapt/ButterfliesVeryHigh-v0", "butterflies-very-high", 500),
    Row("sadapt/ButterfliesHigh-v0", "butterflies-high", 500),
    Row("sadapt/ButterfliesMedium-v0", "butterflies-medium", 500),
    Row("sadapt/ButterfliesLow-v0", "butterflies-low", 500),
    Row("sadapt/ButterfliesVeryLow-v0", "butterflies-very-low", 500),
    Row("sadapt/Tetris-v0", "tetris", 200),
    Row("sadapt/MinAtarAsterix-v0", "minatar-asterix", 500),
    Row("sadapt/MinAtarBreakout-v0", "minatar-breakout", 500),
    Row("sadapt/MinAtarFreeway-v0", "minatar-freeway", 500),
    Row("sadapt/MinAtarSeaquest-v0", "minatar-seaquest", 500),
    Row("sadapt/MinAtarSpaceInvaders-v0", "minatar-space-invaders", 500),
)


def register_all() -> None:
    """Make every world known to `gymnasium.make` and `gymnasium.make_vec`; calling it again changes nothing."""
    for row in WORLDS:
        if row.id not in gymnasium.registry:
            gymnasium.register(
                row.id,
                entry_point="sadapt.gym.faces:WorldEnv",
                vector_entry_point="sadapt.gym.faces:WorldVectorEnv",
                max_episode_steps=row.horizon,
                kwargs={"name": row.name},
            )
