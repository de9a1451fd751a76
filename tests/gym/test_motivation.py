"""What the wrappers share: bandit, normaliser, baseline, options, what is saved, and parts of one's own."""

from __future__ import annotations

import json
import math
from functools import partial

import hypothesis.strategies as st
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given

from sadapt.errors import UserError
from sadapt.gym import SurpriseVectorWrapper, SurpriseWrapper, estimate_random, estimate_random_entropy
from sadapt.gym.settings import settings_from
from sadapt.gym.shortcuts import normaliser_of
from sadapt.motivation.bandits import Bandit, Standing, ucb
from sadapt.motivation.building import PaymentSettings
from sadapt.motivation.feedback import Feedback
from sadapt.motivation.marginals import Marginal, bernoulli
from sadapt.motivation.normalisation import running
from sadapt.motivation.objectives import objective
from sadapt.training.presets import preset
from tests.gym.examples import entropy_of, lamps, live, wrapped

RANDOM = {"mean": {"entropy": 4.0, "surprise": 2.0}, "std": {"entropy": 0.5, "surprise": 8.0}}
"""What `estimate_random` could have given."""
PAPERS = {"bandit": "ucb", "feedback": "entropy"}
"""What the paper has."""


@pytest.mark.parametrize("baseline", ["global", "time"])
@pytest.mark.parametrize("chosen", [{}, PAPERS, {**PAPERS, "patient_episodes": 30}], ids=["usual", "paper", "patient"])
def test_saved_loaded_and_continued_equals_never_saved(baseline, chosen):
    undisturbed, before, after = (wrapped(seed=9, baseline=baseline, **chosen) for _ in range(3))
    whole = live(undisturbed, 20) + live(undisturbed, 20)
    first = live(before, 20)
    stored = json.loads(json.dumps(before.state_dict()))
    after.load_state_dict(stored)
    assert first + live(after, 20) == whole
    assert after.state_dict() == undisturbed.state_dict()


def test_a_patient_bandit_takes_turns_and_then_forgets():
    env = wrapped(seed=3, patient_episodes=10, **PAPERS)
    arms = [episode["arm"] for episode in live(env, 10)]
    assert all({one, other} == {0, 1} for one, other in zip(arms[::2], arms[1::2], strict=True))
    assert env.state_dict()["bandit"] == {"means": [0, 0], "counts": [0, 0], "heard": 10, "lost": [0, 0]}
    live(env, 1)
    assert sum(env.state_dict()["bandit"]["counts"]) == 1


def test_the_baseline_is_loaded_too():
    env, other, nobody = (wrapped(random=None, h_random=h, **PAPERS) for h in (1.5, 2.5, 3.5))
    env.load_state_dict(other.state_dict())
    assert env.h_random == 2.5
    env.load_state_dict({**nobody.state_dict(), "random": None})
    assert env.h_random == 2.5
    env.load_state_dict(wrapped(random=RANDOM, **PAPERS).state_dict())
    assert env.state_dict()["random"] == RANDOM


def test_a_baseline_that_the_feedback_cannot_use_is_not_loaded():
    env = wrapped()
    before = env.state_dict()
    with pytest.raises(UserError, match="random agent's surprise in 'the state' is nan"):
        env.load_state_dict(wrapped(random=None, h_random=2.5, feedback="entropy").state_dict())
    assert env.state_dict() == before


def test_evaluation_changes_nothing():
    env = wrapped(seed=0)
    live(env, 5)
    before = env.state_dict()
    env.training = False
    told = live(env, 10)
    env.training = True
    after = env.state_dict()
    assert {name: after[name] for name in ("bandit", "normaliser", "random")} == {
        name: before[name] for name in ("bandit", "normaliser", "random")
    }
    assert {tuple(episode["arm_counts"]) for episode in told} == {tuple(before["bandit"]["counts"])}


@pytest.mark.parametrize(("arm", "index"), [("s-max", 0), ("s-min", 1), (0, 0), (1, 1)])
def test_a_forced_arm(arm, index):
    env = wrapped(seed=0)
    env.forced_arm = arm
    assert {episode["arm"] for episode in live(env, 6)} == {index}
    assert env.state_dict()["bandit"]["counts"] == [0, 0]
    env.forced_arm = None
    assert {episode["arm"] for episode in live(env, 6)} == {0, 1}


