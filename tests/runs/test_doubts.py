"""What is doubtful about a run is said when it begins and ends, kept in its status and repeated by `eval`."""

from __future__ import annotations

import dataclasses
import json
from importlib.util import find_spec

import gymnasium as gym
import numpy as np
import pytest

from sadapt import api
from sadapt.cli import main
from sadapt.composite import all_changed
from sadapt.errors import Stop
from sadapt.registry import import_modules
from sadapt.runs import session
from sadapt.runs.folder import RunFolder
from sadapt.training.doubts import learned_with, too_short
from sadapt.training.presets import preset

from .conftest import QUIET, small

DEAD = {"marginal": "gaussian", "std_floor": 10.0}
"""Nothing in a world of bits deviates by more."""
FLOOR, FEW, UNDECIDED = "on its floor", "steps are few", "has not decided"


def said(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.getMessage().startswith("warning: ")]


def test_a_dead_marginal_is_said_to_be_dead_at_both_ends_and_by_eval(tmp_path, caplog, capsys):
    run = api.train(small(**DEAD), out=tmp_path / "run", options=QUIET)
    few, floor, undecided = run.warnings
    assert FEW in few
    assert FLOOR in floor
    assert "Lower --std-floor, which is 10" in floor
    assert UNDECIDED in undecided
    assert said(caplog) == [f"warning: {each}" for each in run.warnings]
    assert json.loads(run.status.read_text())["warnings"] == list(run.warnings)
    caplog.clear()
    assert main(["eval", str(run), "--episodes", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == list(run.warnings)
    assert said(caplog) == [f"warning: {each}" for each in run.warnings]
    caplog.clear()
    assert main(["resume", str(run)]) == 0
    assert len(said(caplog)) == 3
    exported = api.export(run, tmp_path / "policy.safetensors")
    assert api.evaluate(exported, episodes=1).warnings == run.warnings


def test_a_run_whose_signal_lives_is_not_doubted(tmp_path, caplog):
    """A short one of S-Min, in whose episodes something moves."""
    run = api.train(small(objective="s-min"), out=tmp_path / "run", options=QUIET)
    assert (run.warnings, said(caplog)) == ((), [])
    assert "warnings" not in run.read_status()


def test_warnings_outlive_a_stop_and_seeds_say_the_same_once(tmp_path, caplog):
    def stop(progress):
        if progress.step:
            raise KeyboardInterrupt

    with pytest.raises(Stop):
        session.train(small(**DEAD), tmp_path, num_seeds=2, options=QUIET, display=stop)
    folders = [RunFolder(tmp_path / f"s{seed}") for seed in (5, 6)]
    assert [len(folder.warnings) for folder in folders] == [2, 2]
    assert len(said(caplog)) == 2
    caplog.clear()
    resumed = api.resume(folders[0], options=QUIET)
    assert [FEW in resumed.warnings[0], FLOOR in resumed.warnings[1], UNDECIDED in resumed.warnings[2]] == [True] * 3
    assert len(said(caplog)) == 3


class Clock(gym.Env):
    """Shows the time and nothing that was done."""

    observation_space, action_space = gym.spaces.Box(0, 20, (2,)), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.time += 1
        return np.full(2, self.time, np.float32), 0.0, False, False, {}


gym.register("Doubts/Clock-v0", Clock, max_episode_steps=20)


def test_random_episodes_that_are_all_the_same_are_named(tmp_path):
    sizes = {"num_envs": 1, "num_steps": 8, "hidden": 16, "random_episodes": 3, "total_timesteps": 64}
    wanted = api.settings("gym:Doubts/Clock-v0", minibatch_size=8, **sizes)
    run = api.train(wanted, out=tmp_path / "run", options=QUIET)
    assert "the surprise of all random episodes is the same" in run.warnings[0]


@pytest.mark.parametrize("env", ["maze-small", "tetris", "minatar-breakout"])
def test_budgets_that_are_known_to_be_enough_are_not_doubted(env):
    usual = preset(env)
    enough = learned_with(usual)
    assert enough <= usual.total_timesteps / 2
    assert too_short(usual) is None
    assert too_short(dataclasses.replace(usual, total_timesteps=enough)) is None
    less = dataclasses.replace(usual, total_timesteps=enough - 1)
    assert f"--total-timesteps {enough} or more" in too_short(less)
    assert too_short(dataclasses.replace(less, objective="s-max")) is None


@pytest.mark.parametrize(
    "changes", [{"env": "gym:CartPole-v1"}, {"learner": "dqn"}, {"env": "maze-small", "layout": "A.G\n...\n"}]
)
def test_nobody_knows_what_is_enough_elsewhere(changes):
    assert learned_with(all_changed(preset("tetris"), changes)) is None


@pytest.mark.skipif(find_spec("minigrid") is None, reason="minigrid is not installed")
def test_minigrids_pictures_are_dead_under_the_usual_floor(tmp_path, caplog):
    import_modules(["minigrid"])
    sizes = {"num_envs": 1, "num_steps": 8, "hidden": 16, "random_episodes": 2, "total_timesteps": 64, "horizon": 20}
    wanted = api.settings("gym:MiniGrid-Empty-5x5-v0", obs_key="image", minibatch_size=8, imports="minigrid", **sizes)
    dead = api.train(wanted, out=tmp_path / "dead", options=QUIET)
    assert FLOOR in dead.warnings[0]
    assert "Lower --std-floor, which is 0.1" in dead.warnings[0]
    alive = api.train(all_changed(wanted, {"std_floor": 1 / 255}), out=tmp_path / "alive", options=QUIET)
    assert not any(FLOOR in each for each in alive.warnings)
