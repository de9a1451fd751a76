"""Pictures of grid worlds: sprites drawn from formulas, one to a cell, in one palette."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np


class Ink:
    """Every colour of the worlds; reds and greens differ in lightness too, a fourth pair of digits is opacity."""

    PAPER, PAPER_LINE = "#F5F2EA", "#E8E3D6"
    STONE, STONE_LIGHT, STONE_DARK = "#4A5568", "#66738A", "#353E4E"
    NIGHT, NIGHT_LINE = "#1B2130", "#283145"
    BLACK, WHITE = "#1F2533", "#FFFFFF"
    RED, RED_LIGHT, RED_DARK = "#E2501F", "#F58A62", "#8F260A"
    GREEN, GREEN_DARK, GOLD = "#0FA583", "#005A49", "#FFCE33"
    BLUE, BLUE_LIGHT, BLUE_DARK = "#1C6DC4", "#7CC4F4", "#103F75"
    SHADE, GLOW, GLASS = "#1F253330", "#FFD45C99", "#FFFFFF38"


CHANNELS = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")
"""Where `palette` begins: Okabe and Ito's colours, which colour-blind eyes can tell apart."""

GLOWS = {
    "wall": Ink.STONE,
    "agent": Ink.RED,
    "catcher": Ink.RED,
    "goal": Ink.GREEN,
    "butterfly": Ink.BLUE_LIGHT,
    "board": Ink.BLUE_LIGHT,
    "piece": Ink.GOLD,
}
"""Colours of channels in a long exposure."""

DARKEST = 0.5
"""Lowest Oklab lightness of a channel's colour: channels are painted on a dark ground."""

SAMPLES = 8
"""Samples per pixel and axis when a sprite is drawn."""

SMALL = 0.24
"""A hairline this wide, of a tile this narrow, leaves no room for detail."""

Shapes = Iterator[tuple[np.ndarray, str]]
Painter = Callable[[np.ndarray, np.ndarray, float], Shapes]
"""`painter(x, y, line)` yields (where, colour), bottom first; x right, y down, in [-1, 1]; `line` is a hairline."""


def paint(layers: Sequence[tuple[np.ndarray, str]], *, tile: int = 24, floor: str = "floor") -> np.ndarray:
    """Paint planes [H, W] of sprites, in order, over a floor: uint8[H * tile, W * tile, 3]."""
    planes = [(np.asarray(plane, dtype=bool), name) for plane, name in layers]
    if len({plane.shape for plane, _ in planes}) != 1 or planes[0][0].ndim != 2:
        given = ", ".join(f"{name} {plane.shape}" for plane, name in planes) or "no layer"
        raise ValueError(f"layers must be planes [height, width] of one shape, at least one; given: {given}")
    return _compose(planes[0][0].shape, sprite(floor, tile), [(plane, sprite(name, tile)) for plane, name in planes])


def paint_channels(obs: np.ndarray, *, tile: int = 24) -> np.ndarray:
    """Paint a binary map [H, W, C], a colour per channel; channels that share a cell are nested squares, in order."""
    planes = np.asarray(obs, dtype=bool)
    if planes.ndim != 3:
        raise ValueError(f"a binary map must have the shape [height, width, channels]; given: {planes.shape}")
    ranks = np.cumsum(planes, axis=-1)
    layers = []
    for plane, rank, colour in zip(planes.T, ranks.T, palette(planes.shape[-1]), strict=True):
        for place, sharing in sorted({*zip(rank[plane].tolist(), ranks.T[-1][plane].tolist(), strict=True)}):
            here = plane & (rank == place) & (ranks.T[-1] == sharing)
            layers.append((here.T, _chip(bytes(colour), place - 1, sharing, tile)))
    return _compose(planes.shape[:2], sprite("well", tile), layers)


