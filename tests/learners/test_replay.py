"""What replay gives back is what was lived: frames, theta, successors, across episode borders and wrap-around."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sadapt.errors import UserError
from sadapt.learners.replay import FINAL, replay
from sadapt.learners.rings import Rings
from sadapt.motivation.bandits import ucb
from sadapt.motivation.episode import Answer, Fresh, episodes
from sadapt.motivation.feedback import nobody
from sadapt.motivation.marginals import bernoulli, gaussian
from tests.learners.worlds import noise_world


def live(env, marginal, memory, *, num_envs, steps, on_death, seed):
    """Plays and remembers; returns the replay and, per world, what was seen at every index."""
    rules = episodes(env, marginal, ucb(), on_death=on_death)
    fresh = jax.jit(lambda key: Fresh(*jax.vmap(env.reset)(jax.random.split(key, num_envs))))

    @jax.jit
    def step(key, state, bandit, now, number):
        keys = jax.random.split(key, 4)
        action = jax.random.randint(keys[0], (num_envs,), 0, 2)
        worlds, answers = jax.vmap(env.step)(jax.random.split(keys[1], num_envs), now.world, action)
        answers = answers._replace(reward=jnp.full(num_envs, number, jnp.float32))
        answer = Answer(worlds, answers, fresh(keys[2]))
        after, transition = jax.vmap(rules.absorb)(jax.random.split(keys[3], num_envs), now, answer)
        bandit, begun, _ = rules.settle(keys[0], bandit, nobody(), after, transition.closed, answer.fresh)
        return memory.observe(state, action, transition, begun), bandit, begun, after, transition, action

    key_start, key_arms, key_play = jax.random.split(jax.random.key(seed), 3)
    bandit, arms = rules.choose(key_arms, ucb().init(), jnp.ones(num_envs, bool))
    now = jax.vmap(rules.begin)(fresh(key_start), arms)
    state = memory.init(now)
    look = jax.jit(jax.vmap(rules.look))
    diary = [[] for _ in range(num_envs)]

    def note(world, augmented, action, transition, number):
        entry = {name: getattr(augmented, name)[world] for name in ("obs", "theta", "time", "arm")}
        diary[world].append(entry | {"action": action, "transition": transition, "number": number})

    for number, key in enumerate(jax.random.split(key_play, steps)):
        before = look(now)
        state, bandit, now, after, transition, action = step(key, state, bandit, now, jnp.float32(number))
        closing = look(after)
        closing, before, transition, action = jax.device_get((closing, before, transition, action))
        for world in range(num_envs):
            record = {n: getattr(transition, n)[world] for n in ("surprise", "terminal", "t")}
            note(world, before, int(action[world]), record, number)
            if bool(transition.closed[world]):
                note(world, closing, None, None, None)
    final = jax.device_get(look(now))
    for world in range(num_envs):
        note(world, final, None, None, None)
    return state, diary


def recall_all(memory, state, world, indices):
    """The augmented observations at many indices of one world."""
    several = jax.jit(jax.vmap(memory.recall, in_axes=(None, None, 0)))
    return jax.device_get(several(state, jnp.int32(world), jnp.asarray(indices, jnp.int32)))


@settings(max_examples=2)
@given(
    num_envs=st.sampled_from([1, 3]),
    interval=st.sampled_from([1, 4, 16]),
    death=st.sampled_from([0.0, 0.3]),
    on_death=st.sampled_from(["end", "soft", "shock"]),
    steps=st.sampled_from([10, 90]),
    seed=st.integers(0, 2**16),
)
def test_theta_rebuilt_is_theta_lived_to_the_bit(num_envs, interval, death, on_death, steps, seed):
    env = noise_world(death=death)
    marginal = bernoulli(env.input_shape)
    memory = replay(env, marginal, capacity=48 * num_envs, num_envs=num_envs, horizon=env.horizon, interval=interval)
    state, diary = live(env, marginal, memory, num_envs=num_envs, steps=steps, on_death=on_death, seed=seed)
    length = state.t.shape[0] // num_envs
    for world in range(num_envs):
        head = int(state.head[world])
        assert head == len(diary[world]) - 1
        oldest = max(0, -(-(head - length + 1) // interval) * interval)
        recalled = recall_all(memory, state, world, range(oldest, head + 1))
        for name in ("obs", "theta", "time", "arm"):
            lived = np.stack([entry[name] for entry in diary[world][oldest:]])
            np.testing.assert_array_equal(getattr(recalled, name), lived)


@pytest.mark.slow
def test_gaussian_theta_rebuilt_within_float_tolerance():
    env = noise_world(death=0.1, binary=False)
    marginal = gaussian(env.input_shape)
    memory = replay(env, marginal, capacity=64, horizon=env.horizon, interval=8)
    state, diary = live(env, marginal, memory, num_envs=1, steps=150, on_death="end", seed=3)
    head = int(state.head[0])
    oldest = -(-(head - 63) // 8) * 8
    recalled = recall_all(memory, state, 0, range(oldest, head + 1))
    lived = np.stack([entry["theta"] for entry in diary[0][oldest:]])
    np.testing.assert_allclose(recalled.theta, lived, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("num_envs", "death", "stack"), [(1, 0.3, 1), (2, 0.1, 3)])
def test_samples_are_whole_transitions_and_cover_all_steps(num_envs, death, stack):
    env = dataclasses.replace(noise_world(death=death), stack=stack)
    marginal = bernoulli(env.input_shape)
    memory = replay(env, marginal, capacity=64 * num_envs, num_envs=num_envs, horizon=env.horizon, interval=4)
    state, diary = live(env, marginal, memory, num_envs=num_envs, steps=150, on_death="end", seed=5)
    batch = jax.device_get(jax.jit(memory.sample, static_argnums=2)(jax.random.key(0), state, 4000))
    by_obs = {
        (entry["number"], entry["obs"].tobytes()): (world, index)
        for world in range(num_envs)
        for index, entry in enumerate(diary[world])
        if entry["number"] is not None
    }
    drawn = set()
    for k in range(4000):
        world, index = by_obs[(int(batch.extrinsic[k]), batch.before.obs[k].tobytes())]
        here, following = diary[world][index], diary[world][index + 1]
        drawn.add((world, index))
        np.testing.assert_array_equal(batch.before.theta[k], here["theta"])
        np.testing.assert_array_equal(batch.after.obs[k], following["obs"])
        np.testing.assert_array_equal(batch.after.theta[k], following["theta"])
        assert float(batch.after.time[k]) == float(following["time"])
        assert int(batch.action[k]) == here["action"]
        assert bool(batch.terminal[k]) == bool(here["transition"]["terminal"])
        assert float(batch.surprise[k]) == float(here["transition"]["surprise"])
    length = 64
    for world in range(num_envs):
        head = int(state.head[world])
        oldest = -(-(head - length + stack) // 4) * 4
        steps = {i for i in range(oldest, head) if diary[world][i]["number"] is not None}
        assert {i for w, i in drawn if w == world} == steps


@pytest.mark.slow
def test_sampling_is_uniform_over_steps():
    env = noise_world(death=0.0)
    marginal = bernoulli(env.input_shape)
    memory = replay(env, marginal, capacity=64, horizon=env.horizon, interval=4)
    state, _ = live(env, marginal, memory, num_envs=1, steps=40, on_death="end", seed=1)
    batch = jax.jit(memory.sample, static_argnums=2)(jax.random.key(1), state, 40_000)
    counts = np.bincount(np.asarray(batch.extrinsic, int), minlength=40)
    assert counts.min() > 850
    assert counts.max() < 1150


@pytest.mark.parametrize("actions", [256, 257, 300, 70_000])
def test_the_last_action_of_many_is_remembered(actions):
    env = dataclasses.replace(noise_world(death=0.0), actions=tuple(map(str, range(actions))))
    marginal, keys = bernoulli(env.input_shape), jax.random.split(jax.random.key(0), 1)
    memory, rules = replay(env, marginal, capacity=64, horizon=7), episodes(env, marginal, ucb(), on_death="end")
    fresh = Fresh(*jax.vmap(env.reset)(keys))
    now = jax.vmap(rules.begin)(fresh, jnp.zeros(1, jnp.int32))
    answer = Answer(*jax.vmap(env.step)(keys, now.world, jnp.zeros(1, jnp.int32)), fresh)
    after, transition = jax.vmap(rules.absorb)(keys, now, answer)
    state = memory.observe(memory.init(now), jnp.full(1, actions - 1), transition, after)
    assert int(memory.sample(jax.random.key(3), state, 1).action[0]) == actions - 1
    assert state.action.dtype == (np.uint8 if actions == 256 else np.int32)


def test_planned_bytes_are_allocated_bytes():
    env = noise_world(death=0.0)
    marginal = bernoulli(env.input_shape)
    memory = replay(env, marginal, capacity=1000, num_envs=2, horizon=env.horizon)
    rules = episodes(env, marginal, ucb(), on_death="end")
    fresh = Fresh(*jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 2)))
    state = memory.init(jax.vmap(rules.begin)(fresh, jnp.zeros(2, jnp.int32)))
    allocated = sum(x.nbytes for x in jax.tree.leaves(state._replace(head=())))
    assert memory.need.bytes == allocated
    assert np.all(np.asarray(state.kind) == FINAL)


def test_too_small_a_replay_is_refused():
    env = noise_world(death=0.0)
    with pytest.raises(UserError, match="--buffer-size"):
        replay(env, bernoulli(env.input_shape), capacity=10, num_envs=4, horizon=7)


def test_a_replay_whose_places_cannot_be_counted_is_refused():
    env = noise_world(death=0.0)
    with pytest.raises(UserError, match="--buffer-size must be below 2147483647"):
        replay(env, bernoulli(env.input_shape), capacity=2**31 - 1, horizon=7)


@given(t=st.integers(0, 2**31 - 1), refill=st.one_of(st.none(), st.integers(1, 2**16 - 2)))
def test_time_fits_into_16_bits_and_is_as_long_after_a_refill(t, refill):
    env = noise_world(death=0.0)
    rings = Rings(env, bernoulli(env.input_shape), 1, 32, 16, lambda t: t, refill)
    short = int(rings.short(jnp.int32(t)))
    if t < 2**16:
        assert short == t
    elif refill is None:
        assert short == 2**16 - 1
    else:
        assert 2**16 - 1 - refill < short < 2**16
        assert short % refill == t % refill
