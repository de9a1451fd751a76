"""Observations of every plain space: taken as they are promised, named when they are not."""

from __future__ import annotations

import copy
import math

import gymnasium
import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from hypothesis import given
from hypothesis import strategies as st

from sadapt.envs import make
from sadapt.errors import UserError
from sadapt.gym import SurpriseVectorWrapper, SurpriseWrapper
from sadapt.gym.observations import Observations
from sadapt.gym.views import MODES
from tests.gym.examples import wrapped
from tests.gym.lamps import Lamps
from tests.trees import same


@pytest.mark.parametrize("space", ["box", "real", "binary", "discrete", "grey"])
@pytest.mark.parametrize("mode", ["dict", "flat", "none"])
def test_every_plain_space(space, mode):
    env = wrapped("s-max", space, obs_mode=mode)
    for seed in range(3):
        obs, _ = env.reset(seed=seed)
        assert env.observation_space.contains(obs)
        for action in range(3):
            obs, reward, *_ = env.step(action)
            assert env.observation_space.contains(obs)
            assert math.isfinite(reward)


@st.composite
def plain_spaces(draw):
    shape = draw(st.sampled_from([(1,), (3,), (2, 2), (2, 3, 2)]))
    kind = draw(st.sampled_from(["float32", "float64", "int8", "uint8", "uint16", "int64", "binary", "discrete"]))
    if kind == "binary":
        return spaces.MultiBinary(shape)
    if kind == "discrete":
        return spaces.Discrete(draw(st.integers(1, 9)), start=draw(st.integers(-5, 5)))
    least = draw(hnp.arrays(np.int64, shape, elements=st.integers(0 if kind.startswith("u") else -90, 90)))
    most = least + draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 37)))
    return spaces.Box(least.astype(kind), most.astype(kind), dtype=np.dtype(kind).type)


class Anything(gymnasium.Env):
    """Shows members of a space one after another."""

    action_space = spaces.Discrete(2)

    def __init__(self, space: spaces.Space) -> None:
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, False, False, {}


@given(plain_spaces(), st.sampled_from(MODES), st.sampled_from([0.0, 1.0]))
def test_what_a_world_may_show_is_taken_and_what_is_shown_is_promised(space, mode, pseudo_count):
    if mode == "channels" and len(space.shape) != 3:
        mode = "flat"
    env = SurpriseWrapper(Anything(space), "s-max", obs_mode=mode, horizon=6, pseudo_count=pseudo_count)
    assert env.observation_space.contains(env.reset(seed=0)[0])
    for _ in range(6):
        obs, reward, _, over, info = env.step(0)
        assert env.observation_space.contains(obs)
        assert math.isfinite(reward)
        assert info["surprise"] == info["intrinsic_reward"]
    assert over


def test_discrete_observations_are_counted_as_categories():
    env = wrapped("s-min", "discrete", normalise=False)
    env.reset(seed=0)
    obs, *_ = env.step(0)
    counts = np.zeros(7)
    np.add.at(counts, [0, obs["obs"] - 3], 1)
    np.testing.assert_allclose(obs["theta"], (counts + 0.5) / (2 + 7 / 2), rtol=1e-6)


def test_grey_values_are_modelled_between_0_and_1():
    env = wrapped("s-min", "grey")
    env.reset(seed=0)
    obs, *_ = env.step(0)
    np.testing.assert_allclose(obs["theta"][..., 0], obs["obs"][..., 0] / 255 / 2)
    assert obs["theta"].shape == (2, 3, 2)


def test_other_spaces_are_refused_at_once():
    class Pair(Lamps):
        def __init__(self):
            self.observation_space = spaces.Tuple([spaces.Discrete(2)])

    with pytest.raises(UserError, match="FlattenObservation"):
        SurpriseWrapper(Pair(), "s-min", horizon=3)


class Broken(Lamps):
    """Shows `value` in the second step."""

    def __init__(self, space: str, value) -> None:
        super().__init__(space)
        self.value, self.shown = value, 0

    def look(self):
        self.shown += 1
        obs = super().look()
        if self.shown < 3:
            return obs
        if self.kind == "discrete" or np.ndim(self.value):
            return self.value
        return np.where(np.arange(6).reshape(np.shape(obs)) == 4, self.value, obs).astype(np.asarray(self.value).dtype)


