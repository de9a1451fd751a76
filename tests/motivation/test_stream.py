"""Streams in worlds small enough to work out every number by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.errors import UserError
from sadapt.motivation.bandits import ucb
from sadapt.motivation.episode import Answer, Fresh
from sadapt.motivation.feedback import at_once, away_from_random, recent, unheard, with_units
from sadapt.motivation.marginals import bernoulli
from sadapt.motivation.marginals.forgetting import fading
from sadapt.motivation.stream import Stretches, stream
from tests.motivation.worlds import coins, line

STAY, RIGHT = 0, 1
STRETCH = 3


def rules_of(env, *, marginal=None, on_death="end", death_is_terminal=False, refill=None):
    return stream(
        env,
        marginal or fading(bernoulli(env.input_shape), 4.0),
        ucb(),
        feedback=away_from_random("surprise", signed=True),
        on_death=on_death,
        horizon=env.horizon,
        stretches=Stretches(steps=STRETCH, random_envs=1, refill=refill),
        death_is_terminal=death_is_terminal,
    )


def played(env, rules, actions, steps):
    """Two worlds on arms 0 and 1 and one beside; the states, transitions and summaries after every step."""
    keys = jax.random.split(jax.random.key(1), 3)
    fresh = Fresh(*jax.vmap(env.reset)(keys))
    now = jax.vmap(rules.begin)(fresh, jnp.array([0, 1, 0], jnp.int32))
    bandit, random, found = ucb().init(), with_units(unheard(), jnp), []

    @jax.jit
    def step(key, bandit, random, now):
        worlds, answers = jax.vmap(env.step)(jax.random.split(key, 3), now.world, jnp.array(actions, jnp.int32))
        after, transition = jax.vmap(rules.absorb)(jax.random.split(key, 3), now, Answer(worlds, answers, fresh))
        bandit, begun, summary = rules.settle(key, bandit, random, after, transition.closed, fresh)
        return bandit, summary.random, begun, after, transition, summary

    for number in range(steps):
        bandit, random, now, *rest = step(jax.random.key(number), bandit, random, now)
        found.append((bandit, random, now, *rest))
    return found


def test_the_bandit_is_heard_and_asked_every_stretch_and_nothing_else_stops():
    found = played(coins(horizon=5), rules_of(coins(horizon=5)), [0, 1, 1], 2 * STRETCH)
    told = [np.asarray(summary.closed) for *_, summary in found]
    assert [bool(each.all()) for each in told] == [False, False, True] * 2
    assert told[0].shape == (2,)  # the world beside decides nothing
    bandit, random, now, after, transition, summary = found[STRETCH - 1]
    surprise = np.stack([np.asarray(each[4].surprise) for each in found[:STRETCH]])
    np.testing.assert_allclose(random.mean["surprise"], surprise[:, 2].mean(), rtol=1e-5)
    np.testing.assert_allclose(summary.measures["surprise"], surprise[:, :2].mean(axis=0), rtol=1e-5)
    away = (surprise[:, :2].mean(axis=0) - surprise[:, 2].mean()) / surprise[:, 2].mean()
    np.testing.assert_allclose(summary.measures["feedback"], away * [1, -1], rtol=1e-4)
    np.testing.assert_allclose(bandit.means, away * [1, -1], rtol=1e-4)
    assert bandit.counts.tolist() == [1, 1]
    np.testing.assert_array_equal(summary.measures["length"], STRETCH)
    np.testing.assert_array_equal(now.so_far["surprise"], 0)
    for one, other in zip(
        jax.tree.leaves((after.marginal, after.world, after.obs, after.t)),
        jax.tree.leaves((now.marginal, now.world, now.obs, now.t)),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(found[-1][2].t, 2 * STRETCH)
    later = np.stack([np.asarray(each[4].surprise) for each in found[STRETCH:]])
    np.testing.assert_allclose(found[-1][1].mean["surprise"], later[:, 2].mean(), rtol=1e-5)
    for *_, transition, _ in found:  # beyond the world's horizon, too
        assert not np.asarray(transition.closed).any()
        assert not np.asarray(transition.terminal).any()


def test_a_world_that_ends_by_itself_starts_afresh_and_theta_goes_on():
    """The line of 4 cells kills at the third step to the right; the observation in its place is the first cell's."""
    env = line(cells=4)
    found = played(env, rules_of(env), [RIGHT, STAY, STAY], 3)
    *_, after, transition, _ = found[-1]
    assert after.world.cell.tolist() == [0, 0, 0]
    weights = 0.5 ** (np.arange(4)[::-1] / 4)
    seen = np.eye(4)[[0, 1, 2, 0]]
    np.testing.assert_allclose(after.marginal.ones[0, :, 0], weights @ seen, rtol=1e-5)
    assert not bool(transition.closed[0])
    assert not bool(transition.terminal[0])


