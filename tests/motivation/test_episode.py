"""Episodes in worlds small enough to work out every number by hand."""

from __future__ import annotations

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.envs.base import Step
from sadapt.errors import UserError
from sadapt.motivation.bandits import fixed, ucb
from sadapt.motivation.bandits.ucb import fresh_means
from sadapt.motivation.episode import Answer, Episode, Fresh, episodes
from sadapt.motivation.feedback import RandomAgent, away_from_random
from sadapt.motivation.marginals import MAX_COUNT, bernoulli, gaussian
from tests.motivation.worlds import Place, coins, counter, line

STAY, RIGHT = 0, 1
NEVER, SURE = -math.log(1e-4), -math.log(1 - 1e-4)
"""Surprise of an entry at the clip: against what was always so, and as always."""


NOTHING = {"return": 0.0, "surprise": 0.0, "surprise_peak": -np.inf, "deaths": 0, "moves": 0.0}
"""What is measured of no step."""


def h(p):
    """Entropy of one coin at the marginal's clip."""
    p = min(max(p, 1e-4), 1 - 1e-4)
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


def rules_of(env, family=bernoulli, bandit=None, **settings):
    return episodes(env, family(env.input_shape), bandit or fixed(0), **settings)


def runner(env, rules, fresh=None):
    """Compiled `(key, actions, arm)` to the first episode state and those after every action; nobody settles."""

    @jax.jit
    def play(key, actions, arm):
        key_first, key_run = jax.random.split(key)
        first = rules.begin(Fresh(*env.reset(key_first)), arm)

        def one(episode, item):
            key, action = item
            key_step, key_reset, key_absorb = jax.random.split(key, 3)
            world, step = env.step(key_step, episode.world, action)
            start = Fresh(*env.reset(key_reset)) if fresh is None else fresh
            episode, transition = rules.absorb(key_absorb, episode, Answer(world, step, start))
            return episode, (episode, transition)

        _, (after, transitions) = jax.lax.scan(one, first, (jax.random.split(key_run, actions.size), actions))
        return first, after, transitions

    return play


def run(env, rules, actions, *, seed=0, arm=0, fresh=None):
    return runner(env, rules, fresh)(jax.random.key(seed), jnp.array(actions, jnp.int32), jnp.int32(arm))


def at(tree, index):
    return jax.tree.map(lambda leaf: leaf[index], tree)


def stack(*trees):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def assert_same(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)


# one step after another


def test_begin_sees_the_first_observation_and_nothing_else():
    env = line()
    first = rules_of(env).begin(Fresh(*env.reset(jax.random.key(0))), jnp.int32(1))
    np.testing.assert_array_equal(first.marginal.ones[:, 0], [1, 0, 0, 0])
    assert int(first.marginal.count) == 1
    assert (int(first.t), int(first.arm)) == (0, 1)
    assert first.so_far == NOTHING
    np.testing.assert_array_equal(first.obs, env.reset(jax.random.key(0))[1])


def test_surprise_is_measured_before_the_update():
    """Cells 0 -> 1 -> 1 -> 2, theta from all cells *before* each step.

    theta = (1, 0, 0, 0): cell 1 turns two certainties around: 2 * 9.2103 + 2 * 0.0001 = 18.4209
    theta = (1/2, 1/2, 0, 0): 2 ln 2 + 2 * 0.0001 = 1.3865
    theta = (1/3, 2/3, 0, 0): ln 3/2 + ln 3 + 9.2103 + 0.0001 = 10.7145
    """
    env = line()
    _, after, transitions = run(env, rules_of(env), [RIGHT, STAY, RIGHT], arm=1)
    expected = [18.4209, 1.3865, 10.7145]
    np.testing.assert_allclose(transitions.surprise, expected, atol=5e-4)
    np.testing.assert_allclose(after.so_far["surprise"], np.cumsum(expected), atol=1e-3)
    np.testing.assert_allclose(at(after, -1).marginal.ones[:, 0] / 4, [1 / 4, 2 / 4, 1 / 4, 0])
    np.testing.assert_array_equal(transitions.t, [0, 1, 2])
    np.testing.assert_array_equal(after.t, [1, 2, 3])
    np.testing.assert_array_equal(transitions.arm, [1, 1, 1])
    np.testing.assert_array_equal(transitions.extrinsic, [0.5, 0, 0.5])
    np.testing.assert_array_equal(after.so_far["return"], [0.5, 0.5, 1])
    np.testing.assert_array_equal(after.so_far["moves"], [1, 1, 2])
    np.testing.assert_array_equal(np.argmax(transitions.successor[..., 0], axis=1), [1, 1, 2])
    assert_same(transitions.successor, after.obs)
    assert_same(transitions.marginal, after.marginal)
    assert not np.any(transitions.closed | transitions.terminal)
    np.testing.assert_array_equal(after.so_far["deaths"], [0, 0, 0])


