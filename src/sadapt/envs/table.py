"""The catalogue: every world that comes with the program, and what is known of it before it is made.

Nothing here imports JAX or builds a world. A row's hints:

    about, horizon, size, actions, channels,
    policies, unseen                          what `sadapt list` tells
    gymnasium_id                              its name for `gymnasium.make`
    compiled                                  written in JAX (True unless said otherwise), or driven from the host
    fast_steps                                environment steps of the preset `fast`
    learned_steps                             those that S-Adapt is known to learn it with, if not half of them; None
                                              where nobody has tried
    usual                                     settings that differ from the presets' in this world
    learners                                  the same for one learner, by its name
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from sadapt.fields import Bound, Checked, Count, Number, Seed, Share, Whole
from sadapt.registry import TABLES, register


@dataclass(frozen=True)
class WorldSettings(Checked):
    """What can be changed in any world."""

    horizon: Count | None = None
    """Steps per episode; by default the world's own."""


@dataclass(frozen=True)
class MapSettings(WorldSettings):
    """Worlds with a map."""

    layout: str | None = None
    """Your own map (a text file): `#` wall, `A` agent, `G` goal, `b` butterfly, `.` free."""


@dataclass(frozen=True)
class SeasonSettings(WorldSettings):
    """Worlds with two seasons."""

    season_steps: Count = 1_000
    """Mean length of a season, in steps."""
    season_spread: Share = 0.5
    """Randomness of season lengths: uniform within this share of the mean; 0 makes all equal."""
    calendar: Seed | None = None
    """Seed of a sequence of seasons shared by all worlds from the start; by default every world has its own."""


@dataclass(frozen=True)
class SeasonMapSettings(SeasonSettings, MapSettings):
    """Worlds with two seasons and a map."""


@dataclass(frozen=True)
class GymnasiumSettings(WorldSettings):
    """Worlds of Gymnasium."""

    obs_key: str | None = None
    """Which part of a dictionary observation to use, in Gymnasium worlds that have one."""
    screen_size: Count | None = None
    """Side of the greyscale picture that a Gymnasium world's pictures are reduced to; by default, they stay as is."""


@dataclass(frozen=True)
class AtariSettings(WorldSettings):
    """Atari games."""

    screen_size: Annotated[Count, Bound(lambda value: value <= 210, "must be at most 210, the screen's height")] = 84
    """Side of the greyscale Atari frames that the policy sees, four at a time."""
    frame_size: Count = 21
    """Side of the greyscale Atari frame that the marginal sees."""
    noop_max: Whole = 30
    """Maximum number of idle frames, drawn at random, before an Atari game begins; 0 starts every game the same way."""


@dataclass(frozen=True)
class GymnaxSettings(WorldSettings):
    """Worlds of gymnax, Craftax and NAVIX: what they do not declare themselves."""

    obs_bits: bool | None = None
    """Whether every entry of an observation is 0 or 1; by default, what is known of the world."""
    obs_low: Number | None = None
    """Lower bound of the observation's entries, if the world declares none; smaller values are clipped."""
    obs_high: Number | None = None
    """Upper bound of the observation's entries, likewise."""
    agent_channel: Whole | None = None
    """Channel with exactly one 1, at the agent's position; by default none."""


class Family(NamedTuple):
    """What worlds of one kind have in common: one line about them, what they show and what can be done."""

    about: str
    channels: tuple[str, ...]
    actions: tuple[str, ...]
    policies: tuple[str, ...] = ()
    """Hand-written policies that `probe` compares with a random one."""
    unseen: tuple[str, ...] = ()
    """Channels that the marginal does not model."""

    @property
    def marginal_channels(self) -> tuple[int, ...]:
        """Those that it does, by number."""
        return tuple(index for index, channel in enumerate(self.channels) if channel not in self.unseen)


