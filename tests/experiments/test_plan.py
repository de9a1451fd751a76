"""Experiment files: every list is an axis, names say what differs, mistakes are told with their line."""

import contextlib

import pytest

from sadapt.errors import UserError
from sadapt.experiments import plan

GOOD = """\
title = "Mine"

[[fast]]
env = ["maze-small", "tetris"]
objective = ["s-min", "random"]
seed = [1, 2, 3]

[[fast]]
env = "maze-small"
seed = 7
marginal = ["auto", "gaussian"]
gamma = 0.5

[[paper]]
env = "tetris"
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return str(path)

    return write


def test_every_list_is_an_axis(file):
    found = plan.read(file(GOOD))
    assert found.title == "Mine"
    assert len(found.runs) == 2 * 2 * 3 + 2
    assert [str(run.path) for run in found.runs[:2]] == [
        "fast/maze-small/s-min-pqn-s1",
        "fast/maze-small/s-min-pqn-s2",
    ]
    assert {run.settings.seed for run in found.runs} == {1, 2, 3, 7}


def test_folders_are_called_after_what_differs_from_the_preset(file):
    last = plan.read(file(GOOD)).runs[-2:]
    assert [str(run.path) for run in last] == [
        "fast/maze-small/s-adapt-pqn-gamma=0.5-s7",
        "fast/maze-small/s-adapt-pqn-marginal=gaussian-gamma=0.5-s7",
    ]
    assert last[1].settings.marginal.name == "gaussian"
    assert last[1].settings.learner.settings.gamma == 0.5


def test_presets_are_groups_of_their_own(file):
    (run,) = plan.read(file(GOOD), "paper").runs
    assert str(run.path) == "paper/tetris/s-adapt-dqn-s1"
    assert run.settings.total_timesteps == 10_000_000


def test_runs_that_two_experiments_share_are_planned_once(file):
    found = plan.read(file('include = ["F4"]\n[[fast]]\nenv = "tetris"\nseed = [5, 6]\n'), checked=False)
    assert len(found.runs) == 25 + 1


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ('[[fast]]\nenv = "maze-small"\n[[fast]]\nenv = ["tetris", "maze-smal"]\n', 4, "did you mean 'maze-small'?"),
        ('[[fast]]\nenv = "maze-small"\n# gama\ngama = 0.5\n', 4, "did you mean 'gamma'?"),
        ('[[fast]]\nenv = "maze-small"\nseed = ["one"]\n', 3, "a whole number"),
        ('[[fast]]\nenv = "maze-small"\nobjective = "s-mid"\n', 3, "s-min"),
        ('[[fast]]\nenv = "maze-small"\nseed = []\n', 3, "empty"),
        (f'[[fast]]\nenv = "tetris"\nseed = {list(range(400))}\nnum_envs = {list(range(1, 300))}\n', 1, "119,600 runs"),
        ('[[fast]]\nenv = "maze-small"\nlearner = "ppx"\n', 3, "learner"),
        ("[[fast]]\nenv = 3\n", 2, "name of a world"),
        ('[[fast]]\nenv = "maze-small"\nmarginal = "bernouli"\n', 3, "bernoulli"),
        ('[[fast]]\nobjective = "s-min"\n', 1, "names no world"),
        ('worlds = 3\n[[fast]]\nenv = "tetris"\n', 1, "unknown key"),
        ('[[fast]]\nenv = "maze-small"\nlearner = [["pqn"]]\n', 3, "--learner must be the name of a learner"),
        ('include = ["F44"]\n', 1, "F4"),
        ('include = ["mine"]\n', 1, "cannot include"),
        ('[fast]\nenv = "tetris"\n', 1, "[[fast]]"),
        ('[[fast]]\nenv = "maze-small"\nminibatch_size = 77\n', 2, "77"),
    ],
)
def test_mistakes_are_told_with_their_line(file, text, line, word):
    with pytest.raises(UserError, match=rf"mine\.toml, line {line}: ") as told:
        plan.read(file(text))
    assert word in str(told.value)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("title = \n", "not TOML"),
        ("title = " + "[" * 5000, "not TOML"),
        ("title = " + "9" * 5000, "not TOML"),
        ('title = "x"\n', r"needs a group \[\[fast\]\]"),
        ("\n", "no runs"),
    ],
)
def test_files_without_runs_are_refused(file, text, word):
    with pytest.raises(UserError, match=word):
        plan.read(file(text))


def test_unknown_experiments_are_refused():
    with pytest.raises(UserError, match="no experiment 'F22'"):
        plan.read("F22")


def test_the_packaged_experiments_ask_for_the_runs_that_the_study_promises():
    agents, small, large, games = 5, 3 * 5, 2 * 3, 5 * 2
    densities, gaussian = 5 * 2, 3 * 2
    assert len(plan.read("small", checked=False).runs) == agents * small
    assert len(plan.read("didactic", checked=False).runs) == agents * (small + large)
    assert len(plan.read("study", checked=False).runs) == agents * (small + large + games) + densities + gaussian
    assert len(plan.read("study", "paper", checked=False).runs) > 0
    for name in plan.packaged():
        for preset in ("fast", "paper"):
            with contextlib.suppress(UserError):  # some have runs for one preset only
                runs = plan.read(name, preset, checked=False).runs
                assert len({run.path for run in runs}) == len(runs)
