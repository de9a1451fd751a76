"""What only few worlds need: the same values as when it is computed for all, and not computed when nobody asks."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt.rarely import one_by_one, rarely

CALLS: list[int] = []


def drawn(key: jax.Array, x: jax.Array) -> jax.Array:
    """Costs something, and says that it was computed."""
    jax.debug.callback(lambda: CALLS.append(1))
    return x + jax.random.uniform(key, x.shape)


def both(which: jax.Array, key: jax.Array, x: jax.Array) -> jax.Array:
    return rarely(which, drawn, x, key, x)


@pytest.fixture
def worlds() -> tuple[jax.Array, jax.Array]:
    return jax.random.split(jax.random.key(0), 5), jnp.arange(15.0).reshape(5, 3)


@pytest.mark.parametrize("asking", [[], [2], [0, 1, 2, 3, 4]])
def test_each_world_gets_what_it_would_get_alone(worlds: tuple[jax.Array, jax.Array], asking: list[int]) -> None:
    keys, x = worlds
    which = jnp.isin(jnp.arange(5), jnp.asarray(asking, jnp.int32))
    side_by_side = jax.jit(jax.vmap(both))(which, keys, x)
    for i in range(5):
        alone = x[i] + jax.random.uniform(keys[i], (3,)) if i in asking else x[i]
        np.testing.assert_array_equal(side_by_side[i], alone)
        np.testing.assert_array_equal(both(which[i], keys[i], x[i]), alone)


@pytest.mark.parametrize(("asks", "computed"), [(False, False), (True, True)])
def test_nothing_is_computed_where_nobody_asks(worlds: tuple[jax.Array, jax.Array], asks: bool, computed: bool) -> None:
    CALLS.clear()
    jax.block_until_ready(jax.jit(jax.vmap(both))(jnp.full(5, False).at[3].set(asks), *worlds))
    jax.effects_barrier()
    assert bool(CALLS) == computed


def test_what_all_worlds_share_need_not_be_repeated(worlds: tuple[jax.Array, jax.Array]) -> None:
    keys, x = worlds
    which = jnp.arange(5) % 2 == 0
    told = jax.vmap(both, in_axes=(0, 0, None))(which, keys, x[0])
    assert told.shape == (5, 3)
    np.testing.assert_array_equal(told[1], x[0])


def test_worlds_of_several_seeds(worlds: tuple[jax.Array, jax.Array]) -> None:
    keys, x = worlds
    which = jnp.asarray([[True, False, False, False, True], [False] * 5])
    told = jax.vmap(jax.vmap(both, in_axes=(0, 0, 0)), in_axes=(0, None, None))(which, keys, x)
    np.testing.assert_array_equal(told[0], jax.vmap(both)(which[0], keys, x))
    np.testing.assert_array_equal(told[1], x)


def alone(which: jax.Array, key: jax.Array, x: jax.Array) -> jax.Array:
    return one_by_one(which, drawn, -x, key, x)


@pytest.mark.parametrize("asking", [[], [2], [0, 3], [0, 1, 2, 3, 4]])
def test_one_by_one_only_those_who_ask_are_computed(worlds: tuple[jax.Array, jax.Array], asking: list[int]) -> None:
    keys, x = worlds
    which = jnp.isin(jnp.arange(5), jnp.asarray(asking, jnp.int32))
    CALLS.clear()
    told = jax.jit(jax.vmap(alone))(which, keys, x)
    jax.block_until_ready(told)
    jax.effects_barrier()
    assert len(CALLS) == len(asking)
    for i in range(5):
        expected = x[i] + jax.random.uniform(keys[i], (3,)) if i in asking else -x[i]
        np.testing.assert_array_equal(told[i], expected)
        np.testing.assert_array_equal(alone(which[i], keys[i], x[i]), expected)


def test_one_by_one_of_several_seeds(worlds: tuple[jax.Array, jax.Array]) -> None:
    keys, x = worlds
    which = jnp.asarray([[True, False, False, False, True], [False, True, False, False, False]])
    told = jax.vmap(jax.vmap(alone), in_axes=(0, None, None))(which, keys, x)
    for seed in range(2):
        np.testing.assert_array_equal(told[seed], jax.vmap(alone)(which[seed], keys, x))
