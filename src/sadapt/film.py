"""Films of worlds: frames joined, captioned and saved as GIF or MP4."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import math
import uuid
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sadapt.errors import UserError, installing

PAPER, INK = (255, 255, 255), (31, 37, 51)
GIF_COLOURS = 255
"""A GIF's table holds 256; the last one is left to mean "as in the frame before"."""
GIF_SHORTEST = 20
"""Milliseconds; viewers slow shorter frames down."""
GIF_LARGEST = 2**16 - 1
"""Pixels of a side."""
CAPTION_SMALLEST = 8
"""Points; a caption shrinks no further."""
SIDE = 300
"""Pixels, about, of the longer side of a picture that is drawn as cells."""
LONGEST_ROW = 16
"""Entries of a vector that are shown side by side."""


def save(frames: Iterable[np.ndarray], path: str | Path, *, fps: int = 10) -> Path:
    """Write frames uint8[H, W, 3] to a looping .gif or an .mp4; the file appears only when it is complete."""
    path = Path(path)
    write = WRITERS.get(path.suffix.lower())
    if write is None:
        raise UserError(
            f"a film must end in {' or '.join(WRITERS)}; given: {str(path)!r}. Rename it, e.g. to film.gif."
        )
    if fps < 1:
        raise UserError(f"a film needs at least 1 frame per second; given: {fps}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.stem}-{uuid.uuid4().hex}{path.suffix}")
    try:
        write(_checked(frames), partial, fps)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def beside(left: np.ndarray, right: np.ndarray, gap: int = 16) -> np.ndarray:
    """Two images side by side on white, the shorter one centred."""
    height = max(len(left), len(right))
    space = np.full((height, gap, 3), PAPER, dtype=np.uint8)
    return np.concatenate([_centred(left, height), space, _centred(right, height)], axis=1)