GRID_ACTIONS = ("stay", "left", "up", "right", "down")
MAZE = Family("find the goal in a maze of long corridors", ("wall", "agent", "goal"), GRID_ACTIONS, ("still", "walker"))
BUTTERFLIES = Family(
    "catch butterflies that flutter about",
    ("wall", "butterfly", "catcher"),
    GRID_ACTIONS,
    ("still", "chaser", "avoider"),
    unseen=("catcher",),  # else lowering surprise would mean standing still
)
SEASONS = Family(
    "a garden with calm and wild seasons",
    ("wall", "agent", "goal", "butterfly"),
    GRID_ACTIONS,
    ("still", "walker", "chaser", "avoider", "gardener"),
)
TETRIS = Family(
    "keep a small well from filling up",
    ("board", "piece"),
    tuple(f"rotation {action // 3}, column {action % 3}" for action in range(12)),
    ("tidy", "messy"),
    unseen=("piece",),
)
FREEWAY_ACTIONS = ("stay", "up", "down")
MINATAR: dict[str, Family] = {
    "asterix": Family(
        "collect gold that drifts by among enemies",
        ("player", "enemy", "trail", "gold"),
        ("no-op", "left", "up", "right", "down"),
        ("still", "left", "up"),
    ),
    "breakout": Family(
        "keep a ball in the air that breaks bricks",
        ("paddle", "ball", "trail", "brick"),
        ("no-op", "left", "right"),
        ("still", "left"),
    ),
    "freeway": Family(
        "cross a road of eight lanes",
        ("chicken", "car", "speed 1", "speed 2", "speed 3", "speed 4", "speed 5"),
        ("no-op", "up", "down"),
        ("still", "up"),
    ),
    "seaquest": Family(
        "bring divers up before the air runs out",
        (
            "submarine", "stern", "torpedo", "trail", "enemy torpedo", "fish", "enemy submarine", "oxygen gauge",
            "diver gauge", "diver",
        ),
        ("no-op", "left", "up", "right", "down", "fire"),
        ("still", "left", "up"),
    ),
    "space-invaders": Family(
        "shoot rows of aliens that shoot back",
        ("cannon", "alien", "alien left", "alien right", "bullet", "alien bullet"),
        ("no-op", "left", "right", "fire"),
        ("still", "left"),
    ),
}  # fmt: skip
ATARI_USUAL = {"std_floor": 1 / 255, "random_episodes": 20}
"""A grey level as the Gaussian's floor, since cells deviate by hundredths; fewer random games, since each is long."""
ATARI_FAST = {"screen_size": 42, "network": "screen"}
"""Eyes that learn in the time that the games take; DQN keeps the paper's."""
ATARI_LEARNERS = {
    "dqn": {"exploration_steps": 5_000_000, "learning_starts": 80_000, "snapshot_interval": 8},
    "pqn": ATARI_FAST,
    "ppo": ATARI_FAST,
}
FREEWAY_ALIKE = {"noop_max": 0}
"""In Freeway the traffic is all that idle frames change, and it moves entropy more than the agent can (lab note 21)."""


def _row(name: str, maker: str, family: Family, settings: type, **hints: Any) -> None:
    register("env", name, maker, settings, **family._asdict(), **hints)


def _on_map(kind: str, sizes: Mapping[str, tuple[int, int, int, dict[str, Any]]]) -> None:
    """Rows of mazes or gardens: side, horizon and steps of `fast` by the size's name."""
    family = MAZE if kind == "maze" else BUTTERFLIES
    for size, (side, horizon, steps, usual) in sizes.items():
        _row(
            f"{kind}-{size}",
            f"sadapt.envs.{kind}:on_map",
            family,
            MapSettings,
            horizon=horizon,
            size=(side, side),
            gymnasium_id=f"sadapt/{kind.title()}{size.title().replace('-', '')}-v0",
            fast_steps=steps,
            usual=usual,
        )


