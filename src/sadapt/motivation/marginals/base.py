"""The contract of a state marginal p_theta: what the agent has seen so far this episode.

A marginal is reset with the episode, or forgets as a stream goes on (`forgetting`); it is updated with every
observation, and asked how likely the next one is *before* that one is added. The functions are written for one example,
or for several along leading axes, and for one array module, `xp`: JAX in training, NumPy in the Gymnasium wrappers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sadapt.envs.facts import Kind
from sadapt.errors import UserError

MarginalState = Any
MAX_COUNT = 2**16 - 1
"""Most observations that a state counts in one episode (uint16: exact, and small in replay)."""

LEAST: Any = np.float32(1e-30)
"""What is left of an observation that has faded to this counts for nothing."""


class InputSpec(NamedTuple):
    """What a marginal models of a world's observations."""

    source: str
    """The world's name, for messages."""
    shape: tuple[int, ...]
    dtype: Any
    low: Any
    high: Any
    """Bounds of the entries: numbers, or arrays of that shape."""
    unit: float | None = None
    """Distance of neighbouring values, where entries are whole multiples of it above `low`; None leaves it to dtype."""
    groups: tuple[int, ...] = ()
    """Sizes of the groups along the last axis that hold exactly one 1 each, where the world says so."""
    parts: tuple[InputSpec, ...] = ()
    """What a vector is joined from, one after another, each with a marginal of its own; their sources are names."""
    sample: Callable[[], np.ndarray] | None = None
    """What random play shows, [steps, *shape]; for marginals that have to know the scale of it beforehand."""

    @property
    def spacing(self) -> float | None:
        """Distance of neighbouring values; None where there is none."""
        whole = np.dtype(self.dtype).kind in "bui"
        return self.unit if self.unit is not None else 1.0 if whole else None

    @property
    def values(self) -> int | None:
        """How many values an entry can have; None where they are not whole steps between two bounds."""
        span = float(np.max(self.high)) - float(np.min(self.low))
        return None if self.spacing is None or not math.isfinite(span) else round(span / self.spacing) + 1

    @property
    def binary(self) -> bool:
        """Whether every entry is 0 or 1."""
        return np.dtype(self.dtype).kind in "bui" and (np.min(self.low), np.max(self.high)) == (0, 1)


def with_parts(whole: InputSpec, kinds: Sequence[Kind]) -> InputSpec:
    """A marginal input with what a world says of it: of all entries, or of the parts that it is joined from."""
    if not kinds:
        return whole
    if len(kinds) == 1:
        return InputSpec(*kinds[0])._replace(source=whole.source, sample=whole.sample)
    ends = np.cumsum([math.prod(kind.shape) for kind in kinds]).tolist()
    parts = (
        InputSpec(*kind, sample=partial(_of_part, whole.sample, end, kind.shape))
        for kind, end in zip(kinds, ends, strict=True)
    )
    return whole._replace(parts=tuple(parts))


def _of_part(sample: Callable[[], np.ndarray] | None, end: int, shape: tuple[int, ...]) -> np.ndarray:
    """What random play shows of the part that ends at this entry."""
    assert sample is not None
    return sample()[:, end - math.prod(shape) : end].reshape(-1, *shape)


class Marginal(NamedTuple):
    """A family of distributions over observations, fitted by maximum likelihood to those seen so far."""

    init: Callable[[], MarginalState]
    """State before any observation."""
    update: Callable[[MarginalState, Any], MarginalState]
    """`update(state, obs) -> state` with `obs` added."""
    log_prob: Callable[[MarginalState, Any], Any]
    """`log p_theta(obs)`, in nats, summed over entries."""
    entropy: Callable[[MarginalState], Any]
    """`H(p_theta)`, in nats, summed over entries."""
    features: Callable[[MarginalState], Any]
    """theta as the policy sees it."""
    feature_shape: tuple[int, ...]
    log_prob_at: Callable[[Any, Any], Any] | None = None
    """`log_prob` where theta is known already, as `features` gave it; for callers that keep it at hand."""
    entropy_at: Callable[[Any], Any] | None = None
    """`entropy`, likewise."""
    feature_bounds: Callable[[Any, Any], tuple[Any, Any]] | None = None
    """`feature_bounds(low, high)`: the least and greatest that theta can become for entries within these bounds."""
    least_entropy: float | None = None
    """`entropy` where a floor or clip holds every entry; None where nothing does."""
    exact: bool = True
    """Whether `log_prob` and `entropy` are those of the model; else they are estimated from samples."""
    told: str = ""
    """What was picked and why, where this was not said by the user."""
    fade: Callable[[MarginalState, Any], MarginalState] | None = None
    """`fade(state, keep)`: as if every observation so far weighed `keep` of what it did, in fractions."""
    remove: Callable[[MarginalState, Any], MarginalState] | None = None
    """`remove(state, obs)`: as if `obs`, one of those that were added, had not been; it undoes `update`."""
    filled: Callable[[Any], Any] | None = None
    """`filled(t)`: the share of its memory that is in use t steps after the first observation, for one that forgets."""


def faded(*names: str) -> Callable[[MarginalState, Any], MarginalState]:
    """`fade` of a state whose fields of these names are sums of what is not negative, and whose others are not sums."""

    def fade(state: MarginalState, keep: Any) -> MarginalState:
        return state._replace(**{name: _less(getattr(state, name), keep) for name in names})

    return fade


def _less(total: Any, keep: Any) -> Any:
    """keep * total, and 0 where nobody could tell it from 0: arithmetic on the least of fractions is slow."""
    kept = total.astype(np.float32) * np.float32(keep)
    return kept * (kept > LEAST).astype(np.float32)


def axes(shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The axes of an observation's entries, and the index that stands a number per example beside them."""
    return tuple(range(-len(shape), 0)), (..., *[None] * len(shape))


def require_pseudo_count(pseudo_count: float) -> None:
    """Refuses a number of extra observations that is negative or not a number."""
    if not 0 <= pseudo_count < math.inf:
        raise UserError(f"pseudo_count must be zero or more all-zero observations; got {pseudo_count}")


def require_bits(spec: InputSpec) -> None:
    """Refuses a Bernoulli marginal on observations that are not 0/1 maps."""
    if not spec.binary:
        raise UserError(
            f"a Bernoulli marginal needs 0/1 observations; {spec.source!r} gives {np.dtype(spec.dtype)} values in "
            f"[{np.min(spec.low):g}, {np.max(spec.high):g}]: use --marginal gaussian"
        )
