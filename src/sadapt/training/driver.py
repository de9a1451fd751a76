"""One way to start, move and take up a run, whichever side of XLA its world lives on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax

from sadapt.envs.base import HostEnv
from sadapt.errors import UserError
from sadapt.motivation.feedback import RandomAgent, nobody
from sadapt.training import compiled, host
from sadapt.training.program import Program, TrainState


class Measured(NamedTuple):
    """A random agent, and how many measurements its deviations are known by."""

    random: RandomAgent
    rounds: int


Recall = Callable[[int, Callable[[], Measured]], Measured]
"""`recall(seed, measure)` is what `measure()` gives, or has given before."""


def measured_anew(seed: int, measure: Callable[[], Measured]) -> Measured:
    """Nothing is remembered."""
    return measure()


class Driver(NamedTuple):
    """How a run is driven."""

    launch: Callable[..., TrainState]
    """`launch(recall)` is the first state, from the seed and a random agent, measured where nothing is recalled."""
    advance: Callable[[TrainState], TrainState]
    """The next chunk; the state given is consumed."""
    revive: Callable[[TrainState], TrainState]
    """A state from disk made ready to go on."""
    shapes: TrainState
    """The state as shapes and dtypes alone."""
    close: Callable[[], None]
    measured: Callable[[], int] = lambda: 0
    """Measurements of random play that the launch has known its deviations by."""


def driver(prog: Program, seeds: Sequence[int]) -> Driver:
    """The driver that the program's world needs; several `seeds` are trained at once, where the world allows."""
    if isinstance(prog.env, HostEnv):
        if len(seeds) > 1:
            raise UserError(
                f"{prog.env.name} is not written in JAX, so --num-seeds does not apply: train one seed at a time"
            )
        return _outside(prog, prog.env, seeds[0])
    together = len(seeds) > 1

    def launch(recall: Recall = measured_anew) -> TrainState:
        measure = compiled.baseline(prog)
        if prog.rules.stream is not None:
            return compiled.launch_seeds(prog, seeds) if together else compiled.launch(prog, seeds[0])

        def of(seed: int) -> RandomAgent:
            return recall(seed, lambda: Measured(measure(seed), prog.sizes.random_episodes)).random

        return compiled.launch_seeds(prog, seeds, of) if together else compiled.launch(prog, seeds[0], of)

    return Driver(
        launch=launch,
        advance=compiled.driver(prog, over=jax.vmap) if together else compiled.driver(prog),
        revive=lambda state: state,
        shapes=compiled.shapes(prog),
        close=lambda: None,
        measured=lambda: 0 if prog.rules.stream else prog.sizes.random_episodes,
    )


def shapes(prog: Program) -> TrainState:
    """A run's state as shapes and dtypes alone; nothing is computed."""
    return (host if isinstance(prog.env, HostEnv) else compiled).shapes(prog)


def _outside(prog: Program, env: HostEnv, seed: int) -> Driver:
    worlds, rounds = env.open(prog.worlds), 0

    def launch(recall: Recall = measured_anew) -> TrainState:
        nonlocal rounds
        key_baseline, key_run = compiled.keys_of(seed)
        if prog.rules.stream is not None:
            return host.start(prog, worlds, key_run, nobody())
        random, rounds = recall(seed, lambda: Measured(*host.baseline(prog, worlds, key_baseline)))
        return host.start(prog, worlds, key_run, compiled.usable_in(prog, random))

    return Driver(
        launch=launch,
        advance=host.driver(prog, worlds),
        revive=lambda state: host.revived(prog, worlds, state),
        shapes=host.shapes(prog),
        close=worlds.close,
        measured=lambda: rounds,
    )
