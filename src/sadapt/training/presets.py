"""Settings per world: `paper` trains the paper's DQN, `fast` trains PQN within minutes on a laptop's core."""

from __future__ import annotations

import math
from dataclasses import replace

from sadapt.errors import UserError, nearest
from sadapt.learners.dqn import DQNSettings
from sadapt.learners.pqn import PQNSettings
from sadapt.training.settings import MotivationSettings, NetworkSettings, Settings

PRESETS = ("fast", "paper")


FAST_STEPS = {
    "maze-small": 2_000_000,
    "maze-large": 4_000_000,
    "butterflies-small": 2_000_000,
    "butterflies-": 6_000_000,
    "tetris": 2_500_000,
    "gym:": 500_000,
    "atari-": 1_000_000,
    "": 2_000_000,
}
"""Environment steps by the longest matching beginning of the world's name."""


PATIENCE = 0.75
"""Share of the training before the bandit listens: exploration has ended at a half, what was learned shows then."""


WORLDS_OUTSIDE = 8
"""Worlds side by side where each is a process of its own."""


def by_prefix(table: dict[str, int], name: str) -> int:
    """The entry whose key is the longest beginning of `name`."""
    return table[max((key for key in table if name.startswith(key)), key=len)]


def curious(name: str) -> float:
    """The bandit's c in the paper: 2 in the large maze and MinAtar, sqrt 2 elsewhere."""
    return 2.0 if name == "maze-large" or name.startswith("minatar-") else math.sqrt(2)


def patience(name: str) -> int:
    """Episodes of random play that estimate H_rand: fewer of Atari's, which take 2,000 steps each."""
    return 20 if name.startswith("atari-") else 100


def least_deviation(name: str) -> float:
    """The Gaussian's floor: a grey level on Atari, whose cells deviate by hundredths; elsewhere as it comes."""
    return 1 / 255 if name.startswith("atari-") else MotivationSettings.std_floor


def preset(env: str, name: str = "fast") -> Settings:
    """Settings of preset `name` for the world `env`."""
    if name not in PRESETS:
        raise UserError(f"unknown preset {name!r}: {nearest(name, PRESETS)}")
    return paper(env) if name == "paper" else fast(env)


def chosen(env: str, name: str = "fast", learner: str | None = None) -> Settings:
    """A preset, with the learner of the user's choice and as many worlds as that one likes."""
    settings = preset(env, name)
    if learner == "dqn" and not isinstance(settings.learner, DQNSettings):
        return replace(settings, learner=paper(env).learner, num_envs=1)
    if learner == "pqn" and not isinstance(settings.learner, PQNSettings):
        return replace(settings, learner=PQNSettings(), num_envs=fast(env).num_envs)
    return settings


def paper(env: str) -> Settings:
    """The paper's: DQN, one world, 10M steps."""
    arcade = env.startswith(("minatar-", "atari-"))
    learner = DQNSettings(exploration_fraction=0.5 if arcade else 0.1)
    if env.startswith("atari-"):
        learner = replace(learner, learning_starts=80_000, snapshot_interval=8)
    return Settings(
        env=env,
        total_timesteps=10_000_000,
        num_envs=1,
        motivation=MotivationSettings(
            ucb_c=curious(env), std_floor=least_deviation(env), random_episodes=patience(env)
        ),
        learner=learner,
    )


def fast(env: str) -> Settings:
    """Ours: PQN, 64 worlds side by side, rewards relative to their mean at the same time step, a patient bandit.

    S-Adapt has a network per arm: sharing one, the arm that is learned second is held back by the first.
    """
    return Settings(
        env=env,
        total_timesteps=by_prefix(FAST_STEPS, env),
        num_envs=WORLDS_OUTSIDE if env.startswith(("gym:", "atari-")) else 64,
        motivation=MotivationSettings(
            ucb_c=curious(env),
            std_floor=least_deviation(env),
            bandit_patience=PATIENCE,
            baseline="time",
            reward_clip=5.0,
            random_episodes=patience(env),
        ),
        network=NetworkSettings(arms="apart"),
        learner=PQNSettings(),
    )
