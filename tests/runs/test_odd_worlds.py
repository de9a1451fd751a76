"""Gymnasium worlds in the wild: trained in, evaluated, filmed and probed, or refused in a sentence."""

from __future__ import annotations

import os
import subprocess
import sys

import gymnasium as gym
import jax
import numpy as np
import pytest
from PIL import Image

from sadapt import api
from sadapt.cli import main
from sadapt.envs.base import WorldFailed
from sadapt.envs.gymnasium_world import gymnasium_world, obs_picture
from sadapt.envs.table import GymnasiumSettings
from sadapt.errors import UserError
from sadapt.registry import import_modules

from .conftest import QUIET
from .odd_worlds import KEYS, SPACES

MODULE = "tests.runs.odd_worlds"
SMALL = {"num_steps": 8, "hidden": 16, "random_episodes": 4, "total_timesteps": 1_024, "minibatch_size": 8}
ALL = np.ones(1, bool)
WORLDS = [*SPACES, "OneAction", "Dark", "Blinking", "Arrays"]


def odd(kind: str):
    import_modules([MODULE])
    return gymnasium_world(f"gym:Odd/{kind}-v0", GymnasiumSettings(obs_key=KEYS.get(kind)))


@pytest.mark.parametrize("kind", WORLDS)
def test_one_world_and_several_show_the_same(kind):
    """In this process and in others: the same seeds, the same observations, members of what was promised."""
    env = odd(kind)
    one, two = env.open(1), env.open(2)
    key, both = jax.random.key(3), np.ones(2, bool)
    seeds = [np.asarray(jax.random.randint(key, (count,), 0, np.iinfo(np.int32).max)) for count in (1, 2)]
    shown = [one.restart(key, ALL), two.restart(key, both)]
    assert [each.shape for each in shown] == [(1, *env.obs_shape), (2, *env.obs_shape)]
    assert all(each.dtype == env.obs_dtype for each in shown)
    again = one._single.reset(seed=int(seeds[1][0]))[0]
    np.testing.assert_array_equal(again, shown[1][0])
    for _ in range(3):
        step = one.step(key, np.zeros(1, int))
        many = two.step(key, np.zeros(2, int))
        np.testing.assert_array_equal(step.obs[0], many.obs[0])
        assert step.reward.tolist() == [1.0]
        assert many.reward.dtype == np.float32
    one.close()
    two.close()


def test_choices_are_ones_among_zeros():
    env = odd("Tuple")
    assert (env.obs_shape, env.binary) == ((5,), False)
    assert (odd("MultiDiscrete").obs_shape, odd("MultiDiscrete").binary) == ((7,), True)
    worlds = odd("MultiDiscrete").open(1)
    shown = worlds.restart(jax.random.key(0), ALL)[0]
    assert shown[:3].sum() == shown[3:].sum() == 1
    worlds.close()


@pytest.mark.parametrize(
    "kind", ["Text", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("Scalar", "OneAction", "Matrix"))]
)
def test_a_run_with_as_many_worlds_as_by_default(tmp_path, kind):
    words = {} if kind not in KEYS else {"obs_key": KEYS[kind]}
    run = api.train(f"gym:Odd/{kind}-v0", imports=MODULE, out=tmp_path / "run", options=QUIET, **SMALL, **words)
    assert run.read_settings().num_envs == 8
    assert run.read_status()["state"] == "finished"
    assert api.evaluate(run.path, episodes=2).measures["length"].mean == 10
    assert api.watch(run.path, tmp_path / "film.gif", steps=3).stat().st_size > 500


@pytest.mark.parametrize("kind", ["Scalar", "Wide", "Text", "Dark", "Blinking"])
def test_a_film_of_random_play(tmp_path, kind, capsys):
    film = tmp_path / "film.gif"
    words = ["--obs-key", KEYS[kind]] if kind in KEYS else []
    assert main(["film", f"gym:Odd/{kind}-v0", "--import", MODULE, "--out", str(film), *words]) == 0
    with Image.open(film) as gif:
        assert max(gif.size) < 1000
    assert main(["film", f"gym:Odd/{kind}-v0", "--policy", "always 1", "--steps", "2", "--out", str(film), *words]) == 0


def test_a_film_is_named_so_that_any_system_can_store_it(tmp_path, monkeypatch, capsys):
    import_modules([MODULE])
    monkeypatch.chdir(tmp_path)
    assert main(["film", "gym:Odd/Scalar-v0", "--steps", "2"]) == 0
    assert capsys.readouterr().out.strip() == "gym-Odd-Scalar-v0-random.gif"


def test_probing_plays_at_random_and_constantly():
    import_modules([MODULE])
    found = api.probe("gym:Odd/Discrete-v0", episodes=5)
    assert [row.name for row in found.rows][:1] == ["random"]
    assert found.rows[1].name.startswith("always ")
    assert all(row.length == 10 and row.task_return == 10 for row in found.rows)
    assert found.rows[0].curve.shape == (11,)
    assert found.rows[0].entropy == pytest.approx(found.rows[0].curve[-1], rel=1e-5)


