"""Dead signals are told from weak ones, in one line that names what to change."""

from __future__ import annotations

import numpy as np
import pytest

from sadapt.motivation.bandits import Standing
from sadapt.motivation.bandits.race import race
from sadapt.motivation.doubts import noise_of_random, on_the_floor, told_in, undecided, without_spread
from sadapt.motivation.feedback import RandomAgent
from sadapt.motivation.marginals import bernoulli, gaussian
from sadapt.motivation.marginals.auto import AutoSettings
from sadapt.motivation.marginals.base import InputSpec
from sadapt.motivation.marginals.kt import kt

FAMILIES = {"bernoulli": bernoulli, "gaussian": gaussian}


def random_agent(entropy: float, surprise: float = 1.0, std: float = 0.0) -> RandomAgent:
    return RandomAgent({"entropy": entropy, "surprise": surprise}, {"entropy": std, "surprise": std})


def seen(marginal, shows) -> float:
    """The entropy after some observations."""
    state = marginal.init()
    for obs in shows:
        state = marginal.update(state, np.asarray(obs))
    return float(marginal.entropy(state))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("value", [0, 1])
def test_where_nothing_ever_changes_the_marginal_is_on_its_floor(family, value):
    marginal = FAMILIES[family]((4, 5), xp=np)
    entropy = seen(marginal, [np.full((4, 5), value, np.uint8)] * 30)
    told = on_the_floor(random_agent(entropy), marginal, AutoSettings(), str, binary=family == "bernoulli")
    assert "\n" not in told
    assert {"bernoulli": "Lower probability_clip, which is 0.0001", "gaussian": "Lower std_floor, which is 0.1"}[
        family
    ] in told


@pytest.mark.parametrize("family", FAMILIES)
def test_a_single_entry_that_moves_lifts_it_off(family):
    marginal = FAMILIES[family]((4, 5), xp=np)
    still, moved = np.zeros((2, 4, 5), np.uint8)
    moved[2, 3] = 1
    entropy = seen(marginal, [still] * 29 + [moved])
    assert on_the_floor(random_agent(entropy), marginal, AutoSettings(), str, binary=True) is None


def test_deviations_below_the_gaussians_floor_do_not_count():
    """MiniGrid's numbers up to 10 as parts of 255: every deviation is below 0.1, that of a grey level's floor not."""
    shows = np.random.default_rng(0).integers(0, 11, (200, 7, 7, 3)) / np.float32(255)
    for floor, dead in ((0.1, True), (1 / 255, False)):
        marginal = gaussian((7, 7, 3), std_floor=floor, xp=np)
        told = on_the_floor(random_agent(seen(marginal, shows)), marginal, AutoSettings(), str, binary=False)
        assert (told is not None) is dead


def test_a_marginal_without_floor_has_none():
    marginal = kt(InputSpec("still", (3,), np.dtype(np.uint8), 0, 1), xp=np)
    entropy = seen(marginal, [np.zeros(3, np.uint8)] * 9)
    assert on_the_floor(random_agent(entropy), marginal, None, str, binary=True) is None


@pytest.mark.parametrize(
    ("mean", "std", "measured", "dead"),
    [
        (12.0, 0.0, 100, True),
        (-130.0, 1e-4, 100, True),  # what float32 sums are off by
        (12.0, 0.01, 100, False),
        (0.0, 0.01, 100, False),
        (12.0, 0.0, 1, False),  # one measurement has no deviation
    ],
)
def test_random_episodes_that_are_all_the_same(mean, std, measured, dead):
    told = without_spread(random_agent(0.0, mean, std), "surprise", measured, str)
    assert (told is not None) is dead
    if dead:
        assert f"the surprise of all random episodes is the same ({mean:.4g})" in told


def test_a_feedback_of_ones_own_may_go_by_what_is_not_kept():
    assert without_spread(random_agent(0.0), "return", 100, str) is None
    assert (noise_of_random(random_agent(0.0), "return", [3, 4]) == 0).all()


def heard(*arms: tuple[float, float], episodes: int = 200):
    """A race that has heard feedback of these means and deviations, arm by arm in turn."""
    bandit, draw = race(2, xp=np), np.random.default_rng(1)
    state = bandit.init()
    for number in range(episodes):
        mean, std = arms[number % 2]
        state = bandit.update(state, number % 2, np.float32(draw.normal(mean, std)))
    return undecided(bandit.standing(state), bandit.errors(state), "surprise", str)


def test_arms_that_differ_are_decided():
    assert heard((0.4, 0.1), (0.1, 0.1)) is None


@pytest.mark.parametrize("arms", [((0.2, 0.1), (0.2, 0.1)), ((0.0, 0.0), (0.0, 0.0)), ((0.2, 1.0), (0.25, 1.0))])
def test_arms_that_differ_by_noise_are_not(arms):
    told = heard(*arms)
    assert "has not decided" in told
    assert "over 100 episodes of s-max" in told


def test_an_arm_that_was_never_heard_of_leaves_it_open():
    assert undecided(Standing([0.9, 0.0], [50, 0]), [0.01, 0.0], "surprise", str) is not None
    assert undecided(Standing([0.9, 0.0], [50, 1]), [0.01, 0.0], "surprise", str) is None


def test_without_errors_of_its_own_random_episodes_tell_the_noise():
    """Surprise deviates by 2 around 10, feedback by 0.2, means of 100 by 0.02; twice its root of 2 is 0.057."""
    errors = noise_of_random(random_agent(0.0, 10.0, 2.0), "surprise", [100, 100])
    np.testing.assert_allclose(errors, 0.02)
    for difference, dead in ((0.05, True), (0.06, False)):
        told = undecided(Standing([0.3, 0.3 + difference], [100, 100]), errors, "surprise", str)
        assert (told is not None) is dead


@pytest.mark.parametrize("held", [None, "text", 3, {"a": 1}, [1, None, {}]])
def test_a_record_that_holds_something_else_holds_no_warnings(held):
    assert told_in({"warnings": held}) == ()


def test_a_stored_warning_is_one_line():
    assert told_in({"warnings": ["one\nline \t only", 5]}) == ("one line only",)
