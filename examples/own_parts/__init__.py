"""A world, a marginal, a feedback, a bandit, a network and a learner of one's own, a file each, outside of the package.

cd examples
sadapt train lamps --import own_parts --marginal smoothed --feedback further --bandit wandering --network linear \\
    --learner online
"""

from own_parts import bandit, feedback, learner, marginal, network, world

__all__ = ["bandit", "feedback", "learner", "marginal", "network", "world"]
