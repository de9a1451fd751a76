"""Playing on while the last steps are learned from: by turns where nothing can differ, and repeatable where it does."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from sadapt.composite import all_changed
from sadapt.envs.base import HostEnv
from sadapt.motivation.feedback import summed_up
from sadapt.training import host
from sadapt.training.presets import preset
from sadapt.training.program import build
from sadapt.training.settings import Settings
from tests.trees import identical, same

SAMPLES = 4 * 8
RANDOM = summed_up({"entropy": np.full(2, 20.0), "surprise": np.array([3.0, 5.0])})


def program(turns: int, **changes):
    """S-Adapt on Tetris, `turns` updates a chunk."""
    small = {"num_envs": 4, "num_steps": 8, "minibatch_size": 16, "horizon": 12, "hidden": 16, "network": "plain"}
    settings = all_changed(Settings(world="tetris"), {"total_timesteps": 4_096, **small, **changes})
    prog = build(settings)
    return prog._replace(parts=prog.parts._replace(learner=prog.learner._replace(chunk_steps=turns * SAMPLES)))


def after(prog, drive, chunks: int = 2, between=lambda state: state):
    """The state after some chunks."""
    worlds = host.JaxWorlds(prog.env, prog.sizes.num_envs)
    state, advance = host.start(prog, worlds, jax.random.key(3), RANDOM), drive(prog, worlds)
    for _ in range(chunks):
        state = between(advance(state))
    return state


@pytest.mark.parametrize("changes", [{}, {"objective": "extrinsic"}], ids=["s-adapt", "extrinsic"])
def test_with_one_update_a_chunk_there_is_nothing_to_play_meanwhile(changes):
    prog = program(turns=1, **changes)
    same(after(prog, host.meanwhile), after(prog, host.by_turns), rtol=1e-4, atol=1e-5)


def test_parameters_that_do_not_move_are_never_old():
    prog = program(turns=4, learning_rate=1e-12, final_learning_rate=0.0)
    same(after(prog, host.meanwhile), after(prog, host.by_turns), rtol=1e-4, atol=1e-5)


def test_steps_are_played_with_the_parameters_before_the_update_under_way():
    prog = program(turns=2, learning_rate=0.1)
    first, old = (after(program(turns=turns, learning_rate=0.1), host.by_turns, 1) for turns in (1, 2))
    lagging = after(prog, host.meanwhile, 1)
    assert int(lagging.step) == int(old.step) == 2 * int(first.step)
    assert float(lagging.tally.updates) == 2
    fresh = after(program(turns=2, learning_rate=1e-12, final_learning_rate=0.0), host.by_turns, 1)
    same(lagging.learner.rollout.steps["value"], fresh.learner.rollout.steps["value"], rtol=1e-4, atol=1e-5)
    assert not np.allclose(old.learner.rollout.steps["value"], fresh.learner.rollout.steps["value"], atol=1e-3)


def test_again_and_taken_up_between_chunks_it_is_the_same_to_the_byte():
    prog = program(turns=4)

    def stored(state):
        keys = jax.tree.map(lambda x: jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key), state)
        return jax.tree.map(lambda x, key: x if key else jax.numpy.asarray(np.array(x)), state, keys)

    whole = after(prog, host.meanwhile, 3)
    identical(whole, after(prog, host.meanwhile, 3))
    identical(whole, after(prog, host.meanwhile, 3, between=stored))


def test_only_worlds_in_threads_of_their_own_and_learners_that_can_play_on(monkeypatch):
    chosen = []
    for name in ("meanwhile", "by_turns"):
        monkeypatch.setattr(host, name, lambda prog, worlds, name=name: chosen.append(name))
    for env, learner in [("atari-freeway", "pqn"), ("atari-freeway", "dqn"), ("gym:CartPole-v1", "pqn")]:
        prog = build(all_changed(preset(env, learner=learner), {"num_envs": 1, "total_timesteps": 1_024}))
        assert isinstance(prog.env, HostEnv)
        host.driver(prog, None)
    assert chosen == ["meanwhile", "by_turns", "by_turns"]
