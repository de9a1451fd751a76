"""The augmented observation (s, theta, t/T, alpha) that makes the surprise reward Markovian."""

from __future__ import annotations

from typing import Any, NamedTuple


class Augmented(NamedTuple):
    """What the policy sees; Extrinsic and Random networks read `obs` alone."""

    obs: Any
    theta: Any
    time: Any
    """t / T, float32."""
    arm: Any
    """alpha, float32."""
