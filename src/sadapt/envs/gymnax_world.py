"""Worlds of gymnax, Craftax and NAVIX, as `gymnax:ID`, `craftax:ID` and `navix:ID`, in the compiled program."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Array, Env, Eye, Kind, Step
from sadapt.envs.contract import check_types
from sadapt.envs.gymnasium_world import obs_picture
from sadapt.envs.gymnax_suites import SUITES, Guest
from sadapt.envs.table import GymnaxSettings
from sadapt.errors import UserError

FEW = 32
"""Values of whole numbers up to which they are told as they are; more are a picture's, scaled to [0, 1]."""
WIDEST = 1e6
"""Bounds further apart are those of the dtype, not of the world."""
CRAFTAX_CLASSIC = (
    Kind("map", (7, 9, 21), np.uint8, 0, 1),
    Kind("bag", (12,), np.float32, 0.0, 1.0),
    Kind("body", (4,), np.float32, 0.0, 1.0),
    Kind("way", (4,), np.uint8, 0, 1, groups=(4,)),
    Kind("light", (2,), np.float32, 0.0, 1.0),
)
"""What the vector of Craftax-Classic is joined from; where several channels of a cell are mobs', bits say it best."""


class Known(NamedTuple):
    """What a suite does not say of its world."""

    bits: bool = False
    """Entries are 0 or 1, whatever their dtype."""
    high: float | None = None
    """The largest entry, where the space is wrong about it."""
    horizon: int | None = None
    kinds: tuple[Kind, ...] = ()
    agent_channel: int | None = None
    on_death: str = "end"


NAVIX = Known(high=10)
"""MiniGrid's numbers of things go up to 10, the agent; the space says 8."""
CRAFTAX = Known(horizon=500, on_death="soft")
"""A life is shorter than an episode: entropies of episodes that end with it could not be compared."""
MINATAR = ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")
KNOWN = {
    **{f"gymnax:{game}-MinAtar": Known(bits=True, horizon=500) for game in MINATAR},
    "gymnax:DeepSea-bsuite": Known(bits=True),
    "gymnax:Catch-bsuite": Known(bits=True),
    "craftax:Craftax-Classic-Symbolic-v1": CRAFTAX._replace(kinds=CRAFTAX_CLASSIC),
    "craftax:Craftax-Symbolic-v1": CRAFTAX,
    "craftax:Craftax-Classic-Pixels-v1": CRAFTAX,
    "craftax:Craftax-Pixels-v1": CRAFTAX,
}


class Shown(NamedTuple):
    """How a suite's observations become ours."""

    shape: tuple[int, ...]
    dtype: Any
    low: float
    high: float
    encode: Callable[[Any], Array]
    kinds: tuple[Kind, ...] = ()
    eye: Eye | None = None


class World(NamedTuple):
    """A suite's state, and what was seen of it where the suite draws no pictures."""

    inner: Any
    seen: Array | None


def gymnax_world(name: str, settings: GymnaxSettings = GymnaxSettings()) -> Env:
    """The world `SUITE:ID`."""
    suite, _, inner = name.partition(":")
    guest = SUITES[suite](inner)
    known = KNOWN.get(name, NAVIX if suite == "navix" else Known())
    if getattr(guest.actions, "n", None) is None or guest.actions.shape != ():
        raise UserError(f"{name} has the action space {guest.actions}; only discrete actions are supported: wrap it")
    horizon = settings.horizon or known.horizon or guest.horizon
    if horizon is None:
        raise UserError(f"{name} does not say how long an episode is: give --horizon STEPS")
    shown = _shown(name, guest.shows, known, settings)
    agent = known.agent_channel if settings.agent_channel is None else settings.agent_channel
    if agent is not None and agent >= shown.shape[-1]:
        raise UserError(f"--agent-channel is {agent}; {name} has the channels 0 to {shown.shape[-1] - 1}")
    reset, step = _typed(guest, shown)
    env = Env(
        name=name,
        obs_shape=shown.shape,
        obs_dtype=shown.dtype,
        channels=tuple(map(str, range(shown.shape[-1]))),
        actions=tuple(map(str, range(int(guest.actions.n)))),
        horizon=horizon,
        marginal_channels=tuple(range(shown.shape[-1])),
        agent_channel=agent,
        on_death=known.on_death,
        low=shown.low,
        high=shown.high,
        eye=shown.eye,
        kinds=shown.kinds,
        counters=tuple(guest.counts),
        costly_reset=guest.costly_reset,
        about=f"{inner} of {suite}",
        reset=reset,
        step=step,
        render=_render(guest, shown),
    )
    try:
        check_types(env, jax.random.key(0))
    except AssertionError as error:
        raise UserError(f"the world {error}") from error
    return env


