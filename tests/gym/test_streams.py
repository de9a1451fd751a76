"""The wrapper without episodes: against marginals fed by hand, and as a learner sees it."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from sadapt.errors import UserError
from sadapt.gym import SurpriseStreamWrapper, SurpriseWrapper
from sadapt.motivation.marginals import bernoulli
from sadapt.motivation.marginals.forgetting import fading
from tests.gym.lamps import Lamps

STRETCH = 6


def stream(objective="s-adapt", **options):
    given = {"beside": [Lamps(), Lamps()], "stretch": STRETCH, "half_life": 5.0, **options}
    return SurpriseStreamWrapper(Lamps(), objective, **given)


def lived(env, steps, seed=3):
    """All that a learner is told in so many steps."""
    first, _ = env.reset(seed=seed)
    random = np.random.default_rng(seed)
    return first, [env.step(int(random.integers(6))) for _ in range(steps)]


def test_theta_fades_over_deaths_and_stretches_and_nothing_ever_ends():
    env = stream()
    first, found = lived(env, 200)
    marginal = fading(bernoulli((2, 3, 1), xp=np), 5.0)
    state = marginal.update(marginal.init(), first["obs"])
    for number, (obs, _, terminated, truncated, info) in enumerate(found):
        assert info["surprise"] == pytest.approx(-float(marginal.log_prob(state, obs["obs"])), rel=1e-4)
        state = marginal.update(state, obs["obs"])
        np.testing.assert_allclose(obs["theta"], marginal.features(state), rtol=1e-5)
        assert obs["time"][0] == pytest.approx(1 - 0.5 ** ((number + 2) / 5), rel=1e-5)
        assert not terminated
        assert not truncated
    assert any(info["restarted"] for *_, info in found)


def test_the_arm_is_chosen_every_stretch_by_what_the_random_worlds_have_now():
    env = stream()
    _, found = lived(env, 10 * STRETCH)
    told = [info.get("surprise_stretch") for *_, info in found]
    assert [each is not None for each in told] == ([False] * (STRETCH - 1) + [True]) * 10
    surprise = np.reshape([info["surprise"] for *_, info in found], (10, STRETCH)).mean(axis=1)
    stretches = [each for each in told if each is not None]
    np.testing.assert_allclose([each["surprise"] for each in stretches], surprise, rtol=1e-5)
    assert len({each["h_random"] for each in stretches}) > 5
    assert stretches[-1]["arm_counts"][0] + stretches[-1]["arm_counts"][1] == 10
    last, random = stretches[-1], env._beside.random
    away = (last["surprise"] - random.mean["surprise"]) / random.unit["surprise"]
    assert last["feedback"] == pytest.approx(-away if last["arm"] else away, rel=1e-4)


def test_the_same_seed_gives_the_same_stream():
    (_, one), (_, again), (_, other) = (lived(stream(), 60, seed) for seed in (1, 1, 2))
    assert [paid for _, paid, *_ in one] == [paid for _, paid, *_ in again]
    assert [paid for _, paid, *_ in one] != [paid for _, paid, *_ in other]


def test_a_reset_in_the_middle_goes_on_with_theta():
    env = stream()
    _, found = lived(env, 30)
    theta, arm = found[-1][0]["theta"], env._stream.arm[0]
    obs, info = env.reset()
    keep = 0.5 ** (1 / 5)
    count = (1 - keep**31) / (1 - keep)
    np.testing.assert_allclose(
        obs["theta"], (keep * count * theta + obs["obs"]) / (keep * count + 1), rtol=1e-4, atol=1e-6
    )
    assert info["arm"] == arm


@pytest.mark.parametrize("memory", [{"half_life": 4.0}, {"window": 4}])
def test_episodes_may_forget_too(memory):
    env = SurpriseWrapper(Lamps(), "s-min", horizon=50, **memory)
    env.reset(seed=0)
    seen = []
    for _ in range(8):
        obs, _, ended, *_ = env.step(0)
        seen.append(obs["obs"])
        if ended:
            break
    if "window" in memory and len(seen) >= 4:
        np.testing.assert_allclose(obs["theta"], np.mean(seen[-4:], axis=0), rtol=1e-5)
    assert np.isfinite(obs["theta"]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beside": []}, "act at random"),
        ({"stretch": 0}, "--stretch must be at least 1"),
        ({"half_life": 0.5}, "must be at least 1 step"),
        ({"half_life": float("inf")}, "needs a marginal that forgets"),
        ({"half_life": None}, "give half_life"),
        ({"window": 3}, "give one"),
    ],
)
def test_impossible_streams_are_refused(options, message):
    with pytest.raises(UserError, match=message):
        stream(**options)


def test_an_environment_cannot_be_beside_itself():
    env = Lamps()
    with pytest.raises(UserError, match="itself"):
        SurpriseStreamWrapper(env, beside=[env], half_life=5.0)


def test_a_stream_has_to_be_begun():
    with pytest.raises(ResetNeeded):
        stream().step(0)
