"""Playing on while the last steps are learned from: by turns where nothing can differ, and repeatable where it does."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

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
STILL = {"learning_rate": 1e-12, "final_learning_rate": 0.0}


def player(drive, turns: int, **changes):
    """`play(chunks) -> state` on Tetris, from the same start each time, with `turns` updates a chunk."""
    small = {"num_envs": 4, "num_steps": 8, "minibatch_size": 16, "horizon": 12, "hidden": 8, "network": "plain"}
    prog = build(
        all_changed(Settings(world="tetris"), {"objective": "s-min", "total_timesteps": 4_096, **small, **changes})
    )
    prog = prog._replace(parts=prog.parts._replace(learner=prog.learner._replace(chunk_steps=turns * SAMPLES)))
    worlds = host.JaxWorlds(prog.env, prog.sizes.num_envs)
    advance = drive(prog, worlds)

    def play(chunks: int, between=lambda state: state):
        state = host.start(prog, worlds, jax.random.key(3), RANDOM)
        for _ in range(chunks):
            state = between(advance(state))
        return state

    return play


def both(turns: int, chunks: int, **changes):
    """The state after some chunks, at once and by turns."""
    return [player(drive, turns, **changes)(chunks) for drive in (host.meanwhile, host.by_turns)]


def test_with_one_update_a_chunk_there_is_nothing_to_play_meanwhile():
    same(*both(turns=1, chunks=3, objective="s-adapt"), rtol=1e-4, atol=1e-5)


def test_steps_are_played_with_the_parameters_before_the_update_under_way():
    lagging, prompt = both(turns=2, chunks=1, learning_rate=0.1)
    still_lagging, still = both(turns=2, chunks=1, **STILL)
    same(still_lagging, still, rtol=1e-4, atol=1e-5)
    assert float(lagging.tally.updates) == float(prompt.tally.updates) == 2
    before, *after = (state.learner.rollout.steps["value"] for state in (still, lagging, prompt))
    np.testing.assert_allclose(after[0], before, rtol=1e-4, atol=1e-5)
    assert not np.allclose(after[1], before, atol=1e-2)


def test_again_and_taken_up_between_chunks_it_is_the_same_to_the_byte():
    def stored(state):
        def from_disk(x):
            return x if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else jnp.asarray(np.array(x))

        return jax.tree.map(from_disk, state)

    play = player(host.meanwhile, turns=3)
    whole = play(2)
    identical(whole, play(2))
    identical(whole, play(2, stored))


def test_only_worlds_in_threads_of_their_own_and_learners_that_can_play_on(monkeypatch):
    chosen = []
    for name in ("meanwhile", "by_turns"):
        monkeypatch.setattr(host, name, lambda prog, worlds, name=name: chosen.append(name))
    for env, learner in [("atari-freeway", "pqn"), ("atari-freeway", "dqn"), ("gym:CartPole-v1", "pqn")]:
        prog = build(preset(env, learner=learner))
        assert isinstance(prog.env, HostEnv)
        host.driver(prog, None)
    assert chosen == ["meanwhile", "by_turns", "by_turns"]