_on_map("maze", {"small": (10, 100, 2_000_000, {}), "large": (32, 250, 4_000_000, {"ucb_c": 2.0})})
_on_map("butterflies", {"small": (10, 100, 2_000_000, {}), "large": (32, 500, 6_000_000, {})})
_on_map("butterflies", {size: (32, 500, 6_000_000, {}) for size in ("very-high", "high", "medium", "low", "very-low")})
_row(
    "tetris",
    "sadapt.envs.tetris:well",
    TETRIS,
    WorldSettings,
    horizon=200,
    size=(10, 4),
    gymnasium_id="sadapt/Tetris-v0",
    fast_steps=2_500_000,
    learned_steps=600_000,
)
_row(
    "seasons",
    "sadapt.envs.seasons:on_map",
    SEASONS,
    SeasonMapSettings,
    horizon=500,
    size=(16, 16),
    gymnasium_id="sadapt/Seasons-v0",
    fast_steps=4_000_000,
    learned_steps=None,
)
for _game, _family in MINATAR.items():
    _row(
        f"minatar-{_game}",
        "sadapt.envs.minatar:arcade",
        _family,
        WorldSettings,
        horizon=500,
        size=(10, 10),
        gymnasium_id=f"sadapt/MinAtar{_game.title().replace('-', '')}-v0",
        usual={"ucb_c": 2.0},
        learners={"dqn": {"exploration_steps": 5_000_000}},
    )
_row(
    "atari-freeway",
    "sadapt.envs.atari:freeway",
    Family("cross ten lanes of traffic, on Atari", ("grey",), FREEWAY_ACTIONS),
    AtariSettings,
    horizon=2_048,
    size=(84, 84),
    compiled=False,
    fast_steps=2_000_000,
    usual=ATARI_USUAL,
    learners={**ATARI_LEARNERS, "pqn": ATARI_FAST | FREEWAY_ALIKE, "ppo": ATARI_FAST | FREEWAY_ALIKE},
)
register(
    "env",
    "atari:",
    "sadapt.envs.atari:game",
    AtariSettings,
    about="any Atari game, as atari:GAME",
    compiled=False,
    fast_steps=1_000_000,
    usual=ATARI_USUAL,
    learners=ATARI_LEARNERS,
)
register(
    "env",
    "gym:",
    "sadapt.envs.gymnasium_world:gymnasium_world",
    GymnasiumSettings,
    about="any Gymnasium world with discrete actions, as gym:ID",
    compiled=False,
    fast_steps=500_000,
)
register(
    "env",
    "switch:",
    "sadapt.envs.switch:named",
    SeasonSettings,
    about="any two worlds in JAX of one size and the same actions, by turns, as switch:FIRST,SECOND",
    fast_steps=4_000_000,
)
for _suite, _about, _hints in (
    ("gymnax", "any gymnax world with discrete actions", {}),
    ("craftax", "Craftax", {"usual": {"random_episodes": 64}, "fast_steps": 5_000_000}),
    ("navix", "any NAVIX world, MiniGrid in JAX", {}),
):
    register(
        "env",
        f"{_suite}:",
        "sadapt.envs.gymnax_world:gymnax_world",
        GymnaxSettings,
        about=f"{_about}, as {_suite}:ID (extra `{_suite}`)",
        **{"fast_steps": 2_000_000, **_hints},
    )


def names() -> tuple[str, ...]:
    """The names of all built-in worlds, without families such as `gym:`."""
    return tuple(name for name in TABLES["env"] if not name.endswith(":"))


def compiled() -> tuple[str, ...]:
    """Those written in JAX that come with the program."""
    return tuple(
        name
        for name, part in TABLES["env"].items()
        if part.hints.get("compiled", True) and not part.foreign and not name.endswith(":")
    )


def described(name: str) -> dict[str, Any]:
    """What `sadapt list` tells about a world: what its row says, or what it says itself once it is made."""
    found = dict(TABLES["env"][name].hints)
    if not {"size", "horizon", "actions", "channels", "policies", "unseen", "about"} <= found.keys():
        from sadapt.envs.registry import make_any

        env = make_any(name)
        found = {key: getattr(env, key) for key in ("horizon", "actions", "channels", "about")}
        found |= {"size": env.obs_shape[:-1], "policies": tuple(getattr(env, "scripted", {}))}
        found["unseen"] = [each for i, each in enumerate(env.channels) if i not in env.marginal_channels]
    return {
        "name": name,
        "size": found["size"],
        "horizon": found["horizon"],
        "actions": found["actions"],
        "channels": found["channels"],
        "seen_by_marginal": [channel for channel in found["channels"] if channel not in found["unseen"]],
        "policies": ["random", *found["policies"]],
        "about": found["about"],
    }