def test_marginal_sees_its_channels_only():
    """A channel of ones adds four sure entries; alone it is all there is."""
    both, alone = line(seen=(0, 1)), line(seen=(1,))
    _, _, transitions = run(both, rules_of(both), [RIGHT])
    np.testing.assert_allclose(transitions.surprise, [2 * NEVER + 6 * SURE], atol=1e-3)
    assert transitions.successor.shape == (1, 4, 2)
    _, after, transitions = run(alone, rules_of(alone), [RIGHT, RIGHT])
    np.testing.assert_allclose(transitions.surprise, [4 * SURE, 4 * SURE], atol=1e-5)
    np.testing.assert_array_equal(after.marginal.ones[-1], np.full((4, 1), 3))


def test_gaussian_episode_by_hand():
    """Observations 0, 1, 2, 3. theta before them: (0, floor), (0.5, 0.25), (1, 2/3)."""
    env = counter()
    _, after, transitions = run(env, rules_of(env, gaussian), [0, 0, 0])
    expected = [
        1 / (2 * 0.01) + 0.5 * math.log(2 * math.pi * 0.01),
        1.5**2 / (2 * 0.25) + 0.5 * math.log(2 * math.pi * 0.25),
        2**2 / (2 * 2 / 3) + 0.5 * math.log(2 * math.pi * 2 / 3),
    ]
    np.testing.assert_allclose(transitions.surprise, expected, rtol=1e-5)
    np.testing.assert_allclose(after.so_far["return"], [1, 2, 3])


