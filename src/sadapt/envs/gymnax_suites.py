"""Other people's suites of worlds in JAX, each as the same few functions; imported only when a world of theirs is made.

A suite's worlds reset themselves in `step`; here they are stepped by what the suite calls beneath it, which does not,
so that the last observation of an episode is the true one and a reset is ours.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.errors import UserError, installing, nearest

Array = jax.Array


class Guest(NamedTuple):
    """A suite's world."""

    reset: Callable[[Array], tuple[Any, Any]]
    """`reset(key) -> (state, obs)`."""
    step: Callable[[Array, Any, Array], tuple[Any, Any, Any, Any]]
    """`step(key, state, action) -> (state, obs, reward, terminated)`, which never resets."""
    actions: Any
    shows: Any
    """Its spaces."""
    horizon: int | None
    """Steps after which the suite ends an episode by itself."""
    draw: Callable[[Any], np.ndarray] | None = None
    """A picture of a state, uint8[height, width, 3], where the suite has one."""
    counts: dict[str, Callable[[Any], Array]] = {}  # noqa: RUF012
    """Numbers of a state whose growth is counted."""
    costly_reset: bool = False
    """Whether a reset costs as much as many steps."""


def gymnax(name: str) -> Guest:
    """A world of gymnax."""
    suite = _imported("gymnax")
    _require_known("gymnax", name, suite.registered_envs)
    world, params = suite.make(name)
    return of_interface(world, params)


def craftax(name: str) -> Guest:
    """A world of Craftax, in its own class without resets."""
    make = _imported("craftax", "craftax.craftax_env").make_craftax_env_from_name
    kinds = ("Classic-Symbolic", "Classic-Pixels", "Symbolic", "Pixels")
    _require_known("craftax", name, [f"Craftax-{kind}-v1" for kind in kinds])
    world = make(name, auto_reset=False)
    return of_interface(world, world.default_params)._replace(
        draw=_craftax_picture("craftax_classic" if "Classic" in name else "craftax"),
        counts={"achievements": lambda state: state.achievements.sum(dtype=jnp.float32)},
        costly_reset=True,
    )


def navix(name: str) -> Guest:
    """A world of NAVIX, whose time steps carry their state."""
    suite = _imported("navix")
    _require_known("navix", name, suite.registry())
    world = suite.make(name)
    world = world.replace(max_steps=4 * world.height * world.width)

    def lean(moment: Any) -> Any:
        """Without the pictures of all cells, which films alone need."""
        return moment.replace(state=moment.state.replace(cache=None))

    def reset(key: Array) -> tuple[Any, Any]:
        moment = world.reset(key)
        return lean(moment), moment.observation

    def step(key: Array, moment: Any, action: Array) -> tuple[Any, Any, Any, Any]:
        after = world._step(moment.replace(state=moment.state.replace(key=key)), action)
        return lean(after), after.observation, after.reward, after.is_termination()

    def draw(moment: Any) -> np.ndarray:
        cache = importlib.import_module("navix.rendering.cache").RenderingCache.init(moment.state.grid)
        return np.asarray(suite.observations.rgb(moment.state.replace(cache=cache)), np.uint8)

    return Guest(reset, step, world.action_space, world.observation_space, int(world.max_steps), draw)


SUITES: dict[str, Callable[[str], Guest]] = {"gymnax": gymnax, "craftax": craftax, "navix": navix}


def of_interface(world: Any, params: Any) -> Guest:
    """gymnax' interface beneath `reset` and `step`: five values, terminated or done the fourth of them."""

    def reset(key: Array) -> tuple[Any, Any]:
        obs, state = world.reset_env(key, params)
        return state, obs

    def step(key: Array, state: Any, action: Array) -> tuple[Any, Any, Any, Any]:
        obs, state, reward, *ends, _ = world.step_env(key, state, action, params)
        return state, obs, reward, ends[0]

    limits = (getattr(params, each, None) for each in ("max_steps_in_episode", "max_timesteps"))
    horizon = next((int(limit) for limit in limits if limit is not None), None)
    return Guest(reset, step, world.action_space(params), world.observation_space(params), horizon)


def _craftax_picture(package: str) -> Callable[[Any], np.ndarray]:
    """Craftax' own picture; its textures are read when the first is drawn."""
    drawing: list[Callable[[Any], Any]] = []

    def draw(state: Any) -> np.ndarray:
        if not drawing:
            size = importlib.import_module(f"craftax.{package}.constants").BLOCK_PIXEL_SIZE_IMG
            drawing.append(jax.jit(_renderer(importlib.import_module(f"craftax.{package}.renderer"), size)))
        return np.asarray(drawing[0](state)).clip(0, 255).astype(np.uint8)

    return draw


def _renderer(module: Any, size: int) -> Callable[[Any], Any]:
    """A function of the state, made beforehand or told the size each time, as the two packages differ."""
    if hasattr(module, "make_craftax_pixel_renderer"):
        return module.make_craftax_pixel_renderer(size)
    return lambda state: module.render_craftax_pixels(state, size)


def _imported(suite: str, module: str | None = None) -> Any:
    """A suite's module, or the reason why there is none."""
    try:
        has = version(suite)
    except PackageNotFoundError as error:
        raise UserError(f"worlds of {suite} need {suite}: {installing(suite)}") from error
    try:
        return importlib.import_module(module or suite)
    except Exception as error:  # whatever that code does
        first = str(error).strip().partition("\n")[0]
        raise UserError(
            f"{suite} {has} cannot be imported with jax {jax.__version__}: {type(error).__name__} ({first}); install "
            f"the versions it needs: pip install --upgrade 'sadapt[{suite}]'"
        ) from error


def _require_known(suite: str, name: str, ids: Iterable[str]) -> None:
    known = list(ids)
    if name not in known:
        hint = nearest(name, known)
        if not hint.startswith("did"):
            hint = f"name one, for example {suite}:{known[0]}"
        raise UserError(f"{suite} has no world {name!r}: {hint}")
