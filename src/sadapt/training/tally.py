"""What happens between two rows of metrics, as sums: over episodes that ended, and over updates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from sadapt.learners.base import Report
from sadapt.motivation.episode import Summary

Array = jax.Array


class Tally(NamedTuple):
    """Sums since the last row."""

    episodes: Array
    """Episodes that ended."""
    arm: Array
    measures: dict[str, Array]
    """Of those episodes."""
    updates: Array
    reports: dict[str, Array]
    """Of those updates."""


def empty_tally(measures: Iterable[str], reports: Iterable[str]) -> Tally:
    """Nothing has happened yet; every sum has a buffer of its own, as donation wants it."""

    def zeros(names: Iterable[str]) -> dict[str, Array]:
        return {name: jnp.zeros((), jnp.float32) for name in names}

    return Tally(**zeros(("episodes", "arm", "updates")), measures=zeros(measures), reports=zeros(reports))


def add_episodes(tally: Tally, summary: Summary) -> Tally:
    """Counts the episodes that ended in this step."""

    def total(so_far: Array, values: Array) -> Array:
        return so_far + jnp.sum(jnp.where(summary.closed, values.astype(jnp.float32), 0.0))

    return tally._replace(
        episodes=total(tally.episodes, summary.closed),
        arm=total(tally.arm, summary.arm),
        measures={name: total(so_far, summary.measures[name]) for name, so_far in tally.measures.items()},
    )


def add_update(tally: Tally, report: Report) -> Tally:
    """Counts one update."""
    reports = {name: so_far + report[name] for name, so_far in tally.reports.items()}
    return tally._replace(updates=tally.updates + 1, reports=reports)
