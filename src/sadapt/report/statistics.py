"""Numbers over seeds: interquartile mean, and intervals by resampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

RESAMPLES = 2_000
LEVEL = 0.95


class Interval(NamedTuple):
    """An estimate, and where 95 % of its resampled values lie."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def bootstrap(samples: Sequence[np.ndarray], statistic: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """The statistic of independent samples (last axis: seeds) and its percentile interval.

    `statistic(*samples)` reduces the last axis and passes any axes before it through.
    """
    from scipy import stats

    def reduced(*drawn: np.ndarray, axis: int = -1) -> Any:
        return statistic(*drawn)

    found = stats.bootstrap(
        tuple(samples),
        reduced,
        n_resamples=RESAMPLES,
        confidence_level=LEVEL,
        vectorized=True,
        axis=-1,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    return statistic(*samples), found.confidence_interval.low, found.confidence_interval.high


def interval(samples: Sequence[np.ndarray], statistic: Callable[..., Any]) -> Interval:
    """The same for one number; a sample of one seed has no interval but itself."""
    if all(len(sample) == 1 for sample in samples):
        value = float(statistic(*samples))
        return Interval(value, value, value)
    padded = [np.repeat(sample, 2) if len(sample) == 1 else sample for sample in samples]
    return Interval(*map(float, bootstrap(padded, statistic)))


def interquartile_mean(values: np.ndarray) -> Any:
    """The mean of the middle half along the last axis."""
    from scipy import stats

    return stats.trim_mean(values, 0.25, axis=-1)
