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


def driver(prog: Program, seeds: Sequence[int] | None = None) -> Driver:
    """The driver that the program's world needs; several `seeds` are trained at once, where the world allows."""
    if isinstance(prog.env, HostEnv):
        if seeds is not None and len(seeds) > 1:
            raise UserError(f"{prog.env.name} is not written in JAX, so --num-seeds means nothing to it: a run a seed")
        return _outside(prog, prog.env)
    if seeds is None or len(seeds) == 1:
        return Driver(
            lambda: compiled.launch(prog), compiled.driver(prog), lambda state: state, compiled.shapes(prog), _nothing
        )
    return Driver(
        lambda: compiled.launch_seeds(prog, seeds),
        compiled.driver(prog, over=jax.vmap),
        lambda state: state,
        compiled.shapes(prog),
        _nothing,
    )


def _outside(prog: Program, env: HostEnv) -> Driver:
    worlds = env.open(prog.settings.num_envs)

    def launch() -> TrainState:
        key_baseline, key_run = compiled.keys_of(prog.settings.seed)
        return host.start(prog, worlds, key_run, host.baseline(prog, worlds, key_baseline))

    return Driver(
        launch,
        host.driver(prog, worlds),
        lambda state: host.revived(prog, worlds, state),
        host.shapes(prog),
        worlds.close,
    )


def _nothing() -> None:
    pass
