"""Four virtual devices: seeds that are spread over them, and worlds too, learn what they learn on one."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

FOUR = "--xla_force_host_platform_device_count=4"
START = """
    import jax, numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec
    from tests.training.test_program import tiny
    from sadapt.training import compiled
    from sadapt.training.program import build

    devices = jax.devices()
    assert len(devices) == 4
    prog = build(tiny("pqn"))
    prog = prog._replace(parts=prog.parts._replace(learner=prog.learner._replace(chunk_steps=320)))

    def everywhere(tree, count):
        return {len(leaf.sharding.device_set) for leaf in jax.tree.leaves(tree)} == {count}

    def numbers(tree):
        return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]

    def compare(spread, alone):
        for a, b in zip(numbers(spread), numbers(alone), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)
"""
SEEDS = """
    states = compiled.launch_seeds(prog, [5, 6, 7, 8])
    assert everywhere(states.learner.params, 4)
    alone = jax.device_put(states, devices[0])
    spread = jax.jit(jax.vmap(compiled.chunk(prog)))(states)
    alone = jax.jit(jax.vmap(compiled.chunk(prog)))(alone)
    assert everywhere(spread.learner.params, 4) and everywhere(alone.learner.params, 1)
    compare((spread.learner.params, spread.tally), (alone.learner.params, alone.tally))
    odd = compiled.launch_seeds(prog, [5, 6, 7])
    assert everywhere(odd.learner.params, 1)
"""
WORLDS = """
    state = compiled.launch(prog, 5)
    mesh = Mesh(np.asarray(devices), ("worlds",))
    each, all_of_it = (NamedSharding(mesh, PartitionSpec(*names)) for names in (("worlds",), ()))
    where = jax.tree.map(lambda _: all_of_it, state)
    where = where._replace(episodes=jax.tree.map(lambda _: each, state.episodes))
    spread = jax.jit(compiled.chunk(prog))(jax.device_put(state, where))
    alone = jax.jit(compiled.chunk(prog))(jax.device_put(state, devices[0]))
    compare((spread.learner.params, spread.tally), (alone.learner.params, alone.tally))
"""


@pytest.mark.slow
@pytest.mark.parametrize("code", [SEEDS, WORLDS], ids=["seeds", "worlds"])
def test_spread_over_devices_the_numbers_are_the_same(code):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(START) + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"{FOUR} {os.environ.get('XLA_FLAGS', '')}"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
