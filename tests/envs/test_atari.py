"""Atari: screens, seeds, what the marginal sees, a replay that fits, and games by their names."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from sadapt.envs.atari import LONGEST, freeway, minimal_actions, rom
from sadapt.envs.registry import make, make_any
from sadapt.envs.table import AtariSettings
from sadapt.errors import UserError
from sadapt.registry import find
from sadapt.training.presets import preset
from sadapt.training.program import build


@pytest.fixture
def worlds():
    pytest.importorskip("ale_py")
    opened = freeway().open(2)
    yield opened
    opened.close()


def play(worlds, seed, actions=3):
    rng = np.random.default_rng(0)
    first = worlds.restart(jax.random.key(seed), np.ones(2, bool))
    return np.stack([first, *(worlds.step(jax.random.key(0), rng.integers(0, actions, 2)).obs for _ in range(20))])


def test_same_seed_same_screens(worlds):
    first, again, other = play(worlds, 1), play(worlds, 1), play(worlds, 2)
    assert first.shape == (21, 2, 84, 84, 1)
    assert first.dtype == np.uint8
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_only_the_games_that_are_asked_to_begin_again(worlds):
    before = play(worlds, 1)[-1]
    after = worlds.restart(jax.random.key(5), np.asarray([False, True]))
    np.testing.assert_array_equal(after[0], before[0])
    assert not np.array_equal(after[1], before[1])


def test_going_up_pays(worlds):
    worlds.restart(jax.random.key(0), np.ones(2, bool))
    total = sum(worlds.step(jax.random.key(0), np.asarray([1, 0])).reward for _ in range(600))
    assert total[0] > 0
    assert total[1] == 0


@pytest.mark.parametrize("size", [7, 21, 84])
def test_the_marginal_sees_the_mean_of_blocks(size):
    env = freeway(settings=AtariSettings(frame_size=size))
    screen = np.random.default_rng(0).integers(0, 256, (84, 84, 1), np.uint8)
    block = 84 // size
    expected = [
        [screen[r * block : (r + 1) * block, c * block : (c + 1) * block].mean() / 255 for c in range(size)]
        for r in range(size)
    ]
    assert env.input_shape == (size, size, 1)
    np.testing.assert_allclose(env.marginal_input(screen)[..., 0], expected, rtol=1e-5)


def test_a_size_that_does_not_divide_the_screen():
    with pytest.raises(UserError, match=r"--frame-size must divide 84, .* \(1, 2, 3, 4, 6, 7, 12, .*\); got 20"):
        freeway(settings=AtariSettings(frame_size=20))
    with pytest.raises(UserError, match=r"--frame-size must divide 42, .* 14, 21, 42\); got 28"):
        freeway(settings=AtariSettings(screen_size=42, frame_size=28))


def test_a_smaller_screen_shows_the_same_game():
    pytest.importorskip("ale_py")
    screens = []
    for side in (84, 42):
        env = freeway(settings=AtariSettings(screen_size=side))
        opened = env.open(2)
        try:
            screens.append(play(opened, 1))
            assert (env.policy_shape, env.input_shape) == ((side, side, 4), (21, 21, 1))
            assert opened.render().shape == (252, 252, 3)
        finally:
            opened.close()
    large, small = screens
    means = large.reshape(21, 2, 42, 2, 42, 2).mean(axis=(3, 5))
    np.testing.assert_allclose(small[..., 0], means, atol=1.5)


def test_games_without_idle_frames_begin_and_go_on_alike():
    pytest.importorskip("ale_py")
    opened = freeway(settings=AtariSettings(screen_size=42, noop_max=0)).open(2)
    try:
        first, other = (opened.restart(jax.random.key(seed), np.ones(2, bool)) for seed in (1, 2))
        np.testing.assert_array_equal(first, other)
        for _ in range(20):
            screens = opened.step(jax.random.key(0), np.asarray([1, 1])).obs
        np.testing.assert_array_equal(screens[0], screens[1])
    finally:
        opened.close()


def test_fast_eyes_are_small_and_the_papers_are_the_papers():
    fast, paper = (preset("atari-freeway", name) for name in ("fast", "paper"))
    assert (fast.network.name, fast.world.settings.screen_size) == ("screen", 42)
    assert (paper.network.name, paper.world.settings.screen_size) == ("auto", 84)
    assert preset("atari:pong", "fast").world.settings.screen_size == 42
    idle = [each.world.settings.noop_max for each in (fast, paper, preset("atari:pong", "fast"))]
    assert idle == [0, 30, 30]
    shapes = jax.eval_shape(build(paper).parts.task.network(3).init, jax.random.key(0))
    assert shapes["arm_0"]["obs"]["conv_0"]["weight"].shape == (8, 8, 4, 32)
    assert shapes["arm_0"]["head"]["dense_0"]["weight"].shape[0] == 512


def test_a_network_that_is_asked_for_is_had():
    assert preset("atari-freeway", "fast", network="plain").network.name == "plain"
    assert preset("atari-freeway", "fast", network="auto").network.name == "auto"


def test_a_million_frames_fit_into_eight_gigabytes():
    need = build(preset("atari-freeway", "paper")).learner.need
    assert "1,000,000 steps" in need.what
    assert need.bytes <= 8e9


def test_what_the_catalogue_tells_of_freeway_is_so():
    env, hints = make_any("atari-freeway"), find("env", "atari-freeway").hints
    assert (env.name, env.actions, env.channels) == ("atari-freeway", hints["actions"], hints["channels"])
    assert (env.horizon, env.obs_shape[:2], env.about) == (hints["horizon"], hints["size"], hints["about"])
    with pytest.raises(UserError, match="'atari-freeway' is not written in JAX"):
        make("atari-freeway")


def test_any_game_by_its_name():
    pytest.importorskip("ale_py")
    env = make_any("atari:pong", AtariSettings(frame_size=7))
    assert (env.name, env.horizon, env.stack) == ("atari:pong", LONGEST, 4)
    assert env.actions == ("noop", "fire", "right", "left", "rightfire", "leftfire")
    assert (env.policy_shape, env.input_shape) == ((84, 84, 4), (7, 7, 1))
    opened = env.open(2)
    try:
        screens = play(opened, 1, env.num_actions)
        assert screens.shape == (21, 2, 84, 84, 1)
        assert screens[0].std() > 0
        assert not np.array_equal(screens[0], screens[-1])
    finally:
        opened.close()


@pytest.mark.parametrize("given", ["montezuma_revenge", "MontezumaRevenge", "montezuma-revenge"])
def test_a_game_in_every_spelling(given):
    pytest.importorskip("ale_py")
    assert rom(given) == "montezuma_revenge"


def test_freeways_actions_are_the_games_own():
    pytest.importorskip("ale_py")
    assert minimal_actions("freeway") == ("noop", "up", "down")
    assert find("env", "atari-freeway").hints["actions"] == ("stay", "up", "down")


def test_an_unknown_game_is_answered_with_the_nearest_name():
    pytest.importorskip("ale_py")
    with pytest.raises(UserError, match="'pongg': did you mean 'pong'"):
        make_any("atari:pongg")
