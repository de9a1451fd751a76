"""Sums between two rows of metrics, by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.motivation.episode import Summary
from sadapt.training.tally import Tally, add_episodes, add_update, empty_tally


def test_an_empty_tally_has_a_buffer_for_every_name():
    tally = empty_tally(["return", "hits"], ["loss"])
    assert tally == Tally(episodes=0, arm=0, measures={"return": 0, "hits": 0}, updates=0, reports={"loss": 0})
    leaves = jax.tree.leaves(tally)
    assert len({leaf.unsafe_buffer_pointer() for leaf in leaves}) == len(leaves) == 6


def test_only_closed_episodes_are_counted():
    """Three worlds, of which the first and the last have ended; what the other holds is no number."""
    summary = Summary(
        closed=jnp.array([True, False, True]),
        arm=jnp.array([1, 1, 0]),
        measures={"return": jnp.array([1.5, jnp.nan, 2.0]), "length": jnp.array([3, 4, 5])},
    )
    tally = add_episodes(add_episodes(empty_tally(["return", "length"], []), summary), summary)
    assert tally == Tally(episodes=4, arm=2, measures={"return": 7, "length": 16}, updates=0, reports={})


def test_updates_are_summed_by_the_learners_own_names():
    tally = empty_tally([], ["critic", "actor"])
    for critic, actor in ((1.0, 2.0), (3.0, np.nan)):
        tally = add_update(tally, {"critic": jnp.float32(critic), "actor": jnp.float32(actor)})
    assert (tally.updates, tally.reports["critic"]) == (2, 4)
    assert np.isnan(tally.reports["actor"])