def expose(theta: np.ndarray, channels: Sequence[str] = (), *, tile: int = 24) -> np.ndarray:
    """Paint means [H, W, C] like a long exposure: the more often a channel was set in a cell, the more it glows there.

    Channels that a sprite is named after have its colour. Brightness grows with the root of theta, so that a cell
    visited once in a hundred steps can still be seen.
    """
    shown = np.sqrt(np.clip(theta, 0, 1))
    spare = iter(palette(theta.shape[-1]))
    names = [*channels, *[""] * (theta.shape[-1] - len(channels))]
    colours = np.array([_rgba(GLOWS[name])[:3] if name in GLOWS else next(spare) / 255 for name in names])
    dark = np.prod(1 - shown[..., None] * colours, axis=2)
    cells = 1 - (1 - np.array(_rgba(Ink.NIGHT)[:3])) * dark
    return np.rint(255 * np.kron(cells, np.ones((tile, tile, 1)))).astype(np.uint8)


@cache
def palette(n: int) -> np.ndarray:
    """`n` distinct colours, uint8[n, 3]: Okabe and Ito's seven, then always the one farthest from all before it.

    Distance is Euclidean in Oklab with the red-green axis halved, as colour-blind eyes see little of it.
    """
    level = np.linspace(0, 1, 16)
    candidates = np.stack(np.meshgrid(level, level, level), axis=-1).reshape(-1, 3)
    candidates = candidates[_perceived(candidates)[:, 0] > DARKEST]
    places = _perceived(candidates)
    chosen = [_rgba(colour)[:3] for colour in CHANNELS[:n]]
    taken = _perceived(np.array([_rgba(Ink.NIGHT)[:3], *chosen]))
    gap = np.linalg.norm(places[:, None] - taken, axis=-1).min(axis=1)
    while len(chosen) < n:
        farthest = int(np.argmax(gap))
        chosen.append(candidates[farthest])
        gap = np.minimum(gap, np.linalg.norm(places - places[farthest], axis=-1))
    return _frozen(np.rint(255 * np.array(chosen)).astype(np.uint8).reshape(n, 3))


@cache
def sprite(name: str, tile: int) -> np.ndarray:
    """A named sprite, float32[tile, tile, 4] in [0, 1]: colour times opacity, then opacity."""
    return _draw(SPRITES[name], tile)


@cache
def _chip(rgb: bytes, below: int, sharing: int, tile: int) -> np.ndarray:
    """A square in a cell of several channels, drawn as rings of one width around each other."""

    def painter(x: np.ndarray, y: np.ndarray, line: float) -> Shapes:
        x, y, half = _inside_grid(x, y, line)
        yield _box(x, y, half - _snap(half * below / sharing, line), 0), f"#{rgb.hex()}"

    return _draw(painter, tile)


