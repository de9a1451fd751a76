"""Worlds in pure JAX: each file opens with its rules, channels and actions."""

from sadapt.envs.base import Env, Step
from sadapt.envs.registry import make, names

__all__ = ["Env", "Step", "make", "names"]
