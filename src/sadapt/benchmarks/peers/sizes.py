"""The same training for us and for our peers: minatar-breakout, paid by the task.

|               | ours                                        | rejax 0.1.3, gymnax 0.0.9 | Stable-Baselines3          |
|---------------|---------------------------------------------|---------------------------|----------------------------|
| world         | `minatar-breakout`, compiled                | `Breakout-MinAtar`, comp. | `minatar`'s, in Python     |
| PQN's network | 3x3 convolution of 16, 128 units, layer     | the same, in Flax         | (no PQN)                   |
|               | norm over all units before each ReLU        |                           |                            |
| PPO's network | the same; the value is an output more, or,  | value apart: it has two   | value an output more, in   |
|               | beside rejax, has such a network to itself  | networks and optimisers   | PyTorch                    |
| PQN, PPO      | 64 worlds, 32 steps, minibatches of 64,     | the same                  | the same                   |
|               | two epochs; RAdam (PQN), Adam (PPO)         | Adam                      | Adam, plain and fused      |
| DQN's network | 3x3 convolution of 16, 512 units            | the same                  | twice: s and theta (below) |
| DQN           | an update of 32 every 4 steps, target       | the same                  | the same                   |
|               | copied every 1,000; Adam                    |                           |                            |
| DQN's worlds  | 4 side by side, since rejax updates once a  | 4                         | 1                          |
|               | step of them all; 1 beside the other        |                           |                            |
| DQN's replay  | 100,000 steps; 1,000,000 beside the other   | 100,000                   | 20,000                     |

Beside Stable-Baselines3 DQN is paid by surprise in maze-small, with the paper's twin encoders on both sides. Epsilon,
discount and step size change no speed; nor does it that we copy the target every 250 steps there, a call's worth.
Nobody evaluates; nobody's first two calls count.
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
ROLLOUT = {"num_envs": 64, "num_steps": 32, "minibatch_size": 64, "update_epochs": 2}
SIZES: dict[str, dict[str, int]] = {
    "pqn": ROLLOUT,
    "ppo": ROLLOUT,
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
        "before": size.get("learning_starts", 0),
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
