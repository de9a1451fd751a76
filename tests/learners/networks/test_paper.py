"""The paper's networks: sizes counted by hand, and one of them in NumPy."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from sadapt.learners.networks import paper, paper_kind
from sadapt.motivation.augmented import Augmented
from tests.learners.networks.built import build, count, linear, spec_of


@pytest.mark.parametrize(
    ("obs_shape", "theta_shape", "outputs", "size"),
    [
        (
            (10, 4, 2),
            (10, 4, 1),
            12,
            linear(80, 120) + linear(120, 84) + linear(42, 120) + linear(120, 84) + linear(168, 12),
        ),
        ((10, 4, 2), None, 12, linear(80, 120) + linear(120, 84) + linear(84, 12)),
        ((10, 10, 3), (10, 10, 3), 5, 1_052_837),
        ((10, 10, 3), None, 5, linear(27, 16) + linear(1024, 512) + linear(512, 5)),
        (
            (32, 32, 3),
            (32, 32, 2),
            5,
            (linear(27, 16) + linear(36, 16))
            + 2 * (linear(144, 32) + linear(288, 32))
            + linear(2 * 4 * 4 * 32, 512)
            + linear(512, 5),
        ),
        (
            (84, 84, 4),
            (84, 84, 2),
            3,
            2 * (linear(256, 32) + linear(512, 64) + linear(576, 64)) + linear(2 * 3136, 512) + linear(512, 3),
        ),
        (
            (84, 84, 4),
            (21, 21, 2),
            3,
            (linear(256, 32) + linear(512, 64) + linear(576, 64))
            + (linear(36, 32) + linear(288, 64) + linear(576, 64))
            + linear(3136 + 3 * 3 * 64, 512)
            + linear(512, 3),
        ),
        # the features of a picture: a vector beside the convolutions
        (
            (84, 84, 1),
            (64,),
            3,
            (linear(64, 32) + linear(512, 64) + linear(576, 64))
            + (linear(66, 120) + linear(120, 84))
            + linear(3136 + 84, 512)
            + linear(512, 3),
        ),
    ],
)
def test_paper_networks_have_the_parameters_counted_by_hand(obs_shape, theta_shape, outputs, size):
    assert count(paper(spec_of(obs_shape, theta_shape, outputs))) == size


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((4,), "mlp"),
        ((10, 4, 2), "mlp"),
        ((10, 10, 3), "conv-small"),
        ((10, 10, 10), "conv-small"),
        ((32, 32, 3), "conv-large"),
        ((84, 84, 4), "atari"),
        ((210, 160, 3), "atari"),
    ],
)
def test_paper_kind(shape, kind):
    assert paper_kind(shape) == kind


def paper_oracle(params, seen):
    """The 10x10 network in NumPy, with a loop over cells."""

    def conv(layer, image):
        weight, bias = np.asarray(layer["weight"], np.float64), np.asarray(layer["bias"])
        cells = [np.tensordot(image[r : r + 3, c : c + 3], weight, axes=3) + bias for r in range(8) for c in range(8)]
        return np.maximum(np.concatenate(cells), 0)

    planes = np.ones((10, 10, 2)) * [seen.time, seen.arm]
    first = conv(params["obs"]["conv_0"], np.asarray(seen.obs, np.float64))
    second = conv(params["theta"]["conv_0"], np.concatenate([seen.theta, planes], axis=-1))
    hidden, last = params["head"]["dense_0"], params["head"]["dense_1"]
    x = np.maximum(np.asarray(hidden["weight"], np.float64) @ np.concatenate([first, second]) + hidden["bias"], 0)
    return np.asarray(last["weight"], np.float64) @ x + last["bias"]


def test_the_10x10_network_is_the_papers():
    built = build("paper conv-small")
    params = jax.tree.map(np.asarray, built.params)
    expected = [paper_oracle(params, Augmented(*example)) for example in zip(*built.seen, strict=True)]
    np.testing.assert_allclose(built.run(built.seen), np.stack(expected), atol=1e-4)
