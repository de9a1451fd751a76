"""The motivation in your own JAX loop: marginal, objective and bandit are pure functions.

    python examples/jax_loop.py --total-timesteps 20000

The agent here acts at random; put your learner where a comment says so.
"""

from __future__ import annotations

import argparse

import jax

from sadapt.envs import make
from sadapt.motivation.bandits.race import race
from sadapt.motivation.baseline import random_agent
from sadapt.motivation.feedback import FeedbackSettings, of_surprise
from sadapt.motivation.marginals import bernoulli
from sadapt.motivation.objectives import ARMS, OBJECTIVES, payment


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--total-timesteps", type=int, default=20_000)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()

    env = make("maze-small")
    marginal, feedback, bandit = bernoulli(env.input_shape), of_surprise(FeedbackSettings(signed=True)), race(len(ARMS))
    key_baseline, key_run = jax.random.split(jax.random.key(given.seed))
    random = random_agent(env, marginal, on_death="end", count=50)(key_baseline)

    @jax.jit
    def episode(key, arm):
        """One episode of `env.horizon` steps on `arm`: the rewards, and the mean surprise."""
        key_reset, key_steps = jax.random.split(key)
        world, obs = env.reset(key_reset)
        theta = marginal.update(marginal.init(), env.marginal_input(obs))

        def step(carry, key):
            world, theta = carry
            key_act, key_world = jax.random.split(key)
            # A learner would look at the observation, marginal.features(theta), t / T and the arm.
            action = jax.random.randint(key_act, (), 0, env.num_actions)
            world, answer = env.step(key_world, world, action)
            shown = env.marginal_input(answer.obs)
            surprise = -marginal.log_prob(theta, shown)
            paid = payment(OBJECTIVES["s-adapt"], arm, surprise, answer.reward)
            return (world, marginal.update(theta, shown)), (paid, surprise)

        _, (paid, surprise) = jax.lax.scan(step, (world, theta), jax.random.split(key_steps, env.horizon))
        return paid, surprise.mean()

    pulls = bandit.init()
    for number in range(max(1, given.total_timesteps // env.horizon)):
        key_run, key_arm, key_episode = jax.random.split(key_run, 3)
        pulls, arm = bandit.select(jax.random.uniform(key_arm, (len(ARMS),)), pulls)
        paid, surprise = episode(key_episode, arm)
        pulls = bandit.update(pulls, arm, feedback.hear({"surprise": surprise}, random, arm))
        if number % 20 == 0:
            print(
                f"episode {number:4d}  {ARMS[int(arm)]}  return {float(paid.sum()):8.1f}  "
                f"surprise {float(surprise):.2f} (random {random.mean['surprise']:.2f})"
            )
    print(f"mean feedback {pulls.means.tolist()} after {pulls.counts.tolist()} pulls")


if __name__ == "__main__":
    main()
