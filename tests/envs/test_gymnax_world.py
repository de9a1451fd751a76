"""The adapter of gymnax' interface: by a small suite of our own, and by the real ones where they are installed."""

from __future__ import annotations

import math
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt import api
from sadapt.cli import main
from sadapt.envs import gymnax_suites
from sadapt.envs.contract import check
from sadapt.envs.gymnax_suites import Guest, of_interface
from sadapt.envs.gymnax_world import gymnax_world
from sadapt.envs.registry import make_any
from sadapt.envs.table import GymnaxSettings
from sadapt.errors import UserError
from sadapt.motivation.inputs import input_spec
from sadapt.runs.recorder import Options

SMALL = {"num_envs": 4, "num_steps": 8, "minibatch_size": 16, "hidden": 8, "random_episodes": 4}


class Walk(NamedTuple):
    place: jax.Array
    time: int


class Corridor:
    """A walk from 0 to 3, which ends there; states mix arrays with plain numbers, as gymnax' do."""

    def __init__(self, shows, dtype=jnp.float32, actions=None):
        self.shows, self.dtype = shows, dtype
        self.actions = actions or SimpleNamespace(n=2, shape=())

    def action_space(self, params):
        return self.actions

    def observation_space(self, params):
        return self.shows

    def look(self, state):
        if getattr(self.shows, "n", None):
            return state.place
        return jnp.full(self.shows.shape, state.place).astype(self.dtype)

    def reset_env(self, key, params):
        state = Walk(jax.random.randint(key, (), 0, 2), 0)
        return self.look(state), state

    def step_env(self, key, state, action, params):
        state = Walk(jnp.clip(state.place + 2 * action - 1, 0, 3), state.time + 1)
        return self.look(state), state, (state.place == 3).astype(jnp.float32), state.place == 3, {"discount": 0.0}


def box(low, high, shape=(2,), dtype=jnp.float32):
    return SimpleNamespace(low=low, high=high, shape=shape, dtype=dtype)


WORLDS = {
    "Numbers": Corridor(box(0.0, 3.0)),
    "Whole": Corridor(box(0, 3, (2, 2), jnp.int32), jnp.int32),
    "Greys": Corridor(box(0, 255, (8, 8, 1), jnp.uint8), jnp.uint8),
    "Choice": Corridor(SimpleNamespace(n=4, shape=())),
    "Endless": Corridor(box(-math.inf, math.inf)),
    "Steered": Corridor(box(0.0, 3.0), actions=box(-1.0, 1.0, ())),
    "Nothing": Corridor(SimpleNamespace(spaces={})),
}


@pytest.fixture(autouse=True)
def suite(monkeypatch):
    """`gymnax:` leads to the worlds above."""

    def made(name: str) -> Guest:
        gymnax_suites._require_known("gymnax", name, WORLDS)
        return of_interface(WORLDS[name], SimpleNamespace(max_steps_in_episode=20))

    monkeypatch.setitem(gymnax_suites.SUITES, "gymnax", made)


