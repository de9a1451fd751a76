"""The same training for us and for our peers: minatar-breakout, paid by the task, in the presets' sizes.

| | ours | rejax 0.1.3 | Stable-Baselines3 |
|---|---|---|---|
| world | `minatar-breakout`, compiled | gymnax 0.0.9's `Breakout-MinAtar`, compiled | `minatar`'s breakout, in Python |
| PQN, PPO's network | 3x3 convolution of 16, 128 units, layer norm before each ReLU | the same in Flax | the same in PyTorch |
| PPO's value | an output beside the policy's; for rejax a network of its own | a network of its own | an output beside the policy's |
| DQN's network | 3x3 convolution of 16, 512 units (for Stable-Baselines3 twice, of s and theta) | the same | the same |
| PQN | 64 worlds, 32 steps, minibatches of 64, 2 epochs; RAdam | the same; Adam | none |
| PPO | 64 worlds, 32 steps, minibatches of 256, 4 epochs; Adam | the same; two Adams | the same; one Adam |
| DQN | an update of 32 every 4 steps, target copied every 1,000; Adam | the same | the same |
| DQN's worlds | 4 side by side, since rejax updates once a step of all of them; 1 beside Stable-Baselines3 | 4 | 1 |
| DQN's replay | 100,000 steps; 1,000,000 beside Stable-Baselines3 | 100,000 | 20,000 |

Epsilon, discount and step size change no speed. Nobody evaluates; nobody's first two calls count.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from sadapt.composite import all_changed
from sadapt.learners.networks import Network, Spec
from sadapt.learners.networks.plain import plain
from sadapt.training.presets import preset
from sadapt.training.program import Program, build, compose
from sadapt.training.settings import Settings

WORLD = "minatar-breakout"
GYMNAX_WORLDS = {
    "minatar-asterix": "Asterix-MinAtar",
    "minatar-breakout": "Breakout-MinAtar",
    "minatar-freeway": "Freeway-MinAtar",
    "minatar-seaquest": "Seaquest-MinAtar",
    "minatar-space-invaders": "SpaceInvaders-MinAtar",
}
"""What gymnax calls the worlds that it shares with us."""
PRESETS = {"dqn": "paper", "pqn": "fast", "ppo": "fast"}
ROLLOUT = {"num_envs": 64, "num_steps": 32}
SIZES: dict[str, dict[str, int]] = {
    "pqn": {**ROLLOUT, "minibatch_size": 64, "update_epochs": 2},
    "ppo": {**ROLLOUT, "minibatch_size": 256, "update_epochs": 4},
    "dqn": {
        "num_envs": 4,
        "train_frequency": 4,
        "batch_size": 32,
        "buffer_size": 100_000,
        "learning_starts": 1_000,
        "target_network_frequency": 1_000,
    },
}
NETWORKS = {"pqn": "plain", "ppo": "plain", "dqn": "paper"}
HIDDEN = {"pqn": 128, "ppo": 128, "dqn": 512}
"""Units of the hidden layer; only DQN's network, the paper's, has no layer norm."""

CHUNKS = {"pqn": 16_384, "ppo": 4_096, "dqn": 1_000}
"""Our environment steps in a timed call: about as many as take us as long as theirs take a peer."""


def settings(learner: str) -> Settings:
    """Ours."""
    changes = {"objective": "extrinsic", "network": NETWORKS[learner], **SIZES[learner]}
    return all_changed(preset(WORLD, PRESETS[learner], learner=learner), changes)


def usual(learner: str) -> Settings:
    """The same with the network that the preset has for this world, a window around the paddle, which is smaller."""
    return all_changed(settings(learner), {"network": "auto"})


def program(learner: str, *, apart: bool = False) -> Program:
    """Ours, ready to be compiled; `apart` gives PPO's value a network of its own."""
    prog = build(settings(learner), {"network": policy_and_value} if apart else None)
    short = prog.learner._replace(chunk_steps=CHUNKS[learner])
    return compose(prog.env, prog.parts._replace(learner=short))


def policy_and_value(spec: Spec) -> Network:
    """Two plain networks, the second for the last output alone."""
    policy, value = (plain(spec._replace(outputs=outputs)) for outputs in (spec.outputs - 1, 1))

    def init(key: jax.Array) -> dict[str, Any]:
        key_policy, key_value = jax.random.split(key)
        return {"policy": policy.init(key_policy), "value": value.init(key_value)}

    def apply(params: dict[str, Any], views: Any) -> jax.Array:
        return jnp.concatenate([policy.apply(params["policy"], views), value.apply(params["value"], views)], axis=-1)

    return Network(init, policy.view, apply)


def rejax(learner: str) -> dict[str, Any]:
    """What `guest.py` is told to train."""
    size = SIZES[learner]
    samples = size["num_envs"] * size.get("num_steps", 0)
    return {
        "what": learner,
        "env": GYMNAX_WORLDS[WORLD],
        "hidden": HIDDEN[learner],
        "layer_norm": learner != "dqn",
        "steps": samples or size["target_network_frequency"] // 4,
        "settings": {
            "num_envs": size["num_envs"],
            "num_steps": size["num_steps"],
            "num_minibatches": samples // size["minibatch_size"],
            "num_epochs": size["update_epochs"],
        }
        if samples
        else {
            "num_envs": size["num_envs"],
            "num_epochs": size["num_envs"] // size["train_frequency"],
            "batch_size": size["batch_size"],
            "buffer_size": size["buffer_size"],
            "fill_buffer": size["learning_starts"],
            "target_update_freq": size["target_network_frequency"],
            "polyak": 0.0,
            "ddqn": False,
        },
    }
