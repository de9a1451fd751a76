"""The contract of a network, and what networks see of an augmented observation.

What a network keeps of an augmented observation, its view, has no parameters and is made once per step; `apply` turns
a batch of views into as many vectors. What these mean is the learner's affair.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Num

from sadapt.errors import UserError
from sadapt.motivation.augmented import Augmented

Shape = tuple[int, ...]
Params = dict[str, Any]
View = Any
Outputs = Float[Array, "batch outputs"]


class Spec(NamedTuple):
    """What a network has to fit."""

    source: str
    """The world's name, for messages."""
    obs_shape: Shape
    """Shape of s as the policy sees it."""
    theta_shape: Shape | None
    """Shape of theta; None where a network sees s only: neither theta nor t/T nor alpha."""
    outputs: int
    """Entries of the vector that the network gives for each example."""
    agent_channel: int | None = None
    """Channel of s with exactly one 1, where the agent is; None where there is no such thing."""
    scale: float = 1.0
    """Factor of s: 1/255 for grey images, 1 for 0/1 maps."""


class Network(NamedTuple):
    """A vector of outputs for every augmented observation."""

    init: Callable[[Key[Array, ""]], Params]
    """`init(key) -> params`, a nested dict of float32 arrays."""
    view: Callable[[Augmented], View]
    """What is kept of one augmented observation; vmapped by the caller."""
    apply: Callable[[Params, View], Outputs]
    """`apply(params, views) -> [batch, outputs]`, for views with a leading axis."""
    alone: Network | None = None
    """The network of a single arm, where each has its own (`per_arm`): params and views are then by arm."""


def flat(x: Num[Array, "batch ..."]) -> Num[Array, "batch entries"]:
    """One vector per example of a batch."""
    return x.reshape(x.shape[0], -1)


def scaled(x: Num[Array, "*shape"], scale: float) -> Float[Array, "*shape"]:
    """float32 `scale * x`."""
    x = x.astype(jnp.float32)
    return x if scale == 1 else x * scale


def on_one_grid(spec: Spec) -> bool:
    """Whether theta is seen and has the same cells as s."""
    return spec.theta_shape is not None and spec.theta_shape[:-1] == spec.obs_shape[:-1]


def maps(spec: Spec, seen: Augmented) -> list[Float[Array, "... _"]]:
    """s, and theta where it has the same cells."""
    obs = scaled(seen.obs, spec.scale)
    return [obs, seen.theta] if on_one_grid(spec) else [obs]


def scalars(spec: Spec, seen: Augmented) -> Float[Array, " scalars"]:
    """(t/T, alpha), or nothing where theta is not seen."""
    return jnp.zeros(0, jnp.float32) if spec.theta_shape is None else jnp.stack([seen.time, seen.arm])


def beside(spec: Spec, seen: Augmented) -> Float[Array, " entries"]:
    """What is seen and is no map: a theta with other cells than s, as a vector, and the scalars."""
    apart = spec.theta_shape is not None and not on_one_grid(spec)
    return jnp.concatenate([seen.theta.reshape(-1), scalars(spec, seen)]) if apart else scalars(spec, seen)


def shapes_seen(spec: Spec) -> tuple[list[Shape], int]:
    """Shapes of the maps, and how many entries are beside them."""
    if spec.theta_shape is None:
        return [spec.obs_shape], 0
    if on_one_grid(spec):
        return [spec.obs_shape, spec.theta_shape], 2
    return [spec.obs_shape], math.prod(spec.theta_shape) + 2


def require_rows_and_columns(network: str, spec: Spec) -> None:
    """Refuses observations without height, width and channels."""
    if len(spec.obs_shape) != 3:
        raise UserError(
            f"{network} needs observations of height x width x channels; got shape {spec.obs_shape}: use plain"
        )
