"""The probe on two worlds whose regimes are known, one where S-Max has more room and one where S-Min has."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import sadapt
from sadapt.errors import UserError
from sadapt.motivation.building import build_marginal
from sadapt.motivation.marginals import InputSpec
from sadapt.motivation.probe import probe
from sadapt.registry import Choice, find
from tests.motivation.worlds import coins, counter, ladder, line


def probed(env, kind="bernoulli", pseudo_count=0.0, **options):
    """`probe` with a marginal by its name."""
    settings = find("marginal", kind).settings(pseudo_count=pseudo_count)
    spec = InputSpec(env.name, env.input_shape, env.obs_dtype, env.low, env.high)
    return probe(env, build_marginal(spec, Choice(kind, settings), {}), **options)


def h(p):
    """Entropies of coins at the marginal's clip."""
    p = np.clip(np.asarray(p, np.float64), 1e-4, 1 - 1e-4)
    return -p * np.log(p) - (1 - p) * np.log(1 - p)


def climb_at_random(rungs, number, seed=0):
    """Final entropies of random climbers, simulated rung by rung: every grip is right half of the time."""
    random, entropies = np.random.default_rng(seed), []
    for _ in range(number):
        visits, rung = np.zeros(rungs), 0
        visits[0] = 1
        for _ in range(rungs - 1):
            rung = min(rung + 1, rungs - 1) if random.random() < 0.5 else 0
            visits[rung] += 1
        entropies.append(h(visits / rungs).sum())
    return np.array(entropies)


@pytest.fixture(scope="module")
def on_the_ladder():
    return probed(ladder(64), episodes=64)


@pytest.fixture(scope="module")
def with_coins():
    tosser = {"tosser": lambda key, world, theta: jnp.int32(1)}
    return probed(dataclasses.replace(coins(8, horizon=40), scripted=tosser), episodes=64)


def test_a_low_entropy_world_favours_s_max(on_the_ladder):
    """The climber sees each of 64 rungs once, the right-handed one only the ground; a random one a few rungs."""
    room = on_the_ladder.rooms["entropy"]
    assert room.favours == "s-max"
    assert (room.high_policy, room.low_policy) == ("climber", "always right")
    assert room.high == pytest.approx(64 * h(1 / 64), rel=1e-3)
    assert room.low == pytest.approx(64 * h(0), rel=1e-3)
    simulated = climb_at_random(64, 500)
    assert room.random == pytest.approx(simulated.mean(), abs=5 * simulated.std() / np.sqrt(64))
    assert room.random_std == pytest.approx(simulated.std(), rel=0.4)


def test_a_high_entropy_world_favours_s_min(with_coins):
    """Coins that lie still are certain; a random agent's show heads a quarter of the time, a tosser's half."""
    room = with_coins.rooms["entropy"]
    assert room.favours == "s-min"
    assert (room.low_policy, room.high_policy) == ("always still", "tosser")
    assert room.low == pytest.approx(8 * h(0), rel=1e-3)
    assert room.random == pytest.approx(8 * h(0.25), rel=0.08)
    assert room.high == pytest.approx(8 * np.log(2), rel=0.05)


def test_surprise_on_the_ladder_by_hand(on_the_ladder):
    """Who stays on the ground sees what is certain: 64 times -ln(1 - clip) a step, the lowest mean surprise."""
    room = on_the_ladder.rooms["surprise"]
    assert room.low == pytest.approx(-64 * np.log(1 - 1e-4), rel=1e-3)
    assert room.low_policy == "always right"


@pytest.mark.parametrize("of", ["entropy", "surprise"])
@pytest.mark.parametrize("which", ["on_the_ladder", "with_coins"])
def test_feedbacks_follow_from_the_rows(which, of, request):
    report = request.getfixturevalue(which)
    room = report.rooms[of]
    found = {row.name: getattr(row, of) for row in report.rows}
    baseline = found["random"]
    assert room.random == baseline
    assert room.low == min(found.values()) == found[room.low_policy]
    assert room.high == max(found.values()) == found[room.high_policy]
    unit = max(baseline, room.random_std)
    assert room.feedback_low == pytest.approx((baseline - room.low) / unit)
    assert room.feedback_high == pytest.approx((room.high - baseline) / unit)
    assert room.favours == ("s-max" if room.feedback_high > room.feedback_low else "s-min")
    assert report.h_random == report.rooms["entropy"].random