@pytest.fixture
def standard_promotion():
    """Whole programs, optimisers among them, mix dtypes as JAX does by default."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.mark.parametrize("kind", ["Numbers", "Whole", "Greys", "Choice"])
def test_worlds_keep_the_contract(kind):
    env = gymnax_world(f"gymnax:{kind}")
    check(env, steps=30)
    assert env.horizon == 20


@pytest.mark.parametrize(
    ("kind", "shape", "marginal"),
    [
        ("Numbers", (2,), "gaussian, since entries can be any number"),
        ("Whole", (2, 2, 1), "categorical, since entries are whole numbers of 4 values"),
        ("Greys", (8, 8, 1), "gaussian, since entries are whole numbers of many values"),
        ("Choice", (4,), "categorical, since exactly one of 4 channels is set"),
    ],
)
def test_what_is_shown_says_which_marginal_suits_it(kind, shape, marginal):
    env = gymnax_world(f"gymnax:{kind}")
    assert env.obs_shape == shape
    from sadapt.motivation.marginals.auto import auto

    assert auto(input_spec(env)).told.startswith(marginal)


def test_an_end_is_honest():
    """The last observation is that of the goal, not of a fresh start, and the world stays there."""
    env = gymnax_world("gymnax:Numbers")
    key = jax.random.key(0)
    state, _ = env.reset(key)
    for _ in range(3):
        state, step = env.step(key, state, jnp.int32(1))
    assert step.terminated
    assert step.reward == 1
    np.testing.assert_array_equal(step.obs, [3, 3])


def test_what_the_world_does_not_say_can_be_told():
    bits = gymnax_world("gymnax:Numbers", GymnaxSettings(obs_bits=True))
    assert bits.binary
    kept = gymnax_world("gymnax:Endless", GymnaxSettings(obs_low=0.0, obs_high=2.0))
    state, _ = kept.reset(jax.random.key(0))
    for _ in range(3):
        state, step = kept.step(jax.random.key(0), state, jnp.int32(1))
    np.testing.assert_array_equal(step.obs, [2, 2])
    assert make_any("gymnax:Numbers", GymnaxSettings(horizon=7)).horizon == 7


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gymnax:Numbres", "gymnax has no world 'Numbres': did you mean 'Numbers'"),
        ("gymnax:Steered", "only discrete actions are supported"),
        ("gymnax:Endless", "a marginal needs bounds: give --obs-low and --obs-high"),
        ("gymnax:Nothing", "expected numbers between bounds, or a choice"),
    ],
)
def test_refusals_are_one_paragraph(name, message, capsys):
    with pytest.raises(UserError, match=message):
        gymnax_world(name)
    assert main(["train", name, "--quiet"]) == 2
    told = capsys.readouterr().err.strip()
    assert "Traceback" not in told
    assert "\n\n" not in told


@pytest.mark.parametrize("suite_name", ["craftax", "navix"])
def test_a_suite_that_is_not_installed(suite_name, monkeypatch, capsys):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(gymnax_suites, "version", missing)
    assert main(["train", f"{suite_name}:Any-v0", "--quiet"]) == 2
    assert f"pip install 'sadapt[{suite_name}]'" in " ".join(capsys.readouterr().err.split())


def test_a_suite_that_does_not_go_with_this_jax_says_so(monkeypatch):
    def broken(name):
        raise AttributeError("module 'jax' has no attribute 'tree_map'")

    monkeypatch.setattr(gymnax_suites, "version", lambda name: "0.1")
    monkeypatch.setattr("importlib.import_module", broken)
    with pytest.raises(UserError, match=r"navix 0\.1 cannot be imported with jax .*AttributeError"):
        gymnax_suites.navix("Any-v0")


def test_resets_that_cost_much_are_made_only_where_needed_and_change_nothing(monkeypatch, tmp_path, standard_promotion):
    """Deaths at the corridor's end and horizons, soft: the same run with fresh worlds for all and for those in need."""
    usual = gymnax_suites.SUITES["gymnax"]
    rows = []
    for costly in (False, True):
        monkeypatch.setitem(
            gymnax_suites.SUITES, "gymnax", lambda name, costly=costly: usual(name)._replace(costly_reset=costly)
        )
        words = {"total_timesteps": 16_384, "objective": "s-adapt", "on_death": "soft", **SMALL}
        run = api.train(
            "gymnax:Whole", out=tmp_path / str(costly), options=Options(tensorboard=False, clock=False), **words
        )
        rows.append((run.path / "metrics.csv").read_text())
    assert rows[0] == rows[1]


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_to_the_same_bytes(tmp_path, standard_promotion):
    words = {"total_timesteps": 4 * 16_384, "objective": "s-adapt", **SMALL}
    options = Options(tensorboard=False, clock=False)
    whole = api.train("gymnax:Whole", out=tmp_path / "whole", options=options, **words)

    def stop(progress):
        if progress.step >= 2 * 16_384:
            raise KeyboardInterrupt

    with pytest.raises(BaseException, match="stopped at step"):
        api.train("gymnax:Whole", out=tmp_path / "cut", options=options, display=stop, **words)
    cut = api.resume(tmp_path / "cut")
    assert (cut.path / "metrics.csv").read_bytes() == (whole.path / "metrics.csv").read_bytes()


REAL = {
    "gymnax": ["gymnax:CartPole-v1", "gymnax:Breakout-MinAtar", "gymnax:FrozenLake-misc"],
    "navix": ["navix:Navix-Empty-5x5-v0", "navix:Navix-DoorKey-5x5-v0"],
    "craftax": ["craftax:Craftax-Classic-Symbolic-v1"],
}


@pytest.mark.parametrize(("suite_name", "name"), [(each, name) for each, names in REAL.items() for name in names])
@pytest.mark.filterwarnings("default")
def test_real_worlds_have_types_that_a_program_can_carry(suite_name, name, monkeypatch, standard_promotion):
    pytest.importorskip(suite_name)
    monkeypatch.setitem(gymnax_suites.SUITES, "gymnax", gymnax_suites.gymnax)
    env = make_any(name)
    assert env.num_actions > 1
