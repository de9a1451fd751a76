"""Pictures of worlds: their maps, and the ways that trained agents take through them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sadapt.motivation.objectives import COLOURS, OBJECTIVES
from sadapt.report.stored import Results
from sadapt.runs.agent import Agent, load
from sadapt.runs.folder import RunFolder
from sadapt.runs.playback import moments

POLICY = "policy.safetensors"
SEED = 0
"""Of the episode that is shown."""


def maps(worlds: Sequence[str]) -> Any:
    """The starting maps side by side."""
    import jax
    from matplotlib.figure import Figure

    from sadapt.envs import make

    figure = Figure(figsize=(3.4, 1.95), layout="constrained")
    for axes, world in zip(figure.subplots(1, len(worlds)), worlds, strict=True):
        env = make(world)
        _show(axes, env.render(env.reset(jax.random.key(SEED))[0]), f"{world}, {env.horizon} steps")
    return figure


def behaviours(results: Results, learner: str, worlds: Sequence[str] = ("maze-small", "butterflies-large")) -> Any:
    """Per world: the start, and the end of an episode of S-Max and of S-Min with the agent's way drawn in."""
    from matplotlib.figure import Figure

    rows = []
    for world in worlds:
        trained = {name: _trained(results, world, name, learner) for name in ("s-max", "s-min")}
        rows += [(world, {name: agent for name, agent in trained.items() if agent is not None})]
    rows = [(world, agents) for world, agents in rows if len(agents) == 2]
    if not rows:
        return None
    figure = Figure(figsize=(3.4, 1.35 * len(rows)), layout="constrained")
    for (world, agents), panels in zip(rows, figure.subplots(len(rows), 3, squeeze=False), strict=True):
        for axes, (name, agent) in zip(panels[1:], agents.items(), strict=True):
            start, end, way = _episode(agent)
            _show(panels[0], start, world)
            _show(axes, end, f"{OBJECTIVES[name].title}, step {len(way) - 1}")
            _trace(axes, way, agent, end, COLOURS[name])
    return figure


def _trained(results: Results, world: str, objective: str, learner: str) -> Agent | None:
    """The first seed whose policy was kept."""
    group = results.get(world, objective, learner=learner)
    for folder in () if group is None else group.folders:
        if (source := _policy(folder)) is not None:
            return load(source)
    return None


def _policy(folder: RunFolder) -> str | None:
    exported = folder.path / POLICY
    if exported.is_file():
        return str(exported)
    return str(folder.path) if any(folder.checkpoints.newest()) else None


def _show(axes: Any, image: np.ndarray, title: str) -> None:
    axes.imshow(image, interpolation="nearest")
    axes.set_title(title, fontsize=6.5)
    axes.set_axis_off()


def _episode(agent: Agent) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first and the last picture of an episode, and the cells that the agent went through."""
    way: list[np.ndarray] = []
    pictures: list[Callable[[], np.ndarray]] = []
    for moment in moments(agent, agent.preferred_arm, seed=SEED):
        way.append(np.argwhere(np.asarray(moment.episode.obs)[..., agent.env.agent_channel])[0])
        pictures = [*pictures[:1], moment.picture]
    return pictures[0](), pictures[-1](), np.array(way)


def _trace(axes: Any, way: np.ndarray, agent: Agent, image: np.ndarray, colour: str) -> None:
    """The way as a line through the middles of the cells, a little apart where it was walked more than once."""
    rows, columns = agent.env.obs_shape[:2]
    tile = np.array([image.shape[0] / rows, image.shape[1] / columns])
    spread = np.linspace(-0.18, 0.18, len(way))[:, None] if len(way) > 1 else 0.0
    y, x = ((way + 0.5 + spread) * tile).T
    axes.plot(x, y, color="white", linewidth=1.6, alpha=0.7, solid_joinstyle="round")
    axes.plot(x, y, color=colour, linewidth=0.9, solid_joinstyle="round")