def test_an_episode_given_up_is_not_waited_for():
    """A hundred resets in a row count no pull, so that the hundred-and-first arm is still a fair draw."""
    env = wrapped(seed=0)
    for _ in range(100):
        env.reset()
    assert env._motivation.bandit.pending.sum() == 1
    assert {env.reset(seed=seed)[1]["arm"] for seed in range(20)} == {0, 1}


def test_the_random_agent_is_mean_and_deviation_over_episodes():
    measured = estimate_random(lamps(), episodes=40, seed=3)
    assert measured == json.loads(json.dumps(estimate_random(lamps(), episodes=40, seed=3)))
    found = measured["mean"]["entropy"]
    assert found == estimate_random_entropy(lamps(), episodes=40, seed=3)
    assert found != estimate_random_entropy(lamps(), episodes=40, seed=4)
    env = lamps()
    env.action_space.seed(3)
    entropies, surprises = [], []
    for episode in range(40):
        seen, over = [env.reset(seed=3 if episode == 0 else None)[0]], False
        while not over:
            obs, _, terminated, truncated, _ = env.step(env.action_space.sample())
            seen.append(obs)
            over = terminated or truncated
        entropies.append(entropy_of(np.mean(seen, axis=0)))
        surprises.append(np.mean([surprise_of(seen[:n], seen[n]) for n in range(1, len(seen))]))
    assert found == pytest.approx(np.mean(entropies), rel=1e-4)
    assert measured["std"]["entropy"] == pytest.approx(np.std(entropies), rel=1e-3)
    assert measured["mean"]["surprise"] == pytest.approx(np.mean(surprises), rel=1e-4)
    assert measured["std"]["surprise"] == pytest.approx(np.std(surprises), rel=1e-3)


def surprise_of(before, obs) -> float:
    """-log p of an observation after those before it, in float64."""
    p = np.clip(np.mean(before, axis=0, dtype=np.float64), 1e-4, 1 - 1e-4)
    return -float(np.log(np.where(obs, p, 1 - p)).sum())


@pytest.mark.parametrize(
    ("options", "of", "unit"),
    [({"feedback": "entropy"}, "entropy", 4), ({"feedback": "surprise"}, "surprise", 8)],
    ids=["entropy", "surprise"],
)
@pytest.mark.parametrize("signed", [False, True])
def test_the_feedback_is_the_one_that_was_chosen(options, of, unit, signed):
    """The unit is the mean, or the deviation where that is more."""
    env = wrapped(seed=0, random=RANDOM, signed=signed, **options)
    for told in live(env, 6):
        moved = (told[of] - RANDOM["mean"][of]) / unit
        expected = (-1) ** told["arm"] * moved if signed else abs(moved)
        assert told["feedback"] == pytest.approx(expected, rel=1e-4)
        assert told["h_random"] == 4


def test_what_the_random_agent_must_be_depends_on_the_feedback():
    """Nobody divides by the entropy where surprise is compared."""
    still = {"mean": {"entropy": 0.0, "surprise": 2.0}, "std": {"entropy": 0.0, "surprise": 0.0}}
    assert live(wrapped(feedback="surprise", random=still), 1)
    with pytest.raises(UserError, match=r"entropy in .* is 0 in every episode"):
        wrapped(feedback="entropy", random=still)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_the_random_entropy_of_many_worlds(mode):
    envs = SyncVectorEnv([lamps] * 8, autoreset_mode=mode)
    assert estimate_random_entropy(envs, episodes=160) == pytest.approx(estimate_random_entropy(lamps(), 160), rel=0.1)


# The shortcut of single rewards


