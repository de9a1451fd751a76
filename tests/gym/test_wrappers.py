"""The wrappers: against the compiled program, against each other, by hand, and in Gymnasium's own tools."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import textwrap
import warnings
from functools import partial
from pathlib import Path

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from sadapt.composite import all_changed
from sadapt.envs import make
from sadapt.errors import UserError
from sadapt.gym import RestartAfterDeath, SurpriseVectorWrapper, SurpriseWrapper
from sadapt.gym.views import MODES
from sadapt.learners.idle import idle
from sadapt.motivation.bandits import fixed
from sadapt.motivation.bandits.ucb import MeansState
from sadapt.motivation.feedback import from_plain
from sadapt.motivation.normalisation import running
from sadapt.training import compiled
from sadapt.training.parts import parts
from sadapt.training.program import compose
from sadapt.training.settings import Settings
from tests.gym.examples import RANDOM_LAMPS, entropy_of, lamps, wrapped
from tests.gym.ids import IDS
from tests.gym.lamps import Lamps, Played, Recording

HERE = Path(__file__).parent
IDLE = np.zeros(0)
RANDOM = {"mean": {"entropy": 10.0, "surprise": 9.0}, "std": {"entropy": 1.0, "surprise": 1.0}}
CHOOSING = {
    "usual": {"bandit": "race", "feedback": "surprise", "signed": True},
    "paper": {"bandit": "ucb", "feedback": "entropy", "signed": False},
}
"""How the arm is chosen, written out: the defaults of settings and wrappers are not what is tested."""


# Against the compiled program


def recorded(name: str, *, worlds: int, steps: int, horizon: int, baseline: str, choosing: dict):
    """What the compiled program made of random play: observations, the bandit's choices, and all that follows."""
    env = make(name)
    wanted = {"on_death": "end", "horizon": horizon, "baseline": baseline, "num_envs": worlds, **choosing}
    prog = compose(env, parts(env, all_changed(Settings(world=name), wanted), {"learner": idle}))
    payments = running(2, horizon, baseline=baseline)

    def one(state, _):
        acted, actions = prog.act(state)
        answer = compiled.answer_worlds(prog, acted, actions)
        after = prog.observe(acted, actions, answer)
        _, key_shock, key_arms = jax.random.split(acted.key, 3)
        _, seen = jax.vmap(prog.rules.absorb)(jax.random.split(key_shock, worlds), acted.episodes, answer)
        signed = jnp.where(seen.arm == 1, -seen.surprise, seen.surprise)
        look = jax.vmap(prog.rules.look)(after.episodes)
        return after, {
            "last": answer.step.obs,
            "fresh": answer.fresh.obs,
            "task": answer.step.reward,
            "over": seen.closed,
            "draws": jax.random.uniform(key_arms, (worlds, 2)),
            "surprise": seen.surprise,
            "intrinsic": signed,
            "entropy": jax.vmap(prog.marginal.entropy)(seen.marginal),
            "reward": payments.apply(after.normaliser, seen.arm, seen.t, signed),
            "unit": jnp.maximum(jnp.sqrt(after.normaliser.variance), 1e-4)[seen.arm],
            "theta": look.theta,
            "time": look.time,
            "arm": look.arm,
            "means": after.bandit.means,
            "counts": after.bandit.counts,
        }

    key = jax.random.key(7)
    start = jax.jit(lambda key: compiled.start(prog, key, from_plain(RANDOM, "random")))(key)
    key_arms = jax.random.split(jax.random.split(key)[1], 4)[1]
    first_draws = np.asarray(jax.random.uniform(key_arms, (worlds, 2)))
    _, tape = jax.jit(lambda state: jax.lax.scan(one, state, None, length=steps))(start)
    tape = jax.device_get(tape)
    space = spaces.Box(0, 1, env.obs_shape, np.uint8)
    first = np.asarray(start.episodes.obs)
    recording = Recording(first, tape["last"], tape["fresh"], tape["task"].astype(np.float64), tape["over"], space)
    draws = np.concatenate([first_draws, tape["draws"][tape["over"]]])
    arms = np.concatenate([np.asarray(start.episodes.arm), tape["arm"][tape["over"]]])
    return env, recording, list(zip(draws, arms.astype(int), strict=True)), tape


