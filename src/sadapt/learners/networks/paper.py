"""The paper's networks: twin encoders of s and of theta, then the head."""

from __future__ import annotations

import math
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from sadapt.learners.networks.base import Network, Outputs, Params, Shape, Spec, flat, scaled
from sadapt.learners.networks.blocks import Block, Conv, convolutions, fitting, mlp
from sadapt.motivation.augmented import Augmented

Kind = Literal["mlp", "conv-small", "conv-large", "atari"]
CONVOLUTIONS: dict[Kind, tuple[Conv, ...]] = {
    "conv-small": (Conv(16, 3),),
    "conv-large": (Conv(16, 3, 2, 1), Conv(32, 3, 2, 1), Conv(32, 3, 2, 1)),
    "atari": (Conv(32, 8, 4), Conv(64, 4, 2), Conv(64, 3)),
}
"""The paper's encoders, by kind of network."""
MLP = (120, 84)
"""The paper's encoder where the map is too small for convolutions."""
HEAD = 512
"""Hidden units between the paper's convolutions and its outputs."""


def paper(spec: Spec) -> Network:
    """The paper's network for observations of that shape."""
    return twins(spec, paper_kind(spec.obs_shape))


def paper_kind(obs_shape: Shape) -> Kind:
    """Which of the paper's networks suits observations of that shape."""
    if len(obs_shape) != 3 or min(obs_shape[:2]) < 10:
        return "mlp"
    side = max(obs_shape[:2])
    return "conv-small" if side < 32 else "conv-large" if side < 64 else "atari"


def with_planes(
    x: Float[Array, "batch *grid channels"], *scalars: Float[Array, " batch"]
) -> Float[Array, "batch *grid more"]:
    """A batch with a constant plane for every scalar appended to its last axis."""
    planes = [jnp.broadcast_to(s.reshape(-1, *[1] * (x.ndim - 1)), (*x.shape[:-1], 1)) for s in scalars]
    return jnp.concatenate([x, *planes], axis=-1)


def twins(spec: Spec, kind: Kind) -> Network:
    """Encoders of one kind for s and for theta with constant planes t/T and alpha; the view is what is seen itself.

    A theta that is no map, as that of a picture's features, is encoded as a vector whatever the kind.
    """

    def is_vector(shape: Shape) -> bool:
        return kind == "mlp" or len(shape) != 3

    def encoder(shape: Shape, scalars: int, scale: float) -> Block:
        if is_vector(shape):
            return mlp(math.prod(shape) + scalars, MLP)
        image = (*shape[:-1], shape[-1] + scalars)
        return convolutions(image, fitting(image, CONVOLUTIONS[kind]), scale)

    blocks = {"obs": encoder(spec.obs_shape, 0, spec.scale)}
    if spec.theta_shape is not None:
        blocks["theta"] = encoder(spec.theta_shape, 2, 1.0)
    joined = sum(block.size for block in blocks.values())
    blocks["head"] = mlp(joined, (spec.outputs,) if kind == "mlp" else (HEAD, spec.outputs), linear_last=True)

    def init(key: Key[Array, ""]) -> Params:
        keys = jax.random.split(key, len(blocks))
        return {name: block.init(keys[i]) for i, (name, block) in enumerate(blocks.items())}

    def view(seen: Augmented) -> Augmented:
        return seen if spec.theta_shape is not None else Augmented(seen.obs, None, None, None)

    def apply(params: Params, views: Augmented) -> Outputs:
        images = {"obs": flat(scaled(views.obs, spec.scale)) if kind == "mlp" else views.obs}
        if spec.theta_shape is not None:
            theta = flat(views.theta) if is_vector(spec.theta_shape) else views.theta
            images["theta"] = with_planes(theta, views.time, views.arm)
        encoded = [blocks[name].apply(params[name], x) for name, x in images.items()]
        return blocks["head"].apply(params["head"], jnp.concatenate(encoded, axis=-1))

    return Network(init, view, apply)
