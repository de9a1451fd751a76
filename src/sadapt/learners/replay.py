"""Replay of a million steps that fits a laptop.

Each frame is kept once, in a ring per world, bits packed when it is binary. theta is not kept at all: it is a function
of the episode's frames, rebuilt from a snapshot of the marginal every `interval` frames with the marginal's own
`update`. An episode of L steps takes L + 1 places, so that the successor of its last step is the true final frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sadapt.envs.base import Facts
from sadapt.errors import UserError
from sadapt.motivation.augmented import Augmented
from sadapt.motivation.episode import Episode, Transition
from sadapt.motivation.marginals import Marginal, MarginalState

Array = jax.Array
STEP, FINAL, TERMINAL = 0, 1, 2
TRIES = 4
"""Draws per sample; a place is no step with probability 1 / (episode length + 1), so four in a row hardly ever miss."""


class ReplayState(NamedTuple):
    """Rings of all worlds one after another: place = world * capacity + index % capacity."""

    frames: Array
    snapshots: MarginalState
    """The marginal at every place whose index divides by the interval; one spare row takes what is not kept."""
    t: Array
    arm: Array
    action: Array
    surprise: Array
    extrinsic: Array
    kind: Array
    """STEP, TERMINAL (a step beyond which no value lies) or FINAL (an episode's last frame: no step begins there)."""
    head: Array
    """Per world, the index of the current frame; it only grows."""


class Batch(NamedTuple):
    """Sampled transitions with their augmented observations before and after."""

    before: Augmented
    after: Augmented
    t: Array
    arm: Array
    action: Array
    surprise: Array
    extrinsic: Array
    terminal: Array


class Replay(NamedTuple):
    """Pure functions over the rings; `observe` writes in place when its argument is donated or carried."""

    init: Callable[[Episode], ReplayState]
    observe: Callable[[ReplayState, Array, Transition, Episode], ReplayState]
    restart: Callable[[ReplayState, Episode], ReplayState]
    """`restart(state, episodes)` goes on with fresh episodes; those under way end with the frame they are at."""
    sample: Callable[[Array, ReplayState, int], Batch]
    recall: Callable[[ReplayState, Array, Array], Augmented]
    """`recall(state, world, index)` is the augmented observation there, one example."""
    steps: int
    """Steps that it was asked to keep."""
    bytes: int
    """Memory that `init` allocates."""


def replay(
    env: Facts, marginal: Marginal, *, capacity: int, num_envs: int = 1, horizon: int, interval: int = 16
) -> Replay:
    """A replay of `capacity` steps in all, spread over `num_envs` rings."""
    length = -(-capacity // (num_envs * interval)) * interval
    if length < 2 * interval or length < 2:
        raise UserError(
            f"a replay of {capacity} steps for {num_envs} worlds leaves {capacity // num_envs} a world; "
            f"it needs at least {2 * interval}: raise --buffer-size or lower --num-envs"
        )
    size = int(np.prod(env.obs_shape))
    worlds = jnp.arange(num_envs)
    spare = num_envs * length // interval

    def pack(obs: Array) -> Array:
        newest = obs[..., -env.obs_shape[-1] :]
        flat = newest.reshape(*obs.shape[: -len(env.obs_shape)], size)
        return jnp.packbits(flat.astype(jnp.uint8), axis=-1) if env.binary else flat

    def unpack(stored: Array) -> Array:
        if env.binary:
            stored = jnp.unpackbits(stored, axis=-1, count=size)
        return stored.reshape(*stored.shape[:-1], *env.obs_shape).astype(env.obs_dtype)

    def place(index: Array, world: Array = worlds) -> Array:
        return world * length + index % length

    def put(buffer: Array, where: Array, rows: Array) -> Array:
        if num_envs == 1:
            return jax.lax.dynamic_update_index_in_dim(buffer, rows[0].astype(buffer.dtype), where[0], 0)
        return buffer.at[where].set(rows.astype(buffer.dtype), mode="promise_in_bounds")

    def put_snapshot(snapshots: MarginalState, index: Array, rows: MarginalState) -> MarginalState:
        where = jnp.where(index % interval == 0, place(index) // interval, spare)
        return jax.tree.map(lambda kept, new: put(kept, where, new), snapshots, rows)

    def init(episodes: Episode) -> ReplayState:
        places = num_envs * length
        one = jax.tree.map(lambda x: x[0], episodes.marginal)
        state = ReplayState(
            frames=jnp.zeros((places, *pack(episodes.obs[0]).shape), pack(episodes.obs[0]).dtype),
            snapshots=jax.tree.map(lambda x: jnp.zeros((spare + 1, *x.shape), x.dtype), one),
            t=jnp.zeros(places, jnp.uint16),
            arm=jnp.zeros(places, jnp.uint8),
            action=jnp.zeros(places, jnp.uint8),
            surprise=jnp.zeros(places, jnp.float32),
            extrinsic=jnp.zeros(places, jnp.float32),
            kind=jnp.full(places, FINAL, jnp.uint8),
            head=jnp.zeros(num_envs, jnp.int32),
        )
        return begin_at(state, state.head, episodes)

    def begin_at(state: ReplayState, index: Array, episodes: Episode) -> ReplayState:
        where = place(index)
        return state._replace(
            frames=put(state.frames, where, pack(episodes.obs)),
            snapshots=put_snapshot(state.snapshots, index, episodes.marginal),
            t=put(state.t, where, episodes.t),
            arm=put(state.arm, where, episodes.arm),
            head=index,
        )

    def observe(state: ReplayState, action: Array, seen: Transition, episodes: Episode) -> ReplayState:
        here, after = place(state.head), place(state.head + 1)
        state = state._replace(
            action=put(state.action, here, action),
            surprise=put(state.surprise, here, seen.surprise),
            extrinsic=put(state.extrinsic, here, seen.extrinsic),
            kind=put(put(state.kind, here, jnp.where(seen.terminal, TERMINAL, STEP)), after, jnp.full(num_envs, FINAL)),
            frames=put(state.frames, after, pack(seen.successor)),
            snapshots=put_snapshot(state.snapshots, state.head + 1, seen.marginal),
            t=put(state.t, after, seen.t + 1),
            arm=put(state.arm, after, seen.arm),
        )
        return begin_at(state, state.head + 1 + seen.closed.astype(jnp.int32), episodes)

    def restart(state: ReplayState, episodes: Episode) -> ReplayState:
        return begin_at(state, state.head + 1, episodes)

    def recall(state: ReplayState, world: Array, index: Array) -> Augmented:
        frames = stack_at(state, world, index, env.stack)
        return look(state, world, index, frames, rebuild(state, world, index))

    def rebuild(state: ReplayState, world: Array, index: Array) -> MarginalState:
        t = state.t[place(index, world)].astype(jnp.int32)
        base = index // interval * interval
        within = index - t > base
        kept = jax.tree.map(lambda x: x[place(base, world) // interval], state.snapshots)
        start = jax.tree.map(lambda a, b: jnp.where(within, a, b), marginal.init(), kept)
        first = jnp.where(within, index - t, base + 1)

        def add(offset: Array, rebuilt: MarginalState) -> MarginalState:
            at = base + offset
            frame = unpack(state.frames[place(at, world)])
            updated = marginal.update(rebuilt, env.seen(frame))
            return jax.tree.map(lambda a, b: jnp.where((first <= at) & (at <= index), a, b), updated, rebuilt)

        return jax.lax.fori_loop(0, interval, add, start)

    def stack_at(state: ReplayState, world: Array, index: Array, count: int) -> Array:
        """The latest `count` frames of the episode at `index`, its first one repeated where there are fewer."""
        t = state.t[place(index, world)].astype(jnp.int32)
        indices = index - jnp.minimum(jnp.arange(count - 1, -1, -1), t)
        # In order already; but what comes before a sort XLA computes once, and not anew for every cell that is read.
        _, places = jax.lax.sort((indices, place(indices, world)))
        frames = jnp.moveaxis(unpack(state.frames[places]), 0, -2)
        return frames.reshape(*frames.shape[:-2], -1)

    def look(state: ReplayState, world: Array, index: Array, obs: Array, rebuilt: MarginalState) -> Augmented:
        where = place(index, world)
        return Augmented(
            obs=obs,
            theta=marginal.features(rebuilt),
            time=state.t[where].astype(jnp.float32) / horizon,
            arm=state.arm[where].astype(jnp.float32),
        )

    def draw(key: Array, state: ReplayState) -> tuple[Array, Array]:
        """A uniformly drawn place whose frames since the last snapshot, and in its stack, are all still there."""
        key_world, key_index = jax.random.split(key)
        world = jax.random.randint(key_world, (TRIES,), 0, num_envs)
        head = state.head[world]
        oldest = jnp.maximum(-(-(head - length + env.stack) // interval) * interval, 0)
        index = oldest + jax.random.randint(key_index, (TRIES,), 0, jnp.maximum(head - oldest, 1))
        valid = state.kind[place(index, world)] != FINAL
        chosen = jnp.argmax(valid)
        return world[chosen], index[chosen] - (~valid[chosen]).astype(jnp.int32)

    def sample_one(key: Array, state: ReplayState) -> Batch:
        world, index = draw(key, state)
        here, frames = place(index, world), stack_at(state, world, index + 1, env.stack + 1)
        channels = env.obs_shape[-1]
        rebuilt = rebuild(state, world, index)
        after = marginal.update(rebuilt, env.seen(frames[..., -channels:]))
        return Batch(
            before=look(state, world, index, frames[..., :-channels], rebuilt),
            after=look(state, world, index + 1, frames[..., channels:], after),
            t=state.t[here].astype(jnp.int32),
            arm=state.arm[here].astype(jnp.int32),
            action=state.action[here].astype(jnp.int32),
            surprise=state.surprise[here],
            extrinsic=state.extrinsic[here],
            terminal=state.kind[here] == TERMINAL,
        )

    def sample(key: Array, state: ReplayState, count: int) -> Batch:
        return jax.vmap(sample_one, in_axes=(0, None))(jax.random.split(key, count), state)

    per_frame = -(-size // 8) if env.binary else size * np.dtype(env.obs_dtype).itemsize
    per_snapshot = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(jax.eval_shape(marginal.init)))
    total = num_envs * length * (per_frame + 13) + (spare + 1) * per_snapshot
    return Replay(init, observe, restart, sample, recall, capacity, int(total))
