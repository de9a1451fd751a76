"""Your own world, marginal, feedback, bandit, network and learner, one file each, outside the package.

cd examples
sadapt train lamps --import own_parts --marginal smoothed --feedback further --bandit wandering --network linear \\
    --learner online
"""

from own_parts import bandit, feedback, learner, marginal, network, world

__all__ = ["bandit", "feedback", "learner", "marginal", "network", "world"]