def test_rows_and_curves(on_the_ladder):
    report = on_the_ladder
    assert (report.env, report.episodes, report.horizon) == ("ladder", 64, 63)
    assert [row.name for row in report.rows] == ["random", "climber", "always right"]
    climber = report.rows[1]
    assert (climber.entropy_std, climber.length, climber.deaths, climber.task_return) == (0, 63, 0, 0)
    assert climber.curve.shape == (64,)
    # after n observations n of the rungs were seen once
    for n in (1, 2, 10, 64):
        assert climber.curve[n - 1] == pytest.approx(n * h(1 / n) + (64 - n) * h(0), rel=1e-3)


def test_the_quietest_constant_action_stands_in_for_a_missing_still(on_the_ladder, with_coins):
    """The last action on the ladder, the first with the coins."""
    assert on_the_ladder.rows[-1].name == "always right"
    assert with_coins.rows[-1].name == "always still"


def test_the_liveliest_constant_action_too_where_nothing_is_scripted():
    report = probed(dataclasses.replace(ladder(64), scripted={}), episodes=8)
    assert [row.name for row in report.rows] == ["random", "always right", "always left"]
    assert report.rows[1].entropy < report.rows[2].entropy


@pytest.mark.slow
def test_no_constants_where_the_world_has_a_still_policy():
    still = dataclasses.replace(ladder(8), scripted={"still": lambda key, world, theta: jnp.int32(1)})
    report = probed(still, episodes=8)
    assert [row.name for row in report.rows] == ["random", "still"]
    room = report.rooms["entropy"]
    assert room.low_policy == "still"
    assert (room.high_policy, room.feedback_high) == ("random", 0)


def test_where_nothing_can_be_done_neither_is_favoured():
    report = probed(counter(), episodes=4, kind="gaussian")
    for room in report.rooms.values():
        assert room.favours == "neither"
        assert room.feedback_low == room.feedback_high == 0


@pytest.mark.slow
def test_treatment_of_death_is_the_worlds_unless_given():
    """Always right: three steps to death; ended there, or alive again for ten steps and three deaths."""
    walker = {"still": lambda key, world, theta: jnp.int32(1)}
    env = dataclasses.replace(line(cells=4, horizon=10), scripted=walker, on_death="soft")
    own, given = (probed(env, episodes=2, on_death=treatment).rows[1] for treatment in (None, "end"))
    assert (own.length, own.deaths, own.task_return) == (10, 3, 5)
    assert (given.length, given.deaths, given.task_return) == (3, 1, 1.5)


@pytest.mark.slow
def test_pseudo_count_and_seed_are_passed_on(on_the_ladder):
    """One empty observation more: the climber's 64 rungs were each seen in one of 65."""
    told = []
    report = probed(
        ladder(64), episodes=64, seed=1, pseudo_count=1.0, on_progress=lambda name, share: told.append((name, share))
    )
    assert report.rows[1].entropy == pytest.approx(64 * h(1 / 65), rel=1e-4)
    assert report.rows[0].deaths == on_the_ladder.rows[0].deaths
    assert report.rooms["entropy"].random_std != on_the_ladder.rooms["entropy"].random_std
    assert told == [
        ("random", 0.0),
        ("climber", pytest.approx(1 / 3)),
        ("constant actions", pytest.approx(2 / 3)),
        ("done", 1.0),
    ]


def test_mistakes_are_explained():
    with pytest.raises(UserError, match=r"'counter' gives float32 values in \[0, inf\]: use --marginal gaussian"):
        probed(counter(), kind="bernoulli")
    with pytest.raises(UserError, match="at least one episode; got 0"):
        probed(coins(), episodes=0)
    with pytest.raises(UserError, match="did you mean 'bernoulli'"):
        probed(coins(), kind="bernouli")
    with pytest.raises(UserError, match="did you mean 'soft'"):
        probed(coins(), on_death="sofft")


def test_names_are_looked_up_by_the_call():
    """`sadapt.probe` takes a marginal by its name, with its settings, and gives what `probe` does."""
    told = sadapt.probe(ladder(8), episodes=4, marginal="gaussian", pseudo_count=1.0)
    assert told.h_random == probed(ladder(8), "gaussian", 1.0, episodes=4).h_random
    with pytest.raises(UserError, match="did you mean 'bernoulli'"):
        sadapt.probe(coins(), marginal="bernouli")
    with pytest.raises(UserError, match=r"'counter' gives float32 values in \[0, inf\]: use --marginal gaussian"):
        sadapt.probe(counter(), marginal="bernoulli")
