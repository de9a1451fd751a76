"""One way to start, move and take up a run, whichever side of XLA its world lives on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax

from sadapt.envs.base import HostEnv
from sadapt.errors import UserError
from sadapt.training import compiled, host
from sadapt.training.program import Program, TrainState


class Driver(NamedTuple):
    """How a run is driven."""

    launch: Callable[[], TrainState]
    """The first state, from the seed."""
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
                f"{prog.env.name} is not written in JAX, so --num-seeds means nothing to it: train one seed at a time"
            )
        return _outside(prog, prog.env, seeds[0])
    together = len(seeds) > 1
    return Driver(
        launch=lambda: compiled.launch_seeds(prog, seeds) if together else compiled.launch(prog, seeds[0]),
        advance=compiled.driver(prog, over=jax.vmap) if together else compiled.driver(prog),
        revive=lambda state: state,
        shapes=compiled.shapes(prog),
        close=lambda: None,
        measured=lambda: prog.sizes.random_episodes,
    )


def shapes(prog: Program) -> TrainState:
    """A run's state as shapes and dtypes alone; nothing is computed."""
    return (host if isinstance(prog.env, HostEnv) else compiled).shapes(prog)


def _outside(prog: Program, env: HostEnv, seed: int) -> Driver:
    worlds, rounds = env.open(prog.sizes.num_envs), 0

    def launch() -> TrainState:
        nonlocal rounds
        key_baseline, key_run = compiled.keys_of(seed)
        random, rounds = host.baseline(prog, worlds, key_baseline)
        return host.start(prog, worlds, key_run, random)

    return Driver(
        launch=launch,
        advance=host.driver(prog, worlds),
        revive=lambda state: host.revived(prog, worlds, state),
        shapes=host.shapes(prog),
        close=worlds.close,
        measured=lambda: rounds,
    )
