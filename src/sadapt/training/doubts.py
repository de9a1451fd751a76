"""What is doubtful about a run, before its first step and after its last."""

from __future__ import annotations

import math

import numpy as np

from sadapt.motivation.doubts import noise_of_random, on_the_floor, undecided, without_spread
from sadapt.motivation.feedback import RandomAgent
from sadapt.motivation.objectives import OBJECTIVES
from sadapt.registry import TABLES
from sadapt.training.presets import PRESETS, preset
from sadapt.training.program import Program, TrainState
from sadapt.training.settings import Settings, world_setting


def flag(name: str) -> str:
    """A setting as it is given to `sadapt train`."""
    return "--" + name.replace("_", "-")


def at_start(settings: Settings, prog: Program, random: RandomAgent, measured: int) -> tuple[str, ...]:
    """Of a run that begins: its marginal and its random agent, known by `measured` measurements, and its budget."""
    row, found = prog.parts.objective, [too_short(settings)]
    if row.intrinsic and prog.rules.stream is None:
        floor = on_the_floor(random, prog.marginal, settings.marginal.settings, flag, binary=prog.env.binary)
        found.append(floor)
        if row.adaptive and floor is None:
            found.append(without_spread(random, prog.parts.feedback.of, measured, flag))
    return tuple(filter(None, found))


def at_end(prog: Program, state: TrainState) -> tuple[str, ...]:
    """Of a run that has made its last step: what its bandit thinks; in a stream it may always think again."""
    bandit, of = prog.parts.bandit, prog.parts.feedback.of
    if not prog.parts.objective.adaptive or prog.rules.stream is not None:
        return ()
    standing = bandit.standing(state.bandit)
    known = None if bandit.errors is None else bandit.errors(state.bandit)
    errors = noise_of_random(state.random, of, standing.counts) if known is None else known
    # What the random agent's mean is off by, signed feedback adds to one arm and takes from the other.
    shared = math.sqrt(2) * noise_of_random(state.random, of, prog.sizes.random_episodes)
    return tuple(filter(None, [undecided(standing, np.hypot(errors, shared), of, flag)]))


def too_short(settings: Settings) -> str | None:
    """Whether an S-Adapt has fewer steps than it is known to learn this world with."""
    known = learned_with(settings) if OBJECTIVES[settings.objective].adaptive else None
    if known is None or settings.total_timesteps >= known:
        return None
    return (
        f"{settings.total_timesteps:,} steps are few: S-Adapt is known to learn {settings.env} with {known:,}, and "
        "with fewer may choose a direction before there is anything to choose between. Give --total-timesteps "
        f"{known} or more"
    )


def learned_with(settings: Settings) -> int | None:
    """Steps that have been seen to be enough: half of the preset's, or as many as the world's row says.

    None where nobody has tried: with another learner, on a map of one's own, in the worlds of a family such as `gym:`.
    """
    row, fast = TABLES["env"].get(settings.env), PRESETS["fast"]
    tried = settings.learner.name == fast.parts["learner"] and world_setting(settings, "layout") is None
    if row is None or row.foreign or not tried:
        return None
    return row.hints.get("learned_steps", preset(settings.env).total_timesteps // 2)
