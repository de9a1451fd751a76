"""Training without episodes: the same from both drivers, after a stop, and for every learner."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt import settings as preset_settings
from sadapt.composite import all_changed
from sadapt.errors import UserError
from sadapt.learners.dqn import memory
from sadapt.motivation.feedback import nobody
from sadapt.runs import checkpoint
from sadapt.training import compiled, host, metrics
from sadapt.training.program import build
from tests.training.test_program import tiny
from tests.trees import same

STREAM = {"stream": True, "stretch": 10, "half_life": 15.0, "random_envs": 3, "bandit": "cusum"}


def program(learner, **changes):
    prog = build(tiny(learner, **{**STREAM, **changes}))
    warmup = min(prog.learner.warmup_steps, 320)
    learned = prog.learner._replace(chunk_steps=320, warmup_steps=warmup)
    return prog._replace(parts=prog.parts._replace(learner=learned))


@functools.cache
def chunks(learner, refill=None):
    """The program, its first state and those after every chunk, copied before they are consumed."""
    prog = program(learner, refill=refill)
    advance, state = compiled.driver(prog), compiled.start(prog, jax.random.key(3), nobody())
    states = [jax.tree.map(jnp.copy, state)]
    for _ in range(3):
        state = advance(state)
        states.append(jax.tree.map(jnp.copy, state))
    return prog, advance, states


def test_a_stream_never_resets_and_decides_every_stretch():
    """320 steps of 4 worlds are 80 of each: 8 stretches and 32 decisions a chunk, none of the three worlds beside."""
    prog, _, states = chunks("pqn")
    for number, state in enumerate(states):
        np.testing.assert_array_equal(state.episodes.t, np.full(7, 80 * number))
        assert int(state.ended) == 32 * number
        assert int(state.step) == 320 * number
        assert int(jnp.sum(prog.parts.bandit.standing(state.bandit).counts)) == 32 * number
    full = 1 / (1 - 0.5 ** (1 / 15))
    np.testing.assert_allclose(states[-1].episodes.marginal.count, full, rtol=1e-3)
    assert float(states[-1].random.weight) == 3


def test_scouts_keep_to_their_arm_and_are_heard_but_decide_nothing():
    prog = program("pqn", scouts=1)
    state = compiled.start(prog, jax.random.key(3), nobody())
    for number in (1, 2):
        state = compiled.driver(prog)(state)
        assert state.episodes.arm[:2].tolist() == [0, 1]
        assert int(state.ended) == 16 * number
        assert int(jnp.sum(prog.parts.bandit.standing(state.bandit).counts)) == 32 * number


def test_scouts_leave_some_worlds_to_the_bandit():
    with pytest.raises(UserError, match="--scouts 2 takes 4 of the 4 parallel worlds"):
        program("pqn", scouts=2)
    assert program("pqn", scouts=2, objective="s-min").parts.rules.stream is not None


def test_rows_tell_decisions_arms_and_feedback():
    prog, _, states = chunks("pqn")
    row = metrics.row(prog, states[-1])
    assert row["decisions"] == row["episodes"] == row["n_max"] + row["n_min"] == 96
    assert row["length"] == 10
    assert 0 <= row["alpha"] <= 1
    assert math.isfinite(row["feedback"])
    assert row["surprise_random"] == pytest.approx(float(states[-1].random.mean["surprise"]))
    assert row["surprise_random"] != states[1].random.mean["surprise"]


def test_a_stream_that_was_stopped_goes_on_to_the_same_bytes():
    prog, advance, states = chunks("pqn")
    stored = checkpoint.tensors_of(states[1])
    state = checkpoint.tree_like(compiled.shapes(prog), stored)
    for _ in range(2):
        state = advance(state)
    same(state, states[-1])


def test_the_same_seed_gives_the_same_bytes():
    _, advance, states = chunks("pqn")
    again = jax.tree.map(jnp.copy, states[0])
    for _ in range(3):
        again = advance(again)
    same(again, states[-1])


def test_host_driver_gives_the_compiled_drivers_numbers():
    prog, _, states = chunks("pqn")
    worlds = host.JaxWorlds(prog.env, prog.worlds)
    state = host.driver(prog, worlds)(host.start(prog, worlds, jax.random.key(3), nobody()))
    whole = states[1]._replace(episodes=states[1].episodes._replace(world=()))
    same(whole, state, rtol=1e-4, atol=1e-4)


def test_both_drivers_refill():
    """Every 30 steps; the clock of the world itself shows it, 80 steps from the start."""
    prog = program("pqn", env="butterflies-small", refill=30)
    whole = compiled.driver(prog)(compiled.start(prog, jax.random.key(3), nobody()))
    np.testing.assert_array_equal(whole.episodes.world.clock, 80 % 30)
    worlds = host.JaxWorlds(prog.env, prog.worlds)
    state = host.driver(prog, worlds)(host.start(prog, worlds, jax.random.key(3), nobody()))
    same(whole._replace(episodes=whole.episodes._replace(world=())), state, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("env", "changes", "every"),
    [
        ("butterflies-small", {"horizon": None}, 100),
        ("butterflies-small", {"horizon": 40}, 40),
        ("butterflies-small", {"refill": 30}, 30),
        ("maze-small", {"refill": 30}, 30),
        ("maze-small", {}, None),
    ],
)
def test_worlds_that_run_down_are_refilled(env, changes, every):
    rules = build(tiny("pqn", **{"env": env, **STREAM, **changes})).rules
    found = [t + 1 for t in range(200) if rules.restarts(t, False)]
    assert found == ([] if every is None else list(range(every, 201, every)))


def test_a_stream_outside_of_xla_goes_on_in_fresh_worlds():
    """Arms, sums, clock and bandit are as they were; theta has seen one observation more."""
    prog, _, states = chunks("pqn")
    before = jax.tree.map(jnp.copy, states[1])
    before = before._replace(episodes=before.episodes._replace(world=()))
    after = host.revived(prog, host.JaxWorlds(prog.env, prog.worlds), jax.tree.map(jnp.copy, before))
    same(after.bandit, before.bandit)
    for name in ("arm", "t", "so_far"):
        same(getattr(after.episodes, name), getattr(before.episodes, name))
    keep = 0.5 ** (1 / 15)
    np.testing.assert_allclose(after.episodes.marginal.count, keep * before.episodes.marginal.count + 1, rtol=1e-5)


@pytest.mark.parametrize("refill", [None, 7])
def test_a_replay_gives_back_what_was_seen_in_a_stream(refill):
    """theta is rebuilt from snapshots across stretches; a step's successor is seen on the step's own arm."""
    prog, _, states = chunks("dqn", refill)
    state, kept = states[-1], memory(prog.parts.task, tiny("dqn").learner.settings)
    assert len(set(np.asarray(state.learner.replay.arm).tolist())) == 2
    seen = jax.vmap(prog.rules.look)(jax.tree.map(lambda x: x[:4], state.episodes))
    for world in range(4):
        head = state.learner.replay.head[world]
        assert int(head) == 240
        recalled = kept.recall(state.learner.replay, jnp.int32(world), head)
        for name in ("obs", "theta", "time", "arm"):
            np.testing.assert_allclose(getattr(recalled, name), getattr(seen, name)[world], rtol=1e-5, atol=1e-6)
    batch = kept.sample(jax.random.key(0), state.learner.replay, 200)
    np.testing.assert_array_equal(batch.before.arm, batch.after.arm)
    assert not np.asarray(batch.terminal).any()


def test_infinite_half_life_is_the_former_program():
    """The same lowered text, so the same bytes."""
    texts = []
    for half_life in (None, math.inf):
        prog = build(tiny("pqn", half_life=half_life))
        texts.append(
            jax.jit(lambda key, prog=prog: compiled.start(prog, key, nobody())).lower(jax.random.key(0)).as_text()
        )
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stretch": 0}, "--stretch must be at least 1; got 0"),
        ({"half_life": 0.5}, "--half-life must be at least 1 step; got 0.5"),
        ({"half_life": math.inf}, "a stream needs a marginal that forgets"),
        ({"random_envs": 0}, "--random-envs must be at least 1; got 0"),
        ({"num_envs": 0}, "--num-envs must be at least 1; got 0"),
        ({"window": 10}, "give one"),
    ],
)
def test_impossible_streams_are_refused(changes, message):
    with pytest.raises(UserError, match=message):
        build(all_changed(tiny("pqn", **STREAM), changes))


def test_a_stream_has_a_bandit_of_its_own_unless_one_is_named():
    assert preset_settings("tetris").bandit.name == "race"
    assert preset_settings("tetris", stream=True).bandit.name == "regimes"
    assert preset_settings("tetris", stream=True, bandit="ucb").bandit.name == "ucb"


def test_half_life_and_stretch_follow_from_the_horizon():
    """Half of 100 steps."""
    prog = build(tiny("pqn", stream=True, horizon=100))
    assert float(prog.rules.clock(jnp.int32(49))) == pytest.approx(0.5)
    assert prog.rules.stream.stretch == 50
    windowed = build(tiny("pqn", stream=True, window=30))
    assert windowed.rules.stream.stretch == 30