@pytest.mark.parametrize("baseline", ["global", "time"])
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 2), st.floats(-100, 100, width=32, allow_subnormal=False)),
        min_size=1,
        max_size=40,
    )
)
def test_single_rewards_come_to_the_same_by_the_shorter_way(baseline, rows):
    wanted = PaymentSettings(baseline=baseline, reward_clip=3.0)
    short, long = normaliser_of(objective("s-adapt"), 3, wanted), running(2, 3, baseline=baseline, clip=3.0, xp=np)
    one, other = short.init(), long.init()
    for arm, time, reward in rows:
        told = np.array([arm], np.int32), np.array([time], np.int32), np.array([reward], np.float32)
        before = [part.copy() for part in one]
        later = short.update(one, *told)
        for was, now in zip(before, one, strict=True):
            np.testing.assert_array_equal(was, now)
        one, other = later, long.update(other, *told)
        for mine, theirs in zip(one, other, strict=True):
            assert mine.dtype == theirs.dtype
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(short.apply(one, *told), long.apply(other, *told), rtol=1e-2, atol=1e-2)


def test_without_normalisation_there_is_nothing_to_shorten():
    plain = normaliser_of(objective("s-adapt"), 3, PaymentSettings(normalise=False))
    reward = np.array([7], np.float32)
    assert plain.update(plain.init(), np.zeros(1, int), np.zeros(1, int), reward) == plain.init()
    np.testing.assert_array_equal(plain.apply(plain.init(), np.zeros(1, int), np.zeros(1, int), reward), [7])


# Parts of one's own


def bare_coins(spec, xp):
    """The Bernoulli marginal without what only ours have."""
    return bernoulli(spec.shape, xp=xp)._replace(log_prob_at=None, entropy_at=None, feature_bounds=None)


def coins_of_jax(spec):
    """The same for one who knows no other array module than JAX's, and does not ask for one."""
    return bare_coins(spec, jnp)


def means(spec):
    """Written for one world, with a dictionary for a state: the mean so far, deviations of 1."""

    def update(state, obs):
        count = state["count"] + 1
        return {"mean": state["mean"] + (obs - state["mean"]) / count, "count": count}

    return Marginal(
        init=lambda: {"mean": np.zeros(spec.shape), "count": 0},
        update=update,
        log_prob=lambda state, obs: -((obs - state["mean"]) ** 2).sum() / 2,
        entropy=lambda state: state["mean"].sum() + 1,
        features=lambda state: state["mean"],
        feature_shape=spec.shape,
    )


def by_turns(arms):
    """The arms one after another; its state is the number of episodes begun and ended."""

    def select(draws, state):
        return state + np.array([1, 0]), np.int32(state[0] % arms)

    return Bandit(
        init=lambda: np.zeros(2, np.int64),
        select=select,
        update=lambda state, arm, feedback: state + np.array([0, 1]),
        abandon=lambda state, arm: state - np.array([1, 0]),
        standing=lambda state: Standing(np.full(arms, 0.25), np.full(arms, state[1] / arms)),
        arms=arms,
    )


