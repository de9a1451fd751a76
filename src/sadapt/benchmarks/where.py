"""Where the time of training goes: acting, worlds, motivation and updates, beside their matrix products alone.

Each part is compiled and timed on its own, by turns with the whole. The products are read off the program that JAX is
given, and run with the same shapes in the same order, so that what is left of a part is not arithmetic on matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.extend.core import Jaxpr

from sadapt.benchmarks.jaxprs import inside
from sadapt.benchmarks.learners import going_on, training_chunks
from sadapt.benchmarks.timing import best_of
from sadapt.composite import all_changed
from sadapt.learners import dqn, ppo, pqn
from sadapt.training import compiled
from sadapt.training.presets import preset
from sadapt.training.program import Program, TrainState, build
from sadapt.training.settings import Settings

Array = jax.Array
OPTIMISERS: dict[str, Callable[[Any], optax.GradientTransformation]] = {
    "dqn": dqn.optimiser,
    "pqn": partial(pqn.optimiser, gradient_steps=10**6),
    "ppo": partial(ppo.optimiser, gradient_steps=10**6),
}
UPDATES = 50
"""Updates in one timed call where nothing else is timed."""
LEAST_STEPS = 2048
"""Environment steps in a timed call."""
CASES = (
    ("pqn", "fast", "maze-small"),
    ("pqn", "fast", "tetris"),
    ("pqn", "fast", "butterflies-large"),
    ("pqn", "fast", "minatar-breakout"),
    ("ppo", "fast", "maze-small"),
    ("dqn", "paper", "maze-small"),
    ("dqn", "paper", "tetris"),
)


class Split(NamedTuple):
    """Microseconds per environment step."""

    whole: float
    acting: float
    acting_products: float
    worlds: float
    motivation: float
    updating: float
    updating_products: float
    optimiser: float

    @property
    def together(self) -> float:
        """The parts' sum as a share of the whole."""
        return (self.acting + self.worlds + self.motivation + self.updating) / self.whole


