"""`examples/house`: its rules by hand-made positions, and that it is what its stories need."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.envs import registry
from sadapt.envs.contract import check

STAY, LEFT, UP, RIGHT, DOWN = range(5)
KEY = jax.random.key(0)


@pytest.fixture
def house(examples):
    """The example's module, its worlds registered."""
    import house as module

    return module


def walked(env, *actions):
    """The last step of a walk from the start."""
    world, _ = env.reset(KEY)
    for number, action in enumerate(actions):
        world, step = env.step(jax.random.fold_in(KEY, number), world, jnp.int32(action))
    return step


@pytest.mark.parametrize("name", ["house", "house-tv", "house-flicker"])
def test_the_contract_holds(house, name):
    check(registry.make(name), steps=30)


def test_in_the_closet_nothing_is_seen(house):
    step = walked(registry.make("house-flicker"), UP)
    assert not np.any(step.obs)
    assert step.counters["in_the_dark"] == 1
    assert step.counters["watching"] == 0


@pytest.mark.parametrize(("name", "watches"), [("house", False), ("house-tv", True), ("house-flicker", True)])
def test_the_screen_is_seen_from_its_room(house, name, watches):
    step = walked(registry.make(name), RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, UP, UP)
    assert bool(step.counters["watching"]) == watches
    assert bool(step.obs[..., 3].any()) == watches
    assert np.argwhere(step.obs[..., 1]).tolist() == [[4, 5]]


def test_from_the_corridor_the_screen_is_seen_only_where_it_flickers_everywhere(house):
    seen = {name: bool(walked(registry.make(name), RIGHT).obs[..., 3].any()) for name in house.SEEN_FROM}
    assert seen == {"house": False, "house-tv": False, "house-flicker": True}


def test_the_way_out_pays_once(house):
    env = registry.make("house")
    world, _ = env.reset(KEY)
    there = env.scripted["to the way out"]
    paid = []
    for number in range(60):
        world, step = env.step(jax.random.fold_in(KEY, number), world, there(KEY, world, None))
        paid.append(float(step.reward))
    assert sum(paid) == 1
    assert paid.index(1.0) == 11 + 2 + 11 + 2 + 6 - 1
    assert not np.any(step.obs[..., 2])