@pytest.mark.parametrize("marginal", [bare_coins, coins_of_jax], ids=["bare", "jax"])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_ones_own_marginal_is_paid_as_ours_is(marginal, mode):
    """The paper's marginal under a stranger's name, in one world and in three."""
    ours, own = (wrapped(seed=2, marginal=each) for each in ("bernoulli", marginal))
    for one, other in zip(live(ours, 8), live(own, 8), strict=True):
        for name in one:
            np.testing.assert_allclose(one[name], other[name], rtol=1e-4, atol=1e-4, err_msg=name)
    ours, own = (
        SurpriseVectorWrapper(
            SyncVectorEnv([lamps] * 3, autoreset_mode=mode), "s-adapt", random=RANDOM, marginal=each, normalise=False
        )
        for each in ("bernoulli", marginal)
    )
    ours.reset(seed=0), own.reset(seed=0)
    for step in range(40):
        one, other = (envs.step(np.full(3, step % 6)) for envs in (ours, own))
        np.testing.assert_allclose(one[0]["theta"], other[0]["theta"], rtol=1e-6)
        np.testing.assert_allclose(one[1], other[1], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(one[4]["entropy"], other[4]["entropy"], rtol=1e-4, atol=1e-4)


def test_a_marginal_written_for_one_world_serves_many():
    """Surprise is half the squared distance from the mean so far: of each world alone, not of all of them."""
    envs = SurpriseVectorWrapper(SyncVectorEnv([lamps] * 3), "s-max", means, normalise=False)
    obs, _ = envs.reset(seed=2)
    theta = obs["theta"]
    for step in range(1, 6):
        obs, rewards, terminations, truncations, infos = envs.step(np.array([0, 1, 2]))
        assert not (terminations | truncations).any()
        surprise = ((obs["obs"] - theta) ** 2).reshape(3, -1).sum(axis=1) / 2
        np.testing.assert_allclose(infos["surprise"], surprise, rtol=1e-5)
        np.testing.assert_allclose(rewards, surprise, rtol=1e-5)
        theta = theta + (obs["obs"] - theta) / (step + 1)
        np.testing.assert_allclose(obs["theta"], theta, rtol=1e-5)
        np.testing.assert_allclose(infos["entropy"], theta.reshape(3, -1).sum(axis=1) + 1, rtol=1e-5)


def test_theta_without_bounds_may_be_anything():
    env = wrapped("s-min", marginal=means)
    assert np.isneginf(env.observation_space["theta"].low).all()
    assert np.isposinf(env.observation_space["theta"].high).all()
    assert env.observation_space.contains(env.reset(seed=0)[0])
    assert env.observation_space.contains(env.step(0)[0])


def test_ones_own_bandit_is_asked_told_and_saved():
    env, again = (wrapped(bandit=by_turns) for _ in range(2))
    told = live(env, 5)
    assert [episode["arm"] for episode in told] == [0, 1, 0, 1, 0]
    assert told[-1]["arm_means"] == [0.25, 0.25]
    assert told[-1]["arm_counts"] == [2.5, 2.5]
    again.load_state_dict(json.loads(json.dumps(env.state_dict())))
    assert [episode["arm"] for episode in live(again, 2)] == [1, 0]
    env.reset()
    env.reset()
    np.testing.assert_array_equal(env._motivation.bandit, [6, 5])


def longest(xp):
    """A feedback of somebody's own, written for one episode: its length, in units of the random agent's entropy."""
    return Feedback(lambda measures, random, arm: float(measures["length"]) / random.mean["entropy"], "length")


def test_ones_own_feedback_is_heard():
    for feedback in (longest, longest(np)):
        env = wrapped(feedback=feedback, random=RANDOM)
        assert [episode["feedback"] for episode in live(env, 3)] == [episode["length"] / 4 for episode in live(env, 3)]
    envs = SurpriseVectorWrapper(SyncVectorEnv([lamps] * 3), "s-adapt", feedback=longest, random=RANDOM)
    envs.reset(seed=0)
    over = np.zeros(3, bool)
    while not over.any():
        *_, terminations, truncations, infos = envs.step(np.zeros(3, int))
        over = terminations | truncations
    ended = infos["surprise_episode"]
    np.testing.assert_allclose(ended["feedback"][over], ended["length"][over] / 4)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_feedback_that_is_no_number_is_told_with_its_episode(value):
    """The third episode; an agent that does not listen goes on."""
    heard = []

    def hear(measures, random, arm):
        heard.append(arm)
        return value if len(heard) >= 3 else 0.5

    env = wrapped(feedback=Feedback(hear, "entropy"))
    live(env, 2)
    with pytest.raises(UserError, match=f"of episode 3 in world 0 is {value}; .* The episode had return .* length 20"):
        live(env, 1)
    deaf = wrapped("s-min", feedback=Feedback(lambda measures, random, arm: math.nan, "entropy"))
    assert [math.isnan(episode["feedback"]) for episode in live(deaf, 3)] == [True] * 3


def test_feedback_that_is_no_number_is_told_with_its_world():
    """Episodes of one step in world 0, of two in world 1, whose first feedback is no number."""
    hear = lambda measures, random, arm: math.nan if measures["length"] == 2 else 0.5  # noqa: E731
    worlds = [partial(lamps, limit=limit) for limit in (1, 2)]
    envs = SurpriseVectorWrapper(
        SyncVectorEnv(worlds), "s-adapt", random=RANDOM, horizon=2, feedback=Feedback(hear, "entropy")
    )
    envs.reset(seed=0)
    envs.step(np.zeros(2, int))
    with pytest.raises(UserError, match=r"of episode 1 in world 1 is nan"):
        envs.step(np.zeros(2, int))


def test_parts_may_be_objects():
    env = wrapped(marginal=bernoulli((2, 3, 1), xp=np), bandit=by_turns(2))
    assert [episode["arm"] for episode in live(env, 4)] == [0, 1, 0, 1]
    same = wrapped(marginal="bernoulli", bandit=ucb(2, c=2.0, xp=np), seed=1)
    other = wrapped(marginal="bernoulli", bandit="ucb", ucb_c=2.0, seed=1)
    assert live(same, 12) == live(other, 12)


def test_ones_own_marginal_measures_the_random_agent_too():
    found = estimate_random_entropy(lamps(), 10, marginal=bare_coins)
    assert found == pytest.approx(estimate_random_entropy(lamps(), 10), rel=1e-5)
    assert estimate_random_entropy(lamps(), 10, marginal=means, bandit=by_turns) > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"marginal": 3}, "marginal is 3; it must be a name, a Marginal or a function"),
        ({"bandit": ("ucb",)}, "it must be a name, a Bandit or a function"),
        ({"marginal": lambda spec: None}, "the marginal 'own:<lambda>' breaks its contract: its factory made None"),
        ({"bandit": lambda arms: 1 / 0}, "the bandit .* raised ZeroDivisionError"),
        ({"bandit": by_turns, "patient_episodes": 3}, "bandits that count what is under way"),
        ({"bandit": by_turns, "ucb_c": 1.0}, "the bandit 'own:by_turns' has no setting 'ucb_c', which is one of ucb"),
    ],
)
def test_parts_that_cannot_be_are_named(options, message):
    with pytest.raises(UserError, match=message):
        wrapped(**options)


