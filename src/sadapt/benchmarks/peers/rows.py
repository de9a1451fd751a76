"""The table's rows about peers: ours and theirs by turns; a contest that cannot be held is told in a line."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from sadapt.benchmarks import learners, minatar, worlds
from sadapt.benchmarks.peers import guest, sizes
from sadapt.benchmarks.peers.places import PINS, interpreter
from sadapt.benchmarks.peers.process import Absent, asked
from sadapt.benchmarks.row import Row, row
from sadapt.benchmarks.timing import Call, Timed, by_turns, warmed
from sadapt.envs import make
from sadapt.training.program import Program, build

log = logging.getLogger(__name__)
PATIENCE = 4
"""How many times longer training beside a peer may take than the other measurements."""
DQN_STEPS, MINATAR_STEPS = 250, 2_000
"""Environment steps in a timed call of DQN beside Stable-Baselines3, and of `minatar`'s worlds."""
PLAYED = {"num_envs": 64, "steps": 16}
"""Worlds side by side, and steps of each in a timed call."""

Contest = Callable[[], Iterator[Row]]


class Contender(NamedTuple):
    """Somebody who is timed."""

    steps: int
    """Environment steps of a stretch."""
    timed: Timed


def rows(*, seconds: float) -> Iterator[Row]:
    """Every contest's rows."""
    yield from held(
        {
            "stable-baselines3": partial(_stable_baselines, PATIENCE * seconds),
            "rejax": partial(_rejax, PATIENCE * seconds),
            "minatar": partial(_minatar, seconds / 2),
            "gymnax": partial(_gymnax, seconds / 2),
        }
    )


def held(contests: Mapping[str, Contest]) -> Iterator[Row]:
    """Contest after contest; one that fails leaves out its rows and says why."""
    for name, contest in contests.items():
        try:
            yield from contest()
        except Absent as why:
            log.warning("left out, %s: %s", name, why)


def compared(ours: Mapping[str, Contender], theirs: Mapping[str, Contender], seconds: float) -> Iterator[Row]:
    """Each of ours against each of theirs, all of them timed by turns."""
    everybody = {**ours, **theirs}
    taken = by_turns(*(each.timed for each in everybody.values()), seconds=seconds)
    rates = {name: each.steps / best for (name, each), best in zip(everybody.items(), taken, strict=True)}
    for what in ours:
        for against in theirs:
            yield row(what, rates[what], "steps/s", rates[against], against)


def trained(prog: Program) -> Contender:
    """Ours."""
    return Contender(prog.learner.chunk_steps, warmed(learners.training_chunks(prog).__next__))


def called(steps: int, call: Call) -> Contender:
    """Whoever runs in this process."""
    return Contender(steps, warmed(call))


def _stable_baselines(seconds: float) -> Iterator[Row]:
    _require("stable_baselines3")
    from sadapt.benchmarks import sb3

    name = f"stable-baselines3 {version('stable-baselines3')}"
    manners = {"as it comes": False, "fused Adam": True}
    dqn = {
        f"{name} dqn, {how}": called(DQN_STEPS, sb3.training(fused=fused, steps=DQN_STEPS))
        for how, fused in manners.items()
    }
    ours = called(DQN_STEPS, learners.dqn_training(steps=DQN_STEPS))
    yield from compared({"dqn, maze-small, s-min, same network": ours}, dqn, seconds)
    _require("minatar")
    size, steps = sizes.SIZES["ppo"], sizes.ROLLOUT["num_envs"] * sizes.ROLLOUT["num_steps"]
    ppo = {
        f"{name} ppo, {how}": called(steps, sb3.ppo_training(size, sizes.HIDDEN["ppo"], fused=fused))
        for how, fused in manners.items()
    }
    yield from compared({f"ppo, {sizes.WORLD}, same network": trained(sizes.program("ppo"))}, ppo, seconds)


def _rejax(seconds: float) -> Iterator[Row]:
    python = interpreter("rejax")
    ours = {
        "pqn": {"same network": partial(sizes.program, "pqn"), "preset's network": partial(build, sizes.usual("pqn"))},
        "ppo": {"same two networks": partial(sizes.program, "ppo", apart=True)},
        "dqn": {"same network": partial(sizes.program, "dqn")},
    }
    yield from held(
        {
            f"rejax {learner}": partial(_against_rejax, python, learner, programs, seconds)
            for learner, programs in ours.items()
        }
    )


def _against_rejax(
    python: Path, learner: str, programs: Mapping[str, Callable[[], Program]], seconds: float
) -> Iterator[Row]:
    with _guest(python, sizes.rejax(learner)) as theirs:
        ours = {f"{learner}, {sizes.WORLD}, {how}": trained(program()) for how, program in programs.items()}
        yield from compared(ours, {f"{PINS['rejax'][0].replace('==', ' ')} {learner}": theirs}, seconds)


def _minatar(seconds: float) -> Iterator[Row]:
    _require("minatar")
    for name in worlds.ARCADE_TARGETS:
        game = name.removeprefix("minatar-").replace("-", "_")
        theirs = called(MINATAR_STEPS, minatar.random_play(game, steps=MINATAR_STEPS))
        yield from compared(_played(name), {f"minatar {version('minatar')}, one world": theirs}, seconds)


def _gymnax(seconds: float) -> Iterator[Row]:
    python = interpreter("gymnax")
    yield from held({f"gymnax {name}": partial(_against_gymnax, python, name, seconds) for name in sizes.GYMNAX_WORLDS})


def _against_gymnax(python: Path, name: str, seconds: float) -> Iterator[Row]:
    with _guest(python, {"what": "play", "env": sizes.GYMNAX_WORLDS[name], **PLAYED}) as theirs:
        against = f"{PINS['gymnax'][0].replace('==', ' ')}, {PLAYED['num_envs']} worlds"
        yield from compared(_played(name), {against: theirs}, seconds)


def _played(name: str) -> dict[str, Contender]:
    """Our world of that name under random play."""
    played = called(PLAYED["num_envs"] * PLAYED["steps"], worlds.random_play(make(name), **PLAYED))
    return {f"{name}, {PLAYED['num_envs']} worlds, random play": played}


@contextmanager
def _guest(python: Path, config: Mapping[str, Any]) -> Iterator[Contender]:
    """`guest.py` in an environment of its own, warm; nothing of ours is on its path."""
    with asked([str(python), "-I", "-W", "ignore", guest.__file__, json.dumps(config)]) as peer:
        yield Contender(peer.steps, peer.timed)


def _require(module: str) -> None:
    if find_spec(module) is None:
        raise Absent(f"{module} is not installed; the extra `bench` brings it, as `make bench` does")