@pytest.mark.parametrize(
    ("space", "value", "message"),
    [
        ("real", np.float32(np.nan), "not finite"),
        ("real", np.float32(np.inf), "not finite"),
        ("real", np.float32(2.5), r"2\.5.*outside its space"),
        ("real", np.float32(-1.5), r"-1\.5.*outside its space"),
        ("box", np.uint8(2), "the value 2.*outside its space"),
        ("box", np.float32(0.5), "showed float32"),
        ("box", np.zeros((3, 2, 1), np.uint8), r"shape \(3, 2, 1\)"),
        ("binary", np.int8(-1), "the value -1.*outside its space"),
        ("discrete", 10, "the value 10.*outside its space"),
        ("discrete", 2, "the value 2.*outside its space"),
    ],
)
def test_observations_that_cannot_be_are_named_when_they_come(space, value, message):
    env = SurpriseWrapper(Broken(space, value), "s-min", horizon=9)
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(UserError, match=message):
        env.step(0)


def test_bounds_may_differ_from_entry_to_entry():
    class Box(Lamps):
        def __init__(self):
            self.observation_space = spaces.Box(np.array([0, -5], np.float32), np.array([1, np.inf], np.float32))

        def look(self):
            return np.array([0, -5 if self.lamps.any() else 70], np.float32)[
                :: 1 if self.lamps.sum() < 4 else -1
            ].copy()

    env = SurpriseWrapper(Box(), "s-min", horizon=50)

    def swapped():
        for seed in range(20):
            env.reset(seed=seed)
            env.step(0)

    with pytest.raises(UserError, match="outside its space"):
        swapped()


def test_a_bernoulli_marginal_on_real_values_is_refused_at_once():
    for space in ("real", "grey"):
        with pytest.raises(UserError, match="use --marginal gaussian"):
            wrapped(space=space, marginal="bernoulli")


def test_the_marginal_may_see_some_channels_only():
    env = SurpriseWrapper(gymnasium.make("sadapt/ButterfliesSmall-v0"), "s-min")
    assert make("butterflies-small").marginal_channels == (0, 1)
    assert env.observation_space["theta"].shape == (10, 10, 2)
    assert env.observation_space["obs"].shape == (10, 10, 3)
    own = SurpriseWrapper(gymnasium.make("sadapt/ButterfliesSmall-v0"), "s-min", marginal_channels=(2,))
    obs, _ = own.reset(seed=0)
    np.testing.assert_array_equal(obs["theta"][..., 0], obs["obs"][..., 2])


def test_what_the_marginal_is_told_of_its_input():
    """Some channels only, scaled where the world shows unsigned numbers."""
    grey = Observations("world", spaces.Box(0, 255, (2, 2, 3), np.uint8), (0, 2))
    spec = grey.input_spec()
    assert (spec.source, spec.shape, spec.dtype, spec.binary) == ("world", (2, 2, 2), np.float32, False)
    assert (spec.low.min(), spec.high.max()) == (0, 1)
    shown = np.full((1, 2, 2, 3), 51, np.uint8)
    np.testing.assert_allclose(grey.marginal_input(grey.entries(shown)), np.full((1, 2, 2, 2), 0.2), rtol=1e-6)
    assert Observations("world", spaces.MultiBinary(4)).input_spec().binary
    assert Observations("world", spaces.Discrete(5)).input_spec().shape == (5,)


class Told(gymnasium.Env):
    """A dictionary with a text beside the picture, as MiniGrid shows it."""

    action_space = spaces.Discrete(2)
    picture = spaces.Box(0, 255, (2, 2, 1), np.uint8)
    observation_space = spaces.Dict({"mission": spaces.Text(9), "seen": spaces.Dict({"picture": picture})})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.shown(), {}

    def step(self, action):
        return self.shown(), 0.0, False, False, {}

    def shown(self):
        return {"mission": "go", "seen": {"picture": self.np_random.integers(256, size=(2, 2, 1), dtype=np.uint8)}}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("several", [None, *AutoresetMode])
