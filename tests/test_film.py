"""Films: what is saved can be played back, and a film that fails leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from sadapt import film
from sadapt.errors import UserError

WHITE = 255


def clip(length: int, height: int = 12, width: int = 20) -> list[np.ndarray]:
    """A red square that walks over a blue ground."""
    frames = []
    for step in range(length):
        frame = np.full((height, width, 3), (20, 60, 200), dtype=np.uint8)
        frame[4:8, step : step + 4] = (230, 40, 10)
        frames.append(frame)
    return frames


def played(path: Path) -> tuple[list[np.ndarray], list[int]]:
    """The frames of a GIF and their milliseconds."""
    with Image.open(path) as gif:
        frames, durations = [], []
        for number in range(gif.n_frames):  # type: ignore[attr-defined]
            gif.seek(number)
            frames.append(np.asarray(gif.convert("RGB")))
            durations.append(gif.info["duration"])
    return frames, durations


def broken(frames: list[np.ndarray]) -> Iterator[np.ndarray]:
    yield from frames
    raise RuntimeError("the world ended")


def test_gif_round_trip_is_exact_for_few_colours(tmp_path):
    frames = clip(7)
    path = film.save(frames, tmp_path / "film.gif", fps=5)
    assert path == tmp_path / "film.gif"
    shown, durations = played(path)
    np.testing.assert_array_equal(shown, frames)
    assert durations == [200] * 7


def test_gif_loops_for_ever(tmp_path):
    with Image.open(film.save(clip(3), tmp_path / "film.gif")) as gif:
        assert gif.info["loop"] == 0


def test_gif_of_one_frame(tmp_path):
    shown, _ = played(film.save(clip(1), tmp_path / "film.gif"))
    np.testing.assert_array_equal(shown, clip(1))


def test_still_frames_keep_their_time(tmp_path):
    still, moved = clip(2)
    shown, durations = played(film.save([still, still, still, moved], tmp_path / "film.gif", fps=10))
    assert sum(durations) == 400
    np.testing.assert_array_equal(np.repeat(shown, np.array(durations) // 100, axis=0), [still, still, still, moved])


@pytest.mark.parametrize(("fps", "milliseconds"), [(1, 1000), (10, 100), (30, 30), (50, 20), (1000, 20)])
def test_gif_keeps_the_pace(tmp_path, fps, milliseconds):
    assert set(played(film.save(clip(3), tmp_path / "film.gif", fps=fps))[1]) == {milliseconds}


def test_many_colours_stay_close_and_the_common_and_the_odd_survive(tmp_path):
    """4,096 greens and blues on a plain ground with a faint line, and one pixel of red."""
    ground, line = (245, 242, 234), (244, 240, 233)
    frame = np.full((96, 96, 3), ground, dtype=np.uint8)
    frame[:64, :64, 0] = 0
    frame[:64, :64, 1], frame[:64, :64, 2] = np.mgrid[0:128:2, 0:128:2]
    frame[80, 80] = (226, 80, 31)
    frame[95] = line
    (shown,), _ = played(film.save([frame], tmp_path / "film.gif"))
    np.testing.assert_array_equal(shown[80, 80], (226, 80, 31))
    np.testing.assert_array_equal(shown[90, 90], ground)
    np.testing.assert_array_equal(shown[95, 90], line)
    assert np.abs(shown.astype(int) - frame).max() <= 12


@given(
    frames=arrays.arrays(np.uint8, (3, 4, 5, 3), elements=st.sampled_from((0, 90, 255)), fill=st.just(np.uint8(90))),
)
def test_any_small_film_comes_back(tmp_path_factory, frames):
    shown, durations = played(film.save(frames, tmp_path_factory.mktemp("film") / "film.gif"))
    np.testing.assert_array_equal(np.repeat(shown, np.array(durations) // 100, axis=0), frames)


def test_saving_is_deterministic_and_lazy_frames_do(tmp_path):
    one = film.save(clip(5), tmp_path / "one.gif").read_bytes()
    other = film.save((frame for frame in clip(5)), str(tmp_path / "other.GIF")).read_bytes()
    assert one == other


def test_a_frame_that_changes_little_costs_little(tmp_path):
    """A noisy picture with two squares moving in far corners is stored about once, not once a frame."""
    noise = np.random.default_rng(0).integers(0, 6, (120, 120, 3), dtype=np.uint8) * 51
    frames = [noise.copy() for _ in range(20)]
    for step, frame in enumerate(frames):
        frame[:8, 5 * step : 5 * step + 8] = frame[-8:, 112 - 5 * step : 120 - 5 * step] = 255
    one = film.save(frames[:1], tmp_path / "one.gif").stat().st_size
    assert film.save(frames, tmp_path / "all.gif").stat().st_size < 3 * one


def test_parent_folders_are_made_and_nothing_else_is_left(tmp_path):
    path = film.save(clip(2), tmp_path / "some" / "where" / "film.gif")
    assert list(path.parent.iterdir()) == [path]


def test_failure_leaves_no_file(tmp_path):
    with pytest.raises(RuntimeError, match="the world ended"):
        film.save(broken(clip(3)), tmp_path / "film.gif")
    assert list(tmp_path.iterdir()) == []


def test_failure_keeps_the_old_film(tmp_path):
    path = film.save(clip(2), tmp_path / "film.gif")
    old = path.read_bytes()
    with pytest.raises(RuntimeError, match="the world ended"):
        film.save(broken(clip(3)), path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_failure_while_writing_leaves_no_file(tmp_path, monkeypatch):
    def half_written(image, path, **_):
        Path(path).write_bytes(b"GIF89a")
        raise OSError("disk full")

    monkeypatch.setattr(Image.Image, "save", half_written)
    with pytest.raises(OSError, match="disk full"):
        film.save(clip(3), tmp_path / "film.gif")
    assert list(tmp_path.iterdir()) == []


def test_a_gif_that_no_gif_can_hold_is_refused(tmp_path):
    frame = np.zeros((2, 70_000, 3), np.uint8)
    with pytest.raises(UserError, match="70,000 x 2: film a smaller world"):
        film.save([frame], tmp_path / "film.gif")
    assert list(tmp_path.iterdir()) == []


def test_a_film_replaces_an_older_one(tmp_path):
    film.save(clip(2), tmp_path / "film.gif")
    assert len(played(film.save(clip(6), tmp_path / "film.gif"))[0]) == 6


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        ([], "at least one frame"),
        ([np.zeros((4, 4, 3), np.uint8), np.zeros((4, 5, 3), np.uint8)], r"\(4, 4, 3\).*\(4, 5, 3\)"),
        ([np.zeros((4, 4), np.uint8)], r"frame 0 .*\(4, 4\)"),
        ([np.zeros((4, 4, 3), np.float32)], "float32"),
    ],
)
def test_frames_that_do_not_fit(tmp_path, frames, said):
    with pytest.raises(ValueError, match=said):
        film.save(frames, tmp_path / "film.gif")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["film", "film.avi", ".gif"])
def test_unknown_suffix_says_what_to_do(tmp_path, name):
    with pytest.raises(UserError, match=r"\.gif or \.mp4") as caught:
        film.save(broken([]), tmp_path / name)
    assert name in str(caught.value)


def test_no_frames_per_second(tmp_path):
    with pytest.raises(UserError, match="given: 0"):
        film.save(clip(2), tmp_path / "film.gif", fps=0)


def test_mp4_without_ffmpeg_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(UserError, match=r"pip install .sadapt\[video.*\.gif"):
        film.save(broken([]), tmp_path / "film.mp4")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [(64, 96), (63, 95)])
def test_mp4_round_trip(tmp_path, size):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    frames = [frame.repeat(2, axis=0)[: size[0], : size[1]] for frame in clip(9, 64, 96)]
    path = str(film.save(frames, tmp_path / "film.mp4", fps=5))
    decode = [ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(decode, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
    shown = np.frombuffer(raw, np.uint8).reshape(-1, 64, 96, 3)[:, : size[0], : size[1]]
    assert ffmpeg.count_frames_and_secs(path) == (9, pytest.approx(9 / 5, abs=0.01))
    assert len(shown) == 9
    assert np.abs(shown.astype(int) - frames).mean() < 8


def test_mp4_failure_leaves_no_file(tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    with pytest.raises(RuntimeError, match="the world ended"):
        film.save(broken(clip(3, 64, 96)), tmp_path / "film.mp4")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("swap", [False, True])
def test_beside_joins_and_centres(swap):
    tall, low = np.full((10, 4, 3), 10, np.uint8), np.full((6, 3, 3), 20, np.uint8)
    left, right = (low, tall) if swap else (tall, low)
    joined = film.beside(left, right, gap=5)
    assert joined.shape == (10, 12, 3)
    assert joined.dtype == np.uint8
    row, edge = joined[5, :, 0].tolist(), joined[1, :, 0].tolist()
    assert row == [20] * 3 + [WHITE] * 5 + [10] * 4 if swap else row == [10] * 4 + [WHITE] * 5 + [20] * 3
    assert edge == [WHITE] * 8 + [10] * 4 if swap else edge == [10] * 4 + [WHITE] * 8


def test_beside_keeps_both_whole():
    left, right = np.random.default_rng(1).integers(0, 255, (2, 6, 5, 3), dtype=np.uint8)
    joined = film.beside(left, right)
    np.testing.assert_array_equal(joined[:, :5], left)
    np.testing.assert_array_equal(joined[:, -5:], right)


def test_caption_adds_a_strip_below():
    image = np.random.default_rng(2).integers(0, 255, (40, 200, 3), dtype=np.uint8)
    shown = film.caption(image, "step 12")
    strip = shown[40:]
    np.testing.assert_array_equal(shown[:40], image)
    assert shown.dtype == np.uint8
    assert shown.shape[1] == 200
    dark = np.argwhere(strip.min(axis=-1) < 100)
    assert len(dark) > 50
    assert np.abs(dark.mean(axis=0) - np.array(strip.shape[:2]) / 2).max() < 4


@given(texts=st.lists(st.text("abcdefgyjpq 0123456789.", max_size=60), min_size=2, max_size=2))
def test_captions_of_a_film_are_equally_high(texts):
    image = np.zeros((5, 60, 3), np.uint8)
    assert film.caption(image, texts[0]).shape == film.caption(image, texts[1]).shape


def test_every_line_of_a_caption_has_room():
    image = np.zeros((5, 120, 3), np.uint8)
    one, two = film.caption(image, "step 1"), film.caption(image, "step 1\ngypsy")
    assert len(two) - 5 == 2 * (len(one) - 5)
    assert (two[[5, -1]] == WHITE).all()


def test_long_captions_shrink_to_fit():
    image = np.zeros((5, 150, 3), np.uint8)
    strip = film.caption(image, "surprise 12.3, step 150 of 200")[5:]
    assert (strip[:, [0, -1]] == WHITE).all()
    assert strip.min() < 100