def split(settings: Settings, *, seconds: float) -> Split:
    """Times every part of a learner in a world."""
    prog = build(settings)
    assert not hasattr(prog.env, "open"), f"{prog.env.name} is not written in JAX"
    state = next(training_chunks(prog))
    each = prog.learner.steps_per_update
    updates = -(-LEAST_STEPS // (each * prog.sizes.num_envs))
    steps = updates * each
    actions = jnp.zeros(prog.sizes.num_envs, jnp.int32)
    answer = jax.jit(partial(compiled.answer_worlds, prog))(state, actions)
    taken = best_of(
        going_on(partial(_whole, prog, each, updates), state),
        going_on(partial(_again, steps, partial(_acted, prog)), (state, actions)),
        going_on(*products(prog.act, state, steps)),
        going_on(partial(_again, steps, partial(_answered, prog, actions)), (state, answer)),
        going_on(partial(_again, steps, lambda s: prog.observe(s, actions, answer)), state),
        going_on(partial(_again, updates, prog.update), state),
        going_on(*products(prog.update, state, updates)),
        going_on(*_optimising(prog, settings, state, updates)),
        seconds=seconds,
    )
    return Split(*(1e6 * each / (steps * prog.sizes.num_envs) for each in taken))


def update_milliseconds(settings: Settings, *, seconds: float) -> tuple[float, float]:
    """One update of a learner, and its matrix products and optimiser alone."""
    prog = build(settings)
    state = next(training_chunks(prog))
    update, multiplied, optimised = best_of(
        going_on(partial(_again, UPDATES, prog.update), state),
        going_on(*products(prog.update, state, UPDATES)),
        going_on(*_optimising(prog, settings, state, UPDATES)),
        seconds=seconds,
    )
    return 1e3 * update / UPDATES, 1e3 * (multiplied + optimised) / UPDATES


def _again(times: int, function: Callable[[Any], Any], state: Any) -> Any:
    return jax.lax.scan(lambda s, _: (function(s), None), state, None, length=times)[0]


def _whole(prog: Program, each: int, updates: int, state: TrainState) -> TrainState:
    return _again(updates, lambda s: prog.update(_again(each, partial(compiled.one_step, prog), s)), state)


def _acted(prog: Program, carried: tuple[TrainState, Array]) -> tuple[TrainState, Array]:
    """Actions for views that are not known to be the last step's."""
    state, actions = carried
    views, _ = jax.lax.optimization_barrier((state.episodes, actions))
    return prog.act(state._replace(episodes=views))


def _answered(prog: Program, actions: Array, carried: tuple[TrainState, Any]) -> tuple[TrainState, Any]:
    """The worlds' answer goes into the next step, so that nothing of it is left out."""
    state, _ = carried
    key = jax.random.split(state.world_key, 2)[0]
    answer = compiled.answer_worlds(prog, state, actions)
    return state._replace(world_key=key, episodes=state.episodes._replace(world=answer.world)), answer


def _optimising(
    prog: Program, settings: Settings, state: TrainState, updates: int
) -> tuple[Callable[[Any], Any], tuple[Any, Any]]:
    """As many steps of the optimiser as the updates take, on a network that one of them changes."""
    optimise = OPTIMISERS[settings.learner.name](settings.learner.settings)
    params = state.learner.params
    size = getattr(settings.learner.settings, "minibatch_size", None)
    per_update = 1
    if size is not None:
        samples = prog.sizes.num_envs * settings.learner.settings.num_steps
        per_update = samples // size * settings.learner.settings.update_epochs
    gradient = jax.tree.map(lambda x: jnp.full_like(x, 1e-3), params)

    def once(carried: tuple[Any, Any]) -> tuple[Any, Any]:
        params, kept = carried
        change, kept = optimise.update(jax.lax.optimization_barrier((gradient, params))[0], kept, params)
        return optax.apply_updates(params, change), kept

    times = updates * per_update * prog.learner.updates_per_turn
    return partial(_again, times, once), (params, optimise.init(params))


class Product(NamedTuple):
    """A matrix product of a program."""

    equation: Any


class Loop(NamedTuple):
    """What is done several times."""

    times: int
    body: list[Product | Loop]


def products(function: Callable[[Any], Any], state: Any, times: int) -> tuple[Callable[[Any], Any], Any]:
    """Only the matrix products of `times` calls of `function`, in the same shapes, order and loops; and their operands.

    A number of each result goes into a token that the next product waits for: so none can be left out, be done once
    for all, or be cut down to the number that is asked for.
    """
    body = _found(jax.make_jaxpr(function)(state).jaxpr)

    def run(given: tuple[Array, list[Any]]) -> tuple[Array, list[Any]]:
        token, operands = given
        return _run([Loop(times, body)], operands, token), operands

    kinds = [[x.aval for x in each.equation.invars] for each in _flat(body)]
    return run, (jnp.float32(0), [tuple(jnp.ones(kind.shape, kind.dtype) for kind in each) for each in kinds])


def _found(program: Jaxpr) -> list[Product | Loop]:
    """The products of a program, and its loops that hold some."""
    found: list[Product | Loop] = []
    for equation in program.eqns:
        if equation.primitive.name == "dot_general":
            found.append(Product(equation))
            continue
        inner = [each for program in inside(equation) for each in _found(program)]
        found += [Loop(equation.params["length"], inner)] if equation.primitive.name == "scan" else inner
    return [each for each in found if isinstance(each, Product) or each.body]


def _flat(body: list[Product | Loop]) -> Iterator[Product]:
    for each in body:
        yield from [each] if isinstance(each, Product) else _flat(each.body)


def _run(body: list[Product | Loop], operands: list[Any], token: Array) -> Array:
    """The token after every product of `body`, the first of which takes the first of `operands`."""
    first = 0
    for each in body:
        if isinstance(each, Loop):
            inner = operands[first : first + len(list(_flat(each.body)))]
            token = _again(each.times, partial(_run, each.body, inner), token)
            first += len(inner)
        else:
            factors, token = jax.lax.optimization_barrier((operands[first], token))
            result = jax.lax.optimization_barrier(each.equation.primitive.bind(*factors, **each.equation.params))
            token = token + result[(0,) * result.ndim].astype(jnp.float32)
            first += 1
    return token


def rows(*, seconds: float) -> Iterator[dict[str, Any]]:
    """One row a learner and world, S-Min."""
    for learner, base, world in CASES:
        changes: dict[str, Any] = {"objective": "s-min"}
        if learner == "dqn":
            changes |= {"learning_starts": 1_000, "buffer_size": 100_000}
        measured = split(all_changed(preset(world, base, learner=learner), changes), seconds=seconds)
        yield {"learner": learner, "world": world, **measured._asdict(), "together": measured.together}
