"""What networks see, whichever they are."""

from __future__ import annotations

import numpy as np
import pytest

from sadapt.learners.networks import paper, plain
from sadapt.learners.networks.plain import plain_conv
from sadapt.learners.table import PlainSettings
from tests.learners.networks.built import forward, random_params, scene, spec_of


@pytest.mark.parametrize("factory", [paper, plain, lambda spec: plain_conv(spec, PlainSettings())])
def test_scale_multiplies_s_and_nothing_else(factory):
    maps, images = (factory(spec_of((6, 5, 2), (6, 5, 2), scale=scale)) for scale in (1.0, 1 / 255))
    params, seen = random_params(maps), scene(0, (6, 5, 2), (6, 5, 2))
    grey = seen._replace(obs=seen.obs * np.uint8(255))
    np.testing.assert_allclose(forward(maps, params, seen), forward(images, params, grey), atol=1e-4)
