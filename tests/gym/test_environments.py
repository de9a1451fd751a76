"""Worlds as Gymnasium environments: the protocol, the seeds, and many at once against Gymnasium's own vectorisation."""

from __future__ import annotations

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from sadapt.envs import make
from sadapt.envs.base import Env, Step
from sadapt.errors import UserError
from sadapt.gym import play as playing
from sadapt.gym.environments import WorldEnv, WorldVectorEnv
from tests.gym.ids import IDS

DENSITIES = [id for id in IDS if id.endswith(("High-v0", "Medium-v0", "Low-v0"))]


def dice(horizon: int = 9) -> Env:
    """A world in which much is left to chance: throw 0 to 5 and add the action; a sum that 8 divides ends it."""

    def picture(total):
        return ((total >> jnp.arange(8)) & 1).astype(jnp.uint8).reshape(2, 4, 1)

    def reset(key):
        total = jax.random.randint(key, (), 1, 8)
        return total, picture(total)

    def step(key, total, action):
        throw = jax.random.randint(key, (), 0, 6)
        total = total + throw + action
        counters = {"fives": (throw == 5).astype(jnp.int32)}
        return total, Step(picture(total), total.astype(jnp.float32) / 4, total % 8 == 0, counters)

    def render(total):
        return np.full((2, 4, 3), int(total), np.uint8)

    return Env(
        name="dice",
        reset=reset,
        step=step,
        render=render,
        obs_shape=(2, 4, 1),
        obs_dtype=jnp.uint8,
        channels=("bit",),
        actions=("add 0", "add 1", "add 2"),
        horizon=horizon,
        marginal_channels=(0,),
    )


@pytest.fixture(autouse=True)
def known_dice(monkeypatch):
    """Let the environments find the world `dice`."""
    monkeypatch.setattr(playing, "make", lambda name, layout=None: dice() if name == "dice" else make(name, layout))
    if "test/Dice-v0" not in gymnasium.registry:
        gymnasium.register(
            "test/Dice-v0",
            entry_point=WorldEnv,
            vector_entry_point=WorldVectorEnv,
            max_episode_steps=9,
            kwargs={"name": "dice"},
        )


def total(obs: np.ndarray) -> int:
    """The sum that an observation of `dice` shows, the lowest bit first."""
    return int(np.packbits(obs.reshape(-1), bitorder="little")[0])


def play(env, steps: int, seed: int):
    """Observations, rewards and ends of fixed pseudo-random actions in one world, begun anew after every end."""
    rng = np.random.default_rng(1)
    seen = [env.reset(seed=seed)[0]]
    told = []
    for _ in range(steps):
        obs, *outcome, info = env.step(int(rng.integers(env.action_space.n)))
        seen.append(obs)
        told.append((*outcome, info))
        if outcome[1] or outcome[2]:
            seen.append(env.reset()[0])
    return np.stack(seen), told


