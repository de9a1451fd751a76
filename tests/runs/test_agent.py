"""A trained agent out of its folder: evaluated, filmed, exported and loaded again."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from sadapt import api
from sadapt.cli import main
from sadapt.errors import UserError
from sadapt.runs import metrics_file, watching
from sadapt.runs.watching import Scale
from tests.trees import same

from .conftest import QUIET, small

SHAPE = (10, 4, 1)
"""Of theta in Tetris."""


@pytest.mark.slow
def test_evaluation_of_a_random_agent_is_the_random_baseline(tmp_path):
    run = api.train(small(objective="random", total_timesteps=1_000), out=tmp_path / "run", options=QUIET)
    found = api.evaluate(run.path, episodes=70)
    assert found.episodes == 70
    assert found.measures["length"].mean == 20
    assert found.measures["entropy"].mean == pytest.approx(found.h_random, rel=0.25)
    with pytest.raises(UserError, match="no policy"):
        api.load(run.path).act(np.zeros((10, 4, 2)))
    with pytest.raises(UserError, match="has no other arm"):
        api.evaluate(run.path, episodes=1, arm="s-max")


def test_evaluation_compares_with_the_runs_random_agent(finished, tmp_path):
    """The columns of metrics.csv; of a policy that knows only H_rand, the entropy's distance alone."""
    agent = api.load(finished.path)
    row = metrics_file.read(finished.metrics)[-1]
    assert agent.random.mean["entropy"] == pytest.approx(row["h_random"])
    assert agent.random.mean["surprise"] == pytest.approx(row["surprise_random"])
    found = api.evaluate(agent, episodes=1)
    for of in ("entropy", "surprise"):
        unit = max(abs(agent.random.mean[of]), agent.random.std[of])
        moved = abs(found.measures[of].mean - agent.random.mean[of]) / unit
        assert found.measures[f"feedback_{of}"].mean == pytest.approx(moved, rel=1e-4)
    assert found.measures["feedback"] == found.measures["feedback_entropy"]
    del agent.facts["random"]
    agent.facts["h_random"] = 20.0
    old = api.evaluate(agent.save(tmp_path / "old.safetensors"), episodes=1)
    assert old.h_random == 20
    assert old.measures["feedback"].mean == pytest.approx(abs(old.measures["entropy"].mean - 20) / 20, rel=1e-4)
    assert old.as_dict()["measures"]["feedback_surprise"] == {"mean": None, "std": None}
    json.dumps(old.as_dict(), allow_nan=False)


@pytest.mark.slow
def test_same_seed_same_evaluation(finished):
    first, again, other = (api.evaluate(finished.path, episodes=5, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_either_arm_can_be_forced(finished):
    agent = api.load(finished.path)
    assert {api.evaluate(agent, episodes=2, arm=arm).arm for arm in ("s-max", "s-min")} == {"s-max", "s-min"}
    random = np.random.default_rng(0)
    seen = [(random.integers(2, size=agent.env.obs_shape), random.random(SHAPE), random.random()) for _ in range(30)]
    acts = [[agent.act(*each, arm=arm) for each in seen] for arm in ("s-max", "s-min")]
    assert acts[0] != acts[1]
    with pytest.raises(UserError, match="did you mean 's-max'"):
        agent.arm("s-mx")


def test_an_exported_policy_is_the_same_policy(finished, tmp_path):
    file = api.export(finished.path, tmp_path / "policy.safetensors")
    here, there = api.load(finished.path), api.load(file)
    same(here.params, there.params)
    obs, theta = np.ones(here.env.obs_shape), np.full(SHAPE, 0.25)
    assert there.act(obs, theta, 0.5) == here.act(obs, theta, 0.5)
    assert there.settings == here.settings
    assert there.preferred_arm == here.preferred_arm
    assert there.random == here.random
    with pytest.raises(UserError, match=r"must end in \.safetensors"):
        api.export(finished.path, tmp_path / "policy.pkl")


def test_a_file_that_is_no_policy(tmp_path):
    (tmp_path / "a.safetensors").write_bytes(b"hello")
    with pytest.raises(UserError, match="not an exported policy"):
        api.load(tmp_path / "a.safetensors")


@pytest.mark.slow
def test_a_film_shows_a_whole_episode_and_two_side_by_side(finished, tmp_path):
    single = api.watch(finished.path, tmp_path / "one.gif")
    double = api.watch(finished.path, tmp_path / "two.gif", compare=finished.path, steps=3)
    with Image.open(single) as one, Image.open(double) as two:
        assert one.n_frames > 15  # type: ignore[attr-defined]
        assert two.size[0] > 1.9 * one.size[0]


def test_the_charts_of_a_film_share_one_scale(finished, tmp_path, monkeypatch):
    """From the first picture to the last, for both agents, with room for the most and the least surprise of either."""
    found, draw = [], watching._chart

    def chart(*given):
        found.append((given[0], given[4]))
        return draw(*given)

    monkeypatch.setattr(watching, "_chart", chart)
    api.watch(finished.path, tmp_path / "two.gif", compare=finished.path, steps=3, epsilon=1.0)
    values, scales = [value for shown, _ in found for value in shown], {scale for _, scale in found}
    assert len(found) == 8
    assert scales == {Scale(min([0.0, *values]), max(values))}


def test_a_chart_draws_what_is_below_zero():
    scale, black = Scale(-2.0, 2.0), (0, 0, 0)
    rows = []
    for value in (-2.0, 0.0, 2.0):
        chart = np.asarray(watching._chart([value] * 9, 9, 200, "#000000", scale))
        rows.append(np.flatnonzero((chart[:, 100:] == black).all(axis=-1).any(axis=1)).mean())
    assert rows[0] > rows[1] > rows[2]
    assert rows[0] - rows[1] == pytest.approx(rows[1] - rows[2], abs=2)


def test_the_commands_say_what_the_calls_return(finished, tmp_path, capsys):
    assert main(["eval", str(finished), "--episodes", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["measures"]["length"]["mean"] == 20
    assert main(["eval", str(finished), "--episodes", "3"]) == 0
    assert "entropy" in capsys.readouterr().out
    assert main(["export", str(finished), "--out", str(tmp_path / "p.safetensors")]) == 0
    assert main(["watch", str(tmp_path / "p.safetensors"), "--steps", "2", "--out", str(tmp_path / "f.gif")]) == 0
    assert main(["plot", str(finished), "--out", str(tmp_path / "c.png")]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / name) for name in ("p.safetensors", "f.gif", "c.png")]
    with Image.open(tmp_path / "c.png") as picture:
        assert picture.size[0] > 1000
