"""One linear layer over everything that there is to see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from sadapt.fields import Checked, Positive
from sadapt.learners.networks import Network, Spec
from sadapt.motivation.augmented import Augmented
from sadapt.registry import register


@dataclass(frozen=True)
class LinearSettings(Checked):
    """How it begins."""

    first_weights: Positive = 0.01
    """Standard deviation of the first weights."""


def linear(spec: Spec, settings: LinearSettings = LinearSettings()) -> Network:
    """y = W (s, theta, t/T, alpha) + b; without a theta it sees s alone."""

    def view(seen: Augmented) -> jax.Array:
        parts = [seen.obs.astype(jnp.float32).reshape(-1) * spec.scale]
        if spec.theta_shape is not None:
            parts += [seen.theta.reshape(-1), jnp.stack([seen.time, seen.arm])]
        return jnp.concatenate(parts)

    def init(key: jax.Array) -> dict[str, Any]:
        theta = jnp.zeros(spec.theta_shape or (), jnp.float32)
        example = Augmented(jnp.zeros(spec.obs_shape), theta, jnp.float32(0), jnp.float32(0))
        size = jax.eval_shape(view, example).shape[0]
        weight = settings.first_weights * jax.random.normal(key, (size, spec.outputs))
        return {"weight": weight, "bias": jnp.zeros(spec.outputs)}

    def apply(params: dict[str, Any], views: jax.Array) -> jax.Array:
        return views @ params["weight"] + params["bias"][None]

    return Network(init, view, apply)


register("network", "linear", linear, settings=LinearSettings)
