"""What runs in a peer's own environment: `python guest.py '{"what": "pqn", ...}'`, without a word of this package.

It speaks in lines: `ready STEPS` after two warm-up calls; for each `go` that it reads, the seconds that STEPS took.
rejax is called as its README says, `jax.jit(algo.train)`, but goes on from the state that it left, which it may
overwrite, and never evaluates.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

Stretch = tuple[int, Callable[[], Any]]
"""Environment steps, and a call that makes them and waits for their end."""
WARM_UPS = 2


def rejax_training(config: dict[str, Any]) -> Stretch:
    """rejax's DQN, PQN or PPO on a world of gymnax, with our network in Flax."""
    import gymnax
    import jax
    import rejax

    kind, norm, hidden = config["what"], config["layer_norm"], config["hidden"]
    env, env_params = gymnax.make(config["env"])
    actions = env.action_space(env_params).n
    # Agents of one's own go in after `create`, which would build rejax's networks without convolutions.
    algo = rejax.get_algo(kind).create(
        env=env,
        env_params=env_params,
        total_timesteps=config["steps"],
        eval_freq=config["steps"],
        skip_initial_evaluation=True,
        **config["settings"],
    )
    algo = algo.replace(eval_callback=lambda algo, state, key: (), **networks(kind, actions, hidden, norm))
    state = jax.jit(algo.init_state)(jax.random.key(0))
    train = jax.jit(lambda state: algo.train(train_state=state)[0], donate_argnums=0)

    def stretch() -> None:
        nonlocal state
        state = jax.block_until_ready(train(state))

    while state.global_step <= config["before"]:
        stretch()
    return config["steps"], stretch


def networks(kind: str, actions: int, hidden: int, norm: bool) -> dict[str, Any]:
    """One 3x3 convolution of 16 filters and a hidden layer, layer-normed or not; for PPO an actor and a critic."""
    import distrax
    import jax.numpy as jnp
    from flax import linen as nn
    from rejax.networks import EpsilonGreedyPolicy

    class Trunk(nn.Module):
        outputs: int

        @nn.compact  # type: ignore[untyped-decorator]
        def __call__(self, obs: Any) -> Any:
            x = nn.Conv(16, (3, 3), padding="VALID")(obs)
            x = x.reshape(x.shape[0], -1)
            x = nn.relu(nn.LayerNorm()(x) if norm else x)
            x = nn.Dense(hidden)(x)
            x = nn.relu(nn.LayerNorm()(x) if norm else x)
            return nn.Dense(self.outputs)(x)

    class Values(Trunk):
        def take(self, obs: Any, action: Any) -> Any:
            return jnp.take_along_axis(self(obs), action[:, None], axis=1)[:, 0]

    class Critic(nn.Module):
        @nn.compact  # type: ignore[untyped-decorator]
        def __call__(self, obs: Any) -> Any:
            return Trunk(1)(obs)[:, 0]

    class Actor(nn.Module):
        def setup(self) -> None:
            self.trunk = Trunk(actions)

        def __call__(self, obs: Any, key: Any) -> Any:
            policy = distrax.Categorical(logits=self.trunk(obs))
            action = policy.sample(seed=key)
            return action, policy.log_prob(action), policy.entropy()

        def action_log_prob(self, obs: Any, key: Any) -> Any:
            return self(obs, key)[:2]

        def log_prob_entropy(self, obs: Any, action: Any) -> Any:
            policy = distrax.Categorical(logits=self.trunk(obs))
            return policy.log_prob(action), policy.entropy()

    if kind == "ppo":
        return {"actor": Actor(), "critic": Critic()}
    return {"agent": EpsilonGreedyPolicy(Values)(actions)}


def gymnax_play(config: dict[str, Any]) -> Stretch:
    """Worlds of gymnax under random play, every observation built and kept entry by entry, none ever reset."""
    import gymnax
    import jax

    env, params = gymnax.make(config["env"])
    num_envs, steps = config["num_envs"], config["steps"]

    def advance(carry: tuple[Any, Any], key: Any) -> tuple[tuple[Any, Any], None]:
        states, seen = carry
        key_actions, key_steps = jax.random.split(key)
        actions = jax.random.randint(key_actions, (num_envs,), 0, env.num_actions)
        step = jax.vmap(env.step_env, in_axes=(0, 0, 0, None))
        obs, states, *_ = step(jax.random.split(key_steps, num_envs), states, actions, params)
        return (states, seen + obs), None

    @jax.jit
    def play(key: Any, states: Any, seen: Any) -> Any:
        return jax.lax.scan(advance, (states, seen), jax.random.split(key, steps))[0]

    obs, states = jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(jax.random.key(0), num_envs), params)
    seen, key = obs.astype(float), jax.random.key(1)
    return num_envs * steps, lambda: jax.block_until_ready(play(key, states, seen))


def serve(stretch: Stretch, questions: TextIO, answers: TextIO) -> None:
    """Warms up, says so, and times a stretch for every `go`."""
    steps, call = stretch
    for _ in range(WARM_UPS):
        call()
    print("ready", steps, file=answers, flush=True)
    for line in questions:
        if line.strip() == "go":
            begin = time.perf_counter()
            call()
            print(time.perf_counter() - begin, file=answers, flush=True)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever libraries print is no answer
    config = json.loads(sys.argv[1])
    serve((gymnax_play if config["what"] == "play" else rejax_training)(config), sys.stdin, answers)


if __name__ == "__main__":
    main()
