"""What is measured reaches `metrics.csv`, TensorBoard and evaluation by its name, and by nothing but its name."""

from __future__ import annotations

from sadapt import api
from sadapt.motivation import measures
from sadapt.motivation.measures import LARGEST, MEASURES, Measure
from sadapt.runs import config, metrics_file, sinks
from sadapt.runs.recorder import Options
from sadapt.training.metrics import charts
from sadapt.training.program import build

from .conftest import small

BEFORE = ["step", "episodes", "return", "length", "deaths", "surprise", "surprise_peak", "entropy"]
HEARD = ["feedback", "feedback_entropy", "feedback_surprise", "pushed"]
BANDIT = ["h_random", "surprise_random", "alpha", *HEARD, "mu_max", "mu_min", "n_max", "n_min"]
AFTER = [*BANDIT, "loss", "q", "epsilon", "rows"]
CLOCK = ["steps_per_second"]


def columns(run) -> list[str]:
    return run.metrics.read_text().partition("\n")[0].split(",")


def test_the_columns_and_their_order(finished):
    assert columns(finished) == BEFORE + AFTER + CLOCK


def test_every_column_has_its_chart(finished):
    row = dict.fromkeys(columns(finished), 1.0)
    assert list(sinks.scalars(row, charts(build(small())))) == [
        "charts/episodes",
        "charts/episodic_return",
        "charts/episodic_length",
        "charts/deaths",
        "surprise/mean",
        "surprise/peak",
        "surprise/entropy",
        "surprise/h_random",
        "surprise/mean_random",
        "bandit/share_s_min",
        "bandit/feedback",
        "bandit/feedback_entropy",
        "bandit/feedback_surprise",
        "surprise/pushed",
        "bandit/mean_s_max",
        "bandit/mean_s_min",
        "bandit/pulls_s_max",
        "bandit/pulls_s_min",
        "losses/td_loss",
        "losses/q_values",
        "charts/epsilon",
        "charts/rows",
        "charts/SPS",
    ]


def test_what_is_heard_follows_from_its_row(finished):
    """A mean of distances is at least the distance of the mean."""
    random = api.load(finished.path).random
    for row in metrics_file.read(finished.metrics):
        assert row["feedback"] == row["feedback_entropy"]
        for of in ("entropy", "surprise"):
            least = abs(row[of] - random.mean[of]) / max(random.mean[of], random.std[of])
            assert row[f"feedback_{of}"] >= least * (1 - 1e-4) > 0


def test_what_is_missing_has_no_chart():
    given = {"step": 5, "loss": None, "return": 2.0}
    assert sinks.scalars(given, {"return": "charts/episodic_return"}) == {"charts/episodic_return": 2.0}


def test_a_measure_is_one_row_of_the_table(tmp_path, monkeypatch):
    largest = Measure("surprise_max", lambda step: step.surprise, LARGEST, "surprise/max")
    monkeypatch.setattr(measures, "MEASURES", (*MEASURES, largest))
    run = api.train(small(objective="random", total_timesteps=16_000), out=tmp_path / "run", options=Options())
    assert columns(run) == [*BEFORE, "surprise_max", *AFTER, *CLOCK]
    row = metrics_file.read(run.metrics)[-1]
    assert row["surprise"] < row["surprise_max"] < 20 * row["surprise"]
    assert b"surprise/max" in next(run.path.glob("events.*")).read_bytes()
    found = api.evaluate(run.path, episodes=3).measures
    assert list(found) == [*BEFORE[2:], *HEARD, "surprise_max", "rows"]
    assert found["surprise"].mean < found["surprise_max"].mean < 20 * found["surprise"].mean


def test_a_full_disk_under_tensorboard_does_not_stop_the_run(tmp_path, monkeypatch, caplog):
    def tensorboard(*_):
        full = open("/dev/full", "w")  # noqa: SIM115
        return sinks.Sink("TensorBoard", lambda row: print(row, file=full, flush=True), full.close)

    monkeypatch.setattr(sinks, "tensorboard", tensorboard)
    run = api.train(small(objective="random"), out=tmp_path / "run", options=Options())
    assert run.read_status()["state"] == "finished"
    assert caplog.text.count("TensorBoard gets no more of this run, which continues: [Errno 28]") == 1


def test_a_sink_that_cannot_be_opened_is_left_out(caplog):
    def broken():
        raise OSError(28, "No space left on device")

    onlookers = sinks.Onlookers({"TensorBoard": broken})
    onlookers.add({"step": 1})
    onlookers.close()
    assert caplog.text.count("TensorBoard gets no more") == 1


def test_weights_and_biases_tell_settings_apart_and_know_a_run_again():
    one, other = (config.to_dict(small(gamma=gamma)) for gamma in (0.9, 0.5))
    ids = [sinks.identity("tetris/s-adapt-pqn-s5", settings) for settings in (one, other, dict(reversed(one.items())))]
    assert ids[0] == ids[2] != ids[1]
    assert "/" not in ids[0]
