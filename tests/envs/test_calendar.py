"""Seasons: they change at the rate that was set, at random moments, and are shared where a calendar is."""

from __future__ import annotations

from itertools import groupby

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sadapt.envs.calendar import bounds, held, seasons, tinted
from sadapt.envs.registry import make_any
from sadapt.envs.table import SeasonSettings
from sadapt.errors import UserError
from sadapt.fields import MOST


def course(wanted: SeasonSettings, seed: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The season before the first step and of every step, and whether it changed with the step."""
    times = seasons(wanted)

    @jax.jit
    def play(key):
        calendar = times.begin(key)

        def one(calendar, key):
            calendar, changed = times.tick(key, calendar)
            return calendar, (calendar.season, changed)

        return calendar.season, jax.lax.scan(one, calendar, jax.random.split(key, steps))[1]

    first, (season, changed) = jax.device_get(play(jax.random.key(seed)))
    return np.concatenate([[first], season]), changed


def lengths(season: np.ndarray) -> list[int]:
    """How long every season lasted that began and ended."""
    return [len(list(run)) for _, run in groupby(season.tolist())][1:-1]


@settings(max_examples=5)
@given(mean=st.integers(1, 40), spread=st.floats(0, 1), seed=st.integers(0, 2**31))
def test_lengths_keep_to_what_was_set(mean, spread, seed):
    wanted = SeasonSettings(season_steps=mean, season_spread=spread)
    shortest, longest = max(1, mean - round(spread * mean)), mean + round(spread * mean)
    assert bounds(wanted) == (shortest, longest)
    season, changed = course(wanted, seed, 300)
    assert set(lengths(season)) <= set(range(shortest, longest + 1))
    assert ((season[1:] != season[:-1]) == changed).all()


def test_seasons_change_at_the_rate_that_was_set():
    season, changed = course(SeasonSettings(season_steps=20, season_spread=0.5), 1, 20_000)
    found = np.array(lengths(season))
    assert changed.mean() == pytest.approx(1 / 20, rel=0.03)
    assert set(found) == set(range(10, 31))
    assert season.mean() == pytest.approx(0.5, abs=0.02)


def test_without_spread_all_seasons_are_equally_long():
    season, _ = course(SeasonSettings(season_steps=7, season_spread=0.0), 3, 100)
    assert set(lengths(season)) == {7}
    assert len(list(next(groupby(season[1:].tolist()))[1])) == 7


def test_either_season_may_be_the_first():
    assert {int(course(SeasonSettings(), seed, 1)[0][0]) for seed in range(12)} == {0, 1}


@settings(max_examples=3)
@given(calendar=st.integers(0, 2**63), seeds=st.lists(st.integers(0, 2**31), min_size=2, max_size=2, unique=True))
def test_worlds_of_one_calendar_are_always_in_the_same_season(calendar, seeds):
    shared = SeasonSettings(season_steps=10, calendar=calendar)
    (one, _), (other, _) = (course(shared, seed, 100) for seed in seeds)
    np.testing.assert_array_equal(one, other)


def test_calendars_and_seeds_differ():
    def told(seed: int, calendar: int | None) -> list[int]:
        return course(SeasonSettings(season_steps=10, calendar=calendar), seed, 200)[0].tolist()

    assert told(1, None) == told(1, None)
    assert told(1, None) != told(2, None)
    assert told(1, 5) != told(1, 6)
    assert told(1, 5) != told(1, 5 + 2**32)


def test_a_season_that_is_held_never_ends():
    times = held(1)
    calendar = times.begin(jax.random.key(0))
    after, changed = times.tick(jax.random.key(1), calendar)
    assert (int(after.season), bool(changed)) == (1, False)
    assert jax.tree.all(jax.tree.map(lambda a, b: bool(a == b), calendar, after))


def test_the_longest_season_fits_its_counter():
    assert bounds(SeasonSettings(season_steps=MOST, season_spread=1.0)) == (1, MOST)


@pytest.mark.parametrize("wrong", [{"season_steps": 0}, {"season_spread": 1.5}, {"calendar": -1}])
def test_wrong_seasons_are_refused(wrong):
    with pytest.raises(UserError, match=f"--{next(iter(wrong)).replace('_', '-')} must"):
        SeasonSettings(**wrong)


def test_seasons_are_told_apart_by_their_light():
    white = np.full((2, 3, 3), 255, np.uint8)
    calm, wild = (tinted(white, held(season).begin(jax.random.key(0))) for season in (0, 1))
    assert calm.dtype == wild.dtype == np.uint8
    assert np.abs(calm.astype(int) - wild.astype(int)).sum(axis=-1).min() > 50
    assert not tinted(np.zeros_like(white), held(1).begin(jnp.zeros(()))).any()


@settings(max_examples=5)
@given(seed=st.integers(0, 2**31), groups=st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=2, unique=True))
def test_a_group_shares_its_seasons_and_no_other_does(seed, groups):
    times = seasons(SeasonSettings(season_steps=20, season_spread=0.5))

    def play(key, group):
        def one(calendar, key):
            calendar, _ = times.tick(key, calendar)
            return calendar, calendar.season

        return jax.lax.scan(one, times.begin(key, group), jax.random.split(key, 400))[1]

    keys = jax.random.split(jax.random.key(seed), 4)
    mine = jnp.array([groups[0], groups[1], groups[0], groups[1]], jnp.uint32)
    found = np.asarray(jax.vmap(play)(keys, mine))
    assert (found[0] == found[2]).all()
    assert (found[1] == found[3]).all()
    assert (found[0] != found[1]).any()


def test_worlds_with_seasons_can_be_in_a_group():
    for name in ("seasons", "switch:maze-small,butterflies-small"):
        env = make_any(name)
        keys = jax.random.split(jax.random.key(0), 8)
        words = jnp.array([5, 5, 5, 5, 6, 6, 7, 8], jnp.uint32)
        assert env.reset_in is not None
        state, _ = jax.vmap(env.reset_in)(keys, words)
        assert len(set(state.calendar.left[:4].tolist())) == 1
        assert len(set(state.calendar.left.tolist())) > 1
    assert make_any("tetris").reset_in is None