# Options


def test_options_are_settings_of_their_own_of_groups_and_of_parts():
    settings, own = settings_from({"objective": "s-min", "baseline": "time", "marginal": "gaussian", "std_floor": 2})
    assert (settings.objective, settings.payment.baseline, settings.marginal.name) == ("s-min", "time", "gaussian")
    assert settings.marginal.settings.std_floor == 2.0
    assert own == {}
    settings, own = settings_from({"marginal": means, "bandit": by_turns})
    assert own == {"marginal": means, "bandit": by_turns}
    assert (settings.marginal.name, settings.bandit.name) == ("own:means", "own:by_turns")


@pytest.mark.parametrize("parts", [{}, PAPERS, {"feedback": "entropy"}, {"bandit": "d3rb"}, {"feedback": "surprise"}])
def test_arms_are_chosen_as_in_training(parts):
    """The same bandit, feedback and settings of theirs, by default and where some are named."""
    mine, theirs = settings_from(parts)[0], preset("maze-small", **parts)
    assert (mine.bandit, mine.feedback) == (theirs.bandit, theirs.feedback)


def test_surprise_is_signed_unless_told_otherwise_and_entropy_is_not():
    options = [{}, {"feedback": "entropy"}, {"signed": False}, {"feedback": "entropy", "signed": True}]
    signed = [settings_from(each)[0].feedback.settings.signed for each in options]
    assert signed == [True, False, False, True]


def test_the_wrappers_first_options_have_places():
    env = SurpriseWrapper(lamps(), "s-min", "gaussian")
    assert (env._motivation.settings.objective, env._motivation.settings.marginal.name) == ("s-min", "gaussian")


# Mistakes


@pytest.mark.parametrize("arm", ["s-mean", 2, -1, 0.5])
def test_impossible_arms_are_named(arm):
    with pytest.raises(UserError, match="forced_arm"):
        wrapped().forced_arm = arm


def test_foreign_states_are_named():
    env = wrapped()
    with pytest.raises(UserError, match="bandit"):
        env.load_state_dict({"means": [0, 0]})
    with pytest.raises(UserError, match="horizon and baseline"):
        wrapped(baseline="time").load_state_dict(env.state_dict())