def caption(image: np.ndarray, text: str, *, size: int = 14) -> np.ndarray:
    """An image above a strip of text (Latin letters) as high as it has lines; lines too long for it are set smaller."""
    strip = Image.new("RGB", (image.shape[1], round(1.5 * size * (1 + text.count("\n")))), PAPER)
    draw = ImageDraw.Draw(strip)
    fonts = (ImageFont.load_default(points) for points in range(size, CAPTION_SMALLEST, -1))
    fitting = (font for font in fonts if draw.multiline_textbbox((0, 0), text, font=font)[2] <= strip.width - size // 2)
    font = next(fitting, ImageFont.load_default(CAPTION_SMALLEST))
    middle = (strip.width / 2, strip.height / 2)
    draw.multiline_text(middle, text, fill=INK, font=font, anchor="mm", align="center")
    return np.concatenate([image, np.asarray(strip)])


def folded(cells: np.ndarray) -> np.ndarray:
    """Anything as cells [height, width, channels]: a long vector in rows of about as many, the last filled up."""
    if cells.ndim == 1:
        width = len(cells) if len(cells) <= LONGEST_ROW else math.ceil(math.sqrt(len(cells)))
        spare = -len(cells) % width
        return np.append(cells, np.full(spare, cells.min(), cells.dtype)).reshape(-1, width, 1)
    return cells.reshape(*cells.shape[:2], -1)


def _write_gif(frames: Iterator[np.ndarray], path: Path, fps: int) -> None:
    """All frames share one colour table; a frame that equals the one before only prolongs it."""
    packed, shape = [], (0, 0, 3)
    tally: Counter[int] = Counter()
    for frame in frames:
        if max(frame.shape) > GIF_LARGEST:
            raise UserError(
                f"a .gif may be {GIF_LARGEST:,} pixels wide and high; this film is {frame.shape[1]:,} x "
                f"{frame.shape[0]:,}: film a smaller world"
            )
        codes, counts = np.unique(_codes(frame), return_counts=True)
        tally.update(dict(zip(codes.tolist(), counts.tolist(), strict=True)))
        packed.append(zlib.compress(frame.data, level=1))
        shape = frame.shape
    colours = _rgb(np.array([code for code, _ in tally.most_common()]))
    chosen, nearest = _reduce(colours, GIF_COLOURS)
    index = np.zeros(1 << 24, dtype=np.uint8)
    index[_codes(colours)] = nearest

    def images() -> Iterator[Image.Image]:
        for data in packed:
            frame = np.frombuffer(zlib.decompress(data), dtype=np.uint8).reshape(shape)
            image = Image.fromarray(index[_codes(frame)])
            image.putpalette(chosen.tobytes())
            yield image

    rest = images()
    duration = max(GIF_SHORTEST, 10 * round(100 / fps))
    next(rest).save(
        path, save_all=True, append_images=rest, palette=chosen.tobytes(), optimize=True, loop=0, duration=duration
    )


def _reduce(colours: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Choose `size` of many colours, commonest first: `chosen` and, for every colour, the `nearest` one's index.

    Half of them are the commonest, which stay exact; each other is the one worst served so far, however rare, so that
    a small agent on a large map keeps its colours.
    """
    points = colours.astype(np.float32)
    error = np.full(len(points), np.inf)
    nearest = np.zeros(len(points), dtype=np.uint8)
    chosen: list[int] = []
    while len(chosen) < size and error.any():
        pick = len(chosen) if len(chosen) < size // 2 else int(np.argmax(error))
        distance = np.square(points - points[pick]).sum(axis=-1)
        nearest[distance < error] = len(chosen)
        error = np.minimum(error, distance)
        chosen.append(pick)
    return colours[chosen], nearest


def _write_mp4(frames: Iterator[np.ndarray], path: Path, fps: int) -> None:
    """H.264, sides padded to even numbers, as its colour format asks for."""
    try:
        ffmpeg = importlib.import_module("imageio_ffmpeg")
    except ModuleNotFoundError as error:
        raise UserError(
            f"an .mp4 film needs ffmpeg: {installing('video')}, or use a name that ends in .gif."
        ) from error
    padded = (np.pad(frame, [(0, side % 2) for side in frame.shape[:2]] + [(0, 0)], mode="edge") for frame in frames)
    first = next(padded)
    height, width, _ = first.shape
    settings = {"fps": fps, "quality": 8, "macro_block_size": 2, "ffmpeg_log_level": "error"}
    with contextlib.closing(ffmpeg.write_frames(str(path), (width, height), **settings)) as writer:
        writer.send(None)
        for frame in itertools.chain([first], padded):
            writer.send(frame.tobytes())


WRITERS: dict[str, Callable[[Iterator[np.ndarray], Path, int], None]] = {".gif": _write_gif, ".mp4": _write_mp4}


def _checked(frames: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """The same frames, contiguous, at least one and all of one size."""
    shape = None
    for number, frame in enumerate(frames):
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[-1] != 3:
            raise ValueError(f"frame {number} must be uint8 [height, width, 3]; given: {frame.dtype} {frame.shape}")
        if frame.shape != (shape or frame.shape):
            raise ValueError(f"frames must all have one size; frame 0 has {shape}, frame {number} has {frame.shape}")
        shape = frame.shape
        yield np.ascontiguousarray(frame)
    if shape is None:
        raise ValueError("a film needs at least one frame; given: none")


def _codes(frame: np.ndarray) -> np.ndarray:
    """Every pixel's colour as one number, 0xRRGGBB."""
    red, green, blue = np.moveaxis(frame.astype(np.uint32), -1, 0)
    return red << 16 | green << 8 | blue


def _rgb(codes: np.ndarray) -> np.ndarray:
    return np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=-1).astype(np.uint8)


def _centred(image: np.ndarray, height: int) -> np.ndarray:
    canvas = np.full((height, *image.shape[1:]), PAPER, dtype=np.uint8)
    top = (height - len(image)) // 2
    canvas[top : top + len(image)] = image
    return canvas
