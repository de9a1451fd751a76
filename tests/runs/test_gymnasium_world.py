"""Any Gymnasium world: found, understood, trained in, and stopped with a name when it breaks."""

from __future__ import annotations

import subprocess
import sys

import gymnasium as gym
import jax
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

from sadapt import api
from sadapt.cli import main
from sadapt.envs.base import WorldFailed
from sadapt.envs.gymnasium_world import gymnasium_world
from sadapt.envs.spaces import part
from sadapt.envs.table import GymnasiumSettings
from sadapt.errors import Stop, UserError
from sadapt.registry import import_modules
from sadapt.runs import checkpoint
from sadapt.runs.agent import Agent
from sadapt.runs.folder import find
from sadapt.runs.recorder import Options

from .conftest import QUIET

OWN = "tests.runs.own_world"
SMALL = {
    "num_envs": 2,
    "num_steps": 8,
    "minibatch_size": 16,
    "hidden": 16,
    "random_episodes": 4,
    "total_timesteps": 2_000,
}


def own(name: str, **words):
    import_modules([OWN])
    return gymnasium_world(f"gym:{name}", GymnasiumSettings(**words))


def test_a_vector_world():
    env = gymnasium_world("gym:CartPole-v1")
    assert (env.obs_shape, env.num_actions, env.horizon, env.binary) == ((4,), 2, 500, False)
    worlds = env.open(1)
    first = worlds.restart(jax.random.key(0), np.ones(1, bool))
    again = worlds.restart(jax.random.key(0), np.ones(1, bool))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, worlds.restart(jax.random.key(1), np.ones(1, bool)))
    step = worlds.step(jax.random.key(2), np.zeros(1, int))
    assert step.obs.shape == (1, 4)
    assert step.reward.tolist() == [1.0]
    worlds.close()


def test_a_discrete_observation_is_one_hot():
    env = gymnasium_world("gym:FrozenLake-v1")
    assert env.binary
    worlds = env.open(1)
    assert worlds.restart(jax.random.key(0), np.ones(1, bool)).tolist() == [[1] + [0] * 15]
    worlds.close()


def test_parts_of_a_dictionary():
    bits, image = own("Told-v0", obs_key="bits"), own("Told-v0", obs_key="image")
    assert (bits.obs_shape, bits.binary) == ((4,), True)
    assert (image.obs_shape, image.binary, image.high) == ((6, 5, 3), False, 255)
    assert image.marginal_input(np.full((6, 5, 3), 255, np.uint8)).max() == 1


def test_pictures_are_reduced_to_grey_squares():
    """Red weighs 0.299 and blue 0.114 of white (ITU-R 601); of 4 x 4 cells the first two of the upper rows are red."""
    env = own("Shown-v0", screen_size=4)
    assert (env.obs_shape, env.obs_dtype, env.high) == ((4, 4, 1), np.uint8, 255)
    for num_envs in (1, 2):
        worlds = env.open(num_envs)
        shown = worlds.restart(jax.random.key(0), np.ones(num_envs, bool))
        worlds.close()
        red, blue = round(0.299 * 255), round(0.114 * 255)
        expected = [[red, red, 0, 0]] * 2 + [[blue] * 4] * 2
        np.testing.assert_array_equal(shown[..., 0], [expected] * num_envs)
    assert own("Shown-v0").obs_shape == (60, 80, 3)


def test_what_is_no_picture_is_not_reduced():
    with pytest.raises(UserError, match=r"shows no pictures .* but shape \(4,\), float32"):
        gymnasium_world("gym:CartPole-v1", GymnasiumSettings(screen_size=4))
    with pytest.raises(UserError, match="shows no pictures"):
        own("Told-v0", obs_key="bits", screen_size=4)
    with pytest.raises(UserError, match="would enlarge"):
        own("Told-v0", obs_key="image", screen_size=7)


@pytest.mark.slow
@pytest.mark.parametrize("network", ["paper", "screen"])
def test_features_of_a_picture_beside_convolutions(tmp_path, network):
    """theta is a vector where s is a picture."""
    words = {**SMALL, "screen_size": 64, "marginal": "features", "network": network, "total_timesteps": 64}
    words = {name: value for name, value in words.items() if name != "hidden" or network == "screen"}
    run = api.train("gym:Shown-v0", imports=[OWN], out=tmp_path / "run", options=QUIET, **words)
    assert run.read_status()["step"] >= 64


def test_a_dictionary_without_a_key_is_a_vector_of_its_parts():
    env = own("Told-v0")
    assert env.obs_shape == (4 + 6 * 5 * 3,)
    assert [(kind.name, kind.shape) for kind in env.kinds] == [("bits", (4,)), ("image", (6, 5, 3))]
    worlds = env.open(1)
    shown = worlds.restart(jax.random.key(0), np.ones(1, bool))[0]
    worlds.close()
    np.testing.assert_array_equal(shown[:4], [0, 0, 1, 0])
    np.testing.assert_allclose(shown[4:], 100 / 255, rtol=1e-6)
    with pytest.raises(UserError, match="expected Box, Discrete"):
        part("world", gym.spaces.Dict({"text": gym.spaces.Text(3)}), None, "--obs-key")


def test_several_worlds_in_processes_restart_one_by_one():
    env = own("Corridor-v0")
    worlds = env.open(3)
    start = worlds.restart(jax.random.key(0), np.ones(3, bool))
    assert start[:, 0].tolist() == [0, 0, 0]
    step = worlds.step(jax.random.key(1), np.asarray([1, 1, 0]))
    assert step.obs[:, 0].tolist() == [0.25, 0.25, -0.25]
    after = worlds.restart(jax.random.key(2), np.asarray([True, False, False]))
    assert after[:, 0].tolist() == [0, 0.25, -0.25]
    worlds.close()


