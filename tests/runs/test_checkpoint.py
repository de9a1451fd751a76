"""Checkpoints: whole or not at all, and every changed byte is noticed."""

from __future__ import annotations

import math
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.runs import checkpoint, tensors
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


@pytest.mark.parametrize("block", [8, 24, 1 << 24])
def test_from_disk_block_by_block(stored, monkeypatch, block):
    monkeypatch.setattr(tensors, "BLOCK", block)
    identical(tree(), checkpoint.tree_like(jax.eval_shape(tree), checkpoint.stored(stored)))


@given(shape=st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple), block=st.integers(4, 200))
def test_blocks_lie_side_by_side_and_cover_the_tensor_once(shape, block):
    whole = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    filled, ends = np.full(shape, -1, np.int32), [0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensors, "BLOCK", block)
        for starts, offset, size in tensors.blocks(shape, 4):
            assert offset == ends[-1]
            ends.append(offset + 4 * math.prod(size))
            assert 4 * math.prod(size) <= block
            part = whole.ravel()[offset // 4 : ends[-1] // 4].reshape(size)
            filled[tuple(slice(a, a + b) for a, b in zip(starts, size, strict=True))] = part
    np.testing.assert_array_equal(filled, whole)


MEASURED = """
import sys
from pathlib import Path
import jax, jax.numpy as jnp
from sadapt.runs import checkpoint
from sadapt.runs.checkpoint import Shelf

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

def tree(size):
    return {"frames": jnp.full((1, size, 1024, 1024), 1, jnp.uint8), "small": jnp.arange(3)}

def taken_up(shelf, size):
    path = next(shelf.newest())
    checkpoint.facts_of(path)
    state = checkpoint.tree_like(jax.eval_shape(lambda: tree(size)), checkpoint.stored(path))
    shelf.save(state, 2, {})
    return state

large, small = (Shelf(Path(sys.argv[1]) / name) for name in ("large", "small"))
if sys.argv[2] == "write":
    large.save(tree(160), 1, {})
    small.save(tree(8), 1, {})
else:
    taken_up(small, 8)  # what compiling takes is not counted
    before = peak()
    state = taken_up(large, 160)
    print((peak() - before) / (160 << 20))
    assert bool(jnp.all(state["frames"] == 1))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is told in /proc")
def test_taking_up_a_run_and_saving_it_takes_its_memory_once(tmp_path):
    """Beyond what the program takes anyway, a quarter of the state at most."""
    told = ""
    for what in ("write", "read"):
        words = [sys.executable, "-c", MEASURED, str(tmp_path), what]
        told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert 0.5 < float(told) < 1.25


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


def test_a_new_checkpoint_never_loses_to_later_names(tmp_path):
    shelf = Shelf(tmp_path)
    for step in (10, 20, 30):
        (tmp_path / f"step-{step:012d}.safetensors").write_bytes(b"damaged")
    assert shelf.save({"x": jnp.zeros(3)}, 15, {}) == next(shelf.newest())
    assert [path.name for path in shelf.paths()] == ["step-000000000010.safetensors", "step-000000000015.safetensors"]


def test_a_failed_write_leaves_nothing(tmp_path):
    with pytest.raises(checkpoint.DiskTrouble):
        checkpoint.write(tmp_path / "nowhere" / "a.safetensors", {"x": np.zeros(3)}, {})
    assert list(tmp_path.iterdir()) == []
