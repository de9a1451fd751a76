"""Running statistics against NumPy's over everything seen, however it was split into batches."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.errors import UserError
from sadapt.motivation.building import PaymentSettings, build_normaliser
from sadapt.motivation.normalisation import RunningState, running
from sadapt.motivation.objectives import OBJECTIVES

ARMS, HORIZON = 2, 3

history = st.lists(
    st.tuples(
        st.integers(0, ARMS - 1), st.integers(0, HORIZON - 1), st.floats(-100, 100, width=32, allow_subnormal=False)
    ),
    min_size=1,
    max_size=40,
)


def columns(rows):
    arm, time, reward = zip(*rows, strict=True)
    return np.array(arm, np.int32), np.array(time, np.int32), np.array(reward, np.float32)


def by_hand(arm, time, reward, baseline):
    """Mean per arm and slot, deviation from it per arm, in one go and in float64."""
    slots = HORIZON if baseline == "time" else 1
    mean, std = np.zeros((ARMS, slots)), np.zeros(ARMS)
    for i in range(ARMS):
        squares = []
        for j in range(slots):
            here = reward[(arm == i) & ((time == j) | (slots == 1))].astype(np.float64)
            if len(here):
                mean[i, j] = here.mean()
                squares.extend((here - here.mean()) ** 2)
        std[i] = np.sqrt(np.mean(squares)) if squares else 0
    return mean, std


@pytest.mark.parametrize("baseline", ["global", "time"])
@given(rows=history, cuts=st.sets(st.integers(1, 39)))
def test_any_split_gives_the_statistics_of_the_whole(baseline, rows, cuts):
    normaliser = running(ARMS, HORIZON, baseline=baseline, xp=np)
    state = normaliser.init()
    edges = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    for start, end in itertools.pairwise(edges):
        state = normaliser.update(state, *columns(rows[start:end]))
    mean, std = by_hand(*columns(rows), baseline)  # type: ignore[call-arg]
    np.testing.assert_allclose(state.mean, mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.sqrt(state.variance), std, rtol=1e-3, atol=1e-3)
    assert state.count.sum() == len(rows)


def test_global_table():
    """Arm 0 is paid 1, 2, 3, 6: mean 3, std sqrt((4 + 1 + 0 + 9) / 4) = sqrt 3.5; arm 1 is paid 10, 20: 15, 5."""
    normaliser = running(2, 100)
    state = normaliser.init()
    for arms, rewards in (((0, 1, 0), (1, 10, 2)), ((0,), (3,)), ((1, 0), (20, 6))):
        times = jnp.arange(len(arms), dtype=jnp.int32)  # must not matter
        state = normaliser.update(state, jnp.array(arms, jnp.int32), times, jnp.array(rewards, jnp.float32))
    z = normaliser.apply(
        state, jnp.array([0, 0, 1], jnp.int32), jnp.array([0, 7, 99], jnp.int32), jnp.array([3.0, 10.0, 5.0])
    )
    np.testing.assert_allclose(z, [0, 7 / np.sqrt(3.5), -2], rtol=1e-6)


def test_time_table():
    """Slot 0 is paid 100, 102, slot 1 is paid 5, 9: means 101 and 7, deviations 1, 1, 2, 2, std sqrt 2.5."""
    normaliser = running(2, 2, baseline="time")
    state = normaliser.init()
    for time, reward in ((0, 100), (1, 5), (0, 102), (1, 9)):
        state = normaliser.update(state, jnp.int32(1), jnp.int32(time), jnp.float32(reward))
    np.testing.assert_allclose(state.mean, [[0, 0], [101, 7]])
    z = normaliser.apply(state, jnp.ones(2, jnp.int32), jnp.array([0, 1], jnp.int32), jnp.array([104.0, 4.0]))
    np.testing.assert_allclose(z, [3 / np.sqrt(2.5), -3 / np.sqrt(2.5)], rtol=1e-5)


def test_cyclic_times_begin_anew_and_others_stay_in_the_last_slot():
    """Time 2 of two slots is slot 0's again, or still slot 1's: means 101 and 7, or 100 and (5 + 102 + 9) / 3."""
    found = {}
    for cyclic in (True, False):
        normaliser = running(1, 2, baseline="time", cyclic=cyclic)
        state = normaliser.init()
        for time, reward in enumerate((100, 5, 102, 9)):
            state = normaliser.update(state, jnp.int32(0), jnp.int32(time), jnp.float32(reward))
        found[cyclic] = np.asarray(state.mean[0])
    np.testing.assert_allclose(found[True], [101, 7], rtol=1e-5)
    np.testing.assert_allclose(found[False], [100, 116 / 3], rtol=1e-5)


@given(rows=history)
def test_arms_do_not_mix(rows):
    normaliser = running(ARMS, HORIZON, baseline="time", xp=np)
    together, alone = normaliser.init(), normaliser.init()
    for arm, time, reward in rows:
        together = normaliser.update(together, *columns([(arm, time, reward)]))
        if arm == 1:
            alone = normaliser.update(alone, *columns([(arm, time, reward)]))
    for field, same in zip(together, alone, strict=True):
        np.testing.assert_array_equal(field[1], same[1])


@given(rows=history, new=st.floats(-100, 100, width=32, allow_subnormal=False))
def test_time_slots_do_not_mix(rows, new):
    normaliser = running(ARMS, HORIZON, baseline="time", xp=np)
    before = normaliser.update(normaliser.init(), *columns(rows))
    after = normaliser.update(before, *columns([(0, 1, new)]))
    others = np.ones((ARMS, HORIZON), bool)
    others[0, 1] = False
    for field in ("count", "mean", "lost"):
        np.testing.assert_array_equal(getattr(after, field)[others], getattr(before, field)[others])
    assert after.variance[1] == before.variance[1]


@pytest.mark.parametrize("baseline", ["global", "time"])
def test_a_normalised_stream_has_mean_zero_and_deviation_one(baseline):
    random = np.random.default_rng(0)
    arm, time = random.integers(0, 2, (50, 40), np.int32), random.integers(0, HORIZON, (50, 40), np.int32)
    reward = (arm * 30 - 5 * time + random.normal(size=arm.shape) * (1 + 4 * arm)).astype(np.float32)
    normaliser = running(ARMS, HORIZON, baseline=baseline)
    arm, time, reward = (jnp.asarray(x) for x in (arm, time, reward))
    # worlds x steps at once, any equal shape
    state = jax.jit(normaliser.update)(normaliser.init(), arm, time, reward)
    z = np.asarray(jax.jit(normaliser.apply)(state, arm, time, reward))
    assert z.shape == (50, 40)
    for which in range(ARMS):
        assert z[arm == which].mean() == pytest.approx(0, abs=1e-4)
        assert z[arm == which].std() == pytest.approx(1, rel=1e-4)
        slots = [z[(arm == which) & (time == slot)].mean() for slot in range(HORIZON)]
        assert (np.abs(slots).max() < 1e-4) == (baseline == "time")


@given(rows=history, repeats=st.integers(1, 70), value=st.floats(-1000, 1000, width=32, allow_subnormal=False))
def test_equal_rewards_are_zero_and_never_nan(rows, repeats, value):
    """Worlds side by side that do the same are paid the same: rounding must not make a negative variance of it."""
    for baseline in ("global", "time"):
        normaliser = running(ARMS, HORIZON, baseline=baseline, xp=np)
        same = columns([(0, 0, value)] * repeats)
        state = normaliser.update(normaliser.init(), *same)
        assert 0 <= state.variance[0] <= (1e-6 * abs(value)) ** 2
        state = normaliser.update(normaliser.update(state, *same), *columns(rows))
        assert (state.variance >= 0).all()
        assert np.isfinite(normaliser.apply(state, *columns(rows))).all()


def test_before_anything_is_known_nothing_is_nan():
    normaliser = running(2, 4, baseline="time", clip=5)
    z = normaliser.apply(normaliser.init(), jnp.int32(0), jnp.int32(2), jnp.array(-3.0))
    assert float(z) == -5


def test_clip():
    normaliser = running(1, 1, clip=2.0, xp=np)
    state = normaliser.update(normaliser.init(), *columns([(0, 0, -1), (0, 0, 1)]))
    z = normaliser.apply(state, *columns([(0, 0, r) for r in (-9, -1.5, 0, 1.5, 9)]))
    np.testing.assert_allclose(z, [-2, -1.5, 0, 1.5, 2])


def test_std_floor():
    normaliser = running(1, 1, std_floor=0.5, xp=np)
    state = normaliser.update(normaliser.init(), *columns([(0, 0, 3)] * 4))
    np.testing.assert_allclose(normaliser.apply(state, *columns([(0, 0, 4)])), [2])


@pytest.mark.parametrize("baseline", ["global", "time"])
def test_without_centring_only_the_scale_changes(baseline):
    normaliser = running(2, 2, baseline=baseline, centre=False, xp=np)
    state = normaliser.update(normaliser.init(), *columns([(1, 0, 8), (1, 0, 12)]))  # std 2
    np.testing.assert_allclose(normaliser.apply(state, *columns([(1, 0, 12), (1, 0, -3)])), [6, -1.5])


def feed_one_by_one(normaliser):
    def one(state, reward):
        return normaliser.update(state, jnp.zeros(1, jnp.int32), jnp.zeros(1, jnp.int32), reward[None]), None

    return jax.jit(lambda state, rewards: jax.lax.scan(one, state, rewards)[0])


def test_a_million_skewed_rewards_do_not_drift():
    """Rewards of 295, one in twenty 395: after 300,000 of them a float32 mean no longer feels a single 295."""
    rewards = np.where(np.random.default_rng(0).random(1_000_000) < 0.05, 395, 295).astype(np.float32)
    normaliser = running(1, 1)
    state = feed_one_by_one(normaliser)(normaliser.init(), jnp.asarray(rewards))
    assert float(state.mean[0, 0]) == pytest.approx(rewards.mean(dtype=np.float64), abs=0.01)
    assert float(state.variance[0]) == pytest.approx(rewards.var(dtype=np.float64), rel=0.01)


def test_rare_rewards_keep_their_deviation_for_forty_million_updates():
    """One reward of 1 in a hundred, the rest 0, one at a time: the deviation is sqrt(0.01 * 0.99) however long it goes.

    The statistics of 39 million are given; the last million is fed: what one adds to a float32 variance is less than
    half of its last digit.
    """
    before, fed = 39_000_000, 1_000_000
    start = RunningState(
        count=jnp.full((1, 1), before, jnp.int32),
        mean=jnp.full((1, 1), 0.01),
        lost=jnp.zeros((1, 1)),
        variance=jnp.full(1, 0.01 * 0.99),
        variance_lost=jnp.zeros(1),
    )
    rewards = np.zeros(fed, np.float32)
    rewards[::50] = 1.0  # twice as often as before
    share = (0.01 * before + 0.02 * fed) / (before + fed)
    state = feed_one_by_one(running(1, 1))(start, jnp.asarray(rewards))
    assert float(state.mean[0, 0]) == pytest.approx(share, rel=1e-4)
    assert float(state.variance[0]) == pytest.approx(share * (1 - share), rel=1e-3)


def test_large_counts_still_move():
    """Ten million rewards of mean 300, then a hundred thousand of 200: the mean is 300 - 100 / 101."""
    normaliser = running(1, 1)
    start = RunningState(
        count=jnp.full((1, 1), 10_000_000, jnp.int32),
        mean=jnp.full((1, 1), 300.0),
        lost=jnp.zeros((1, 1)),
        variance=jnp.ones(1),
        variance_lost=jnp.zeros(1),
    )
    state = feed_one_by_one(normaliser)(start, jnp.full(100_000, 200.0))
    assert float(state.mean[0, 0]) == pytest.approx(300 - 100 / 101, abs=0.01)
    # (10^7 * 1 + 10^7 * 10^5 / (10^7 + 10^5) * 100^2) / (10^7 + 10^5)
    assert float(state.variance[0]) == pytest.approx(1 / 1.01 + 0.01 / 1.01**2 * 100**2, rel=0.01)


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("baseline", ["global", "time"])
def test_numpy_equals_jax(baseline, size):
    random = np.random.default_rng(3)
    host, device = (running(ARMS, HORIZON, baseline=baseline, clip=3.0, xp=xp) for xp in (np, jnp))
    one, other = host.init(), device.init()
    update = jax.jit(device.update)
    for _ in range(10):
        batch = random.integers(0, ARMS, size, np.int32), random.integers(0, HORIZON, size, np.int32)
        batch = (*batch, (50 + 9 * random.normal(size=size)).astype(np.float32))
        one, other = host.update(one, *batch), update(other, *(jnp.asarray(x) for x in batch))  # type: ignore[call-arg]
        for field, twin in zip(one, other, strict=True):
            assert field.dtype == twin.dtype
            assert isinstance(field, np.ndarray)
            np.testing.assert_allclose(field, twin, rtol=1e-4, atol=1e-4)
        told = host.apply(one, *batch)  # type: ignore[call-arg]
        np.testing.assert_allclose(told, device.apply(other, *(jnp.asarray(x) for x in batch)), rtol=1e-3, atol=1e-3)


def test_unknown_baseline_is_refused():
    with pytest.raises(UserError, match="'median'"):
        running(2, 10, baseline="median")


def test_the_floor_of_the_deviation_is_a_setting():
    """Rewards that never change are divided by the floor: (3 - 1) / 0.5."""
    wanted = PaymentSettings(reward_std_floor=0.5)
    normaliser = build_normaliser(OBJECTIVES["s-min"], HORIZON, wanted, xp=np)
    arm, time, one = np.zeros(4, np.int32), np.zeros(4, np.int32), np.ones(4, np.float32)
    state = normaliser.update(normaliser.init(), arm, time, one)
    np.testing.assert_array_equal(normaliser.apply(state, arm, time, 3 * one), np.full(4, 4.0))


def test_what_fades_weighs_less_with_every_batch():
    """Weights 1/4, 1/2 and 1 for three batches of two rewards each."""
    batches = np.array([[1.0, 3.0], [4.0, 4.0], [7.0, 1.0]], np.float32)
    fading, state = running(1, HORIZON, keep=0.5), running(1, HORIZON, keep=0.5).init()
    nobody = jnp.zeros(2, jnp.int32)
    for rewards in batches:
        state = fading.update(state, nobody, nobody, jnp.asarray(rewards))
    weights = np.repeat([0.25, 0.5, 1.0], 2)
    mean = np.average(batches.ravel(), weights=weights)
    np.testing.assert_allclose(state.mean[0, 0], mean, rtol=1e-6)
    variance = np.average((batches.ravel() - mean) ** 2, weights=weights)
    np.testing.assert_allclose(state.variance[0], variance, rtol=1e-5)


def test_a_level_that_changes_is_forgotten():
    """Rewards around 5, then around 60: a moment later they are around 0 again, and of deviation one."""
    rewards = np.random.default_rng(0).normal(size=(400, 64)).astype(np.float32)
    rewards += np.repeat([5.0, 60.0], 200)[:, None].astype(np.float32)
    fading, nobody = running(1, HORIZON, keep=0.5 ** (1 / 10)), jnp.zeros(64, jnp.int32)

    def one(state, reward):
        state = fading.update(state, nobody, nobody, reward)
        return state, fading.apply(state, nobody, nobody, reward)

    paid = np.asarray(jax.lax.scan(one, fading.init(), jnp.asarray(rewards))[1])
    for late in (paid[100:200], paid[350:]):
        assert abs(late.mean()) < 0.1
        assert late.std() == pytest.approx(1.0, abs=0.1)


def test_forgetting_nothing_is_the_same_to_the_byte():
    rewards = np.random.default_rng(1).normal(size=(20, 8)).astype(np.float32)
    nobody = jnp.zeros(8, jnp.int32)
    usual, endless = (
        build_normaliser(OBJECTIVES["s-min"], HORIZON, PaymentSettings(), **each)
        for each in ({}, {"half_life": np.inf})
    )
    states = [usual.init(), endless.init()]
    for reward in rewards:
        states = [
            each.update(state, nobody, nobody, jnp.asarray(reward))
            for each, state in zip((usual, endless), states, strict=True)
        ]
    for one, other in zip(*states, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
