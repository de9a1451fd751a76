"""State marginals, one family a file."""

from sadapt.motivation.marginals.base import MAX_COUNT, InputSpec, Marginal, MarginalState
from sadapt.motivation.marginals.bernoulli import BernoulliState, bernoulli
from sadapt.motivation.marginals.gaussian import GaussianState, gaussian

__all__ = [
    "MAX_COUNT",
    "BernoulliState",
    "GaussianState",
    "InputSpec",
    "Marginal",
    "MarginalState",
    "bernoulli",
    "gaussian",
]