def _typed(guest: Guest, shown: Shown) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`reset` and `step` of the contract, whose states keep their types: suites mix plain numbers with arrays."""
    key, keeps = jax.random.key(0), guest.draw is None
    begun = jax.eval_shape(guest.reset, key)[0]
    after = jax.eval_shape(guest.step, key, begun, jnp.int32(0))[0]

    def same(state: Any) -> Any:
        return jax.tree.map(_as_type, state, after)

    def reset(key: Array) -> tuple[World, Array]:
        state, obs = guest.reset(key)
        seen = shown.encode(obs)
        return World(same(state), seen if keeps else None), seen

    def step(key: Array, world: World, action: Array) -> tuple[World, Step]:
        state, obs, reward, terminated = guest.step(key, world.inner, action)
        seen = shown.encode(obs)
        grown = {name: count(state) - count(world.inner) for name, count in guest.counts.items()}
        told = Step(
            seen, jnp.asarray(reward, jnp.float32).reshape(()), jnp.asarray(terminated, bool).reshape(()), grown
        )
        return World(same(state), seen if keeps else None), told

    return reset, step


def _as_type(leaf: Any, like: Any) -> Array:
    leaf = jnp.asarray(leaf)
    return leaf if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else jax.lax.convert_element_type(leaf, like.dtype)


def _shown(name: str, space: Any, known: Known, settings: GymnaxSettings) -> Shown:
    """How observations of a space become arrays."""
    if getattr(space, "n", None) is not None and getattr(space, "shape", None) == ():
        return _choice(name, int(space.n))
    low, high = (getattr(space, each, None) for each in ("low", "high"))
    if low is None:
        low, high = getattr(space, "minimum", None), getattr(space, "maximum", None)
    if low is None or high is None or not hasattr(space, "shape"):
        raise UserError(f"{name} has the observation space {space}; expected numbers between bounds, or a choice")
    given = settings.obs_low is not None or settings.obs_high is not None
    least = float(np.min(low)) if settings.obs_low is None else settings.obs_low
    most = float(np.max(high)) if known.high is None else known.high
    most = most if settings.obs_high is None else settings.obs_high
    if not (math.isfinite(least) and math.isfinite(most) and least < most):
        raise UserError(
            f"{name} shows numbers from {least:g} to {most:g}; a marginal needs bounds: give --obs-low and --obs-high, "
            "to which observations are then clipped"
        )
    shape = tuple(space.shape) or (1,)
    shape = (*shape, 1) if len(shape) == 2 else shape
    whole = np.dtype(space.dtype).kind in "bui"
    bits = known.bits if settings.obs_bits is None else settings.obs_bits
    if bits or (whole and (least, most) == (0, 1)):
        return Shown(shape, np.uint8, 0.0, 1.0, lambda obs: (jnp.asarray(obs) > 0).astype(jnp.uint8).reshape(shape))
    if whole and least >= 0 and most <= 255:
        return _whole(name, shape, least, most)

    def encode(obs: Any) -> Array:
        numbers = jnp.asarray(obs).astype(jnp.float32).reshape(shape)
        return numbers.clip(np.float32(least), np.float32(most)) if given else numbers

    kinds = known.kinds or (Kind(name, shape, np.float32, least, most, 1.0 if whole else None),)
    return Shown(shape, np.float32, least, most, encode, kinds)


def _choice(name: str, size: int) -> Shown:
    def encode(obs: Any) -> Array:
        return (jnp.arange(size) == jnp.asarray(obs).reshape(())).astype(jnp.uint8)

    return Shown((size,), np.uint8, 0.0, 1.0, encode, (Kind(name, (size,), np.uint8, 0, 1, groups=(size,)),))


def _whole(name: str, shape: tuple[int, ...], low: float, high: float) -> Shown:
    """Whole numbers of one byte: few are categories, many a picture."""

    def encode(obs: Any) -> Array:
        return jnp.asarray(obs).astype(jnp.uint8).reshape(shape)

    if high - low < FEW:
        return Shown(shape, np.uint8, low, high, encode)
    eye = Eye(lambda obs: obs.astype(jnp.float32) / np.float32(high), shape)
    return Shown(shape, np.uint8, low, high, encode, (Kind(name, shape, np.float32, low / high, 1.0, 1 / high),), eye)


def _render(guest: Guest, shown: Shown) -> Callable[[World], np.ndarray]:
    """The suite's own picture, or the observation as one."""
    if guest.draw is not None:
        draw = guest.draw
        return lambda world: draw(world.inner)
    span = (shown.low, shown.high) if shown.high - shown.low < WIDEST else None
    return lambda world: obs_picture(np.asarray(world.seen), span)
