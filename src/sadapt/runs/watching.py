"""A film of a trained agent: the world, theta as a long exposure beside it, and surprise over time below."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sadapt.envs.tiles import expose
from sadapt.errors import UserError
from sadapt.film import INK, PAPER, beside, folded, save
from sadapt.motivation.objectives import ARMS, COLOURS
from sadapt.runs.agent import Agent
from sadapt.runs.playback import moments

HEIGHT = 300
"""Pixels of the two pictures, about."""
WIDEST = 2 * HEIGHT
CHART, MARGIN, TITLE = 96, 12, 40
GREY = (150, 155, 165)
FINE = 3
"""Samples per pixel and axis of the chart's line."""


def watch(
    agent: Agent,
    path: str | Path,
    *,
    compare: Agent | None = None,
    arm: str | None = None,
    seed: int = 0,
    steps: int | None = None,
    fps: int = 12,
    epsilon: float = 0.0,
) -> Path:
    """Films one episode (GIF or MP4); `compare` puts a second agent's beside it, from the same seed."""
    if steps is not None and steps < 1:
        raise UserError(f"--steps must be at least 1; got {steps}")
    both = [each for each in (agent, compare) if each is not None]
    clips = [frames(each, arm=arm, seed=seed, steps=steps, epsilon=epsilon) for each in both]
    return save(clips[0] if len(clips) == 1 else _together(*clips), path, fps=fps)


def frames(
    agent: Agent, *, arm: str | None = None, seed: int = 0, steps: int | None = None, epsilon: float = 0.0
) -> Iterator[np.ndarray]:
    """Pictures of one episode, the first before any action."""
    prog, chosen = agent.program, agent.arm(arm)
    features, entropy = jax.jit(prog.marginal.features), jax.jit(prog.marginal.entropy)
    channels = [prog.env.channels[index] for index in prog.env.marginal_channels]
    horizon, surprises = prog.rules.horizon, []
    for episode, transition, picture in moments(agent, chosen, seed=seed, epsilon=epsilon):
        if transition is not None:
            surprises.append(float(transition.surprise))
        pictures = beside(_fitted(picture()), _theta(np.asarray(features(episode.marginal)), channels))
        facts = [f"step {int(episode.t)} of {horizon}", f"return {float(episode.so_far['return']):g}"]
        if deaths := int(episode.so_far["deaths"]):
            facts.append(f"deaths {deaths}")
        facts.append(f"entropy {float(entropy(episode.marginal)):.1f} (random {agent.h_random:.1f})")
        yield _page(agent, ARMS[chosen], pictures, surprises, horizon, "   ".join(facts))
        if len(surprises) == steps:
            return


def _page(agent: Agent, arm: str, picture: np.ndarray, surprises: list[float], horizon: int, facts: str) -> np.ndarray:
    """Title, pictures, chart."""
    width = max(picture.shape[1], 420) + 2 * MARGIN
    page = Image.new("RGB", (width, TITLE + picture.shape[0] + CHART + 2 * MARGIN), PAPER)
    draw = ImageDraw.Draw(page)
    adaptive = agent.program.parts.objective.adaptive
    title = f"{agent.settings.env}: {agent.title}" + (f" on {arm}" if adaptive else "")
    draw.text((MARGIN, 4), title, fill=INK, font=ImageFont.load_default(15))
    draw.text((MARGIN, 23), facts, fill=GREY, font=ImageFont.load_default(11))
    page.paste(Image.fromarray(picture), ((width - picture.shape[1]) // 2, TITLE))
    top = TITLE + picture.shape[0] + MARGIN
    page.paste(
        _chart(surprises, horizon, width - 2 * MARGIN, COLOURS[arm if adaptive else agent.settings.objective]),
        (MARGIN, top),
    )
    return np.asarray(page)


def _chart(values: list[float], horizon: int, width: int, colour: str) -> Image.Image:
    """Surprise over time, the axis as long as the episode."""
    image = Image.new("RGB", (width * FINE, CHART * FINE), PAPER)
    draw = ImageDraw.Draw(image)
    room, bottom = 16 * FINE, CHART * FINE - FINE
    draw.line([(0, bottom), (width * FINE, bottom)], fill=GREY, width=FINE)
    highest = max([*values, 1e-9])
    points = [
        (FINE * width * (index + 1) / horizon, bottom - (bottom - room) * max(value, 0.0) / highest)
        for index, value in enumerate(values)
    ]
    if len(points) > 1:
        draw.line(points, fill=colour, width=2 * FINE, joint="curve")
    if points:
        x, y = points[-1]
        draw.ellipse([x - 3 * FINE, y - 3 * FINE, x + 3 * FINE, y + 3 * FINE], fill=colour)
    small = image.resize((width, CHART), Image.Resampling.LANCZOS)
    label = f"surprise {values[-1]:.1f} nats" if values else "surprise, nats"
    ImageDraw.Draw(small).text((0, 0), label, fill=INK, font=ImageFont.load_default(11))
    return small


def _theta(features: np.ndarray, channels: list[str]) -> np.ndarray:
    """The marginal's means as a picture; of a vector one row, of Gaussian features the means alone."""
    means = features[..., : len(channels)] if features.shape[-1] != len(channels) else features
    means = folded(means)
    low, high = float(means.min()), float(means.max())
    if low < 0 or high > 1:
        means = (means - low) / max(high - low, 1e-9)
    names = channels if means.shape[-1] == len(channels) else []
    return _fitted(expose(means, names, tile=max(1, HEIGHT // max(means.shape[:2]))))


def _fitted(image: np.ndarray) -> np.ndarray:
    """Scaled, in whole pixels where it grows, to about the height of the film's pictures, or less where it is wide."""
    height, width = image.shape[:2]
    scale = min(HEIGHT / height, WIDEST / width)
    if scale >= 2:
        return np.kron(image, np.ones((int(scale), int(scale), 1), np.uint8))
    if scale > 0.95 and scale < 1.05:
        return image
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(Image.fromarray(image).resize(size, Image.Resampling.LANCZOS))


def _together(left: Iterator[np.ndarray], right: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """Two films side by side; the shorter one waits on its last picture."""
    a, b = next(left), next(right)
    while True:
        yield beside(a, b)
        after = next(left, None), next(right, None)
        if after[0] is None and after[1] is None:
            return
        a = a if after[0] is None else after[0]
        b = b if after[1] is None else after[1]
