"""What is doubtful about a run is said when it begins and ends, kept in its status and repeated by `eval`."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
from contextlib import closing
from importlib.util import find_spec
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest

from sadapt import api
from sadapt.cli import main
from sadapt.composite import all_changed
from sadapt.errors import Stop
from sadapt.runs.folder import RunFolder
from sadapt.runs.recorder import Recorder
from sadapt.training.doubts import at_start, learned_with, too_short
from sadapt.training.driver import driver
from sadapt.training.presets import preset
from sadapt.training.program import build

from .conftest import QUIET

FLOOR, FEW, UNDECIDED = "on its floor", "steps are few", "has not decided"
SIZES = {"num_envs": 1, "num_steps": 8, "hidden": 16, "minibatch_size": 8, "random_episodes": 3, "horizon": 20}


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


def clock(**changes):
    return api.settings("gym:Doubts/Clock-v0", **{**SIZES, "total_timesteps": 2_048, **changes})


def said(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.getMessage().startswith("warning: ")]


def test_a_dead_marginal_is_said_to_be_dead_at_both_ends_and_by_eval(tmp_path, caplog, capsys):
    """The clock's hands deviate by 6; the run is stopped on the way."""

    def stop(progress):
        if progress.step:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Stop):
        api.train(clock(std_floor=10.0), out=tmp_path / "run", options=QUIET, display=stop)
    assert len(RunFolder(tmp_path / "run").warnings) == len(said(caplog)) == 1
    caplog.clear()
    run = api.resume(tmp_path / "run", options=QUIET)
    floor, undecided = run.warnings
    assert FLOOR in floor
    assert "Lower --std-floor, which is 10" in floor
    assert UNDECIDED in undecided
    told = [f"warning: {each}" for each in run.warnings]
    assert said(caplog) == told
    assert json.loads(run.status.read_text())["warnings"] == list(run.warnings)
    caplog.clear()
    assert main(["eval", str(run), "--episodes", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == list(run.warnings)
    assert main(["resume", str(run)]) == 0
    assert said(caplog) == told * 2
    exported = api.export(run, tmp_path / "policy.safetensors")
    assert api.evaluate(exported, episodes=1).warnings == run.warnings


def launched(settings) -> tuple[str, ...]:
    """What is said of a run before its first step."""
    prog = build(settings)
    with closing(driver(prog, [settings.seed])) as drive:
        return at_start(settings, prog, drive.launch().random, drive.measured())


def test_random_episodes_that_are_all_the_same_are_named():
    (same,) = launched(clock())
    assert "the surprise of all random episodes is the same" in same


def test_a_single_round_of_worlds_has_no_spread_to_be_doubted():
    assert launched(clock(random_episodes=1)) == ()


def test_a_run_whose_signal_lives_is_doubted_for_its_length_alone(finished):
    """It is of 80,000 steps, and its random episodes differ."""
    assert f"80,000 {FEW}" in finished.warnings[0]
    assert not [each for each in finished.warnings if FLOOR in each or "is the same" in each]


def test_seeds_keep_their_own_warnings_and_what_they_share_is_said_once(tmp_path, caplog):
    folders = [RunFolder(tmp_path / name) for name in "ab"]
    for folder in folders:
        folder.path.mkdir()
    recorder = Recorder(SimpleNamespace(sizes=SimpleNamespace(total_steps=9)), folders, QUIET)
    recorder.begun = True
    recorder.warn([["both", "first"], ["both"]])
    recorder.warn([["both"], ["late"]])
    recorder.tell("running")
    assert [folder.warnings for folder in folders] == [("both", "first"), ("both", "late")]
    assert said(caplog) == ["warning: both", "warning: first", "warning: late"]
    recorder.warnings = [[], []]
    recorder.tell("running")
    assert "warnings" not in folders[0].read_status()


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
def test_minigrids_pictures_are_dead_under_the_usual_floor():
    wanted = api.settings("gym:MiniGrid-Empty-5x5-v0", obs_key="image", imports="minigrid", **SIZES)
    (floor,) = launched(wanted)
    assert FLOOR in floor
    assert "Lower --std-floor, which is 0.1" in floor