@pytest.mark.parametrize(("one", "other"), [({}, PAPERS), (PAPERS, {}), ({"bandit": "d3rb"}, {"bandit": "ucb"})])
def test_what_another_bandit_has_learned_is_refused(one, other):
    """Also where all that is asked for is there: the means of `race` are recent ones, those of `ucb` are not."""
    env = wrapped(**one)
    live(env, 2)
    before = env.state_dict()
    with pytest.raises(UserError, match=r"a bandit that keeps .*counts.*; this wrapper's, .* keeps .*counts"):
        env.load_state_dict(wrapped(**other).state_dict())
    assert env.state_dict() == before


@pytest.mark.parametrize("episodes", [0, 2.5])
def test_impossible_numbers_of_episodes_are_named(episodes):
    with pytest.raises(UserError, match="episodes is"):
        estimate_random_entropy(lamps(), episodes)


def test_worlds_without_seeds_leave_the_draws_alone():
    states = []
    for seed in (1, 2):
        envs = SurpriseVectorWrapper(SyncVectorEnv([lamps] * 2), "s-min", seed=seed)
        envs.reset(seed=[None, None])
        states.append(envs.state_dict()["generator"])
    assert states[0] != states[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "s-mim"}, "did you mean 's-min'"),
        ({"objective": "random"}, "a policy, not a reward"),
        (
            {"random": None},
            r"compares surprise with .* which is not given: pass random=sadapt.gym.estimate_random\(env\)$",
        ),
        (
            {"random": None, "feedback": "entropy"},
            r"compares entropy with .* which is not given: pass random=sadapt.gym.estimate_random\(env\)$",
        ),
        (
            {"random": None, "h_random": 3.0},
            r"surprise .* h_random, its entropy alone, does not tell: pass random=.*, or feedback='entropy'",
        ),
        ({"random": {"mean": {"entropy": 1.0}}}, "random holds no random agent .it lacks 'surprise'"),
        ({"random": 3.0}, "random holds no random agent"),
        ({"feedback": "surprize"}, "did you mean 'surprise'"),
        ({"feedback": 3}, "feedback is 3; it must be a name, a Feedback or a function"),
        ({"signed": "yes"}, "--signed must be true or false"),
        ({"random": None, "h_random": 0.0, "feedback": "entropy"}, "entropy in .* is 0 in every episode"),
        ({"h_random": math.nan}, "--h-random must be a number; got nan"),
        ({"objective": "extrinsic", "extrinsic_scale": 2.0}, "to mix it"),
        ({"marginal": "gausian"}, "did you mean 'gaussian'"),
        ({"obs_mode": "dictionary"}, "unknown obs mode 'dictionary': did you mean 'dict'"),
        ({"obs_mod": "dict"}, "did you mean 'obs_mode'"),
        ({"horizon": 70_000}, "less than 65535"),
        ({"horizon": 0}, "--horizon must be at least 1"),
        ({"marginal_channels": (1,)}, "has the channels 0 to 0"),
        ({"baseline": "none"}, "unknown baseline 'none'"),
        ({"bootstrap": "trough"}, "did you mean 'through'"),
        ({"bandit": "ucb", "ucb_c": -1.0}, "--ucb-c must not be negative"),
        ({"ucb_c": 1.0}, "'race' has no setting 'ucb_c', which is one of ucb: leave it out, or ask for --bandit ucb"),
        ({"probability_clip": 0.01, "marginal": "gaussian"}, "'gaussian' has no setting 'probability_clip'"),
        ({"bandit": "ubc"}, "did you mean 'ucb'"),
        ({"reward_clip": 0.0}, "--reward-clip must be more than 0"),
        ({"patient_episodes": -1}, "--patient-episodes must not be negative"),
        ({"normalise": "yes"}, "--normalise must be true or false"),
        ({"std_floor": 0.0, "marginal": "gaussian"}, "--std-floor must be more than 0"),
    ],
)
def test_impossible_options_are_named(options, message):
    with pytest.raises(UserError, match=message):
        wrapped(**options)


def test_random_play_on_a_dead_signal_is_said_to_be_one(caplog):
    env = lamps("real")
    estimate_random(env, 3, marginal="gaussian", std_floor=5.0)
    (told,) = (record.getMessage() for record in caplog.records)
    assert "on its floor" in told
    assert "Lower std_floor, which is 5, or give another marginal" in told
    caplog.clear()
    estimate_random(env, 3)
    assert not caplog.records