def assert_same(one, other):
    """Equal infos: dicts of arrays, arrays of objects, dicts."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif one.dtype == object:
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    else:
        np.testing.assert_array_equal(one, other)


# One world


@pytest.mark.parametrize(
    "id",
    [pytest.param(id, marks=pytest.mark.slow if id in DENSITIES else ()) for id in [*IDS, "test/Dice-v0"]],
)
def test_gymnasium_finds_nothing_to_complain_about(id):
    env = gymnasium.make(id, render_mode="rgb_array")
    check_env(env.unwrapped)
    world = env.unwrapped.world  # type: ignore[attr-defined]
    assert env.observation_space == gymnasium.spaces.Box(0, 1, world.obs_shape, np.uint8)
    assert env.action_space == gymnasium.spaces.Discrete(world.num_actions)
    obs, _ = env.reset(seed=1)
    assert obs.flags.writeable
    _, reward, terminated, truncated, info = env.step(env.action_space.sample())
    assert (type(reward), type(terminated), type(truncated), type(info)) == (float, bool, bool, dict)
    frame = env.render()
    assert frame.dtype == np.uint8
    assert frame.shape[2:] == (3,)


def test_a_seed_decides_everything_until_the_next_seed():
    one, same, other = (play(WorldEnv("dice"), 60, seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(one[0], same[0])
    assert one[1] == same[1]
    assert one[1] != other[1]


def test_unseeded_resets_and_unseeded_environments_differ():
    env = WorldEnv("dice")
    env.reset(seed=0)
    later = [total(env.reset()[0]) for _ in range(30)]
    assert len(set(later)) > 3
    apart = [[total(env.reset()[0]) for _ in range(12)] for env in (WorldEnv("dice"), WorldEnv("dice"))]
    assert apart[0] != apart[1]


def test_a_generator_set_by_hand_seeds_the_next_reset():
    env, runs = WorldEnv("dice"), []
    for seed in (8, 8, 9):
        env.np_random = np.random.default_rng(seed)
        runs.append([total(env.reset()[0]) for _ in range(12)])
    assert runs[0] == runs[1] != runs[2]


def test_one_world_plays_by_its_rules():
    env = WorldEnv("dice")
    before, throws = total(env.reset(seed=3)[0]), []
    assert 1 <= before < 8
    for _ in range(40):
        obs, reward, terminated, truncated, info = env.step(2)
        now = total(obs)
        throws.append((now - before - 2) % 256)
        assert reward == now / 4
        assert terminated is (now % 8 == 0)
        assert truncated is False
        assert info == {"fives": int(throws[-1] == 5)}
        assert type(info["fives"]) is int
        before = total(env.reset()[0]) if terminated else now
    assert set(throws) == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize(("id", "length"), [("sadapt/MazeSmall-v0", 100), ("test/Dice-v0", 9)])
def test_made_worlds_are_truncated_at_the_horizon(id, length):
    env = gymnasium.make(id)
    for seed in range(20):
        env.reset(seed=seed)
        for step in range(1, length + 1):
            _, _, terminated, truncated, _ = env.step(0)
            assert truncated is (step == length)
            if terminated:
                break
        if truncated:
            return
    pytest.fail("no episode lasted")


@pytest.mark.parametrize("action", [3, -1, 1.0, [1], None, "left"])
def test_impossible_actions_are_named(action):
    env = WorldEnv("dice")
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match=r"dice got the action .* an integer from 0 to 2: add 0, add 1, add 2"):
        env.step(action)


@pytest.mark.parametrize(
    "action", [1, np.int64(1), np.uint8(1), np.array(1), jnp.int32(1)], ids=lambda a: type(a).__name__
)
def test_integers_of_any_kind_are_actions(action):
    env = WorldEnv("dice")
    results = []
    for given in (1, action):
        env.reset(seed=0)
        results.append(total(env.step(given)[0]))
    assert results[0] == results[1]


def test_nothing_but_reset_comes_first():
    env = WorldEnv("dice", render_mode="rgb_array")
    with pytest.raises(ResetNeeded):
        env.step(0)
    with pytest.raises(ResetNeeded):
        env.render()
    envs = WorldVectorEnv("dice", num_envs=4, render_mode="rgb_array")
    with pytest.raises(ResetNeeded):
        envs.step(np.zeros(4, int))
    with pytest.raises(ResetNeeded):
        envs.render()
    with pytest.raises(ResetNeeded):
        envs.reset(options={"reset_mask": np.array([True, False, True, True])})


def test_rendering_without_a_mode_warns():
    for env in (WorldEnv("dice"), WorldVectorEnv("dice")):
        env.reset(seed=0)
        with pytest.warns(UserWarning, match="render_mode='rgb_array'"):
            assert env.render() is None


def test_a_spec_makes_the_same_world_again():
    env = gymnasium.make("sadapt/Tetris-v0", max_episode_steps=7)
    again = gymnasium.make(env.spec)
    assert again.spec == env.spec
    one, other = (play(made, 20, seed=2) for made in (env, again))
    np.testing.assert_array_equal(one[0], other[0])
    assert one[1] == other[1]
    from_json = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert play(from_json, 20, seed=2)[1] == one[1]


def test_environments_of_one_world_share_what_is_compiled():
    assert WorldEnv("dice")._play is WorldVectorEnv("dice", num_envs=2)._play
    assert WorldEnv("dice")._play is not WorldEnv("maze-small")._play


def test_an_edited_map_is_another_world(tmp_path):
    file = tmp_path / "map.txt"
    file.write_text("A.G\n")
    env = gymnasium.make("sadapt/MazeSmall-v0", layout=str(file))
    assert env.observation_space.shape == (1, 3, 3)
    file.write_text("#A.\n..G\n")
    edited = gymnasium.make("sadapt/MazeSmall-v0", layout=str(file))
    wall, agent, goal = np.moveaxis(edited.reset(seed=0)[0], -1, 0)
    assert (wall.tolist(), agent.tolist(), goal.tolist()) == (
        [[1, 0, 0], [0, 0, 0]],
        [[0, 1, 0], [0, 0, 0]],
        [[0, 0, 0], [0, 0, 1]],
    )
    with pytest.raises(UserError, match=r"missing\.txt"):
        gymnasium.make("sadapt/MazeSmall-v0", layout=str(tmp_path / "missing.txt"))


def test_a_map_may_be_given_as_its_text(tmp_path):
    """Also a large one, whose text is too long to be the name of a file."""
    rows = ["A" + "." * 31, *["." * 32] * 30, "." * 31 + "G"]
    env = gymnasium.make("sadapt/MazeLarge-v0", layout="\n".join(rows))
    assert env.observation_space.shape == (32, 32, 3)
    _, agent, goal = np.moveaxis(env.reset(seed=0)[0], -1, 0)
    assert (np.argwhere(agent).tolist(), np.argwhere(goal).tolist()) == ([[0, 0]], [[31, 31]])
    envs = gymnasium.make_vec("sadapt/MazeSmall-v0", num_envs=2, layout="A.G\n...\n")
    assert envs.reset(seed=0)[0].shape == (2, 2, 3, 3)


# Many worlds


@pytest.mark.parametrize(
    ("id", "limit", "mode"),
    [
        *(("test/Dice-v0", 9, mode) for mode in AutoresetMode),
        *(("sadapt/Tetris-v0", 11, mode) for mode in AutoresetMode),
        ("sadapt/ButterfliesSmall-v0", 10, AutoresetMode.SAME_STEP),
    ],
)
def test_many_worlds_equal_gymnasiums_own_vectorisation(id, limit, mode):
    """Same seeds, same actions: whatever SyncVectorEnv makes of single ones, the one compiled call makes too."""
    ours = gymnasium.make_vec(id, num_envs=4, max_episode_steps=limit, autoreset_mode=mode)
    theirs = gymnasium.make_vec(
        id, num_envs=4, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, max_episode_steps=limit
    )
    assert isinstance(ours, WorldVectorEnv)
    assert ours.metadata == theirs.metadata
    for space in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(ours, space) == getattr(theirs, space)
    np.testing.assert_array_equal(ours.reset(seed=11)[0], theirs.reset(seed=11)[0])
    ours.action_space.seed(2)
    ended = np.zeros(2, int)
    for _ in range(60):
        actions = ours.action_space.sample()
        one, other = ours.step(actions), theirs.step(actions)
        for mine, expected in zip(one[:4], other[:4], strict=True):
            assert mine.dtype == expected.dtype
            np.testing.assert_array_equal(mine, expected)
        assert_same(one[4], other[4])
        ended += [one[2].sum(), one[3].sum()]
        over = one[2] | one[3]
        if mode is AutoresetMode.DISABLED and over.any():
            begun = [envs.reset(options={"reset_mask": over}) for envs in (ours, theirs)]
            np.testing.assert_array_equal(begun[0][0], begun[1][0])
            assert begun[0][1] == begun[1][1] == {}
    assert ended[1] > 0
    assert ended[0] > 0 or id == "sadapt/ButterfliesSmall-v0"


def test_the_step_after_an_end_begins_anew_and_ignores_the_action():
    """NEXT_STEP: the same play with two other actions in that step goes the same way, unpaid."""
    ends, runs = 0, []
    for ignored in (0, 2):
        envs = WorldVectorEnv("dice", num_envs=4)
        envs.reset(seed=21)
        over, run = np.zeros(4, bool), []
        for _ in range(60):
            obs, rewards, terminations, truncations, infos = envs.step(np.where(over, ignored, 1))
            assert not rewards[over].any()
            assert not (terminations | truncations)[over].any()
            assert not infos["_fives"][over].any()
            assert all(1 <= total(begun) < 8 for begun in obs[over])
            ends += over.sum()
            over = terminations | truncations
            run.append((obs, rewards))
        runs.append(run)
    assert ends > 30
    for (obs, rewards), (other_obs, other_rewards) in zip(*runs, strict=True):
        np.testing.assert_array_equal(obs, other_obs)
        np.testing.assert_array_equal(rewards, other_rewards)


def test_final_observations_are_those_of_the_last_step():
    """SAME_STEP: dice pays a quarter of the sum that it shows, so the final sum is known from the reward."""
    envs = WorldVectorEnv("dice", num_envs=4, autoreset_mode="SameStep")
    envs.reset(seed=5)
    deaths = timeouts = 0
    for _ in range(60):
        obs, rewards, terminations, truncations, infos = envs.step(np.ones(4, np.int64))
        over = terminations | truncations
        assert ("final_obs" in infos) == over.any()
        for i in np.flatnonzero(over):
            assert total(infos["final_obs"][i]) == rewards[i] * 4
            assert 1 <= total(obs[i]) < 8
        for i in np.flatnonzero(~over):
            assert total(obs[i]) == rewards[i] * 4
        if over.any():
            np.testing.assert_array_equal(infos["_final_obs"], over)
            np.testing.assert_array_equal(infos["_final_info"], over)
            np.testing.assert_array_equal(infos["final_info"]["_fives"], over)
            assert all(final is None for final in infos["final_obs"][~over])
        deaths, timeouts = deaths + terminations.sum(), timeouts + (truncations & ~terminations).sum()
    assert deaths > 5
    assert timeouts > 5


def test_without_autoreset_ended_worlds_must_be_reset():
    envs = WorldVectorEnv("dice", num_envs=4, max_episode_steps=1, autoreset_mode=AutoresetMode.DISABLED)
    envs.reset(seed=0)
    envs.step(np.zeros(4, int))
    with pytest.raises(ResetNeeded, match=r"\[0, 1, 2, 3\]"):
        envs.step(np.zeros(4, int))
    envs.reset(options={"reset_mask": np.array([True, True, False, True])})
    with pytest.raises(ResetNeeded, match=r"worlds \[2\]"):
        envs.step(np.zeros(4, int))
    envs.reset()
    envs.step(np.zeros(4, int))


def test_a_masked_reset_leaves_the_others_alone():
    envs, untouched = (WorldVectorEnv("dice", num_envs=4) for _ in range(2))
    mask = np.array([False, True, False, False])
    for each in (envs, untouched):
        each.reset(seed=2)
        before = each.step(np.ones(4, int))[0]
    begun, _ = envs.reset(seed=[100, 7, 100, 100], options={"reset_mask": mask})
    np.testing.assert_array_equal(begun[~mask], before[~mask])
    np.testing.assert_array_equal(begun[1], WorldEnv("dice").reset(seed=7)[0])
    one, other = (each.step(np.ones(4, int))[0] for each in (envs, untouched))
    np.testing.assert_array_equal(one[~mask], other[~mask])


def rollout(envs: WorldVectorEnv, **reset) -> np.ndarray:
    seen = [envs.reset(**reset)[0]]
    seen += [envs.step(np.ones(envs.num_envs, int))[0] for _ in range(20)]
    return np.stack(seen)


def test_vector_seeds():
    envs = WorldVectorEnv("dice", num_envs=4)
    first = rollout(envs, seed=3)
    np.testing.assert_array_equal(first, rollout(envs, seed=3))
    np.testing.assert_array_equal(first, rollout(WorldVectorEnv("dice", num_envs=4), seed=[3, 4, 5, 6]))
    np.testing.assert_array_equal(first[:, 2:], rollout(envs, seed=5)[:, :2])
    assert len({world.tobytes() for world in first.swapaxes(0, 1)}) == 4
    assert (first != rollout(envs)).any()
    assert (rollout(WorldVectorEnv("dice", num_envs=4)) != rollout(WorldVectorEnv("dice", num_envs=4))).any()


def test_pictures_of_many_worlds():
    envs = WorldVectorEnv("dice", num_envs=4, render_mode="rgb_array")
    obs, _ = envs.reset(seed=1)
    frames = envs.render()
    assert type(frames) is tuple
    assert [frame[0, 0, 0] for frame in frames] == [total(one) for one in obs]


@pytest.mark.parametrize(
    "actions", [np.zeros(3, int), np.zeros((4, 1), int), [0, 1, 2, 3], [-1, 0, 0, 0], np.ones(4), 1]
)
def test_impossible_vector_actions_are_named(actions):
    envs = WorldVectorEnv("dice", num_envs=4)
    envs.reset(seed=0)
    with pytest.raises(InvalidAction, match="an array of 4 integers from 0 to 2"):
        envs.step(actions)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_envs": 0}, "num_envs is 0"),
        ({"max_episode_steps": -1}, "max_episode_steps is -1"),
        ({"render_mode": "human"}, "render_mode is 'human'"),
        ({"autoreset_mode": "same_step"}, "did you mean 'SameStep'"),
    ],
)
def test_impossible_settings_are_named(settings, message):
    with pytest.raises(UserError, match=message):
        WorldVectorEnv("dice", **settings)


@pytest.mark.parametrize("mask", [np.zeros(4, bool), np.ones(2, bool), np.ones(4), "all"])
def test_impossible_masks_are_named(mask):
    envs = WorldVectorEnv("dice", num_envs=4)
    envs.reset(seed=0)
    with pytest.raises(UserError, match="boolean array of 4 entries"):
        envs.reset(options={"reset_mask": mask})


def test_impossible_seeds_are_named():
    envs = WorldVectorEnv("dice", num_envs=3)
    with pytest.raises(UserError, match="seed has 2 entries; 3 worlds"):
        envs.reset(seed=[1, 2])
    with pytest.raises(gymnasium.error.Error, match="python integer"):
        envs.reset(seed=np.int64(3))


def test_make_vec_chooses_the_compiled_environment_and_its_spec_makes_it_again():
    for chosen in ({}, {"vectorization_mode": "vector_entry_point"}):
        envs = gymnasium.make_vec("sadapt/MazeSmall-v0", num_envs=4, **chosen)
        assert isinstance(envs, WorldVectorEnv)
        assert (envs.num_envs, envs.max_episode_steps) == (4, 100)
        assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    again = gymnasium.make_vec(envs.spec)
    assert again.spec == envs.spec
    np.testing.assert_array_equal(rollout(again, seed=1), rollout(envs, seed=1))


def test_gymnasiums_vector_wrappers_count_our_episodes():
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(gymnasium.make_vec("sadapt/MazeSmall-v0", num_envs=4))
    envs.reset(seed=0)
    for step in range(1, 203):
        *_, truncations, infos = envs.step(np.zeros(4, int))
        assert truncations.all() == (step in (100, 201))
        if truncations.any():
            assert infos["episode"]["l"].tolist() == [100] * 4


def test_worlds_in_processes_of_their_own():
    """Spawned, since JAX's threads do not survive a fork."""
    settings = {"num_envs": 2, "max_episode_steps": 6}
    apart = gymnasium.make_vec(
        "sadapt/Tetris-v0", vectorization_mode="async", vector_kwargs={"context": "spawn"}, **settings
    )
    ours = gymnasium.make_vec("sadapt/Tetris-v0", **settings)
    try:
        np.testing.assert_array_equal(apart.reset(seed=4)[0], ours.reset(seed=4)[0])
        for action in range(10):
            one, other = (envs.step(np.array([action, action])) for envs in (apart, ours))
            for mine, expected in zip(one[:4], other[:4], strict=True):
                np.testing.assert_array_equal(mine, expected)
    finally:
        apart.close()
