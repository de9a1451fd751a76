"""MinAtar's own program for comparison, where it is installed."""

from __future__ import annotations

import numpy as np

from sadapt.benchmarks.timing import Call


def random_play(game: str, *, steps: int = 2_000) -> Call:
    """`steps` of the `minatar` package's `game`, one at a time, under random play with every observation built."""
    from minatar import Environment

    env = Environment(game)
    env.seed(0)
    actions = np.random.default_rng(0).integers(env.num_actions(), size=steps)

    def play() -> None:
        env.reset()
        for action in actions:
            _, ended = env.act(action)
            env.state()
            if ended:
                env.reset()

    return play
