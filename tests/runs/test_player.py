"""Agents as others use them: a player that keeps theta, time and arm, and refusals of what cannot have been seen."""

from __future__ import annotations

import numpy as np
import pytest

from sadapt import api
from sadapt.errors import UserError
from sadapt.runs.playback import moments

OBS, THETA = (10, 4, 2), (10, 4, 1)


@pytest.fixture
def agent(finished):
    return api.load(finished)


def test_an_agent_says_who_it_is(agent, finished):
    assert repr(agent) == f"<Agent {str(finished)!r}: S-Adapt on {agent.player().arm} in tetris, pqn, 81,920 steps>"


@pytest.mark.parametrize("arm", ["s-max", "s-min"])
def test_the_player_keeps_what_the_episode_would(agent, arm):
    """An episode as evaluation plays it, seen from outside: the same theta, time, surprise and actions."""
    index = agent.arm(arm)
    player, before = agent.player(arm), None
    for step, (episode, transition, _) in enumerate(moments(agent, index, seed=3)):
        if transition is None:
            player.reset(episode.obs)
        if step == agent.program.rules.horizon:
            break
        action = player.act(episode.obs)
        assert action == agent.act(
            episode.obs, agent.program.marginal.features(episode.marginal), step / player.horizon, arm
        )
        assert (player.step, player.time, player.arm) == (step, step / player.horizon, arm)
        np.testing.assert_allclose(player.theta, agent.program.marginal.features(episode.marginal), rtol=1e-6)
        if transition is not None:
            assert player.surprise == pytest.approx(float(transition.surprise), rel=1e-5)
        before = episode
    assert before is not None
    with pytest.raises(UserError, match=r"the episode is over after 20 steps: call player\.reset"):
        player.act(episode.obs)


def test_a_player_must_be_reset_with_what_it_first_acts_on(agent):
    player = agent.player()
    assert "not reset yet" in repr(player)
    with pytest.raises(UserError, match=r"call player.reset\(obs\)"):
        player.act(np.zeros(OBS))
    player.reset(np.zeros(OBS))
    with pytest.raises(UserError, match="must be the one that the player was reset with"):
        player.act(np.ones(OBS))
    assert player.act(np.zeros(OBS)) in range(agent.env.num_actions)
    player.act(np.zeros(OBS))
    assert player.step == 1
    player.reset(np.ones(OBS))
    assert (player.step, player.surprise) == (0, None)


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        ({"obs": np.zeros((4, 10, 2))}, r"shows observations of shape \(10, 4, 2\); got \(4, 10, 2\)"),
        ({"obs": np.full(OBS, 255)}, "shows values from 0 to 1; got 255 to 255"),
        ({"obs": np.full(OBS, np.nan)}, "an observation must be an array of finite numbers"),
        ({"obs": [[1], [2, 3]]}, "an observation must be an array of finite numbers"),
        ({"obs": "board"}, "an observation must be an array of finite numbers"),
        ({"theta": None}, r"S-Adapt sees theta, of shape \(10, 4, 1\)"),
        ({"theta": np.zeros(3)}, r"theta has shape \(10, 4, 1\) in tetris; got \(3,\)"),
        ({"time": 7}, "--time must lie between 0 and 1"),
        ({"arm": "up"}, "unknown arm 'up'"),
    ],
)
def test_what_cannot_have_been_seen_is_refused(agent, seen, why):
    with pytest.raises(UserError, match=why):
        agent.act(**{"obs": np.zeros(OBS), "theta": np.zeros(THETA), **seen})


def test_evaluation_has_a_random_agent_beside_it(agent):
    found = api.evaluate(agent, episodes=3)
    assert found.random.keys() == found.measures.keys()
    assert found.random["entropy"].mean != found.measures["entropy"].mean
    assert found.random == api.evaluate(agent, episodes=3, arm=found.arm).random
    assert found.as_dict()["random"]["return"].keys() == {"mean", "std"}
    assert api.evaluate(agent, episodes=3, random=False).random == {}
