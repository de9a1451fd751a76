"""Streams side by side: groups share a calendar, have bandits of their own, and go on to the same bytes."""

from __future__ import annotations

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt import settings as preset_settings
from sadapt.composite import all_changed
from sadapt.errors import UserError
from sadapt.motivation.feedback import nobody
from sadapt.runs import checkpoint
from sadapt.training import compiled, metrics
from sadapt.training.parts import groups_of, parts
from sadapt.training.program import build, compose
from tests.trees import same

SMALL = {"stream": True, "stretch": 5, "half_life": 10.0, "num_envs": 8, "random_envs": 1, "groups": 4}
QUICK = {"season_steps": 12, "num_steps": 8, "minibatch_size": 32, "hidden": 8, "radius": 1, "total_timesteps": 2_000}


def wanted(**changes):
    return all_changed(preset_settings("seasons", stream=True), {**SMALL, **QUICK, **changes})


def small(prog):
    return prog._replace(parts=prog.parts._replace(learner=prog.parts.learner._replace(chunk_steps=320)))


@functools.cache
def states():
    """A program of four groups of two worlds and a random one, its first state and those after two chunks."""
    prog = small(build(wanted()))
    advance, found = compiled.driver(prog), [compiled.start(prog, jax.random.key(1), nobody())]
    for _ in range(2):
        found.append(advance(jax.tree.map(jnp.copy, found[-1])))
    return prog, advance, found


def test_worlds_of_a_group_are_in_the_same_season_and_groups_differ():
    _, _, found = states()
    for state in found:
        calendar = state.episodes.world.calendar
        for field in (calendar.season, calendar.left, calendar.past):
            mine, random = np.asarray(field[:8]).reshape(4, 2), np.asarray(field[8:])
            assert (mine == random[:, None]).all()
        assert len(set(np.asarray(calendar.left[:8:2]).tolist())) > 1


def test_every_group_has_a_bandit_and_the_first_is_told_of():
    prog, _, found = states()
    counts = np.asarray(found[-1].bandit.counts)
    assert counts.shape[0] == 4
    assert (counts.sum(axis=(1, 2)) == 2 * 80 // 5).all()
    row = metrics.row(prog, found[-1])
    assert row["n_max"] + row["n_min"] == row["decisions"] == 32
    assert row["surprise_random"] == pytest.approx(float(found[-1].random.mean["surprise"][0]))


def test_groups_that_were_stopped_go_on_to_the_same_bytes():
    prog, advance, found = states()
    stored = checkpoint.tensors_of(found[1])
    same(advance(checkpoint.tree_like(compiled.shapes(prog), stored)), found[2])


def test_a_single_group_is_the_program_without_groups():
    """The same lowered text as in a world that knows nothing of them."""
    texts = []
    for reset_in in (True, False):
        prog = build(wanted(groups=1))
        env = prog.env if reset_in else replace(prog.env, reset_in=None)
        prog = small(compose(env, parts(env, wanted(groups=1))))
        state = jax.eval_shape(lambda key, prog=prog: compiled.start(prog, key, nobody()), jax.random.key(0))
        texts.append(jax.jit(compiled.chunk(prog)).lower(state).as_text())
    assert texts[0] == texts[1]


def test_what_is_paid_is_in_units_of_each_groups_random_agent():
    prog, _, found = states()
    surprise = jnp.arange(8, dtype=jnp.float32)
    random = found[-1].random
    paid = np.asarray(prog.rules.stream.paid(random, surprise))
    for world in range(8):
        mean, unit = (float(part["surprise"][world // 2]) for part in (random.mean, random.unit))
        assert paid[world] == pytest.approx((world - mean) / unit, rel=1e-4)
    assert not np.asarray(
        prog.rules.stream.paid(prog.rules.stream.unheard()._replace(unit=random.unit), surprise)
    ).any()


def test_as_many_groups_as_divide_the_worlds():
    env = build(wanted()).env
    assert groups_of(env, wanted(groups=None)) == 8
    assert groups_of(env, wanted(groups=None, num_envs=12)) == 6
    assert build(wanted(random_envs=3)).rules.stream.random_envs == 3 * 4
    assert groups_of(replace(env, reset_in=None), wanted()) == 1
    with pytest.raises(UserError, match="--groups 3 must divide"):
        groups_of(env, wanted(groups=3))


def test_in_episodes_the_seasons_of_a_calendar_go_on_and_random_play_sees_both():
    """Episodes of 5 steps in seasons of 6 to 18: all worlds have had the same ones, whatever was reset."""
    changes = {"stream": False, "bandit": "race", "horizon": 5, "calendar": 3, "random_episodes": 64}
    prog = small(build(all_changed(preset_settings("seasons"), {**SMALL, **QUICK, **changes, "groups": None})))
    state = compiled.driver(prog)(compiled.start(prog, jax.random.key(1), nobody()))
    past = np.asarray(state.episodes.world.calendar.past)
    assert (past == past[0]).all()
    assert 2 <= past[0] <= 40 // 6
    both, first = (compiled.baseline(each)(1) for each in (prog, prog._replace(env=replace(prog.env, alone=None))))
    wild = float(first.mean["surprise"])  # with which this calendar begins
    assert 0.6 * wild < float(both.mean["surprise"]) < 0.9 * wild
