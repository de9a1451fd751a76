"""PPO's arithmetic by hand, and what every learner owes: the same run from the same seed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt import api
from sadapt.envs.registry import make
from sadapt.learners.networks import Network
from sadapt.learners.ppo import Batch, clipped_loss, gae, heads, loss, normalised
from sadapt.learners.table import PPOSettings
from sadapt.motivation.feedback import nobody
from sadapt.training import compiled
from sadapt.training.parts import parts
from sadapt.training.program import compose

NEVER = (False, False, False)


@pytest.mark.parametrize(
    ("terminal", "closed", "expected"),
    [
        # The last step is worth 3 + 0.5 * 8 - 4 = 3, the one before 2 + 0.5 * (4 + 0.5 * 3) - 2 = 2.75.
        (NEVER, NEVER, (1 + 0.5 * (2 + 0.5 * 2.75) - 1, 2.75, 3.0)),
        # No value lies beyond the second step: 2 - 2 = 0.
        ((False, True, False), (False, True, False), (1 + 0.5 * 2 - 1, 0.0, 3.0)),
        # The same where a death is survived: terminal, and the episode goes on.
        ((False, True, False), NEVER, (1 + 0.5 * 2 - 1, 0.0, 3.0)),
        # The last step is worth 3 - 4 = -1, the one before 2 + 0.5 * (4 - 0.5) - 2 = 1.75.
        ((False, False, True), (False, False, True), (1 + 0.5 * (2 + 0.5 * 1.75) - 1, 1.75, -1.0)),
        # Cut off: as if the second step had not been taken; what lies before it rests on its value, 2.
        (NEVER, (False, True, False), (1 + 0.5 * 2 - 1, 0.0, 3.0)),
        (NEVER, (False, False, True), (1 + 0.5 * (2 + 0.5 * 2) - 1, 2 + 0.5 * 4 - 2, 0.0)),
    ],
    ids=["on and on", "terminal", "a survived death", "terminal at the end", "cut off", "cut off at the end"],
)
def test_advantages_by_hand(terminal, closed, expected):
    """Rewards 1, 2, 3 in states worth 1, 2, 4, then one worth 8; gamma and lambda are a half."""
    r, v = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 2.0, 4.0])
    found = gae(r, jnp.array(terminal), jnp.array(closed), v, jnp.float32(8), 0.5, 0.5)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_cut_off_step_knows_nothing_of_what_follows():
    """The state after it is another episode's."""
    r, v, terminal, closed = jnp.ones(3), jnp.zeros(3), jnp.zeros(3, bool), jnp.array([False, True, False])
    one, other = (gae(r, terminal, closed, v, jnp.float32(last), 0.9, 0.9) for last in (0, 100))
    np.testing.assert_array_equal(one[:2], other[:2])
    assert one[2] != other[2]


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected", "moves"),
    [
        (1.0, 2.0, -2.0, True),
        (1.5, 2.0, -2.4, False),
        (0.5, 2.0, -1.0, True),
        (0.5, -2.0, 1.6, False),
        (1.5, -2.0, 3.0, True),
    ],
    ids=["unchanged", "good enough", "good, made rare", "bad, rare enough", "bad, made common"],
)
def test_the_clip_by_hand(ratio, advantage, expected, moves):
    """Beyond 1 +- 0.2 nothing is won any more; what has gone the wrong way is still drawn back."""
    old = jnp.float32(-1.0)
    cost, slope = jax.value_and_grad(clipped_loss)(old + jnp.log(ratio), old, jnp.float32(advantage), 0.2)
    np.testing.assert_allclose(cost, expected, rtol=1e-5)
    np.testing.assert_allclose(slope, -ratio * advantage if moves else 0.0, rtol=1e-5)


def test_the_loss_by_hand():
    """Two even actions and a value of 1; the second step was cut off and counts for nothing."""
    network = Network(init=lambda key: (), view=lambda seen: seen, apply=lambda params, views: views + params)
    batch = Batch(
        views=jnp.array([[0.0, 0.0, 1.0], [9.0, 0.0, 5.0]]),
        action=jnp.array([0, 1]),
        log_prob=jnp.log(jnp.array([0.4, 0.4])),
        advantage=jnp.array([2.0, 7.0]),
        target=jnp.array([4.0, 0.0]),
        weight=jnp.array([1.0, 0.0]),
    )
    settings = PPOSettings(clip_coef=0.2, vf_coef=0.5)
    (cost, report), gradient = jax.value_and_grad(
        lambda params: loss(settings, jnp.float32(0.1), network, params, batch), has_aux=True
    )(jnp.zeros((2, 3)))
    first = -1.2 * 2 + 0.5 * 3**2 / 2 - 0.1 * np.log(2)  # the ratio 0.5 / 0.4 is clipped to 1.2
    np.testing.assert_allclose(cost, first / 2, rtol=1e-6)
    np.testing.assert_allclose(report["value"], 3.0)
    np.testing.assert_array_equal(gradient[1], np.zeros(3))


def test_heads_are_a_policy_and_a_value():
    log_probs, value = heads(jnp.log(jnp.array([[1.0, 3.0, 7.0]])))
    np.testing.assert_allclose(jnp.exp(log_probs), [[0.25, 0.75]], rtol=1e-6)
    np.testing.assert_allclose(value, jnp.log(jnp.array([7.0])), rtol=1e-6)


def test_normalised_advantages_leave_out_what_was_cut_off():
    found = normalised(jnp.array([1.0, 3.0, 100.0]), jnp.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(found[:2], [-1, 1], rtol=1e-6)
    assert np.isfinite(normalised(jnp.zeros(2), jnp.zeros(2))).all()


@pytest.fixture(scope="module")
def prog():
    """Tetris with one gradient step an update."""
    env = make("tetris")
    small = {"num_envs": 4, "num_steps": 4, "minibatch_size": 16, "update_epochs": 1, "hidden": 8}
    return compose(env, parts(env, api.settings("tetris", learner="ppo", total_timesteps=64, **small)))


@pytest.fixture(scope="module")
def trained(prog):
    """`trained(seed)`: the state after the first rollout and its update."""

    def run(key):
        state = compiled.start(prog, key, nobody())
        step = jax.lax.scan(lambda s, _: (compiled.one_step(prog, s), None), state, None, length=4)
        return prog.update(step[0])

    run = jax.jit(run)
    return lambda seed: run(jax.random.key(seed))


def test_the_seed_decides_everything(trained):
    one, same, other = (
        np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(trained(seed).learner.params)]) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_the_policy_that_acted_is_the_one_that_is_improved(trained):
    """At the first gradient step the ratio of new to old probabilities is 1."""
    reports = trained(1).tally.reports
    np.testing.assert_allclose(reports["approx_kl"], 0, atol=1e-6)
    assert 0 < reports["policy_entropy"] <= np.log(12) + 1e-5


def test_the_policy_is_the_likeliest_action(prog, trained):
    """The value, which is the last output, is no action."""
    learned = trained(1).learner
    views = jax.tree.map(lambda x: x[0], learned.rollout.steps["view"])
    outputs = np.asarray(prog.parts.task.network(13).apply(learned.params, views))
    np.testing.assert_array_equal(prog.learner.policy(learned.params, views), outputs[:, :12].argmax(axis=1))
