"""The network that suits a world: the window where there is an agent, the paper's for screens, plain elsewhere."""

from __future__ import annotations

from sadapt.learners.networks.base import Network, Spec
from sadapt.learners.networks.paper import paper, paper_kind
from sadapt.learners.networks.plain import plain
from sadapt.learners.networks.window import window
from sadapt.learners.table import PlainSettings, WindowSettings


def auto(spec: Spec, settings: WindowSettings = WindowSettings()) -> Network:
    """One of the others."""
    if spec.agent_channel is not None:
        return window(spec, settings)
    return paper(spec) if paper_kind(spec.obs_shape) == "atari" else plain(spec, PlainSettings(settings.hidden))
