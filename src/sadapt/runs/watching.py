"""A film of a trained agent: the world, theta as a long exposure beside it, and surprise over time below."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sadapt.envs.facts import Facts
from sadapt.envs.tiles import expose
from sadapt.fields import Count, Share, checked, field_of
from sadapt.film import INK, PAPER, SIDE, beside, caption, folded, save
from sadapt.motivation.objectives import ARMS, COLOURS
from sadapt.runs.agent import Agent
from sadapt.runs.playback import moments

HEIGHT = SIDE
"""Pixels of the two pictures, about."""
WIDEST = 3 * HEIGHT // 2
CHART, MARGIN, TITLE = 96, 12, 40
GREY = (120, 126, 138)
LABEL = 12
"""Points."""
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
    steps, fps = checked(field_of(Count | None), "steps", steps), checked(field_of(Count), "fps", fps)
    epsilon = checked(field_of(Share), "epsilon", epsilon)
    both = [each for each in (agent, compare) if each is not None]
    played = [list(scenes(each, arm=arm, seed=seed, steps=steps, epsilon=epsilon)) for each in both]
    scale = Scale.of([scene.surprise for each in played for scene in each[1:]])
    clips = [_pages(each, ARMS[each.arm(arm)], its, scale) for each, its in zip(both, played, strict=True)]
    return save(clips[0] if len(clips) == 1 else _together(*clips), path, fps=fps)


class Scene(NamedTuple):
    """What a film shows of a step, beside the chart: it waits, compressed, until the chart's scale is known."""

    picture: bytes
    shape: tuple[int, ...]
    facts: str
    surprise: float


class Scale(NamedTuple):
    """What a chart's height means, the same in all charts of a film, from its first picture to its last."""

    low: float
    high: float

    @classmethod
    def of(cls, surprises: Sequence[float]) -> Scale:
        """From 0, or what is less, to the most that anybody was surprised."""
        return cls(min([0.0, *surprises]), max([1e-9, *surprises]))

    def height(self, value: float) -> float:
        """As a share of the chart's."""
        return (value - self.low) / (self.high - self.low)


def scenes(
    agent: Agent, *, arm: str | None = None, seed: int = 0, steps: int | None = None, epsilon: float = 0.0
) -> Iterator[Scene]:
    """One episode, the first scene before any action."""
    prog, chosen = agent.program, agent.arm(arm)
    features, entropy = jax.jit(prog.marginal.features), jax.jit(prog.marginal.entropy)
    channels = [prog.env.channels[index] for index in prog.env.marginal_channels]
    for step, (episode, transition, picture) in enumerate(moments(agent, chosen, seed=seed, epsilon=epsilon)):
        theta = _theta(np.asarray(features(episode.marginal)), channels, prog.env)
        shown = beside(caption(_fitted(picture()), "world", size=LABEL), caption(theta, "theta", size=LABEL))
        facts = [f"step {int(episode.t)} of {prog.rules.horizon}", f"return {float(episode.so_far['return']):g}"]
        if deaths := int(episode.so_far["deaths"]):
            facts.append(f"deaths {deaths}")
        facts.append(f"entropy {float(entropy(episode.marginal)):.1f} (random {agent.h_random:.1f})")
        surprise = 0.0 if transition is None else float(transition.surprise)
        yield Scene(zlib.compress(shown.tobytes(), level=1), shown.shape, "   ".join(facts), surprise)
        if step == steps:
            return


def _pages(agent: Agent, arm: str, played: Sequence[Scene], scale: Scale) -> Iterator[np.ndarray]:
    """Title, pictures and chart of every scene."""
    surprises = [scene.surprise for scene in played[1:]]
    for number, scene in enumerate(played):
        picture = np.frombuffer(zlib.decompress(scene.picture), np.uint8).reshape(scene.shape)
        yield _page(agent, arm, picture, surprises[:number], scale, scene.facts)


def _page(agent: Agent, arm: str, picture: np.ndarray, surprises: list[float], scale: Scale, facts: str) -> np.ndarray:
    width = max(picture.shape[1], 420) + 2 * MARGIN
    page = Image.new("RGB", (width, TITLE + picture.shape[0] + CHART + 2 * MARGIN), PAPER)
    draw = ImageDraw.Draw(page)
    adaptive = agent.program.parts.objective.adaptive
    title = f"{agent.settings.env}: {agent.title}" + (f" on {arm}" if adaptive else "")
    draw.text((MARGIN, 4), title, fill=INK, font=ImageFont.load_default(15))
    draw.text((MARGIN, 23), facts, fill=GREY, font=ImageFont.load_default(LABEL))
    page.paste(Image.fromarray(picture), ((width - picture.shape[1]) // 2, TITLE))
    colour = COLOURS[arm if adaptive else agent.settings.objective]
    chart = _chart(surprises, agent.program.rules.horizon, width - 2 * MARGIN, colour, scale)
    page.paste(chart, (MARGIN, TITLE + picture.shape[0] + MARGIN))
    return np.asarray(page)


def _chart(values: list[float], horizon: int, width: int, colour: str, scale: Scale) -> Image.Image:
    """Surprise over time, the axis as long as the episode, and beside it what its height means."""
    image = Image.new("RGB", (width * FINE, CHART * FINE), PAPER)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(10)
    ends = {value: f"{value:.3g}" for value in sorted({scale.low, 0.0, scale.high})}
    left = FINE * (6 + max(round(font.getlength(text)) for text in ends.values()))
    right, top, bottom = FINE * (width - 4), FINE * 20, FINE * (CHART - 8)

    def place(value: float) -> float:
        return bottom - (bottom - top) * scale.height(value)

    draw.line([(left, place(0.0)), (right, place(0.0))], fill=GREY, width=FINE)
    draw.line([(left, top), (left, bottom)], fill=GREY, width=FINE)
    draw.line([(left, top), (left + 5 * FINE, top)], fill=GREY, width=FINE)
    points = [(left + (right - left) * (index + 1) / horizon, place(value)) for index, value in enumerate(values)]
    if len(points) > 1:
        draw.line(points, fill=colour, width=2 * FINE, joint="curve")
    if points:
        x, y = points[-1]
        draw.ellipse([x - 3 * FINE, y - 3 * FINE, x + 3 * FINE, y + 3 * FINE], fill=colour)
    small = image.resize((width, CHART), Image.Resampling.LANCZOS)
    write = ImageDraw.Draw(small)
    label = f"surprise {values[-1]:.1f} nats" if values else "surprise, nats"
    write.text((left / FINE, 0), label, fill=INK, font=ImageFont.load_default(LABEL))
    for value, text in ends.items():
        if value in (scale.high, scale.low) or 0.2 < scale.height(value) < 0.8:
            write.text((left / FINE - 4, place(value) / FINE), text, fill=GREY, font=font, anchor="rm")
    return small


def _theta(features: np.ndarray, channels: list[str], env: Facts) -> np.ndarray:
    """The marginal's means as a picture; of a vector one row, of Gaussian features the means alone."""
    means = features[..., : len(channels)] if features.shape[-1] != len(channels) else features
    means = folded(means)
    low, high = float(means.min()), float(means.max())
    if low < 0 or high > 1:
        low, high = (env.low, env.high) if np.isfinite([env.low, env.high]).all() else (low, high)
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