def follow(bandit, choices, ties: list):
    """The bandit on the program's draws; of two scores that float32 cannot tell apart UCB takes the program's."""

    def select(_, state):
        draws, wanted = next(choices)
        pulled, arm = bandit.select(draws, state)
        if arm == wanted:
            return pulled, arm
        assert isinstance(state, MeansState), "only UCB's scores are as good as equal now and then"
        pulls = state.counts + state.pending
        scores = state.means + np.sqrt(2 * np.log(pulls.sum()) / pulls)
        assert scores[0] == pytest.approx(scores[1], rel=2e-6)
        ties.append(scores)
        return fixed(wanted, xp=np).select(draws, state)

    return bandit._replace(select=select)


@pytest.mark.parametrize("choosing", CHOOSING)
@pytest.mark.parametrize(
    ("name", "steps", "baseline", "episodes"),
    [
        ("maze-small", 45, "time", 75),
        pytest.param("tetris", 420, "global", 1_000, marks=pytest.mark.slow),
        pytest.param("maze-small", 620, "global", 1_000, marks=pytest.mark.slow),
        pytest.param("butterflies-small", 620, "time", 1_000, marks=pytest.mark.slow),
    ],
)
def test_episodes_equal_the_compiled_programs(name, steps, baseline, episodes, choosing):
    """Same observations, same draws: arms are equal, theta up to its last bit, sums of logarithms as float32 goes."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        wanted = {"horizon": 15, "baseline": baseline}
        env, recording, choices, tape = recorded(name, worlds=25, steps=steps, choosing=CHOOSING[choosing], **wanted)
    assert recording.over.sum() >= episodes
    envs = SurpriseVectorWrapper(
        Played(recording), random=RANDOM, marginal_channels=env.marginal_channels, **wanted, **CHOOSING[choosing]
    )
    left, ties = iter(choices), []
    envs._motivation._bandit = follow(envs._motivation._bandit, left, ties)
    envs.reset()
    for now in range(steps):
        obs, rewards, over, _, infos = envs.step(IDLE)
        np.testing.assert_allclose(obs["theta"], tape["theta"][now], rtol=2e-7)
        np.testing.assert_array_equal(obs["arm"][:, 0], tape["arm"][now])
        np.testing.assert_allclose(obs["time"][:, 0], tape["time"][now], rtol=1e-6)
        np.testing.assert_allclose(infos["surprise"], tape["surprise"][now], rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(infos["intrinsic_reward"], tape["intrinsic"][now], rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(infos["entropy"], tape["entropy"][now], rtol=1e-5, atol=1e-5)
        in_nats = [reward * tape["unit"][now] for reward in (rewards, tape["reward"][now])]
        np.testing.assert_allclose(*in_nats, rtol=1e-5, atol=1e-4)
        np.testing.assert_array_equal(infos["extrinsic_reward"], tape["task"][now])
        if over.any():
            last = np.flatnonzero(over)[-1]
            ended = infos["surprise_episode"]
            np.testing.assert_allclose(ended["arm_means"][last], tape["means"][now], rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(ended["arm_counts"][last], tape["counts"][now])
    assert next(left, None) is None
    assert len(ties) <= len(choices) / 100


# By hand


def test_the_first_step_by_hand():
    """After one all-dark observation every lamp is expected dark; each that is lit costs -log clip."""
    env = wrapped("s-min", normalise=False)
    obs, info = env.reset(seed=1)
    assert info["arm"] == 1
    assert not obs["theta"].any()
    obs, reward, _, _, info = env.step(2)
    lit = int(obs["obs"].sum())
    surprise = -lit * math.log(1e-4) - (6 - lit) * math.log(1 - 1e-4)
    assert info["lit"] == info["extrinsic_reward"] == lit
    assert info["surprise"] == pytest.approx(surprise, rel=1e-5)
    assert reward == info["intrinsic_reward"] == -info["surprise"]
    np.testing.assert_array_equal(obs["theta"], obs["obs"] / 2)
    assert info["entropy"] == pytest.approx(lit * math.log(2) + (6 - lit) * entropy_of(0), rel=1e-4)
    assert obs["time"] == pytest.approx(1 / 20)
    assert obs["arm"] == 1


@pytest.mark.parametrize("normalise", [False, True])
def test_rewards_are_mixed(normalise):
    plain, mixed = (
        wrapped("s-max", normalise=normalise),
        wrapped("s-max", normalise=normalise, intrinsic_scale=0.5, extrinsic_scale=3.0),
    )
    plain.reset(seed=0), mixed.reset(seed=0)
    for action in range(4):
        one, other = plain.step(action)[1], mixed.step(action)[1]
        assert other == pytest.approx(0.5 * one + 3.0 * plain.unwrapped.lamps.sum())  # type: ignore[attr-defined]


def test_normalised_rewards_have_no_mean_and_unit_deviation():
    env = wrapped("s-max", limit=1000, horizon=1000)
    rewards = []
    for episode in range(60):
        env.reset(seed=episode)
        over = False
        while not over:
            _, reward, terminated, truncated, _ = env.step(0)
            rewards.append(reward)
            over = terminated or truncated
    late = np.array(rewards[len(rewards) // 2 :])
    assert len(late) > 150
    assert abs(late.mean()) < 0.2
    assert late.std() == pytest.approx(1, abs=0.2)


def test_the_episode_is_told_when_it_ends():
    env = wrapped("s-adapt", limit=7, seed=3)
    env.reset(seed=5)
    seen, told, over = [np.zeros(6)], [], False
    while not over:
        obs, _, terminated, truncated, info = env.step(1)
        assert ("surprise_episode" in info) == (terminated or truncated)
        seen.append(obs["obs"].ravel())
        told.append(info)
        over = terminated or truncated
    ended = info["surprise_episode"]
    assert ended["length"] == len(told)
    assert ended["extrinsic_return"] == np.sum(seen)
    assert ended["intrinsic_return"] == pytest.approx(sum(info["intrinsic_reward"] for info in told), rel=1e-6)
    assert ended["surprise"] == pytest.approx(np.mean([info["surprise"] for info in told]), rel=1e-6)
    assert ended["entropy"] == pytest.approx(entropy_of(np.mean(seen, axis=0)), rel=1e-4)
    usual = RANDOM_LAMPS["mean"]["surprise"]
    assert ended["feedback"] == pytest.approx((-1) ** ended["arm"] * (ended["surprise"] - usual) / usual, rel=1e-5)
    assert ended["h_random"] == RANDOM_LAMPS["mean"]["entropy"]
    assert ended["arm_counts"][ended["arm"]] == 1
    assert ended["arm_means"][ended["arm"]] == pytest.approx(ended["feedback"])
    assert json.loads(json.dumps(ended)) == ended


def test_extrinsic_pays_the_task():
    env = wrapped("extrinsic", normalise=False, random=None)
    env.reset(seed=0)
    for action in range(3):
        _, reward, _, _, info = env.step(action)
        assert reward == info["extrinsic_reward"] == env.unwrapped.lamps.sum()  # type: ignore[attr-defined]
        assert info["surprise"] > 0


def test_the_marginal_may_be_gaussian():
    """Lamps of 0 and 1: after one dark and one lit the mean is 1/2, the variance 1/4."""
    env = SurpriseWrapper(lamps(), "s-min", "gaussian")
    env.reset(seed=1)
    obs, *_, info = env.step(2)
    lit = obs["obs"][..., 0].astype(bool)
    np.testing.assert_allclose(obs["theta"][lit], [[0.5, 0.25]] * lit.sum())
    np.testing.assert_allclose(obs["theta"][~lit], [[0, 0.01]] * (~lit).sum(), rtol=1e-6)
    variances = np.where(lit, 0.25, 0.01)
    assert info["entropy"] == pytest.approx(np.log(2 * np.pi * np.e * variances).sum() / 2, rel=1e-5)


# What the learner sees


def test_all_modes_show_the_same():
    shown = {}
    for mode in MODES:
        env = wrapped("s-adapt", obs_mode=mode)
        env.reset(seed=4)
        shown[mode] = [env.step(action)[0] for action in (0, 3, 3)][-1]
        assert env.observation_space.contains(shown[mode])
    parts = shown["dict"]
    np.testing.assert_array_equal(shown["none"], parts["obs"])
    flat = np.concatenate([parts["obs"].ravel(), parts["theta"].ravel(), parts["time"], parts["arm"]])
    np.testing.assert_array_equal(shown["flat"], flat)
    assert shown["channels"].shape == (2, 3, 4)
    np.testing.assert_array_equal(shown["channels"][..., :1], parts["obs"])
    np.testing.assert_array_equal(shown["channels"][..., 1:2], parts["theta"])
    assert (shown["channels"][..., 2] == parts["time"]).all()
    assert (shown["channels"][..., 3] == parts["arm"]).all()


def test_a_learner_may_write_into_what_it_sees():
    """The marginal does not notice."""
    careful, careless = wrapped("s-min", normalise=False), wrapped("s-min", normalise=False)
    for env in (careful, careless):
        env.reset(seed=0)
    for action in range(4):
        one, other = careful.step(action), careless.step(action)
        assert one[1] == other[1]
        other[0]["theta"][:] = 0.7


def checked(env) -> None:
    """Rewards are compared from reset to reset there, and normalised ones depend on all that came before."""
    assert not env._motivation.settings.payment.normalise
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is different from the unwrapped version.*")
        check_env(env, skip_render_check=True)


@pytest.mark.parametrize("id", IDS)
def test_gymnasium_finds_nothing_to_complain_about(id):
    for mode in MODES:
        checked(SurpriseWrapper(gymnasium.make(id), "s-adapt", random=RANDOM_LAMPS, obs_mode=mode, normalise=False))


@pytest.mark.parametrize("space", ["box", "real", "binary", "discrete", "grey"])
def test_nor_in_other_spaces(space):
    for mode in ("dict", "flat", "none"):
        checked(wrapped("s-adapt", space, obs_mode=mode, normalise=False))


def test_the_spec_makes_it_again():
    env = gymnasium.make("sadapt/MazeSmall-v0")
    env = SurpriseWrapper(
        RestartAfterDeath(env, horizon=60), "s-adapt", random=RANDOM_LAMPS, obs_mode="flat", race_z=2.0
    )
    for spec in (env.spec, gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())):
        again = gymnasium.make(spec)
        assert isinstance(again, SurpriseWrapper)
        assert again.spec == env.spec
        assert again.observation_space == env.observation_space
        for each in (env, again):
            each.action_space.seed(0)
        np.testing.assert_array_equal(env.reset(seed=3)[0], again.reset(seed=3)[0])
        for _ in range(5):
            action = env.action_space.sample()
            np.testing.assert_array_equal(env.step(action)[0], again.step(action)[0])


# Many at once


def habit(world: int, episode: int, step: int) -> int:
    """An action that depends on nothing but the world's own past."""
    return (world + 5 * episode + step * step) % 6