SCRIPT = """
import pathlib

import gymnasium as gym
import jax
import numpy as np

from sadapt.envs.gymnasium_world import gymnasium_world

with pathlib.Path("began").open("a") as file:
    file.write("x")
PACE = 0.25


class Walk(gym.Env):
    observation_space, action_space = gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0.0
        return seen(self.place), {}

    def step(self, action):
        self.place += PACE if action else -PACE
        return seen(self.place), 0.0, False, False, {}


def seen(place):
    return np.array([place], np.float32)


gym.register("Walk-v0", Walk, max_episode_steps=3)
worlds = gymnasium_world("gym:Walk-v0").open(2)
worlds.restart(jax.random.key(0), np.ones(2, bool))
print(worlds.step(jax.random.key(1), np.array([1, 0])).obs.tolist())
worlds.close()
"""


def test_a_plain_script_with_a_world_in_it_is_run_once(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, "[[0.25], [-0.25]]"), done.stderr
    assert (tmp_path / "began").read_text() == "x"


def test_acting_is_compiled_once_for_all_episodes(tmp_path, monkeypatch):
    words = {**SMALL, "num_envs": 1, "minibatch_size": 8, "total_timesteps": 64, "horizon": 5}
    run = api.train("gym:Corridor-v0", imports=OWN, out=tmp_path / "run", options=QUIET, **words)
    traced, act_in = [], Agent.act_in

    def counted(*given):
        traced.append(1)
        return act_in(*given)

    monkeypatch.setattr(Agent, "act_in", counted)
    assert api.evaluate(run, episodes=4).episodes == 4
    assert len(traced) == 2  # the agent's own acting and Random's


@pytest.mark.parametrize("call", [api.train, api.probe])
@pytest.mark.parametrize("given", [CartPoleEnv, CartPoleEnv()], ids=["class", "object"])
def test_an_environment_itself_is_answered_with_how_to_name_it(call, given):
    with pytest.raises(UserError, match=r"register it with gymnasium.register and give its id as 'gym:ID'"):
        call(given)


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("CartPoel-v1", {}, "did you mean 'CartPole-v1'"),
        ("Pendulum-v1", {}, "only discrete actions"),
        ("Zebra-v7", {}, "--import MODULE"),
        ("CartPole-v1", {"obs_key": "x"}, "has no dictionary observations"),
        ("Told-v0", {"obs_key": "bit"}, "did you mean 'bits'"),
        ("Endless-v0", {}, "give --horizon"),
        ("Steered-v0", {}, "only discrete actions"),
    ],
)
def test_what_cannot_be_learned_is_said(name, words, message):
    with pytest.raises(UserError, match=message):
        own(name, **words)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("BrokenRaise-v0", r"RuntimeError \(the lamp fell over\) on action 2"),
        ("BrokenNan-v0", "not finite, on action 2"),
        ("BrokenShape-v0", r"shape \(4,\); its space says \(3,\), on action 2"),
        ("BrokenReward-v0", "reward nan, on action 2"),
    ],
)
def test_a_world_that_breaks_is_named(name, message):
    worlds = own(name).open(1)
    worlds.restart(jax.random.key(0), np.ones(1, bool))
    for _ in range(40):
        worlds.step(jax.random.key(0), np.ones(1, int))
    with pytest.raises(WorldFailed, match=f"gym:{name}.*{message}"):
        worlds.step(jax.random.key(0), np.ones(1, int))


@pytest.mark.slow
def test_a_run_in_a_users_own_world_stops_and_goes_on(tmp_path, capsys):
    words = "--num-envs 1 --num-steps 8 --minibatch-size 8 --hidden 16 --random-episodes 4 --total-timesteps 2000 -q"
    out = tmp_path / "run"
    assert main(["train", "gym:Corridor-v0", "--import", OWN, *words.split(), "--out", str(out)]) == 0
    found = api.evaluate(out, episodes=3)
    assert 1 <= found.measures["length"].mean <= 30
    film = api.watch(out, tmp_path / "film.gif", steps=3)
    assert film.stat().st_size > 500


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["pqn", "dqn"])
def test_a_stopped_run_goes_on_with_fresh_worlds(tmp_path, learner):
    sizes = {**SMALL, "total_timesteps": 3_000} if learner == "pqn" else {
        "num_envs": 1, "batch_size": 8, "buffer_size": 600, "learning_starts": 200, "target_network_frequency": 200,
        "total_timesteps": 1_200, "random_episodes": 4, "horizon": 50,
    }  # fmt: skip
    options = Options(tensorboard=False, checkpoint_interval=1e-6)
    settings = api.settings("gym:CartPole-v1", learner=learner, **sizes)
    calls = []

    def once(progress):
        calls.append(progress.step)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        api.train(settings, out=tmp_path / "run", options=options, display=once)
    run = api.resume(tmp_path / "run")
    assert run.read_status()["state"] == "finished"
    tensors, _ = checkpoint.read(next(run.checkpoints.newest()))
    assert tensors["bandit/pending"].sum() == settings.num_envs


def test_a_run_whose_world_breaks_keeps_its_checkpoint(tmp_path):
    changes = {**SMALL, "num_envs": 1, "random_episodes": 1, "horizon": 10, "minibatch_size": 8}
    with pytest.raises(Stop, match=r"gym:BrokenRaise-v0 raised .*action"):
        api.train("gym:BrokenRaise-v0", imports=OWN, out=tmp_path / "run", options=QUIET, **changes)
    assert find(tmp_path / "run").read_status()["state"] in ("running", "failed")