def test_a_stream_that_is_refilled_starts_its_worlds_afresh_and_theta_goes_on():
    """After two steps to the right the first cell is seen again, in place of the third, and nobody has died."""
    env = line(cells=4)
    rules = rules_of(env, refill=2)
    found = played(env, rules, [RIGHT, STAY, STAY], 3)
    assert [each[3].world.cell.tolist() for each in found] == [[1, 0, 0], [0, 0, 0], [1, 0, 0]]
    weights = 0.5 ** (np.arange(4)[::-1] / 4)
    seen = np.eye(4)[[0, 1, 0, 1]]
    np.testing.assert_allclose(found[-1][3].marginal.ones[0, :, 0], weights @ seen, rtol=1e-5)
    np.testing.assert_array_equal(found[-1][-1].measures["deaths"], 0)
    for *_, transition, _ in found:
        assert not np.asarray(transition.closed | transition.terminal).any()
    assert [bool(rules.restarts(t, False)) for t in range(4)] == [False, True, False, True]
    assert bool(rules.restarts(0, True))


def test_a_death_ends_the_values_of_those_who_are_paid_by_the_task():
    env = line(cells=4)
    *_, transition, _ = played(env, rules_of(env, death_is_terminal=True), [RIGHT, STAY, STAY], 3)[-1]
    assert transition.terminal.tolist() == [True, False, False]


def test_the_random_agent_is_that_of_several_worlds_at_once():
    values = np.array([1.0, 3.0, 5.0, 7.0], np.float32)
    random = at_once({"entropy": jnp.asarray(values), "surprise": jnp.asarray(values - 4.0)}, jnp)
    assert {name: float(each) for name, each in random.mean.items()} == {"entropy": 4.0, "surprise": 0.0}
    np.testing.assert_allclose([random.std["entropy"], random.unit["surprise"]], np.sqrt(5.0), rtol=1e-6)
    assert float(random.unit["entropy"]) == 4.0


def test_the_random_agent_is_that_of_late():
    """Rounds of two worlds each; a round weighs half of what it did when the next is heard."""
    rounds = np.array([[1.0, 3.0], [4.0, 4.0], [7.0, 1.0]], np.float32)
    random = with_units(unheard(), jnp)
    for values in rounds:
        random = recent(random, {"entropy": jnp.asarray(values), "surprise": jnp.asarray(-values)}, 0.5, jnp)
    weights = np.repeat([0.25, 0.5, 1.0], 2)
    mean = np.average(rounds.ravel(), weights=weights)
    std = np.sqrt(np.average((rounds.ravel() - mean) ** 2, weights=weights))
    for name, sign in (("entropy", 1), ("surprise", -1)):
        np.testing.assert_allclose(random.mean[name], sign * mean, rtol=1e-6)
        np.testing.assert_allclose(random.std[name], std, rtol=1e-5)
        np.testing.assert_allclose(random.unit[name], max(mean, std), rtol=1e-5)
    assert float(random.weight) == 3.5


def test_a_day_of_random_play_leaves_no_drift():
    """A million stretches around 20, then thirty around 5: nothing is left of the day."""
    found = jnp.array([-1.0, 1.0], jnp.float32)

    def after(random, level, stretches):
        def one(_, random):
            return recent(random, {"entropy": level + found, "surprise": level + found}, 0.5, jnp)

        return jax.jit(lambda random: jax.lax.fori_loop(0, stretches, one, random))(random)

    day = after(jax.tree.map(jnp.asarray, with_units(unheard(), jnp)), jnp.float32(20), 1_000_000)
    np.testing.assert_allclose([day.mean["entropy"], day.std["entropy"], day.weight], [20, 1, 4], rtol=1e-5)
    late = after(day, jnp.float32(5), 30)
    np.testing.assert_allclose([late.mean["entropy"], late.std["entropy"]], [5, 1], rtol=1e-4)


def test_the_policy_sees_how_full_the_memory_is():
    env = coins()
    rules = rules_of(env)
    now = rules.begin(Fresh(*env.reset(jax.random.key(0))), jnp.int32(1))
    keep = 0.5**0.25
    for t in (0, 3, 100, 10**6):
        seen = rules.look(now._replace(t=jnp.int32(t)))
        assert float(seen.time) == pytest.approx(1 - keep ** (t + 1), rel=1e-5)


def test_a_marginal_that_never_forgets_is_refused():
    env = coins()
    with pytest.raises(UserError, match="a stream needs a marginal that forgets"):
        rules_of(env, marginal=bernoulli(env.input_shape))
