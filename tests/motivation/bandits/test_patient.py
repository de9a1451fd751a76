"""A bandit that takes turns first, and then forgets."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.errors import UserError
from sadapt.motivation.bandits import Bandit, patient, ucb
from sadapt.motivation.bandits.base import Standing
from sadapt.motivation.bandits.race import race


@pytest.mark.parametrize("xp", [np, jnp])
def test_a_patient_bandit_takes_turns_and_then_forgets(xp):
    bandit, random = patient(ucb(xp=xp), 10, xp=xp), np.random.default_rng(3)
    current, picked = bandit.init(), []
    for _ in range(10):
        current, arm = bandit.select(xp.asarray(random.random(2), xp.float32), current)
        picked.append(int(arm))
        current = bandit.update(current, arm, xp.float32(0.9 if arm == 0 else 0.1))
    assert [sum(pair) for pair in zip(picked[::2], picked[1::2], strict=True)] == [1] * 5
    assert len(set(picked[::2])) == 2  # within a pair the draws decide
    np.testing.assert_array_equal(current.counts, [0, 0])
    np.testing.assert_array_equal(current.means, [0, 0])
    assert int(current.heard) == 10


def test_after_its_patience_it_is_the_bandit_that_it_was():
    rounds, random = 60, np.random.default_rng(5)
    plain, late = ucb(xp=np), patient(ucb(xp=np), 4, xp=np)
    slow = late.init()
    for _ in range(4):
        slow, arm = late.select(random.random(2), slow)
        slow = late.update(slow, arm, np.float32(random.random()))
    quick = plain.init()
    for _ in range(rounds):
        draws, feedback = random.random(2), random.random(2).astype(np.float32)
        quick, one = plain.select(draws, quick)
        slow, other = late.select(draws, slow)
        assert one == other
        quick, slow = plain.update(quick, one, feedback[one]), late.update(slow, other, feedback[other])
    np.testing.assert_array_equal(quick.means, slow.means)


def test_no_patience_is_the_bandit_itself():
    bandit = ucb()
    assert patient(bandit, 0) is bandit


def test_episodes_under_way_at_the_end_of_the_patience_are_heard():
    late = patient(ucb(xp=np), 2, xp=np)
    current = late.init()
    for _ in range(4):
        current, _ = late.select(np.array([0.5, 0.4]), current)
    for arm in (0, 1, 0, 1):
        current = late.update(current, np.int32(arm), np.float32(0.5))
    np.testing.assert_array_equal(current.counts, [1, 1])
    np.testing.assert_array_equal(current.pending, [0, 0])


def test_bandits_that_do_not_count_what_is_under_way_cannot_be_patient():
    nothing = np.zeros(2, np.float32)
    thompson = Bandit(
        init=lambda: nothing,
        select=lambda draws, state: (state, 0),
        update=lambda state, arm, feedback: state,
        abandon=lambda state, arm: state,
        standing=lambda state: Standing(state, state),
        arms=2,
    )
    assert patient(thompson, 0, xp=np) is thompson
    with pytest.raises(UserError, match="count what is under way"):
        patient(thompson, 3, xp=np)


def test_a_bandit_that_forgets_by_itself_hears_everything_and_takes_turns_first():
    bandit, plain = patient(race(2, xp=np), 20, xp=np), race(2, xp=np)
    state, beside, draws = bandit.init(), plain.init(), np.array([0.2, 0.7], np.float32)
    picked = []
    for _ in range(20):
        state, arm = bandit.select(draws, state)
        picked.append(int(arm))
        heard = np.float32(0.9 if arm == 0 else 0.1) + np.float32(0.01) * len(picked)
        state, beside = bandit.update(state, arm, heard), plain.update(beside, arm, heard)
    assert picked == [1, 0] * 10
    np.testing.assert_array_equal(state.means, beside.means)
    for _ in range(5):
        state, arm = bandit.select(draws, state)
        assert arm == plain.select(draws, beside._replace(pending=state.pending))[1] == 0
        state = bandit.abandon(state, arm)