def alone(objective: str, world: int, episodes: int, **options) -> list[dict]:
    env = SurpriseWrapper(lamps(limit=12), objective, random=RANDOM_LAMPS, **options)
    told = []
    for episode in range(episodes):
        env.reset(seed=50 + world if episode == 0 else None)
        info: dict = {}
        rewards = []
        while "surprise_episode" not in info:
            _, reward, _, _, info = env.step(habit(world, episode, len(rewards)))
            rewards.append(reward)
        told.append(info["surprise_episode"] | {"rewards": rewards})
    return told


def together(objective: str, worlds: int, episodes: int, mode: AutoresetMode, **options) -> list[list[dict]]:
    envs = SurpriseVectorWrapper(
        SyncVectorEnv([partial(lamps, limit=12)] * worlds, autoreset_mode=mode),
        objective,
        random=RANDOM_LAMPS,
        **options,
    )
    envs.reset(seed=50)
    told: list[list[dict]] = [[] for _ in range(worlds)]
    rewards: list[list[float]] = [[] for _ in range(worlds)]
    resetting = np.zeros(worlds, bool)
    while min(map(len, told)) < episodes:
        actions = np.array([habit(world, len(told[world]), len(rewards[world])) for world in range(worlds)])
        obs, paid, terminations, truncations, infos = envs.step(actions)
        over = terminations | truncations
        np.testing.assert_array_equal(infos["_surprise"], ~resetting)
        assert not paid[resetting].any()
        assert not obs["time"][resetting].any()
        assert not obs["theta"][resetting].any()
        for world in np.flatnonzero(~resetting):
            rewards[world].append(paid[world])
        for world in np.flatnonzero(over):
            row = {name: part[world].tolist() for name, part in infos["surprise_episode"].items()}
            told[world].append(row | {"rewards": rewards[world]})
            rewards[world] = []
            if mode is AutoresetMode.SAME_STEP:
                assert infos["final_obs"][world]["time"] == pytest.approx(row["length"] / 12)
                assert obs["time"][world] == 0
        if mode is AutoresetMode.NEXT_STEP:
            resetting = over
        elif mode is AutoresetMode.DISABLED and over.any():
            envs.reset(options={"reset_mask": over})
    return [own[:episodes] for own in told]


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_worlds_side_by_side_live_as_worlds_alone(mode):
    """S-Min, whose arm does not depend on what other worlds do."""
    apart = {"arm_means", "arm_counts"}
    for world, told in enumerate(together("s-min", 3, 30, mode, normalise=False)):
        for one, other in zip(told, alone("s-min", world, 30, normalise=False), strict=True):
            assert one.keys() == other.keys()
            for name in one.keys() - apart:
                np.testing.assert_allclose(one[name], other[name], rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_one_world_in_a_vector_is_the_scalar_wrapper(mode):
    """S-Adapt: bandit, normaliser and draws too."""
    (told,) = together("s-adapt", 1, 60, mode)
    for one, other in zip(told, alone("s-adapt", 0, 60), strict=True):
        for name in other:
            np.testing.assert_allclose(one[name], other[name], rtol=1e-5, atol=1e-6, err_msg=name)
    assert {one["arm"] for one in told} == {0, 1}


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_one_bandit_serves_all_worlds(mode):
    told = together("s-adapt", 4, 10, mode)
    first = [own[0]["arm"] for own in told]
    assert sorted(first) == [0, 0, 1, 1]
    assert max(sum(own[-1]["arm_counts"]) for own in told) >= 37


def test_the_compiled_vector_environment():
    envs = SurpriseVectorWrapper(
        gymnasium.make_vec("sadapt/ButterfliesSmall-v0", num_envs=3), "s-max", obs_mode="channels"
    )
    obs, _ = envs.reset(seed=0)
    assert envs.observation_space.contains(obs)
    assert obs.shape == (3, 10, 10, 3 + 2 + 2)
    obs, *_ = envs.step(np.zeros(3, int))
    assert envs.observation_space.contains(obs)


def test_episode_statistics_are_left_to_gymnasium():
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(
        SurpriseVectorWrapper(SyncVectorEnv([lamps] * 2), "s-min", normalise=False)
    )
    envs.reset(seed=0)
    ends = 0
    while ends < 5:
        *_, terminations, truncations, infos = envs.step(np.zeros(2, int))
        for world in np.flatnonzero(terminations | truncations):
            ends += 1
            assert infos["episode"]["l"][world] == infos["surprise_episode"]["length"][world]
            assert infos["episode"]["r"][world] == pytest.approx(infos["surprise_episode"]["intrinsic_return"][world])


# Mistakes


def test_channels_need_an_image():
    with pytest.raises(UserError, match="height x width x channels"):
        wrapped(space="real", obs_mode="channels")


def test_a_world_without_a_horizon_is_refused_at_once():
    with pytest.raises(UserError, match="give horizon=STEPS"):
        SurpriseWrapper(Lamps(), "s-min")
    with pytest.raises(UserError, match="give horizon=STEPS"):
        SurpriseVectorWrapper(SyncVectorEnv([Lamps]), "s-min")


@pytest.mark.parametrize(
    ("objective", "bootstrap", "terminal"),
    [
        ("s-min", "auto", True),
        ("extrinsic", "auto", False),
        ("s-min", "through", False),
        ("extrinsic", "terminal", True),
    ],
)
def test_values_end_at_the_horizon_of_surprise(objective, bootstrap, terminal):
    env = SurpriseWrapper(lamps(limit=1), objective, bootstrap=bootstrap)
    envs = SurpriseVectorWrapper(SyncVectorEnv([partial(lamps, limit=1)] * 2), objective, bootstrap=bootstrap)
    env.reset(seed=0)
    envs.reset(seed=0)
    assert env.step(0)[2:4] == (terminal, True)
    _, _, terminations, truncations, _ = envs.step(np.zeros(2, int))
    assert terminations.tolist() == [terminal] * 2
    assert truncations.all()


def test_a_given_horizon_ends_the_episode():
    env = SurpriseWrapper(Lamps("discrete"), "s-min", horizon=4)
    for seed in range(20):
        env.reset(seed=seed)
        ends = []
        while not any(ends):
            _, _, terminated, truncated, info = env.step(0)
            ends = [terminated, truncated]
        assert info["surprise_episode"]["length"] <= 4
        assert truncated == (info["surprise_episode"]["length"] == 4)


def test_worlds_that_outlive_the_horizon_are_named():
    envs = SurpriseVectorWrapper(SyncVectorEnv([lamps] * 2), "s-min", horizon=2)
    envs.reset(seed=1)

    def outlive():
        for _ in range(30):
            envs.step(np.zeros(2, int))

    with pytest.raises(UserError, match="continues past the horizon of 2"):
        outlive()


def test_reset_comes_first():
    env = wrapped()
    with pytest.raises(ResetNeeded):
        env.step(0)
    envs = SurpriseVectorWrapper(SyncVectorEnv([lamps]), "s-min")
    with pytest.raises(ResetNeeded):
        envs.step(np.zeros(1, int))
    env.reset(seed=0)
    while not any(env.step(0)[2:4]):
        pass
    with pytest.raises(ResetNeeded):
        env.step(0)


def test_a_vector_environment_must_say_how_it_resets():
    envs = SyncVectorEnv([lamps])
    envs.metadata = {}
    with pytest.raises(UserError, match="autoreset_mode"):
        SurpriseVectorWrapper(envs, "s-min")


def test_a_step_that_resets_must_show_the_last_observation():
    class Forgetful(Played):
        def step(self, actions):
            return (*super().step(actions)[:4], {})

    one = np.zeros((1, 1, 2, 3, 1), np.uint8)
    tape = Recording(one[0], one, one, np.zeros((1, 1)), np.ones((1, 1), bool), spaces.Box(0, 1, (2, 3, 1), np.uint8))
    envs = SurpriseVectorWrapper(Forgetful(tape), "s-min", horizon=9)
    envs.reset()
    with pytest.raises(UserError, match="lack 'final_obs'"):
        envs.step(IDLE)


# Processes


def run_alone(code: str, folder: Path) -> None:
    """Runs code in a process of its own, from which JAX stays away; a warning is an error there."""
    script = folder / "script.py"
    script.write_text(f"import sys\n\nsys.path.insert(0, {str(HERE)!r})\n{textwrap.dedent(code)}")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, timeout=900, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


WORKERS = """
    from gymnasium.vector import AsyncVectorEnv
    from gymnasium.wrappers import TimeLimit
    from lamps import Lamps
    from sadapt.gym import SurpriseVectorWrapper, SurpriseWrapper, estimate_random

    def bare():
        return TimeLimit(Lamps(), 20)

    def wrapped():
        return SurpriseWrapper(bare(), "s-adapt", random=estimate_random(bare(), 5))

    if __name__ == "__main__":
        inside = AsyncVectorEnv([wrapped] * 8, context=CONTEXT)
        outside = SurpriseVectorWrapper(AsyncVectorEnv([bare] * 8, context=CONTEXT), "s-min", horizon=20)
        for envs in (inside, outside):
            envs.reset(seed=0)
            envs.action_space.seed(0)
            ended = 0
            for _ in range(STEPS):
                *_, infos = envs.step(envs.action_space.sample())
                ended += infos["_surprise_episode"].sum() if "surprise_episode" in infos else 0
            assert ended > STEPS / 4, ended
            envs.close()
        assert "jax" not in sys.modules
"""


@pytest.mark.parametrize(
    ("context", "steps"),
    [
        ("fork", 50),
        pytest.param("fork", 10_000, marks=pytest.mark.slow),
        pytest.param("spawn", 10_000, marks=pytest.mark.slow),
    ],
)
def test_eight_workers(context, steps, tmp_path):
    """Wrapped in the workers and around them, without a warning and without JAX."""
    run_alone(f"CONTEXT, STEPS = {context!r}, {steps}\n{textwrap.dedent(WORKERS)}", tmp_path)


SUBPROCESSES = """
    from gymnasium.wrappers import TimeLimit
    from lamps import Lamps
    from sadapt.gym import SurpriseWrapper, estimate_random
    from stable_baselines3.common.vec_env import SubprocVecEnv

    def wrapped():
        lamps = TimeLimit(Lamps(), 20)
        return SurpriseWrapper(lamps, "s-adapt", random=estimate_random(lamps, 5))

    if __name__ == "__main__":
        envs = SubprocVecEnv([wrapped] * 8, start_method=CONTEXT)
        envs.seed(0)
        envs.reset()
        ended = 0
        for step in range(STEPS):
            envs.step_async([step % 6] * 8)
            ended += sum("surprise_episode" in info for info in envs.step_wait()[3])
        assert ended > STEPS / 4, ended
        pulls = [sum(state["bandit"]["counts"]) for state in envs.env_method("state_dict")]
        assert sum(pulls) == ended, (pulls, ended)
        envs.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_eight_workers_of_stable_baselines3(context, tmp_path):
    """A bandit in each of them, that the parent can ask for."""
    pytest.importorskip("stable_baselines3")
    run_alone(f"CONTEXT, STEPS = {context!r}, 10_000\n{textwrap.dedent(SUBPROCESSES)}", tmp_path)


def test_the_wrappers_live_without_jax(tmp_path):
    code = """
        from lamps import Lamps
        from sadapt.gym import SurpriseWrapper, estimate_random
        env = SurpriseWrapper(Lamps(), horizon=10, random=estimate_random(Lamps(), horizon=10))
        env.reset(seed=0)
        env.step(1)
        assert "jax" not in sys.modules
    """
    run_alone(code, tmp_path)
