"""The table of an episode's measures: reductions by hand, dtypes, and names."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.motivation import measures
from sadapt.motivation.bandits import fixed
from sadapt.motivation.episode import Fresh, episodes
from sadapt.motivation.feedback import nobody
from sadapt.motivation.marginals import bernoulli, gaussian
from sadapt.motivation.measures import (
    AT_END,
    HEARD,
    LARGEST,
    MEAN,
    MEASURES,
    SUM,
    EndFacts,
    HeardFacts,
    Measure,
    StepFacts,
)
from sadapt.motivation.rollout import play
from tests.motivation.worlds import counter, line

LARGEST_SURPRISE = Measure("surprise_max", lambda step: step.surprise, LARGEST, "surprise/max")


def test_the_columns_of_every_world_come_before_its_counters():
    names = [each.name for each in measures.episode_measures(("wins", "hits"))]
    own = ["return", "length", "deaths", "surprise", "surprise_peak", "entropy"]
    assert names == [*own, "feedback", "feedback_entropy", "feedback_surprise", "pushed", "hits", "wins"]
    assert measures.counted("hits").chart == "charts/hits"


@pytest.mark.parametrize(
    ("over", "expected"), [(SUM, 3.0), (MEAN, 1.0), (LARGEST, 5.0)], ids=["sum", "mean", "largest"]
)
def test_reductions_by_hand(over, expected):
    """Of the values -4, 5 and 2."""
    table = [Measure("it", lambda step: step.surprise, over, "")]
    so_far = measures.begun(table, ())
    for value in (-4, 5, 2):
        facts = StepFacts(reward=0, surprise=jnp.float32(value), death=False, counters={})
        so_far = measures.stepped(table, so_far, facts)
    told = measures.finished(table, so_far, EndFacts(length=jnp.int32(3), entropy=0))
    assert told == {"it": expected}
    assert told["it"].dtype == jnp.float32


def test_the_largest_of_negative_values_is_negative():
    table = [LARGEST_SURPRISE]
    facts = StepFacts(reward=0, surprise=jnp.float32(-7), death=False, counters={})
    assert measures.stepped(table, measures.begun(table, ()), facts) == {"surprise_max": -7}


def test_what_the_end_tells_is_not_kept_along_the_way():
    table = [Measure("it", lambda end: end.entropy, AT_END, "")]
    assert measures.begun(table, ()) == {}
    end = EndFacts(length=jnp.int32(3), entropy=jnp.float32(4))
    assert measures.finished(table, {}, end) == {"it": 4}


def test_steps_do_not_change_dtypes():
    table = measures.episode_measures(("hits",))
    begun = measures.begun(table, ("hits",))
    facts = StepFacts(
        reward=jnp.float32(1), surprise=jnp.float32(2), death=jnp.bool_(True), counters={"hits": jnp.int32(3)}
    )
    after = measures.stepped(table, begun, facts)
    assert {name: value.dtype for name, value in begun.items()} == {name: value.dtype for name, value in after.items()}
    assert after == {"return": 1, "deaths": 1, "surprise": 2, "surprise_peak": 2, "hits": 3}


def test_a_row_more_in_the_table_is_a_measure_more_of_an_episode(monkeypatch):
    """Observations 0, 1, 2, 3: the first of three steps, at theta = (0, floor), is by far the most surprising."""
    monkeypatch.setattr(measures, "MEASURES", (*MEASURES, LARGEST_SURPRISE))
    env = counter(horizon=3)
    marginal = gaussian(env.input_shape)
    rules = episodes(env, marginal, fixed(0))
    assert [each.name for each in rules.measures][-1] == "surprise_max"
    told = play(jax.random.key(0), env, marginal, rules, lambda key, episode: jnp.int32(0), jnp.int32(0)).measures
    first = 1 / (2 * 0.01) + 0.5 * np.log(2 * np.pi * 0.01)
    assert float(told["surprise_max"]) == pytest.approx(first, rel=1e-5)
    assert float(told["surprise"]) < first
    # and settling tells the same
    ended = jax.tree.map(lambda x: x[None], rules.begin(Fresh(*env.reset(jax.random.key(0))), jnp.int32(0)))
    ended = ended._replace(so_far=ended.so_far | {"surprise_max": jnp.ones(1)})
    fresh = Fresh(ended.world, jnp.zeros((1, 1, 1)))
    *_, summary = rules.settle(jax.random.key(0), fixed(0).init(), nobody(), ended, jnp.ones(1, bool), fresh)
    assert summary.measures["surprise_max"] == 1


def test_what_is_heard_comes_after_the_end():
    """It is no measure of the steps or of the end, and takes its place in the table's order."""
    table = [
        Measure("far", lambda heard: heard.distance["entropy"], HEARD, ""),
        Measure("it", lambda end: end.entropy, AT_END, ""),
        Measure("f", lambda heard: heard.feedback, HEARD, ""),
    ]
    assert measures.begun(table, ()) == {}
    told = measures.finished(table, {}, EndFacts(length=jnp.int32(3), entropy=jnp.float32(4)))
    assert told == {"it": 4}
    whole = measures.heard(table, told, HeardFacts(feedback=0.5, distance={"entropy": 0.25}, pushed=-0.25))
    assert list(whole.items()) == [("far", 0.25), ("it", 4), ("f", 0.5)]


def test_nobody_hears_of_an_episode_that_is_only_played():
    env = line()
    marginal = bernoulli(env.input_shape)
    act = lambda key, episode: jnp.int32(1)  # noqa: E731
    played = play(jax.random.key(0), env, marginal, episodes(env, marginal, fixed(0)), act, jnp.int32(0))
    assert set(played.measures) == {"return", "length", "deaths", "surprise", "surprise_peak", "entropy", "moves"}


def test_the_table_is_read_without_jax():
    code = "import sys, sadapt.motivation.measures; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
