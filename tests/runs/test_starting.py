"""Training that begins with a trained policy: what is taken over, what is written down, and what does not fit."""

from __future__ import annotations

import json
import shutil

import jax
import numpy as np
import pytest

from sadapt import api
from sadapt.cli import main
from sadapt.errors import UserError
from sadapt.runs import starting
from sadapt.runs.agent import Agent
from sadapt.runs.checkpoint import tensors_of
from sadapt.runs.session import prepare

from .conftest import QUIET, promotion, small
from .test_session import same_end

SIZES = {"learner": "dqn", "total_timesteps": 1_000, "learning_starts": 500, "arms": "apart"}
STILL = {**SIZES, "total_timesteps": 500}
"""A run that ends before its first update."""


@pytest.fixture(scope="module")
def adaptive(tmp_path_factory):
    """A run of S-Adapt with a network per arm."""
    with promotion():
        return api.train(small(**SIZES), out=tmp_path_factory.mktemp("starting") / "s5", options=QUIET)


def same_tensors(one, other) -> bool:
    a, b = tensors_of(one), tensors_of(other)
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def test_the_task_begins_with_what_the_preferred_arm_has_learned(adaptive, tmp_path):
    agent = api.load(adaptive)
    run = api.train(small(**STILL), objective="extrinsic", start_from=adaptive, out=tmp_path / "run", options=QUIET)
    assert same_tensors(api.load(run).params, agent.params[f"arm_{agent.preferred_arm}"])
    told = json.loads(run.config.read_text())
    assert told["settings"]["start_from"] == str(adaptive)
    assert told["settings"]["as_arm"] == ("s-max", "s-min")[agent.preferred_arm]
    assert told["started_from"]["step"] == 1_000
    assert told["started_from"]["sha256"] == starting.digest(agent)


@pytest.mark.parametrize("arm", ["s-max", "s-min"])
def test_it_acts_as_the_policy_did_on_that_arm(adaptive, arm):
    agent = api.load(adaptive)
    settings = small(**STILL, objective="extrinsic", as_arm=arm)
    prog = prepare(settings)
    begun = Agent(prog, settings, starting.fitted(agent, prog, settings).params, agent.facts, "begun")
    random = np.random.default_rng(1)
    for _ in range(20):
        seen = {
            "obs": random.integers(0, 2, agent.env.obs_shape).astype(agent.env.obs_dtype),
            "theta": random.uniform(size=agent.program.marginal.feature_shape),
            "time": random.uniform(),
        }
        assert begun.act(**seen) == agent.act(**seen, arm=arm)


def test_a_run_that_lost_its_first_steps_begins_with_the_same_policy_again(adaptive, tmp_path):
    words = {"objective": "s-min", "start_from": str(adaptive), "options": QUIET}
    alone = api.train(small(**SIZES), out=tmp_path / "alone", **words)
    run = api.train(small(**SIZES), out=tmp_path / "run", **words)
    shutil.rmtree(run.path / "checkpoints")
    run.write_status(state="stopped", step=0, total=1_000, seconds=0.0)
    api.resume(run, options=QUIET)
    same_end(run, alone)


def test_another_policy_in_that_place_is_noticed(adaptive, tmp_path):
    source = tmp_path / "policy.safetensors"
    agent = api.load(adaptive)
    agent.save(source)
    run = api.train(small(**STILL), start_from=source, out=tmp_path / "run", options=QUIET)
    shutil.rmtree(run.path / "checkpoints")
    run.write_status(state="stopped", step=0, total=500, seconds=0.0)
    agent.params = jax.tree.map(lambda x: x + 1, agent.params)
    agent.save(source)
    with pytest.raises(UserError, match="started from another policy than"):
        api.resume(run)


def test_every_seed_may_begin_with_a_policy_of_its_own(adaptive, tmp_path):
    for seed in (5, 6):
        shutil.copytree(adaptive.path, tmp_path / f"s{seed}")
    runs = api.train(
        small(**STILL), start_from=str(tmp_path / "s{seed}"), num_seeds=2, out=tmp_path / "runs", options=QUIET
    )
    agent = api.load(adaptive)
    for run in runs:
        assert same_tensors(api.load(run).params, agent.params)
        told = json.loads(run.config.read_text())
        assert told["settings"]["start_from"].endswith("s{seed}")
        assert told["started_from"]["source"] == str(tmp_path / f"s{told['settings']['seed']}")


def test_one_network_becomes_both_arms(adaptive):
    settings = small(**STILL, objective="s-min")
    prog = prepare(settings)
    alone = Agent(prog, settings, api.load(adaptive).params["arm_1"], {**api.load(adaptive).facts}, "alone")
    wanted = small(**STILL)
    params = starting.fitted(alone, prepare(wanted), wanted).params
    assert same_tensors(params["arm_0"], alone.params)
    assert same_tensors(params["arm_1"], alone.params)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"env": "maze-small"}, "was trained in tetris, which has other obs shape than maze-small"),
        ({"hidden": 8}, "has another network than this run .*hidden: 16, 8"),
        ({"marginal": "gaussian"}, "does not fit into this run's network: "),
        (
            {"learner": "ppo"},
            "was trained by dqn, whose network has other outputs than that of ppo: give --learner dqn",
        ),
        ({"objective": "random"}, "Random has no policy to start from"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(adaptive, tmp_path, changes, why):
    words = {"network": "plain", "hidden": 16, **changes}
    env = words.pop("env", "tetris")
    with pytest.raises(UserError, match=why):
        api.train(env, start_from=adaptive, out=tmp_path / "run", **{"learner": "dqn", "marginal": "auto", **words})
    assert not (tmp_path / "run").exists()


def test_a_source_that_is_not_there_is_one_paragraph(capsys, tmp_path):
    words = ["--from", str(tmp_path / "nothing"), "--objective", "extrinsic", "--out", str(tmp_path / "run")]
    assert main(["train", "tetris", *words]) == 2
    said = capsys.readouterr().err
    assert "nothing is not a run: there is no such folder" in said
    assert said.count("\n") == 1


def test_only_the_task_is_shown_what_others_see():
    with pytest.raises(UserError, match="--as-arm is only for the objective extrinsic"):
        prepare(small(as_arm="s-min"))
