"""Networks apart: one for every arm, so that what one arm learns disturbs no other."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, Num

from sadapt.learners.networks.base import Network, Outputs, Params, View
from sadapt.motivation.augmented import Augmented

FEWEST = 16
"""Worlds below which it does not pay to leave some out: products of few rows are slow."""


class OnArm(NamedTuple):
    """A view, and the arm that it is seen on."""

    view: View
    arm: Float[Array, "*batch"]


def per_arm(network: Network, arms: int = 2) -> Network:
    """A separate network for every arm; one that no world plays is not evaluated, one that few play only for these."""

    def init(key: Key[Array, ""]) -> Params:
        return {f"arm_{arm}": network.init(part) for arm, part in enumerate(jax.random.split(key, arms))}

    def view(seen: Augmented) -> OnArm:
        assert seen.arm is not None
        return OnArm(network.view(seen), seen.arm)

    def apply(params: Params, views: OnArm) -> Outputs:
        on = views.arm.astype(jnp.int32)
        shape = jax.eval_shape(network.apply, params["arm_0"], views.view)

        def of(arm: int) -> Outputs:
            mine, nothing = on == arm, jnp.zeros(shape.shape, shape.dtype)

            def told(rows: Num[Array, " rows"] | None = None) -> Outputs:
                """For all worlds, or for those of `rows` that there are."""
                seen = views.view if rows is None else jax.tree.map(lambda x: x[rows], views.view)
                outputs = network.apply(params[f"arm_{arm}"], seen)
                return outputs if rows is None else nothing.at[rows].set(outputs, mode="drop")

            few = len(on) // 2
            if few < FEWEST:
                return jax.lax.cond(jnp.any(mine), told, lambda: nothing)
            count = jnp.sum(mine, dtype=jnp.int32)
            which = jnp.where(count == 0, 0, jnp.where(count <= few, 1, 2))
            rows = jnp.nonzero(mine, size=few, fill_value=len(on))[0]
            return jax.lax.switch(which, [lambda: nothing, lambda: told(rows), told])

        every = jnp.stack([of(arm) for arm in range(arms)])
        return jnp.take_along_axis(every, on[None, :, None], axis=0)[0]

    return Network(init, view, apply, alone=network)


def stacked(each: dict[str, Any]) -> Any:
    """What belongs to the arms, `arm_0` and so on, as arrays that lead with the arm."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *(each[f"arm_{arm}"] for arm in range(len(each))))


def unstacked(every: Any, arms: int) -> dict[str, Any]:
    """The same the other way round."""
    return {f"arm_{arm}": jax.tree.map(lambda x, arm=arm: x[arm], every) for arm in range(arms)}