def test_a_part_of_a_dictionary(mode, several):
    """Learner and marginal see that part alone, as if the world showed nothing else."""

    def make() -> gymnasium.Env:
        return gymnasium.wrappers.TimeLimit(Told(), 4)

    class Alone(gymnasium.ObservationWrapper):
        """The part and nothing else, by other means."""

        def __init__(self) -> None:
            super().__init__(make())
            self.observation_space = Told.picture

        def observation(self, observation):
            return observation["seen"]["picture"]

    words = {"objective": "s-min", "obs_mode": mode, "horizon": 4}
    if several is None:
        pair = SurpriseWrapper(make(), obs_key="seen.picture", **words), SurpriseWrapper(Alone(), **words)
    else:
        vectors = [gymnasium.vector.SyncVectorEnv([each] * 2, autoreset_mode=several) for each in (make, Alone)]
        pair = (
            SurpriseVectorWrapper(vectors[0], obs_key="seen.picture", **words),
            SurpriseVectorWrapper(vectors[1], **words),
        )
    told = [env.reset(seed=3) for env in pair]
    for time in range(6):
        same(told[0][0], told[1][0])
        assert pair[0].observation_space == pair[1].observation_space
        if time == 4 and several in (None, AutoresetMode.DISABLED):
            told = [env.reset() for env in pair]
        else:
            told = [env.step(env.action_space.sample() * 0) for env in pair]
            np.testing.assert_array_equal(told[0][1], told[1][1])


class Bag(gymnasium.Env):
    """A map of whole numbers, two lamps, a choice and a text."""

    observation_space = gymnasium.spaces.Dict(
        {
            "map": gymnasium.spaces.Box(0, 255, (2, 2), np.uint8),
            "inside": gymnasium.spaces.Dict(
                {"lamps": gymnasium.spaces.MultiBinary(2), "note": gymnasium.spaces.Text(9)}
            ),
            "way": gymnasium.spaces.Discrete(3, start=1),
        }
    )
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self):
        self.observation_space = copy.deepcopy(self.observation_space)  # draws of its own

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(int(self.np_random.integers(1000)))
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, False, False, {}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("several", [None, *AutoresetMode])
def test_a_dictionary_without_a_key_is_all_of_its_parts(mode, several):
    """As one vector, pictures between 0 and 1; surprise is the sum of what each part alone would be."""

    def make() -> gymnasium.Env:
        return gymnasium.wrappers.TimeLimit(Bag(), 4)

    def wrapped(**words):
        words = {"objective": "s-max", "obs_mode": mode, "horizon": 4, "normalise": False, **words}
        if several is None:
            return SurpriseWrapper(make(), **words)
        return SurpriseVectorWrapper(gymnasium.vector.SyncVectorEnv([make] * 2, autoreset_mode=several), **words)

    if mode == "channels":
        with pytest.raises(UserError, match="obs_mode 'channels' stacks images"):
            wrapped()
        return
    all_of_it = wrapped()
    parts = [wrapped(obs_key="map", obs_mode="dict"), wrapped(obs_key="inside.lamps"), wrapped(obs_key="way")]
    envs = [all_of_it, *parts]
    shown = [env.reset(seed=5)[0] for env in envs]
    if mode == "dict":
        first = shown[0]["obs"] if several is None else shown[0]["obs"][0]
        assert first.shape == (4 + 2 + 3,)
        assert all_of_it.observation_space.contains(shown[0])
    for _ in range(3):
        paid = [env.step(env.action_space.sample() * 0)[1] for env in envs]
        np.testing.assert_allclose(paid[0], sum(paid[1:]), rtol=1e-4)


def test_a_dictionary_with_one_part_that_can_be_seen_is_that_part():
    pair = [SurpriseWrapper(Told(), "s-min", horizon=4, **words) for words in ({}, {"obs_key": "seen.picture"})]
    same(*(env.reset(seed=1)[0] for env in pair))
    same(*(env.step(0)[0] for env in pair))


def test_a_key_that_means_nothing_is_refused():
    with pytest.raises(UserError, match="no dictionary observations, so obs_key x does not apply"):
        SurpriseWrapper(Lamps(), "s-min", obs_key="x")
