"""Checkpoints: whole or not at all, and every changed byte is noticed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.runs import checkpoint
from sadapt.runs.checkpoint import Damaged, Shelf
from tests.trees import identical

FACTS = {"step": 3, "nested": {"a": [1, 2.5, None, "ä"]}}


def tree():
    return {
        "key": jax.random.key(3),
        "keys": jax.random.split(jax.random.key(4), 3),
        "nothing": (),
        "numbers": (jnp.arange(6, dtype=jnp.uint16).reshape(2, 3), jnp.float32(2.5), jnp.asarray([True, False])),
    }


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "a.safetensors"
    checkpoint.write(path, checkpoint.tensors_of(tree()), FACTS)
    return path


def test_there_and_back(stored):
    tensors, facts = checkpoint.read(stored)
    assert facts == FACTS
    back = checkpoint.tree_like(jax.eval_shape(tree), tensors)
    identical(tree(), back)


@given(data=st.data())
def test_every_flipped_bit_is_noticed(stored, tmp_path_factory, data):
    whole = bytearray(stored.read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= 1 << data.draw(st.integers(0, 7))
    broken = tmp_path_factory.mktemp("flipped") / "b.safetensors"
    broken.write_bytes(whole)
    with pytest.raises(Damaged):
        checkpoint.read(broken)


@given(data=st.data())
def test_every_cut_is_noticed(stored, tmp_path_factory, data):
    whole = stored.read_bytes()
    broken = tmp_path_factory.mktemp("cut") / "b.safetensors"
    broken.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(Damaged):
        checkpoint.read(broken)


def test_appended_bytes_are_noticed(stored, tmp_path):
    broken = tmp_path / "b.safetensors"
    broken.write_bytes(stored.read_bytes() + b"\0")
    with pytest.raises(Damaged, match="checksum"):
        checkpoint.read(broken)


def test_another_shape_is_no_match(stored):
    tensors, _ = checkpoint.read(stored)
    other = {**tree(), "key": jnp.zeros(3)}
    with pytest.raises(Damaged, match="key is uint32"):
        checkpoint.tree_like(other, tensors)
    with pytest.raises(Damaged, match="other parts"):
        checkpoint.tree_like({"key": jax.random.key(0)}, tensors)


def test_the_last_two_are_kept_and_remains_are_swept(tmp_path):
    shelf = Shelf(tmp_path / "checkpoints")
    shelf.folder.mkdir()
    (shelf.folder / "step-000000000001.safetensors.partial").write_bytes(b"half")
    for step in (5, 20, 100):
        shelf.save({"x": jnp.zeros(3)}, step, {})
    assert [path.name for path in shelf.paths()] == ["step-000000000020.safetensors", "step-000000000100.safetensors"]
    assert sorted(shelf.folder.iterdir()) == shelf.paths()


def test_a_failed_write_leaves_nothing(tmp_path):
    with pytest.raises(checkpoint.DiskTrouble):
        checkpoint.write(tmp_path / "nowhere" / "a.safetensors", {"x": np.zeros(3)}, {})
    assert list(tmp_path.iterdir()) == []