@pytest.mark.parametrize("horizon", [1, 3])
def test_horizon_closes_and_nothing_resets_by_itself(horizon):
    env = line(cells=9)
    rules = rules_of(env, horizon=horizon)
    assert rules.horizon == horizon
    _, after, transitions = run(env, rules, [RIGHT] * 5)
    np.testing.assert_array_equal(transitions.closed, np.arange(1, 6) >= horizon)
    np.testing.assert_array_equal(after.t, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(after.world.cell, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(after.marginal.count, [2, 3, 4, 5, 6])


def test_horizon_is_the_worlds_unless_given():
    assert rules_of(line(horizon=17)).horizon == 17
    assert rules_of(line(horizon=17), horizon=4).horizon == 4


@pytest.mark.parametrize("horizon", [0, -3, MAX_COUNT])
def test_impossible_horizons_are_refused(horizon):
    with pytest.raises(UserError, match=f"got {horizon}"):
        rules_of(line(), horizon=horizon)


def test_the_marginal_can_count_the_longest_episode():
    """T steps and the first observation."""
    longest = rules_of(line(), horizon=MAX_COUNT - 1).horizon
    assert longest + 1 <= np.iinfo(np.uint16).max


# death


FRESH = Fresh(Place(jnp.int32(1), jnp.int32(100)), jnp.array([[0, 1], [1, 1], [0, 1], [0, 1]], jnp.uint8))
"""Unlike what `reset` gives, so that one sees where it was used: cell 1, age 100."""


def test_end_closes_at_death():
    env = line(cells=3)
    _, after, transitions = run(env, rules_of(env), [RIGHT, RIGHT], fresh=FRESH._replace(obs=FRESH.obs[:3]))
    np.testing.assert_array_equal(transitions.closed, [False, True])
    np.testing.assert_array_equal(after.so_far["deaths"], [0, 1])
    np.testing.assert_array_equal(np.argmax(transitions.successor[..., 0], axis=1), [1, 2])  # the cell of its death
    np.testing.assert_array_equal(after.world.cell, [1, 2])
    np.testing.assert_array_equal(after.world.age, [1, 2])


def test_soft_death_restarts_the_world_and_nothing_else():
    """Cells 0, 1, 2, dead at 3 and seen as 1 (fresh), then 2, dead and 1, 2: seen 0 1 2 | 1 2 | 1 2."""
    env = line(horizon=7)
    _, after, transitions = run(env, rules_of(env, on_death="soft"), [RIGHT] * 7, arm=1, fresh=FRESH)
    np.testing.assert_array_equal(after.so_far["deaths"], [0, 0, 1, 1, 2, 2, 3])
    np.testing.assert_array_equal(transitions.closed, [0, 0, 0, 0, 0, 0, 1])
    np.testing.assert_array_equal(np.argmax(transitions.successor[..., 0], axis=1), [1, 2, 1, 2, 1, 2, 1])
    np.testing.assert_array_equal(after.world.cell, [1, 2, 1, 2, 1, 2, 1])
    np.testing.assert_array_equal(after.world.age, [1, 2, 100, 101, 100, 101, 100])
    assert_same(after.obs, transitions.successor)
    np.testing.assert_array_equal(after.t, np.arange(1, 8))
    np.testing.assert_array_equal(after.arm, [1] * 7)
    np.testing.assert_array_equal(at(after, -1).marginal.ones[:, 0], [1, 4, 3, 0])  # cell 3 was never seen
    np.testing.assert_array_equal(after.so_far["return"], 0.5 * np.arange(1, 8))  # the deadly moves are paid too
    # theta = (1, 1, 1, 0) / 3 when the fresh cell 1 is seen: ln 3/2 + ln 3 + ln 3/2
    assert float(transitions.surprise[2]) == pytest.approx(2 * math.log(1.5) + math.log(3) + SURE, abs=1e-4)


def test_shock_is_a_random_observation_then_the_fresh_world():
    env = line(cells=3, seen=(0, 1), horizon=9)
    fresh = FRESH._replace(obs=FRESH.obs[:3])
    rules = rules_of(env, on_death="shock")
    first, after, transitions = run(env, rules, [RIGHT, RIGHT, RIGHT], fresh=fresh)
    np.testing.assert_array_equal(after.so_far["deaths"], [0, 1, 2])
    assert not np.any(transitions.closed)
    np.testing.assert_array_equal(after.world.cell, [1, 1, 1])
    np.testing.assert_array_equal(after.world.age, [1, 100, 100])
    assert_same(after.obs, transitions.successor)
    total = np.asarray(first.obs, int) + np.asarray(transitions.successor, int).sum(axis=0)
    np.testing.assert_array_equal(at(after, -1).marginal.ones, total)
    assert int(after.marginal.count[-1]) == 4
    # two coins' flips, different ones
    assert np.any(transitions.successor[1] != transitions.successor[2])
    assert set(np.unique(transitions.successor)) <= {0, 1}
    # its surprise is that of what was seen, entry by entry, under theta before it
    theta = np.clip((np.asarray(first.obs, float) + np.asarray(transitions.successor[0], float)) / 2, 1e-4, 1 - 1e-4)
    shock = np.asarray(transitions.successor[1], bool)
    assert float(transitions.surprise[1]) == pytest.approx(-np.log(np.where(shock, theta, 1 - theta)).sum(), rel=1e-3)


def test_shock_flips_fair_and_independent_coins():
    env = line(cells=3)
    rules = rules_of(env, on_death="shock")
    world, obs = env.reset(jax.random.key(0))
    before = rules.begin(Fresh(world, obs), jnp.int32(0))
    dead = Step(obs, jnp.float32(0), jnp.bool_(True), {"moves": jnp.int32(0)})
    keys = jax.random.split(jax.random.key(5), 4000)
    _, transitions = jax.jit(jax.vmap(lambda key: rules.absorb(key, before, Answer(world, dead, Fresh(world, obs)))))(
        keys
    )
    flips = np.asarray(transitions.successor, np.float64).reshape(4000, -1)
    assert flips.shape == (4000, 6)
    # five standard errors: 5 * 0.5 / sqrt(4000) = 0.04, of a covariance 5 * 0.25 / sqrt(4000) = 0.02
    np.testing.assert_allclose(flips.mean(axis=0), 0.5, atol=0.04)
    np.testing.assert_allclose(np.cov(flips.T, bias=True), 0.25 * np.eye(6), atol=0.02)


def test_a_living_step_is_the_same_whatever_death_would_do():
    env = line()
    results = [run(env, rules_of(env, on_death=treatment), [RIGHT, STAY])[1:] for treatment in ("end", "soft", "shock")]
    assert_same(results[0], results[1])
    assert_same(results[0], results[2])


# rows: on_death, horizon_is_terminal, death_is_terminal
# columns: terminal at neither, at death alone, at the horizon alone, at both
TERMINAL = {
    ("end", False, False): (0, 1, 0, 1),
    ("end", False, True): (0, 1, 0, 1),
    ("end", True, False): (0, 1, 1, 1),
    ("end", True, True): (0, 1, 1, 1),
    ("soft", False, False): (0, 0, 0, 0),
    ("soft", False, True): (0, 1, 0, 1),
    ("soft", True, False): (0, 0, 1, 1),
    ("soft", True, True): (0, 1, 1, 1),
    ("shock", False, False): (0, 0, 0, 0),
    ("shock", False, True): (0, 1, 0, 1),
    ("shock", True, False): (0, 0, 1, 1),
    ("shock", True, True): (0, 1, 1, 1),
}
CLOSED = {"end": (0, 1, 1, 1), "soft": (0, 0, 1, 1), "shock": (0, 0, 1, 1)}


@pytest.mark.parametrize("treatment", ["end", "soft", "shock"])
@pytest.mark.parametrize("horizon_is_terminal", [False, True])
@pytest.mark.parametrize("death_is_terminal", [False, True])
def test_closed_and_terminal_truth_table(treatment, horizon_is_terminal, death_is_terminal):
    env = line(cells=2, horizon=5)
    settings = {"horizon_is_terminal": horizon_is_terminal, "death_is_terminal": death_is_terminal}
    rules = rules_of(env, on_death=treatment, **settings)
    fresh = Fresh(*env.reset(jax.random.key(0)))
    begun = rules.begin(fresh, jnp.int32(0))
    terminal, closed = [], []
    for action, t in ((STAY, 0), (RIGHT, 0), (STAY, 4), (RIGHT, 4)):
        world, step = env.step(jax.random.key(1), begun.world, jnp.int32(action))
        after, transitions = rules.absorb(jax.random.key(2), begun._replace(t=jnp.int32(t)), Answer(world, step, fresh))
        terminal.append(int(transitions.terminal))
        closed.append(int(transitions.closed))
        assert int(after.so_far["deaths"]) == action
    assert tuple(terminal) == TERMINAL[treatment, horizon_is_terminal, death_is_terminal]
    assert tuple(closed) == CLOSED[treatment]


@pytest.mark.parametrize("treatment", ["end", "soft", "shock"])
def test_a_world_restarts_when_it_died_or_the_episode_is_over(treatment):
    """Whatever death means for the episode, the world must start afresh; T = 5 is reached by the step at t = 4."""
    rules = rules_of(line(), on_death=treatment, horizon=5)
    t, terminated = np.array([0, 0, 3, 4, 4]), np.array([False, True, False, False, True])
    np.testing.assert_array_equal(rules.restarts(t, terminated), [False, True, False, True, True])


def test_defaults_end_values_at_the_horizon_and_at_a_last_death():
    env = line(cells=3, horizon=5)
    _, _, transitions = run(env, rules_of(env), [RIGHT, RIGHT])
    np.testing.assert_array_equal(transitions.terminal, [False, True])
    _, _, transitions = run(env, rules_of(env, on_death="soft"), [RIGHT, RIGHT, STAY, STAY, STAY])
    np.testing.assert_array_equal(transitions.terminal, [False, False, False, False, True])


@pytest.mark.parametrize("treatment", ["end", "soft", "shock"])
def test_marginal_is_the_mean_of_all_that_was_seen(treatment):
    env = dataclasses.replace(line(cells=4, horizon=30), marginal_channels=(0, 1))
    actions = np.random.default_rng(0).integers(0, 2, 30)
    rules = rules_of(env, on_death=treatment)
    first, after, transitions = run(env, rules, actions, seed=3)
    everything = np.concatenate([np.asarray(first.obs)[None], np.asarray(transitions.successor)]).astype(np.float64)
    theta = jax.vmap(rules.look)(after).theta
    for step in (0, 9, 29):
        np.testing.assert_allclose(theta[step], everything[: step + 2].mean(axis=0), rtol=1e-6)
    entropy = bernoulli(env.input_shape).entropy(at(after, -1).marginal)
    assert float(entropy) == pytest.approx(sum(h(p) for p in everything.mean(axis=0).flat), rel=1e-4)


# what the policy sees


def test_look_is_the_augmented_observation():
    env = line(horizon=8)
    rules = rules_of(env)
    _, after, _ = run(env, rules, [RIGHT, STAY, RIGHT], arm=1)
    shown = rules.look(at(after, 1))
    np.testing.assert_array_equal(shown.obs, after.obs[1])
    assert shown.obs.dtype == jnp.uint8
    np.testing.assert_allclose(shown.theta[:, 0], [1 / 3, 2 / 3, 0, 0], rtol=1e-6)
    assert float(shown.time) == 2 / 8
    assert float(shown.arm) == 1
    assert shown.theta.dtype == shown.time.dtype == shown.arm.dtype == jnp.float32


# closing


RANDOM = RandomAgent(
    mean={"entropy": np.float32(2), "surprise": np.float32(4)},
    std={"entropy": np.float32(0.1), "surprise": np.float32(8)},
)


LONG_LINE = line(cells=9, horizon=3)
ADAPTIVE = rules_of(LONG_LINE, bandit=ucb())
SETTLE = jax.jit(ADAPTIVE.settle)


@functools.cache
def four_worlds():
    """Four episodes of four observations each, on arms 0, 1, 1, 0."""
    play = runner(LONG_LINE, ADAPTIVE)
    paths = ([RIGHT, RIGHT, RIGHT], [RIGHT, STAY, STAY], [STAY, STAY, STAY], [STAY, RIGHT, RIGHT])
    runs = (
        play(jax.random.key(0), jnp.array(path, jnp.int32), jnp.int32(arm))
        for path, arm in zip(paths, (0, 1, 1, 0), strict=True)
    )
    return stack(*(at(after, -1) for _, after, _ in runs))


FRESH_FOUR = Fresh(
    Place(jnp.array([4, 5, 6, 7], jnp.int32), jnp.array([10, 11, 12, 13], jnp.int32)),
    jnp.stack([jnp.stack([jnp.arange(9) == cell, jnp.ones(9, bool)], axis=-1) for cell in (4, 5, 6, 7)]).astype(
        jnp.uint8
    ),
)
BANDIT = fresh_means(2, jnp)._replace(
    means=jnp.array([0.3, 0.6], jnp.float32), counts=jnp.array([2, 3]), pending=jnp.array([2.0, 2.0], jnp.float32)
)


def settled(closed, settle=SETTLE):
    ended = four_worlds()
    return ended, *settle(jax.random.key(0), BANDIT, RANDOM, ended, jnp.array(closed), FRESH_FOUR)


def test_settle_feeds_the_bandit_by_hand():
    """Rows 0 and 2 close. Row 0 saw four cells once, row 2 one cell four times.

    H_0 = 4 h(1/4) + 5 h(0) = 2.24934 + 0.00511 = 2.25445, f = 0.12722; H_2 = 9 h(0) = 0.00919, f = 0.99541
    mu_0 = 0.3 + (0.12722 - 0.3) / 3 = 0.24241; mu_1 = 0.6 + (0.99541 - 0.6) / 4 = 0.69885
    Then N = (3 + 1, 4 + 1), t = 9: 0.24241 + sqrt(2 ln 9 / 4) = 1.29056; 0.69885 + sqrt(2 ln 9 / 5) = 1.63635: arm 1
    Then N = (4, 6), t = 10: 0.24241 + sqrt(2 ln 10 / 4) = 1.31539; 0.69885 + sqrt(2 ln 10 / 6) = 1.57496: arm 1
    """
    _, bandit, begun, summary = settled([True, False, True, False])
    np.testing.assert_allclose(np.asarray(summary.measures["entropy"])[[0, 2]], [2.25445, 0.00919], atol=1e-4)
    np.testing.assert_allclose(np.asarray(summary.measures["feedback"])[[0, 2]], [0.12722, 0.99541], atol=1e-4)
    np.testing.assert_allclose(bandit.means, [0.24241, 0.69885], atol=1e-4)
    np.testing.assert_array_equal(bandit.counts, [3, 4])
    np.testing.assert_array_equal(begun.arm, [1, 1, 1, 0])
    np.testing.assert_array_equal(bandit.pending, [1, 3])


def test_settle_begins_anew_where_it_closed_and_only_there():
    ended, _, begun, _ = settled([False, False, True, False])
    for row in (0, 1, 3):
        assert_same(at(begun, row), at(ended, row))
    new = at(begun, 2)
    assert (int(new.t), int(new.world.cell), int(new.world.age)) == (0, 6, 12)
    np.testing.assert_array_equal(new.obs, FRESH_FOUR.obs[2])
    np.testing.assert_array_equal(new.marginal.ones[:, 0], np.arange(9) == 6)
    assert int(new.marginal.count) == 1
    assert int(new.arm) in (0, 1)
    assert new.so_far == NOTHING


def test_summary_tells_the_episode():
    _, _, _, summary = settled([True, True, False, False])
    np.testing.assert_array_equal(summary.closed, [True, True, False, False])
    np.testing.assert_array_equal(summary.measures["return"][:2], [1.5, 0.5])
    np.testing.assert_array_equal(summary.measures["length"][:2], [3, 3])
    np.testing.assert_array_equal(summary.measures["deaths"][:2], [0, 0])
    np.testing.assert_array_equal(summary.arm[:2], [0, 1])
    np.testing.assert_array_equal(summary.measures["moves"][:2], [3, 1])
    # row 1, cells 0 1 1 1: two certainties turned, then ln 2 twice, then ln 3 - ln 2 twice
    sum_of_surprise = 2 * NEVER + 2 * math.log(2) + 2 * math.log(1.5) + 21 * SURE
    assert float(summary.measures["surprise"][1]) == pytest.approx(sum_of_surprise / 3, abs=1e-3)
    assert float(summary.measures["entropy"][1]) == pytest.approx(2 * h(1 / 4) + 7 * h(0), abs=1e-4)
    # a random agent's entropy is 2 +- 0.1, its surprise 4 +- 8: the unit is 2, and 8
    moved = abs(2 * h(1 / 4) + 7 * h(0) - 2) / 2
    assert float(summary.measures["feedback_entropy"][1]) == pytest.approx(moved, abs=1e-4)
    assert float(summary.measures["feedback"][1]) == float(summary.measures["feedback_entropy"][1])
    np.testing.assert_allclose(abs(summary.measures["pushed"]), summary.measures["feedback_entropy"])
    above = summary.measures["entropy"][:2] > 2
    np.testing.assert_array_equal(summary.measures["pushed"][:2] > 0, above == (summary.arm[:2] == 0))
    moved = abs(sum_of_surprise / 3 - 4) / 8
    assert float(summary.measures["feedback_surprise"][1]) == pytest.approx(moved, abs=1e-3)


def test_the_feedback_is_the_one_that_was_given():
    """Signed, by surprise: the arms hear opposite signs of the same distance."""
    rules = rules_of(LONG_LINE, bandit=ucb(), feedback=away_from_random("surprise", signed=True))
    _, bandit, _, summary = settled([True] * 4, rules.settle)
    moved = (np.asarray(summary.measures["surprise"]) - 4) / 8
    np.testing.assert_allclose(summary.measures["feedback"], moved * [1, -1, -1, 1], rtol=1e-5)
    np.testing.assert_allclose(bandit.means[0], (2 * 0.3 + moved[0] + moved[3]) / 4, rtol=1e-5)


def test_settling_nothing_changes_nothing():
    ended, bandit, begun, summary = settled([False] * 4)
    assert_same(begun, ended)
    assert_same(bandit, BANDIT)
    assert not np.any(summary.closed)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), summary) == jax.tree.map(
        lambda x: (x.shape, x.dtype), settled([True] * 4)[3]
    )


