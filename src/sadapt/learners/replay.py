"""Replay of a million steps that fits a laptop.

Each frame is kept once, in a ring per world, bits packed when it is binary. theta is not kept at all: it is a function
of the episode's frames, rebuilt from a snapshot of the marginal every `interval` frames with the marginal's own
`update`. An episode of L steps takes L + 1 places, so that the successor of its last step is the true final frame.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from sadapt.envs.base import Facts
from sadapt.errors import UserError
from sadapt.fields import MOST
from sadapt.learners.base import Need
from sadapt.learners.rings import Clock, Rings
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
    need: Need
    """Memory that `init` allocates."""


def replay(
    env: Facts,
    marginal: Marginal,
    *,
    capacity: int,
    num_envs: int = 1,
    interval: int = 16,
    horizon: int | Clock,
    refill: int | None = None,
) -> Replay:
    """A replay of `capacity` steps in all, spread over `num_envs` rings; the policy sees t / horizon, or that of t."""
    length = -(-capacity // (num_envs * interval)) * interval
    if length < 2 * interval or length < 2:
        raise UserError(
            f"a replay of {capacity} steps for {num_envs} worlds leaves {capacity // num_envs} per world; "
            f"it needs at least {2 * interval}: raise --buffer-size or lower --num-envs"
        )
    if num_envs * length > MOST:
        raise UserError(f"a replay of {num_envs * length} steps is too large: --buffer-size must be below {MOST}")
    clock = horizon if callable(horizon) else lambda t: t.astype(jnp.float32) / horizon
    rings = Rings(env, marginal, num_envs, length, interval, clock, refill)

    def sample(key: Array, state: ReplayState, count: int) -> Batch:
        return jax.vmap(partial(sample_one, rings), in_axes=(0, None))(jax.random.split(key, count), state)

    return Replay(
        init=partial(init, rings),
        observe=partial(observe, rings),
        restart=lambda state, episodes: begin_at(rings, state, state.head + 1, episodes),
        sample=sample,
        recall=partial(recall, rings),
        need=Need(
            f"replay of {capacity:,} steps",
            rings.bytes(),
            lambda share: f"lower --buffer-size to {int(share * capacity):,} or less",
        ),
    )


def put(rings: Rings, buffer: Array, where: Array, rows: Array) -> Array:
    """A row for every world, in place where the buffer is donated or carried."""
    if rings.num_envs == 1:
        return jax.lax.dynamic_update_index_in_dim(buffer, rows[0].astype(buffer.dtype), where[0], 0)
    return buffer.at[where].set(rows.astype(buffer.dtype), mode="promise_in_bounds")


def put_snapshot(rings: Rings, snapshots: MarginalState, index: Array, rows: MarginalState) -> MarginalState:
    """The marginals, kept only where the index divides by the interval."""
    where = jnp.where(index % rings.interval == 0, rings.places(index) // rings.interval, rings.spare)
    return jax.tree.map(lambda kept, new: put(rings, kept, where, new), snapshots, rows)


def init(rings: Rings, episodes: Episode) -> ReplayState:
    """Empty rings at the first observations of `episodes`."""
    places = rings.num_envs * rings.length
    frame = rings.pack(episodes.obs[0])
    one = jax.tree.map(lambda x: x[0], episodes.marginal)
    state = ReplayState(
        frames=jnp.zeros((places, *frame.shape), frame.dtype),
        snapshots=jax.tree.map(lambda x: jnp.zeros((rings.spare + 1, *x.shape), x.dtype), one),
        t=jnp.zeros(places, jnp.uint16),
        arm=jnp.zeros(places, jnp.uint8),
        action=jnp.zeros(places, rings.action_dtype),
        surprise=jnp.zeros(places, jnp.float32),
        extrinsic=jnp.zeros(places, jnp.float32),
        kind=jnp.full(places, FINAL, jnp.uint8),
        head=jnp.zeros(rings.num_envs, jnp.int32),
    )
    return begin_at(rings, state, state.head, episodes)


def begin_at(rings: Rings, state: ReplayState, index: Array, episodes: Episode) -> ReplayState:
    """Episodes under way written at `index` of every world."""
    where = rings.places(index)
    return state._replace(
        frames=put(rings, state.frames, where, rings.pack(episodes.obs)),
        snapshots=put_snapshot(rings, state.snapshots, index, episodes.marginal),
        t=put(rings, state.t, where, rings.short(episodes.t)),
        arm=put(rings, state.arm, where, episodes.arm),
        head=index,
    )


def observe(rings: Rings, state: ReplayState, action: Array, transition: Transition, episodes: Episode) -> ReplayState:
    """One step of every world added; the successor of a last step has a place of its own."""
    here, after = rings.places(state.head), rings.places(state.head + 1)
    kinds = put(rings, state.kind, here, jnp.where(transition.terminal, TERMINAL, STEP))
    state = state._replace(
        action=put(rings, state.action, here, action),
        surprise=put(rings, state.surprise, here, transition.surprise),
        extrinsic=put(rings, state.extrinsic, here, transition.extrinsic),
        kind=put(rings, kinds, after, jnp.full(rings.num_envs, FINAL)),
        frames=put(rings, state.frames, after, rings.pack(transition.successor)),
        snapshots=put_snapshot(rings, state.snapshots, state.head + 1, transition.marginal),
        t=put(rings, state.t, after, rings.short(transition.t + 1)),
        arm=put(rings, state.arm, after, transition.arm),
    )
    return begin_at(rings, state, state.head + 1 + (transition.closed & (episodes.t == 0)).astype(jnp.int32), episodes)


def recall(rings: Rings, state: ReplayState, world: Array, index: Array) -> Augmented:
    """The augmented observation at one place."""
    frames = stack_at(rings, state, world, index, rings.env.stack)
    return look(rings, state, world, index, frames, rebuild(rings, state, world, index))


def rebuild(rings: Rings, state: ReplayState, world: Array, index: Array) -> MarginalState:
    """The marginal at one place, from the snapshot before it and the frames since."""
    t = state.t[rings.place(index, world)].astype(jnp.int32)
    base = index // rings.interval * rings.interval
    within = index - t > base
    kept = jax.tree.map(lambda x: x[rings.place(base, world) // rings.interval], state.snapshots)
    start = jax.tree.map(lambda a, b: jnp.where(within, a, b), rings.marginal.init(), kept)
    first = jnp.where(within, index - t, base + 1)

    def add(offset: Array, rebuilt: MarginalState) -> MarginalState:
        at = base + offset
        frame = rings.unpack(state.frames[rings.place(at, world)])
        updated = rings.marginal.update(rebuilt, rings.env.marginal_input(frame))
        return jax.tree.map(lambda a, b: jnp.where((first <= at) & (at <= index), a, b), updated, rebuilt)

    return jax.lax.fori_loop(0, rings.interval, add, start)


def stack_at(rings: Rings, state: ReplayState, world: Array, index: Array, count: int) -> Array:
    """The latest `count` frames of the episode at `index`, its first one repeated where there are fewer."""
    t = state.t[rings.place(index, world)].astype(jnp.int32)
    indices = index - jnp.minimum(jnp.arange(count - 1, -1, -1), t)
    # In order already; but what comes before a sort XLA computes once, and not anew for every cell that is read.
    _, places = jax.lax.sort((indices, rings.place(indices, world)))
    frames = jnp.moveaxis(rings.unpack(state.frames[places]), 0, -2)
    return frames.reshape(*frames.shape[:-2], -1)


def look(rings: Rings, state: ReplayState, world: Array, index: Array, obs: Array, rebuilt: MarginalState) -> Augmented:
    """(s, theta, t/T, alpha) at one place."""
    where = rings.place(index, world)
    return Augmented(
        obs=obs,
        theta=rings.marginal.features(rebuilt),
        time=rings.clock(state.t[where].astype(jnp.int32)),
        arm=state.arm[where].astype(jnp.float32),
    )


def draw(rings: Rings, key: Array, state: ReplayState) -> tuple[Array, Array]:
    """A uniformly drawn place whose frames since the last snapshot, and in its stack, are all still there."""
    key_world, key_index = jax.random.split(key)
    world = jax.random.randint(key_world, (TRIES,), 0, rings.num_envs)
    head = state.head[world]
    oldest = jnp.maximum(-(-(head - rings.length + rings.env.stack) // rings.interval) * rings.interval, 0)
    index = oldest + jax.random.randint(key_index, (TRIES,), 0, jnp.maximum(head - oldest, 1))
    valid = state.kind[rings.place(index, world)] != FINAL
    chosen = jnp.argmax(valid)
    return world[chosen], index[chosen] - (~valid[chosen]).astype(jnp.int32)


def sample_one(rings: Rings, key: Array, state: ReplayState) -> Batch:
    """One transition, drawn uniformly."""
    world, index = draw(rings, key, state)
    here, frames = rings.place(index, world), stack_at(rings, state, world, index + 1, rings.env.stack + 1)
    channels = rings.env.obs_shape[-1]
    rebuilt = rebuild(rings, state, world, index)
    theta = rings.marginal.update(rebuilt, rings.env.marginal_input(frames[..., -channels:]))
    before = look(rings, state, world, index, frames[..., :-channels], rebuilt)
    after = look(rings, state, world, index + 1, frames[..., channels:], theta)
    return Batch(
        before,
        after._replace(arm=before.arm),
        t=state.t[here].astype(jnp.int32),
        arm=state.arm[here].astype(jnp.int32),
        action=state.action[here].astype(jnp.int32),
        surprise=state.surprise[here],
        extrinsic=state.extrinsic[here],
        terminal=state.kind[here] == TERMINAL,
    )
