"""Films of runs for the page: a still picture first, the film when asked for, no more than a page can hold."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageSequence

from sadapt.report.page.gather import Block, Curve, Run, Study

KINDS = {".gif": "image/gif", ".webp": "image/webp", ".mp4": "video/mp4"}
LARGE = 350_000
"""Bytes of a film from which on it is made smaller."""
ALL = 2_000_000
"""Bytes of all films of a page."""


class Smaller(NamedTuple):
    """What a film that is too large may have."""

    width: int
    frames: int
    quality: int


TRIES = (Smaller(480, 120, 40), Smaller(400, 60, 30), Smaller(300, 40, 25))
"""The first that makes a film small enough is taken, or the last."""
POLICY = "policy.safetensors"


class Film(NamedTuple):
    """A film that goes into the page."""

    curve: Curve
    run: Run
    name: str
    kind: str
    data: bytes
    still: bytes
    """Its first picture as a PNG; none of a video, which shows its own."""
    size: tuple[int, int]


class Chosen(NamedTuple):
    """The films of a page."""

    films: dict[int, tuple[Film, ...]]
    """By the number of their block."""
    left_out: tuple[Path, ...]
    """Those that there is no room for."""
    broken: tuple[Path, ...]


def chosen(study: Study) -> Chosen:
    """A film of every curve as long as there is room, then more of them."""
    films: dict[int, list[Film]] = {}
    left_out, broken, spent = list[Path](), list[Path](), 0
    for number, curve, run, path in _by_turns(study):
        try:
            kind, data, still, size = _packed(path, path.stat().st_mtime_ns)
        except Exception:  # a picture file may be anything
            broken.append(path)
            continue
        if spent + len(data) + len(still) > ALL:
            left_out.append(path)
            continue
        spent += len(data) + len(still)
        films.setdefault(number, []).append(Film(curve, run, path.stem, kind, data, still, size))
    return Chosen({number: tuple(some) for number, some in films.items()}, tuple(left_out), tuple(broken))


def without_film(study: Study, most: int) -> list[Path]:
    """What can be filmed for curves that have no film yet: the first run's exported policy, or its checkpoints."""
    bare = [curve for block in study.blocks for curve in block.curves if not any(map(_films, curve.runs))]
    sources = (next(filter(None, map(_source, curve.runs)), None) for curve in bare)
    return [source for source in sources if source is not None][:most]


def as_url(kind: str, data: bytes) -> str:
    """Bytes as an address that holds them."""
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _source(run: Run) -> Path | None:
    exported = run.folder.path / POLICY
    if exported.is_file():
        return exported
    shelf = run.folder.path / "checkpoints"
    return run.folder.path if any(shelf.glob("step-*.safetensors")) else None


def _films(run: Run) -> list[Path]:
    found = run.folder.videos.iterdir() if run.folder.videos.is_dir() else iter(())
    return sorted(path for path in found if path.suffix.lower() in KINDS and path.is_file())


def _by_turns(study: Study) -> Iterator[tuple[int, Curve, Run, Path]]:
    """The first film of every curve, then the second ones, and so on."""
    rows: list[tuple[int, int, Curve, Run, Path]] = []
    for number, block in enumerate(study.blocks):
        rows += [(turn, number, curve, run, path) for turn, curve, run, path in _of_block(block)]
    rows.sort(key=lambda row: row[0])
    return (row[1:] for row in rows)


def _of_block(block: Block) -> Iterator[tuple[int, Curve, Run, Path]]:
    for curve in block.curves:
        films = [(run, path) for run in curve.runs for path in _films(run)]
        yield from ((turn, curve, run, path) for turn, (run, path) in enumerate(films))


@lru_cache(maxsize=256)
def _packed(path: Path, _: int) -> tuple[str, bytes, bytes, tuple[int, int]]:
    """Kind, bytes, first picture and size of a film, made smaller if it is large; the time of its making is the key."""
    kind, data = KINDS[path.suffix.lower()], path.read_bytes()
    if kind.startswith("video"):
        return kind, data, b"", (0, 0)
    with Image.open(io.BytesIO(data)) as film:
        first = film.convert("RGB")
        if len(data) > LARGE:
            kind, data, first = "image/webp", *_fitting(film)
    still = io.BytesIO()
    first.quantize(64).save(still, "PNG", optimize=True)
    return kind, data, still.getvalue(), first.size


def _fitting(film: Image.Image) -> tuple[bytes, Image.Image]:
    for most in TRIES:
        data, first = _smaller(film, most)
        if len(data) <= LARGE:
            break
    return data, first


def _smaller(film: Image.Image, most: Smaller) -> tuple[bytes, Image.Image]:
    """The film with fewer and smaller pictures, in the time that it took before, and its first picture."""
    every = -(-getattr(film, "n_frames", 1) // most.frames)
    share = min(1.0, most.width / film.width)
    size = (max(1, round(film.width * share)), max(1, round(film.height * share)))
    frames, times = list[Image.Image](), list[int]()
    for number, frame in enumerate(ImageSequence.Iterator(film)):
        if number % every == 0:
            frames.append(frame.convert("RGB").resize(size, Image.Resampling.LANCZOS))
            times.append(0)
        times[-1] += int(frame.info.get("duration", 80))
    out = io.BytesIO()
    words = {"save_all": True, "append_images": frames[1:], "duration": times, "loop": 0}
    frames[0].save(out, "WEBP", quality=most.quality, method=2, **words)
    return out.getvalue(), frames[0]


def names(films: Sequence[Path]) -> str:
    """Some of the paths, and how many more there are."""
    some = ", ".join(map(str, films[:3]))
    return f"{some} and {len(films) - 3} more" if len(films) > 3 else some
