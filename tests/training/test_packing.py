import jax
import jax.numpy as jnp
import pytest

from sadapt.training.packing import SMALL, packing
from tests.trees import identical


def tree():
    return {
        "number": jnp.float32(1.5),
        "flag": jnp.asarray(True),
        "key": jax.random.key(7),
        "keys": jax.random.split(jax.random.key(8), 3),
        "cells": jnp.arange(6.0).reshape(2, 3),
        "none": (),
        "empty": jnp.zeros((0, 4)),
        "limit": jnp.arange(SMALL),
        "large": jnp.arange(SMALL + 1),
    }


@pytest.mark.parametrize("over", [lambda f: f, jax.jit], ids=["outside", "compiled"])
@pytest.mark.parametrize("shapes", [tree, lambda: jax.eval_shape(tree)], ids=["arrays", "shapes"])
def test_a_tree_comes_out_of_its_packed_as_it_went_in(over, shapes):
    pack, unpack = packing(shapes())
    back = over(lambda x: unpack(pack(x)))(tree())
    assert jax.tree.structure(back) == jax.tree.structure(tree())
    identical(tree(), back)


def test_small_arrays_share_a_vector_and_large_ones_stay_the_same_buffer():
    given = tree()
    packed = packing(given).pack(given)
    assert len(packed.large) == 1
    sizes = {"float32": 1 + 6, "bool": 1, "int32": SMALL, "uint32": 2 + 3 * 2}
    assert {name: vector.shape for name, vector in packed.small.items()} == {k: (n,) for k, n in sizes.items()}
    assert packed.large[0] is given["large"]
