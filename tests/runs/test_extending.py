"""Runs that go on beyond their planned end: what they are the same as, what they say, and what is refused."""

from __future__ import annotations

import json
import logging
import shutil

import pytest

from sadapt import api
from sadapt.cli import main
from sadapt.errors import UserError
from sadapt.report import stored
from sadapt.runs import config, metrics_file, session
from sadapt.runs.extending import extended, same_but_longer, spoken
from sadapt.runs.folder import RunFolder

from .conftest import QUIET, promotion, small
from .test_session import metrics, same_end

SHORT, LONG, LONGER = 1_500, 2_300, 3_200
SIZES = {"learner": "dqn", "log_interval": 1_000, "total_timesteps": SHORT}
"""Rows every second chunk of 500 steps: the planned end, after three chunks, lies between two of them."""


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A finished run whose last row lies between two others of a longer one."""
    with promotion():
        return api.train(small(**SIZES), out=tmp_path_factory.mktemp("extending") / "short", options=QUIET)


def copy_of(run, path) -> RunFolder:
    shutil.copytree(run.path, path)
    return RunFolder(path)


def test_an_extended_run_is_as_if_it_had_been_that_long_from_its_beginning(short, tmp_path):
    run = copy_of(short, tmp_path / "run")
    api.resume(run, total_timesteps=LONG, options=QUIET)
    api.resume(run, total_timesteps=LONGER, options=QUIET)
    whole = small(**{**SIZES, "total_timesteps": LONGER, "planned_timesteps": SHORT})
    same_end(run, api.train(whole, out=tmp_path / "whole", options=QUIET))
    assert metrics(run)[: len(metrics(short))] == metrics(short)
    assert run.read_settings() == whole


def test_schedules_stay_at_their_last_values(short, tmp_path, caplog):
    run = copy_of(short, tmp_path / "run")
    with caplog.at_level(logging.WARNING):
        api.resume(run, total_timesteps=LONG, options=QUIET)
    (said,) = [record.getMessage() for record in caplog.records if "schedules" in record.getMessage()]
    assert "the 1,500 planned steps" in said
    assert "stay where they are (epsilon 0.01)" in said
    assert [row["epsilon"] for row in metrics(run)[-2:]] == pytest.approx([0.01, 0.01], rel=1e-4)


def test_the_config_tells_the_length_that_it_has_and_the_one_that_was_planned(short, tmp_path):
    run = copy_of(short, tmp_path / "run")
    api.resume(run, total_timesteps=LONG, options=QUIET)
    told = json.loads(run.config.read_text())
    assert (told["settings"]["total_timesteps"], told["settings"]["planned_timesteps"]) == (LONG, SHORT)
    assert told["steps"] == metrics(run)[-1]["step"] == run.read_status()["step"]
    (change,) = told["extended"]
    assert (change["from"], change["to"], change["at_step"]) == (SHORT, LONG, SHORT)
    results = stored.load(tmp_path)
    assert (results.unfinished, results.left_out) == ((), ())


def test_an_extension_that_was_killed_before_its_first_checkpoint_goes_on(short, tmp_path):
    run = copy_of(short, tmp_path / "run")
    longer = extended(config.read(run.config), LONG, "run")
    told = json.loads(run.config.read_text())
    run.config.write_text(json.dumps({**told, "settings": config.to_dict(longer)}))
    api.resume(run, options=QUIET)
    assert run.read_status()["step"] >= LONG


def test_a_shorter_run_is_refused_and_the_same_length_changes_nothing(short, tmp_path, capsys):
    run = copy_of(short, tmp_path / "run")
    before = run.config.read_bytes(), run.metrics.read_bytes()
    assert main(["resume", str(run), "--total-timesteps", "1499"]) == 2
    assert "--total-timesteps must be more to extend it; got 1,499" in capsys.readouterr().err
    assert main(["resume", str(run), "--total-timesteps", "1500"]) == 0
    assert "already finished" in capsys.readouterr().out
    assert (run.config.read_bytes(), run.metrics.read_bytes()) == before


def test_a_run_that_would_learn_nothing_more_is_refused_and_left_as_it_is(tmp_path):
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    run.config.write_text(json.dumps(config.record(small(final_learning_rate=0.0))))
    before = run.config.read_bytes()
    with pytest.raises(UserError, match="learn nothing more: train a new run"):
        api.resume(run, total_timesteps=90_000)
    assert run.config.read_bytes() == before


@pytest.mark.parametrize(
    ("learner", "falls"), [("pqn", {"learning_rate", "epsilon"}), ("ppo", {"learning_rate", "ent_coef"})]
)
def test_every_learner_tells_what_falls_with_the_length_of_the_training(learner, falls):
    prog = session.prepare(api.settings("tetris", learner=learner, total_timesteps=2 * LONG, planned_timesteps=LONG))
    said = spoken(prog, step=LONG // 2)
    assert "they end at that step" in said
    assert all(name in said for name in falls)


def test_a_checkpoint_of_other_settings_is_no_shorter_self(short):
    plain = config.to_dict(config.read(short.config))
    longer = {**plain, "total_timesteps": LONG, "planned_timesteps": SHORT}
    assert same_but_longer(plain, longer)
    assert not same_but_longer({**plain, "num_envs": 9}, longer)
    assert not same_but_longer(plain, {**plain, "total_timesteps": LONG})
    assert not same_but_longer(longer, plain)


def test_rows_of_an_extended_run_have_no_hole():
    rows = lambda *steps: [{"step": step} for step in steps]  # noqa: E731
    assert metrics_file.hole(rows(2, 4, 5, 6, 8), planned=5) is None
    assert metrics_file.hole(rows(2, 4, 6, 8), planned=5) is None
    assert "before step 8" in str(metrics_file.hole(rows(2, 4, 5, 8), planned=5))
    assert "before step 5" in str(metrics_file.hole(rows(2, 4, 5, 6, 8)))
