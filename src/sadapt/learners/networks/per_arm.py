"""Networks apart: one for every arm, so that what one arm learns disturbs no other."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from sadapt.learners.networks.base import Network, Outputs, Params, View
from sadapt.motivation.augmented import Augmented


class OnArm(NamedTuple):
    """A view, and the arm that it is seen on."""

    view: View
    arm: Float[Array, "*batch"]


def per_arm(network: Network, arms: int = 2) -> Network:
    """A network of its own for every arm."""

    def init(key: Key[Array, ""]) -> Params:
        return {f"arm_{arm}": network.init(part) for arm, part in enumerate(jax.random.split(key, arms))}

    def view(seen: Augmented) -> OnArm:
        assert seen.arm is not None
        return OnArm(network.view(seen), seen.arm)

    def apply(params: Params, views: OnArm) -> Outputs:
        every = jnp.stack([network.apply(params[f"arm_{arm}"], views.view) for arm in range(arms)])
        return jnp.take_along_axis(every, views.arm.astype(jnp.int32)[None, :, None], axis=0)[0]

    return Network(init, view, apply)
