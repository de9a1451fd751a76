"""MinAtar's own program for comparison, where it is installed."""

from __future__ import annotations

import numpy as np

from sadapt.benchmarks.timing import best_seconds


def steps_per_second(game: str, *, steps: int = 2_000, seconds: float = 3.0) -> float:
    """Of the `minatar` package's `game`, one at a time, under random play with every observation built."""
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

    return steps / best_seconds(play, seconds=seconds)
