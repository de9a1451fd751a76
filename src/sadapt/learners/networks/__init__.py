"""Networks as bundles of pure functions: the paper's, and smaller ones for many worlds side by side on a CPU."""

from sadapt.learners.networks.base import Network, Spec
from sadapt.learners.networks.paper import paper, paper_kind
from sadapt.learners.networks.per_arm import per_arm
from sadapt.learners.networks.plain import plain
from sadapt.learners.networks.window import window

__all__ = ["Network", "Spec", "paper", "paper_kind", "per_arm", "plain", "window"]
