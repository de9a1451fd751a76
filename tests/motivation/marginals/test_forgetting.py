"""Marginals that forget, against weights worked out observation by observation in 64 bits."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.errors import UserError
from sadapt.motivation.building import build_marginal
from sadapt.motivation.marginals import InputSpec, bernoulli
from sadapt.motivation.marginals.base import MAX_COUNT
from sadapt.motivation.marginals.forgetting import MemorySettings, fading, sliding
from sadapt.registry import TABLES, Choice, find
from tests.motivation.marginals.examples import BINARY, REAL, SHAPE, after

FAMILIES = sorted(name for name, part in TABLES["marginal"].items() if not part.foreign)
"""Every family of ours, those that are still to come too."""
BITS = InputSpec("world", SHAPE, np.dtype(np.uint8), 0, 1)
PICTURE = BITS._replace(shape=(6, 6, 1), sample=lambda: np.random.default_rng(7).integers(0, 2, (256, 6, 6, 1)))
PARTS = BITS._replace(shape=(6,), parts=(BITS._replace(source="map", shape=(2, 2)), BITS._replace(shape=(2,))))
SPECS = {"features": PICTURE, "neighbours": PICTURE, "mixture": PARTS}
"""What families see that cannot see plain bits."""
FORGETFUL = sorted({*FAMILIES} - {"neighbours"})
"""All but the one that has a memory of its own."""


def made(name, memory=MemorySettings(), spec=BITS, xp=np):
    return build_marginal(spec, Choice(name, find("marginal", name).defaults()), {}, memory, xp=xp)


def weighted(seen, weights):
    """Mean and variance per entry under these weights."""
    share = np.asarray(weights, np.float64) / np.sum(weights)
    mean = np.tensordot(share, seen.astype(np.float64), 1)
    return mean, np.tensordot(share, (seen - mean) ** 2, 1)


def expected(name, seen, weights):
    """theta of our families, by hand."""
    mean, variance = weighted(seen, weights)
    if name == "gaussian":
        return np.concatenate([mean, np.maximum(variance, 0.1**2)], axis=-1)
    total = np.sum(weights)
    return (mean * total + 0.5) / (total + 1) if name == "kt" else mean


@pytest.mark.parametrize("name", ["bernoulli", "gaussian", "kt"])
@given(seen=BINARY, half_life=st.sampled_from([1.0, 2.5, 40.0]))
def test_what_was_seen_k_steps_ago_weighs_half_to_the_k_over_h(name, seen, half_life):
    marginal = made(name, MemorySettings(half_life=half_life))
    weights = 0.5 ** (np.arange(len(seen))[::-1] / half_life)
    theta = marginal.features(after(marginal, seen))
    np.testing.assert_allclose(theta, expected(name, seen, weights), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["bernoulli", "gaussian", "kt"])
@given(seen=BINARY, window=st.integers(1, 5))
def test_a_window_is_a_fresh_marginal_of_its_content(name, seen, window):
    marginal = made(name, MemorySettings(window=window))
    latest = seen[-window:]
    theta = marginal.features(after(marginal, seen))
    np.testing.assert_allclose(theta, expected(name, latest, np.ones(len(latest))), rtol=1e-5, atol=1e-6)


@given(seen=REAL, window=st.integers(1, 5))
def test_a_window_of_numbers(seen, window):
    spec = InputSpec("world", SHAPE, np.dtype(np.float32), -100, 100)
    windowed, plain = made("gaussian", MemorySettings(window=window), spec), made("gaussian", spec=spec)
    one, other = after(windowed, seen), after(plain, seen[-window:])
    np.testing.assert_allclose(windowed.features(one), plain.features(other), rtol=1e-3, atol=0.05)


@pytest.mark.parametrize("memory", [MemorySettings(half_life=3.0), MemorySettings(window=3)], ids=["fading", "window"])
@pytest.mark.parametrize("name", FORGETFUL)
def test_every_family_forgets(name, memory):
    """Two pasts that differ, then the same observations for long: nothing is left of the difference."""
    spec = SPECS.get(name, BITS)
    marginal = made(name, memory, spec)
    random = np.random.default_rng(3)
    same = random.integers(0, 2, (200, *spec.shape)).astype(np.uint8)
    pasts = [np.full((20, *spec.shape), bit, np.uint8) for bit in (0, 1)]
    one, other = (after(marginal, np.concatenate([past, same])) for past in pasts)
    np.testing.assert_allclose(marginal.features(one), marginal.features(other), rtol=1e-4, atol=1e-5)
    likely = marginal.log_prob(one, same[0])
    np.testing.assert_allclose(likely, marginal.log_prob(other, same[0]), rtol=1e-4)
    assert np.isfinite(likely)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("memory", [MemorySettings(), MemorySettings(half_life=math.inf)], ids=["none", "infinite"])
def test_no_forgetting_is_the_family_itself(name, memory):
    """Byte by byte, the state's dtypes among it."""
    spec = SPECS.get(name, BITS)
    seen = np.random.default_rng(0).integers(0, 2, (30, *spec.shape)).astype(np.uint8)
    plain, kept = made(name, spec=spec), made(name, memory, spec)
    assert kept.filled is None
    for one, other in zip(*(jax.tree.leaves(after(each, seen)) for each in (plain, kept)), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("memory", [MemorySettings(half_life=4.0), MemorySettings(window=4)], ids=["fading", "window"])
@pytest.mark.parametrize("name", ["bernoulli", "gaussian", "kt"])
def test_compiled_equals_plain_and_keeps_its_types(name, memory):
    seen = jnp.asarray(np.random.default_rng(1).integers(0, 2, (5, 11, *SHAPE)), jnp.uint8)
    compiled, plain = made(name, memory, xp=jnp), made(name, memory)

    def watch(seen):
        return jax.lax.scan(lambda state, obs: (compiled.update(state, obs), None), compiled.init(), seen)[0]

    states = jax.jit(jax.vmap(watch))(seen)
    for world in range(5):
        np.testing.assert_allclose(
            jax.vmap(compiled.features)(states)[world],
            plain.features(after(plain, np.asarray(seen[world]))),
            rtol=1e-5,
            atol=1e-6,
        )


@pytest.mark.parametrize("memory", [MemorySettings(half_life=4.0), MemorySettings(window=3)], ids=["fading", "window"])
def test_filled_is_the_share_of_the_memory_in_use(memory):
    """With a half-life n / (1 / (1 - l)), by the count of the state itself; in a window what is in it."""
    marginal = made("bernoulli", memory)
    for t in range(9):
        state = after(marginal, np.zeros((t + 1, *SHAPE), np.uint8))
        share = min(t + 1, 3) / 3 if memory.window else float(state.count) * (1 - 0.5**0.25)
        assert float(marginal.filled(np.int32(t))) == pytest.approx(share, rel=1e-5)


def test_theta_and_time_are_all_that_the_next_theta_needs():
    """Two histories that have come to the same theta at the same time have the same thetas from then on."""
    marginal = fading(bernoulli((1,), xp=np), 1.0)
    one, other = (after(marginal, np.array(bits, np.uint8)[:, None]) for bits in ([0, 0, 1], [0, 0, 1]))
    other = other._replace(ones=np.asarray(marginal.features(other) * other.count, np.float32))
    for bit in (0, 1, 1, 0):
        obs = np.array([bit], np.uint8)
        one, other = marginal.update(one, obs), marginal.update(other, obs)
        np.testing.assert_array_equal(marginal.features(one), marginal.features(other))


@functools.cache
def long_run(memory, steps):
    """theta of two families after very many tosses, and the last of these."""
    spec = InputSpec("coins", (5,), np.dtype(np.uint8), 0, 1)
    marginals = [made(name, memory, spec, jnp) for name in ("bernoulli", "gaussian")]

    def step(states, number):
        obs = tossed(number)
        return [each.update(state, obs) for each, state in zip(marginals, states, strict=True)], None

    states = jax.jit(lambda: jax.lax.scan(step, [each.init() for each in marginals], jnp.arange(steps))[0])()
    last = jax.jit(jax.vmap(tossed))(jnp.arange(steps - LAST, steps))
    return [np.asarray(each.features(state)) for each, state in zip(marginals, states, strict=True)], np.asarray(last)


def tossed(number):
    """Coins with heads of 0 to 1."""
    bits = jax.random.bits(jax.random.fold_in(jax.random.key(0), number), (5,), jnp.uint16)
    return (bits.astype(jnp.float32) < jnp.linspace(0.0, 1.0, 5) * 65536).astype(jnp.uint8)


LAST = 20_000
"""Steps of which something is left."""
DAY = 24 * 60 * 60 * 25_000 // 64
"""Steps of each of 64 worlds in a day of 25,000 steps a second, which is all that 32 bits count."""


@pytest.mark.parametrize("steps", [200_000, pytest.param(DAY, marks=pytest.mark.slow)], ids=["short", "day"])
@pytest.mark.parametrize("memory", [MemorySettings(half_life=500.0), MemorySettings(window=300)], ids=str)
def test_a_day_of_steps_leaves_no_drift(memory, steps):
    """theta is that of the last steps in 64 bits: rounding is forgotten as everything else is."""
    (bits, numbers), last = long_run(memory, steps)
    if memory.window is None:
        weights = 0.5 ** (np.arange(len(last))[::-1] / memory.half_life)
    else:
        weights = np.arange(len(last)) >= len(last) - memory.window
    mean, variance = weighted(last, weights)
    np.testing.assert_allclose(bits, mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(numbers, np.concatenate([mean, np.maximum(variance, 0.01)]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"half_life": 0.5}, "--half-life must be at least 1 step; got 0.5"),
        ({"half_life": 0}, "--half-life must be at least 1 step"),
        ({"half_life": math.nan}, "--half-life must be a number"),
        ({"window": 0}, "--window must be at least 1"),
        ({"half_life": 3, "window": 4}, "give one"),
    ],
)
def test_impossible_memories_are_refused(given, message):
    with pytest.raises(UserError, match=message):
        MemorySettings(**given)


@pytest.mark.parametrize("memory", [MemorySettings(half_life=3.0), MemorySettings(window=3)], ids=["fading", "window"])
def test_what_has_a_memory_of_its_own_is_refused(memory):
    with pytest.raises(UserError, match=r"cannot (fade|remove)"):
        made("neighbours", memory, PICTURE)


def test_what_cannot_forget_is_refused():
    stubborn = bernoulli(SHAPE, xp=np)._replace(fade=None, remove=None)
    with pytest.raises(UserError, match="cannot fade"):
        fading(stubborn, 3.0)
    with pytest.raises(UserError, match="cannot remove"):
        sliding(stubborn, BITS, 3, xp=np)
    with pytest.raises(UserError, match="less than"):
        sliding(bernoulli(SHAPE, xp=np), BITS, MAX_COUNT, xp=np)