def test_settling_all_asks_the_bandit_one_after_another():
    _, bandit, begun, _ = settled([True] * 4)
    np.testing.assert_array_equal(bandit.counts, [4, 5])
    np.testing.assert_array_equal(bandit.pending, np.bincount(begun.arm, minlength=2))
    assert set(np.asarray(begun.arm)) <= {0, 1}
    np.testing.assert_array_equal(begun.t, [0] * 4)
    np.testing.assert_array_equal(begun.world.cell, [4, 5, 6, 7])


def test_settle_with_a_fixed_arm_keeps_to_it():
    _, bandit, begun, _ = settled([True] * 4, rules_of(LONG_LINE, bandit=fixed(1)).settle)
    np.testing.assert_array_equal(begun.arm, [1] * 4)
    np.testing.assert_array_equal(bandit.counts, [4, 5])


def test_settle_breaks_ties_by_its_key():
    """Both arms new, one row wants one: over many keys either is picked half the time."""
    new = ucb().init()
    _, arms = jax.jit(jax.vmap(lambda key: ADAPTIVE.choose(key, new, jnp.ones(1, bool))))(
        jax.random.split(jax.random.key(0), 2000)
    )
    assert np.mean(arms) == pytest.approx(0.5, abs=5 * 0.5 / math.sqrt(2000))


