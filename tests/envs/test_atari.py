"""Atari Freeway: screens, seeds, what the marginal sees, and a replay that fits."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from sadapt.envs.atari import atari_freeway
from sadapt.errors import UserError
from sadapt.training.presets import preset
from sadapt.training.program import program


@pytest.fixture
def worlds():
    pytest.importorskip("ale_py")
    opened = atari_freeway().open(2)
    yield opened
    opened.close()


def play(worlds, seed):
    rng = np.random.default_rng(0)
    first = worlds.restart(jax.random.key(seed), np.ones(2, bool))
    return np.stack([first, *(worlds.step(jax.random.key(0), rng.integers(0, 3, 2)).obs for _ in range(20))])


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
    env = atari_freeway(frame_size=size)
    screen = np.random.default_rng(0).integers(0, 256, (84, 84, 1), np.uint8)
    block = 84 // size
    expected = [
        [screen[r * block : (r + 1) * block, c * block : (c + 1) * block].mean() / 255 for c in range(size)]
        for r in range(size)
    ]
    np.testing.assert_allclose(env.seen(screen)[..., 0], expected, rtol=1e-5)


def test_a_size_that_does_not_divide_the_screen():
    with pytest.raises(UserError, match=r"--frame-size must divide 84 .*; got 20"):
        atari_freeway(frame_size=20)


def test_a_million_frames_fit_into_eight_gigabytes():
    settings = preset("atari-freeway", "paper")
    memory = program(atari_freeway(), settings).memory
    assert memory.steps == 1_000_000
    assert memory.bytes <= 8e9