@pytest.mark.parametrize(
    ("kind", "words", "message"),
    [
        ("Nested", {"obs_key": "outer.inne"}, "no observation 'inne' in outer: did you mean 'inner'"),
        ("Nested", {"obs_key": "outer.mission"}, "Text.*expected Box, Discrete"),
        ("Nested", {"obs_key": "outer.inner.x"}, "no dictionary in outer.inner, so 'x' is no part"),
        ("Stillborn", {}, "could not be made: ZeroDivisionError: no lamp"),
    ],
)
def test_what_cannot_be_seen_is_refused(kind, words, message):
    import_modules([MODULE])
    with pytest.raises(UserError, match=message):
        gymnasium_world(f"gym:Odd/{kind}-v0", GymnasiumSettings(**words))


def test_a_module_in_an_id_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "strange_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match="give --import strange_module and gym:Strange-v0"):
        gymnasium_world("gym:strange_module:Strange-v0")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("Former", "without the five values .* of Gymnasium, on action 0"),
        ("Liar", "showed 7; its space says one of 2 to 6, on reset"),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_a_world_that_answers_otherwise_is_named(kind, message, count):
    worlds, everywhere = odd(kind).open(count), np.ones(count, bool)
    pattern = message.replace("action 0", r"action (0|\[0, 0\])")

    def played() -> None:
        worlds.restart(jax.random.key(0), everywhere)
        worlds.step(jax.random.key(0), np.zeros(count, int))

    with pytest.raises(WorldFailed, match=f"gym:Odd/{kind}-v0 .*{pattern}"):
        played()
    worlds.close()


def test_a_world_whose_process_ends_is_named():
    worlds = odd("Mortal").open(2)
    worlds.restart(jax.random.key(0), np.ones(2, bool))
    for _ in range(4):
        worlds.step(jax.random.key(0), np.zeros(2, int))
    with pytest.raises(WorldFailed, match="gym:Odd/Mortal-v0 raised"):
        worlds.step(jax.random.key(0), np.zeros(2, int))
    worlds.close()


INTERRUPTED = """
import os, signal, sys, time
import jax, numpy as np
from sadapt.envs.gymnasium_world import gymnasium_world

if __name__ == "__main__":
    worlds = gymnasium_world("gym:CartPole-v1").open(2)
    worlds.restart(jax.random.key(0), np.ones(2, bool))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
        os.killpg(os.getpgrp(), number)
        time.sleep(0.2)
        worlds.step(jax.random.key(0), np.zeros(2, int))
    worlds.close()
    print("went on")
"""


@pytest.mark.skipif(os.name != "posix", reason="groups of processes")
def test_worlds_outlive_what_stops_the_program(tmp_path):
    """Ctrl-C reaches all processes of a terminal at once; a run could not be saved in worlds that are gone."""
    (tmp_path / "script.py").write_text(INTERRUPTED)
    words = [sys.executable, str(tmp_path / "script.py")]
    done = subprocess.run(words, capture_output=True, text=True, start_new_session=True, timeout=120)
    assert done.stdout == "went on\n", done.stderr


IDS = sorted(each for each, spec in gym.registry.items() if str(spec.entry_point).startswith("gymnasium."))

CONTINUOUS = ("Pendulum", "MountainCarContinuous", "BipedalWalker", "CarRacing", "LunarLanderContinuous")
LACKING = ("MuJoCo", "Box2D", "gymnasium-robotics", "flax", "shimmy", "box2d")
"""What worlds that Gymnasium registers may need and say that they do."""


@pytest.mark.parametrize("env_id", IDS)
def test_every_world_that_gymnasium_registers(env_id):
    try:
        env = gymnasium_world(f"gym:{env_id}", GymnasiumSettings(horizon=20))
    except UserError as refused:
        if any(need in str(refused) for need in LACKING):
            pytest.skip(str(refused))
        if "only discrete actions are supported" in str(refused) and any(name in env_id for name in CONTINUOUS):
            return
        raise
    worlds = env.open(1)
    worlds.restart(jax.random.key(0), ALL)
    for action in range(min(env.num_actions, 20)):
        step = worlds.step(jax.random.key(0), np.array([action]))
        assert np.isfinite(step.obs.astype(np.float64)).all()
        if step.terminated[0]:
            worlds.restart(jax.random.key(1), ALL)
    picture = worlds.render()
    assert picture.dtype == np.uint8
    assert picture.shape[-1] == 3
    worlds.close()
    assert api.probe(env, episodes=2).horizon == 20


def test_an_observation_is_drawn_as_large_as_other_pictures_and_on_dark_ground():
    bits = np.array([1, 0, 0, 1] * 6, np.int8)  # in rows of five, the last filled up
    picture = obs_picture(bits, (0.0, 1.0))
    assert picture.shape == (300, 300, 3)
    lit = picture[30::60, 30::60].max(axis=-1) > 128
    np.testing.assert_array_equal(lit.ravel(), [*bits, 0])
    image = np.full((6, 5, 3), 100, np.uint8)
    np.testing.assert_array_equal(obs_picture(image, (0.0, 255.0)), np.full((300, 250, 3), 100))


@pytest.mark.slow
def test_minigrid_with_default_settings(tmp_path):
    pytest.importorskip("minigrid")
    words = ["--import", "minigrid", "--obs-key", "image", "--total-timesteps", "2000", "--quiet"]
    assert main(["train", "gym:MiniGrid-Empty-5x5-v0", *words, "--out", str(tmp_path / "run")]) == 0
    assert main(["eval", str(tmp_path / "run"), "--import", "minigrid", "--episodes", "2"]) == 0