# the same, however it is called


@pytest.mark.parametrize("treatment", ["end", "soft", "shock"])
def test_plain_equals_jitted_equals_vmapped(treatment):
    env = line(cells=3)
    rules = rules_of(env, on_death=treatment)
    fresh = Fresh(*env.reset(jax.random.key(0)))
    begun = rules.begin(fresh, jnp.int32(1))
    keys, actions = jax.random.split(jax.random.key(1), 2), jnp.array([STAY, RIGHT], jnp.int32)
    standing = begun._replace(world=Place(jnp.int32(1), jnp.int32(1)))

    def one(key, action) -> tuple[Episode, object]:
        world, step = env.step(key, standing.world, action)
        return rules.absorb(key, standing, Answer(world, step, fresh))

    together = jax.jit(jax.vmap(one))(keys, actions)
    for row in (0, 1):
        alone = one(keys[row], actions[row])
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), at(together, row), alone)
    np.testing.assert_array_equal(together[0].so_far["deaths"], [0, 1])


def test_a_world_may_keep_a_key_in_its_state():
    """Restarting picks between typed keys too."""
    env = coins(2)
    rules = rules_of(env, on_death="soft")
    old, new = jax.random.split(jax.random.key(0))
    obs = jnp.zeros((2, 1), jnp.uint8)
    episode = rules.begin(Fresh(old, obs), jnp.int32(0))
    for death in (False, True):
        step = Step(obs, jnp.float32(0), jnp.bool_(death), {})
        after, _ = rules.absorb(old, episode, Answer(old, step, Fresh(new, obs)))
        assert bool(after.world == (new if death else old))
