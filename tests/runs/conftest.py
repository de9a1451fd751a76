"""Small runs for the tests of folders, with compiled programs shared between them."""

from __future__ import annotations

from contextlib import contextmanager

import jax
import pytest

from sadapt import api
from sadapt.runs.recorder import Options
from sadapt.training.settings import Settings

QUIET = Options(tensorboard=False)
SIZES = {
    "pqn": {"num_envs": 8, "num_steps": 8, "minibatch_size": 32, "total_timesteps": 80_000},
    "dqn": {
        "num_envs": 4,
        "batch_size": 8,
        "buffer_size": 4_000,
        "learning_starts": 500,
        "target_network_frequency": 500,
        "total_timesteps": 3_000,
        "network": "plain",
    },
}


@contextmanager
def promotion():
    """optax does not hold under strict promotion."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture(autouse=True)
def standard_promotion():
    with promotion():
        yield


def small(learner: str = "pqn", **changes) -> Settings:
    """A run of a few seconds on Tetris."""
    sizes = {"hidden": 16, "arms": "together", "random_episodes": 4, "horizon": 20, "seed": 5, "log_interval": 500}
    paper = {"bandit": "ucb", "feedback": "entropy"}
    return api.settings("tetris", learner=learner, **{**sizes, **paper, **SIZES[learner], **changes})


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A finished run, not to be written to; its settings are `small()`."""
    with promotion():
        return api.train(small(), out=tmp_path_factory.mktemp("runs") / "finished")
