"""A world, a marginal, a bandit, a network and a learner of one's own, a file each, outside of the package.

cd examples
sadapt train lamps --import own_parts --marginal smoothed --bandit wandering --network linear --learner online
"""

from own_parts import bandit, learner, marginal, network, world

__all__ = ["bandit", "learner", "marginal", "network", "world"]