def _compose(shape: tuple[int, ...], floor: np.ndarray, layers: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Lay sprites over the floor, cell by cell: colour = sprite + (1 - opacity) * what lies below."""
    height, width = shape
    tile = len(floor)
    cells = np.broadcast_to(255 * floor[..., :3], (height, width, tile, tile, 3)).copy()
    for plane, drawn in layers:
        cells[plane] = 255 * drawn[..., :3] + (1 - drawn[..., 3:]) * cells[plane]
    return np.rint(cells).astype(np.uint8).swapaxes(1, 2).reshape(height * tile, width * tile, 3)


def _draw(painter: Painter, tile: int) -> np.ndarray:
    """Paint shapes on a fine grid and average it down to pixels."""
    fine = tile * SAMPLES
    axis = (np.arange(fine, dtype=np.float32) + 0.5) * 2 / fine - 1
    x, y = np.meshgrid(axis, axis)
    canvas = np.zeros((fine, fine, 4), dtype=np.float32)
    for where, colour in painter(x, y, max(1, tile // 24) * 2 / tile):
        *rgb, opacity = _rgba(colour)
        canvas[where] = opacity * np.array([*rgb, 1], dtype=np.float32) + (1 - opacity) * canvas[where]
    return _frozen(canvas.reshape(tile, SAMPLES, tile, SAMPLES, 4).mean(axis=(1, 3)))


def _rgba(colour: str) -> tuple[float, ...]:
    return tuple(value / 255 for value in bytes.fromhex(colour[1:].ljust(8, "F")))


_TO_CONES = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_TO_OKLAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)


def _perceived(rgb: np.ndarray) -> np.ndarray:
    """Oklab coordinates of sRGB colours, the green-red axis halved."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    cones = np.cbrt(linear @ np.array(_TO_CONES).T)
    return cones @ np.array(_TO_OKLAB).T * (1, 0.5, 1)


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _snap(length: float, line: float) -> float:
    """The multiple of a hairline nearest to a length, for edges that fall between pixels."""
    return line * round(length / line)


def _inside_grid(x: np.ndarray, y: np.ndarray, line: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Coordinates around the middle of what the floor's grid lines leave free, and half its width."""
    return x + line / 2, y + line / 2, 1 - line / 2


def _everywhere(x: np.ndarray) -> np.ndarray:
    return np.ones_like(x, dtype=bool)


def _ellipse(
    x: np.ndarray, y: np.ndarray, centre: tuple[float, float], radii: tuple[float, float], tilt: float = 0.0
) -> np.ndarray:
    """An ellipse whose first radius is turned by `tilt` radians, clockwise on the screen."""
    dx, dy = x - centre[0], y - centre[1]
    along, across = dx * np.cos(tilt) + dy * np.sin(tilt), dy * np.cos(tilt) - dx * np.sin(tilt)
    return (along / radii[0]) ** 2 + (across / radii[1]) ** 2 < 1


def _box(x: np.ndarray, y: np.ndarray, half: float, corner: float) -> np.ndarray:
    """A centred square with rounded corners."""
    dx, dy = (np.maximum(np.abs(axis) - (half - corner), 0) for axis in (x, y))
    return dx**2 + dy**2 < corner**2 if corner else np.maximum(np.abs(x), np.abs(y)) < half


def _star(x: np.ndarray, y: np.ndarray, radius: float) -> np.ndarray:
    """A five-pointed star: inside the edge from a tip to the next dent, folded ten times."""
    wedge = np.pi / 5
    turn = np.abs(np.mod(np.arctan2(x, -y) + wedge, 2 * wedge) - wedge)
    along, across = np.hypot(x, y) * np.cos(turn), np.hypot(x, y) * np.sin(turn)
    dent = 0.5 * radius * np.array([np.cos(wedge), np.sin(wedge)])
    return dent[1] * (radius - along) > across * (radius - dent[0])


def _stroke(
    x: np.ndarray, y: np.ndarray, start: tuple[float, float], end: tuple[float, float], width: float
) -> np.ndarray:
    """A line with round ends."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    share = np.clip(((x - start[0]) * dx + (y - start[1]) * dy) / (dx**2 + dy**2), 0, 1)
    return np.hypot(x - start[0] - share * dx, y - start[1] - share * dy) < width / 2


def _bevel(x: np.ndarray, y: np.ndarray, half: float, width: float, light: str, dark: str) -> Shapes:
    """Light on the upper left rim of a square, shade on the lower right one."""
    rim = (np.maximum(np.abs(x), np.abs(y)) < half) & (np.maximum(np.abs(x), np.abs(y)) > half - width)
    yield rim & (x + y < 0), light
    yield rim & (x + y >= 0), dark


def _floor(x: np.ndarray, y: np.ndarray, line: float) -> Shapes:
    yield _everywhere(x), Ink.PAPER
    yield np.maximum(x, y) > 1 - line, Ink.PAPER_LINE


def _well(x: np.ndarray, y: np.ndarray, line: float) -> Shapes:
    yield _everywhere(x), Ink.NIGHT
    yield np.maximum(x, y) > 1 - line, Ink.NIGHT_LINE


def _wall(x: np.ndarray, y: np.ndarray, line: float) -> Shapes:
    yield _everywhere(x), Ink.STONE
    yield from _bevel(x, y, 1, max(line, _snap(0.12, line)), Ink.STONE_LIGHT, Ink.STONE_DARK)


def _face(x: np.ndarray, y: np.ndarray, line: float) -> Shapes:
    """A round red fellow with two big eyes, of radius one."""
    side = np.abs(x)
    yield _ellipse(x, y, (0, 0), (1, 1)), Ink.RED_DARK
    yield _ellipse(x, y, (0, 0), (0.87, 0.87)), Ink.RED
    if line > SMALL:
        yield (side > line) & (side < 2 * line) & (np.abs(y) < line), Ink.WHITE
        return
    yield _ellipse(x, y, (-0.32, -0.58), (0.3, 0.13), -0.5), Ink.RED_LIGHT
    yield _ellipse(side, y, (0.36, -0.1), (0.27, 0.34)), Ink.WHITE
    yield _ellipse(side - 0.05 * np.sign(x), y, (0.36, -0.04), (0.14, 0.19)), Ink.BLACK
    yield _ellipse(x, y, (0, 0.3), (0.34, 0.3)) & (y > 0.3) & ~_ellipse(x, y, (0, 0.2), (0.42, 0.27)), Ink.RED_DARK


def _agent(x: np.ndarray, y: np.ndarray, line: float) -> Shapes:
    yield _ellipse(x, y, (0, 0.8), (0.7, 0.16)), Ink.SHADE
    yield from _face(x / 0.9, y / 0.9, line / 0.9)


def _catcher(x: np.ndarray, y: np.ndarray, line: float) -> Shapes:
    yield _box(x, y, 1, 0.3), Ink.GLOW
    net = x - 0.5, y + 0.5
    yield _stroke(x, y, (0.25, 0.9), (0.5, -0.2), 0.14), Ink.BLACK
    yield _ellipse(*net, (0, 0), (0.48, 0.48)), Ink.BLACK
    yield _ellipse(*net, (0, 0), (0.36, 0.36)), Ink.WHITE
    if line < SMALL / 2:
        mesh = np.minimum(np.mod(net[0] + net[1], 0.3), np.mod(net[0] - net[1], 0.3)) < 0.06
        yield _ellipse(*net, (0, 0), (0.36, 0.36)) & mesh, Ink.STONE_LIGHT
    yield from _face((x + 0.25) / 0.74, (y - 0.25) / 0.74, line / 0.74)


def _goal(x: np.ndarray, y: np.ndarray, line: float) -> Shapes:
    yield _box(x, y, 1, 0.3), Ink.GREEN_DARK
    yield _box(x, y, 1 - line, 0.25), Ink.GREEN
    yield _star(x, y - 0.06, 0.98), Ink.GREEN_DARK
    yield _star(x, y - 0.06, 0.82), Ink.GOLD


def _light(x: np.ndarray, y: np.ndarray, line: float) -> Shapes:
    yield _everywhere(x), Ink.GLOW


def _butterfly(x: np.ndarray, y: np.ndarray, line: float) -> Shapes:
    side = np.abs(x)
    wings = (((0.48, -0.34), (0.5, 0.36), -0.7), ((0.4, 0.38), (0.38, 0.27), 0.8))
    for centre, (long, short), tilt in wings:
        yield _ellipse(side, y, centre, (long, short), tilt), Ink.BLUE_DARK
    for centre, (long, short), tilt in wings:
        yield _ellipse(side, y, centre, (long - 0.1, short - 0.1), tilt), Ink.BLUE
    yield _ellipse(side, y, (0.56, -0.42), (0.2, 0.14), -0.7), Ink.BLUE_LIGHT
    yield _ellipse(side, y, (0.44, 0.42), (0.12, 0.09), 0.8), Ink.BLUE_LIGHT
    yield _stroke(side, y, (0, -0.4), (0.2, -0.85), 0.06), Ink.BLACK
    yield _stroke(x, y, (0, -0.45), (0, 0.55), 0.2), Ink.BLACK


def _block(x: np.ndarray, y: np.ndarray, line: float) -> Shapes:
    x, y, half = _inside_grid(x, y, line)
    yield _box(x, y, half, 0), Ink.BLUE
    yield from _bevel(x, y, half, max(line, _snap(0.22, line)), Ink.BLUE_LIGHT, Ink.BLUE_DARK)


def _ghost(x: np.ndarray, y: np.ndarray, line: float) -> Shapes:
    x, y, half = _inside_grid(x, y, line)
    rim = max(line, _snap(0.2, line))
    pane = _box(x, y, half - rim, 0.1)
    yield _box(x, y, half, 0.2) & ~pane, Ink.GOLD
    yield pane, Ink.GLASS


SPRITES: dict[str, Painter] = {
    "floor": _floor,
    "wall": _wall,
    "agent": _agent,
    "goal": _goal,
    "light": _light,
    "butterfly": _butterfly,
    "catcher": _catcher,
    "well": _well,
    "block": _block,
    "ghost": _ghost,
}
