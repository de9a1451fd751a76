"""What every world must keep to, as one check that also serves worlds of one's own: `check(env)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Array, Env, State, Step
from sadapt.keys import as_bits

COMPARED_STEPS = 6
"""Steps on which plain, jitted and vmapped results are compared; few, since plain ones are slow."""

ON_DEATH = ("end", "soft", "shock")


def check(env: Env, *, seed: int = 0, steps: int = 200) -> None:
    """Raise an AssertionError that says what is wrong if `env` breaks the contract of `sadapt.envs.base.Env`."""
    key_types, key_pure, key_compiled, key_play, key_render = jax.random.split(jax.random.key(seed), 5)
    check_types(env, key_types)
    _check_pure(env, key_pure)
    _check_compiled(env, key_compiled)
    _check_play(env, key_play, steps)
    _check_render(env, key_render)


def check_types(env: Env, key: Array) -> None:
    """The quick part of `check`: what can be told without running anything."""
    _check_facts(env)
    _check_types(env, key)


def _require(env: Env, holds: Any, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"{env.name}: {sentence}")


def _check_facts(env: Env) -> None:
    """What an Env says about itself is possible."""
    depth = env.obs_shape[-1] if env.obs_shape else 0
    seen, agent = env.marginal_channels, env.agent_channel
    indices = f"from 0 to {depth - 1}"
    for holds, sentence in (
        (env.horizon > 0, f"horizon is {env.horizon}; an episode needs at least one step"),
        (env.num_actions > 0, "actions is empty; name at least one"),
        (depth > 0, f"obs_shape is {env.obs_shape}; its last axis must hold at least one channel"),
        (len(env.channels) == depth, f"obs_shape {env.obs_shape} has {depth} channels, but {env.channels} are named"),
        (seen, "marginal_channels is empty; name at least one channel for the marginal to model"),
        (len(set(seen)) == len(seen), f"marginal_channels {seen} names a channel twice"),
        (all(0 <= channel < depth for channel in seen), f"marginal_channels {seen} must be indices {indices}"),
        (agent is None or 0 <= agent < depth, f"agent_channel {agent} must be None or an index {indices}"),
        (env.on_death in ON_DEATH, f"on_death is {env.on_death!r}; choose one of: {', '.join(ON_DEATH)}"),
        (env.low < env.high, f"low {env.low} must be below high {env.high}"),
    ):
        _require(env, holds, sentence)


def _check_types(env: Env, key: Array) -> None:
    """Shapes and dtypes are the promised ones, and `step` keeps those of the state, as `lax.scan` needs."""
    state, obs = _traced(env, "reset(key)", env.reset, key)
    _check_obs_type(env, "reset", obs)
    _check_strong(env, "reset", state)
    after, step = _traced(env, "step(key, state, action)", env.step, key, state, jnp.int32(0))
    _require(env, isinstance(step, Step), f"step must return (state, Step), not (state, {type(step).__name__})")
    _check_obs_type(env, "step", step.obs)
    _check_scalar(env, "reward", step.reward, np.float32)
    _check_scalar(env, "terminated", step.terminated, np.bool_)
    _check_counters(env, step.counters)
    _check_carry(env, "step", state, after)
    _check_strong(env, "step", after)
    if env.reset_on is not None:
        again, obs = _traced(env, "reset_on(key, state)", env.reset_on, key, state)
        _check_obs_type(env, "reset_on", obs)
        _check_carry(env, "reset_on", state, again)


def _traced(env: Env, call: str, function: Callable[..., Any], *args: Any) -> tuple[Any, Any]:
    """The types that a call returns, or the reason why JAX cannot follow it."""
    try:
        result = jax.eval_shape(function, *args)
    except Exception as error:  # whatever the code of a world does
        reason = str(error).partition("\n")[0]
        raise AssertionError(f"{env.name}: {call} cannot be compiled by JAX: {reason}") from error
    _require(env, isinstance(result, tuple) and len(result) == 2, f"{call} must return a pair, the new state first")
    return result


def _check_obs_type(env: Env, source: str, obs: Any) -> None:
    promised = f"{np.dtype(env.obs_dtype).name}{list(env.obs_shape)}"
    _require(env, _type(obs) == promised, f"{source} gives an observation {_type(obs)}, but the Env says {promised}")


def _check_scalar(env: Env, name: str, value: Any, dtype: Any) -> None:
    expected = f"{np.dtype(dtype).name}[]"
    _require(env, _type(value) == expected, f"{name} must be {expected}, not {_type(value)}")


def _check_counters(env: Env, counters: Any) -> None:
    given = type(counters).__name__
    _require(env, isinstance(counters, dict), f"counters must be a dict, if need be an empty one, not {given}")
    reported, named = sorted(counters), sorted(env.counters)
    _require(env, reported == named, f"step reports the counters {reported}, but the Env names {named}")
    for name, value in counters.items():
        _require(env, _type(value).endswith("[]"), f"counter {name!r} must be a scalar, not {_type(value)}")


def _check_carry(env: Env, source: str, before: State, after: State) -> None:
    old, new = _structure(before), _structure(after)
    _require(env, old == new, f"{source} changes the structure of the state from {old} to {new}")
    for (path, one), other in zip(_leaves(before), jax.tree.leaves(after), strict=True):
        _require(env, _type(one) == _type(other), f"{source} changes state{path} from {_type(one)} to {_type(other)}")


def _check_strong(env: Env, source: str, state: State) -> None:
    for path, leaf in _leaves(state):
        remedy = "scan refuses that or compiles twice; give it a dtype, as in jnp.int32(0)"
        _require(env, not leaf.weak_type, f"{source} gives a weakly typed state{path}: {remedy}")


def _check_pure(env: Env, key: Array) -> None:
    """The same arguments give the same results: nothing is remembered outside of the state."""
    key_reset, key_step = jax.random.split(key)
    remedy = "draw with the key only and keep all memory in the state"
    _require(env, _equal(env.reset(key_reset), env.reset(key_reset)), f"reset differs for the same key; {remedy}")
    state, _ = env.reset(key_reset)
    once, again = (env.step(key_step, state, jnp.int32(env.num_actions - 1)) for _ in range(2))
    _require(env, _equal(once, again), f"step differs for the same key, state and action; {remedy}")


def _check_compiled(env: Env, key: Array) -> None:
    """Plain, jitted and vmapped results agree."""
    key_reset, key_actions, key_steps = jax.random.split(key, 3)
    state, obs = env.reset(key_reset)
    _require(env, _equal((state, obs), jax.jit(env.reset)(key_reset)), "jit changes what reset returns")
    jitted_step = jax.jit(env.step)
    calls, results = [], []
    for t, action in enumerate(_random_actions(env, key_actions, COMPARED_STEPS)):
        calls.append((jax.random.fold_in(key_steps, t), state, action))
        results.append(env.step(*calls[-1]))
        _require(env, _equal(results[-1], jitted_step(*calls[-1])), "jit changes what step returns")
        state, _ = results[-1]
    vmapped = jax.vmap(env.step)(*_stacked(calls))
    _require(env, _equal(_stacked(results), vmapped), "vmap changes what step returns")


def _check_play(env: Env, key: Array, steps: int) -> None:
    """Along random play, begun anew after every end, what is seen and paid keeps to its bounds."""
    reset, advance = jax.jit(env.reset), jax.jit(env.step)
    key_reset, key_actions, key_steps = jax.random.split(key, 3)
    state, obs = reset(key_reset)
    seen, paid = [obs], []
    for t, action in enumerate(_random_actions(env, key_actions, steps)):
        key_step = jax.random.fold_in(key_steps, t)
        state, step = advance(key_step, state, action)
        seen.append(step.obs)
        paid.append(step.reward)
        if step.terminated:
            state, obs = reset(key_step)
            seen.append(obs)
    _check_bounds(env, np.stack(seen))
    _check_agent(env, np.stack(seen))
    _require(env, np.isfinite(paid).all(), "a reward is not finite")


def _check_bounds(env: Env, seen: np.ndarray) -> None:
    outside = seen[~((seen >= env.low) & (seen <= env.high))]
    _require(env, outside.size == 0, f"an observation holds {outside[:1]}, outside of [{env.low}, {env.high}]")


def _check_agent(env: Env, seen: np.ndarray) -> None:
    if env.agent_channel is None:
        return
    for plane in seen[..., env.agent_channel]:
        single = np.count_nonzero(plane) == 1 and plane.max() == 1
        _require(env, single, f"agent_channel {env.agent_channel} must hold exactly one 1; it adds up to {plane.sum()}")


def _check_render(env: Env, key: Array) -> None:
    state, _ = env.reset(key)
    image = env.render(state)
    _require(env, isinstance(image, np.ndarray), f"render must return a numpy array, not {type(image).__name__}")
    picture = image.dtype == np.uint8 and image.ndim == 3 and image.shape[-1] == 3 and image.size > 0
    _require(env, picture, f"render must return uint8[height, width, 3], not {_type(image)}")


def _random_actions(env: Env, key: Array, steps: int) -> list[Array]:
    drawn = np.asarray(jax.random.randint(key, (steps,), 0, env.num_actions))
    return [jnp.int32(action) for action in drawn]


def _type(value: Any) -> str:
    """A type as people write it: `uint8[10, 10, 3]`."""
    return f"{value.dtype.name}{list(value.shape)}" if hasattr(value, "dtype") else type(value).__name__


def _structure(tree: Any) -> Any:
    return jax.tree.structure(tree)


def _leaves(tree: Any) -> list[tuple[str, Any]]:
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)]


def _stacked(trees: list[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _equal(a: Any, b: Any) -> bool:
    """Whether two pytrees hold the same; floats up to rounding, since compilers reorder sums."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=False)
    return _structure(a) == _structure(b) and all(_equal_leaves(_numbers(x), _numbers(y)) for x, y in pairs)


def _equal_leaves(x: np.ndarray, y: np.ndarray) -> bool:
    if x.shape == y.shape and np.issubdtype(x.dtype, np.inexact):
        return np.allclose(x, y, rtol=1e-4, atol=1e-6, equal_nan=True)
    return np.array_equal(x, y)


def _numbers(leaf: Any) -> np.ndarray:
    """A leaf on the host, typed keys by their bits."""
    return np.asarray(as_bits(leaf) if isinstance(leaf, jax.Array) else leaf)
