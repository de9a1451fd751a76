"""The network for pictures: sizes by hand, bytes scaled, other shapes refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.errors import UserError
from sadapt.learners.networks.screen import screen
from sadapt.learners.table import PlainSettings
from sadapt.motivation.augmented import Augmented
from tests.learners.networks.built import spec_of


def test_sizes_by_hand():
    """42 x 42: (42 - 6) / 3 + 1 = 13, (13 - 4) / 2 + 1 = 5; 5 * 5 * 32 + 21 * 21 * 2 + 2 = 1684 inputs of the dense."""
    network = screen(spec_of((42, 42, 4), (21, 21, 2)), PlainSettings(hidden=64))
    params = jax.eval_shape(network.init, jax.random.key(0))
    assert params["conv_0"]["linear"]["weight"].shape == (6, 6, 4, 16)
    assert params["conv_1"]["linear"]["weight"].shape == (4, 4, 16, 32)
    assert params["dense"]["linear"]["weight"].shape == (64, 1684)
    assert params["head"]["weight"].shape == (5, 64)


def test_bytes_are_what_their_shares_are():
    obs = np.random.default_rng(0).integers(0, 256, (22, 22, 1)).astype(np.uint8)
    bytes_, shares = screen(spec_of((22, 22, 1), scale=1 / 255)), screen(spec_of((22, 22, 1)))
    params = bytes_.init(jax.random.key(1))
    seen = [Augmented(jnp.asarray(each), None, None, None) for each in (obs, obs.astype(np.float32) / 255)]
    views = [jax.tree.map(lambda x: x[None], net.view(one)) for net, one in zip((bytes_, shares), seen, strict=True)]
    np.testing.assert_allclose(bytes_.apply(params, views[0]), shares.apply(params, views[1]), rtol=1e-3, atol=1e-4)


def test_a_vector_is_refused():
    with pytest.raises(UserError, match="height x width x channels"):
        screen(spec_of((4,)))
