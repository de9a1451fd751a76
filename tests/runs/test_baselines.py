"""A random agent is measured once: what is recalled gives the same run, and nothing that may have changed is."""

from __future__ import annotations

import numpy as np
import pytest

from sadapt import api
from sadapt.composite import all_changed
from sadapt.envs.registry import compiled
from sadapt.motivation.feedback import nobody
from sadapt.runs import baselines
from sadapt.training.driver import Measured
from sadapt.training.presets import preset

from .conftest import small

SOME = Measured(nobody()._replace(mean={"entropy": np.float32(1 / 3), "surprise": np.float32(7e8)}), 12)


@pytest.fixture
def place(monkeypatch, tmp_path):
    monkeypatch.setenv("SADAPT_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def files(place):
    return sorted(place.glob("baselines-*/*"))


def never(*_):
    raise AssertionError("measured, though it is known")


def test_what_is_recalled_is_what_was_measured(place):
    settings = small()
    assert baselines.recall(settings, None)(5, lambda: SOME) is SOME
    again = baselines.recall(settings, None)(5, never)
    assert again == SOME
    assert len(files(place)) == 1


@pytest.mark.parametrize(
    "other",
    [{"random_episodes": 5}, {"horizon": 7}, {"marginal": "gaussian"}, {"on_death": "shock"}, {"num_envs": 128}],
    ids=lambda other: next(iter(other)),
)
def test_what_random_play_depends_on_is_measured_anew(place, other):
    settings = small()
    baselines.recall(settings, None)(5, lambda: SOME)
    with pytest.raises(AssertionError, match="measured"):
        baselines.recall(all_changed(settings, other), None)(5, never)
    with pytest.raises(AssertionError, match="measured"):
        baselines.recall(settings, None)(6, never)


def test_every_world_is_measured_on_its_own():
    assert len({baselines.named(preset(world), 5) for world in compiled()}) == len(compiled())


@pytest.mark.parametrize(
    "same", [{"objective": "s-max"}, {"learning_rate": 0.5}, {"total_timesteps": 7}, {"arms": "apart"}]
)
def test_what_it_does_not_depend_on_is_not_asked(place, same):
    baselines.recall(small(), None)(5, lambda: SOME)
    assert baselines.recall(all_changed(small(), same), None)(5, never) == SOME


def test_what_is_somebodys_own_is_always_measured(place):
    for settings, own in ((small(), {"env": object()}), (all_changed(small(), {"imports": ("mine",)}), None)):
        for _ in range(2):
            assert baselines.recall(settings, own)(5, lambda: SOME) is SOME
    assert not files(place)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"random": 3}', b'{"random": {}, "rounds": 1}', b"\xff\xfe"])
def test_damaged_numbers_are_measured_anew(place, damage):
    baselines.recall(small(), None)(5, lambda: SOME)
    (file,) = files(place)
    file.write_bytes(damage)
    assert baselines.recall(small(), None)(5, lambda: SOME) is SOME
    assert baselines.recall(small(), None)(5, never) == SOME


def test_nothing_is_kept_where_that_is_off(monkeypatch):
    monkeypatch.setenv("SADAPT_CACHE", "off")
    for _ in range(2):
        assert baselines.recall(small(), None)(5, lambda: SOME) is SOME


def test_a_run_with_a_recalled_random_agent_has_the_same_bytes(place, tmp_path):
    def run(name):
        options = api.Options(tensorboard=False)
        found = api.train("tetris", total_timesteps=2048, num_envs=16, num_steps=16, minibatch_size=64, hidden=8,
                          random_episodes=3, out=tmp_path / name, options=options)  # fmt: skip
        lines = found.metrics.read_text().splitlines()
        return [line.rpartition(",")[0] for line in lines]

    first = run("measured")
    assert len(files(place)) == 1
    assert run("recalled") == first
