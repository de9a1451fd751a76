"""Pictures: sizes, cells that mind their own business, and things that every eye can tell apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sadapt.envs import tiles

NAMES = ("floor", "wall", "agent", "goal", "light", "butterfly", "catcher", "block", "ghost", "well")
GROUND = {"block": "well", "ghost": "well", "well": "well"}
TILES = (8, 12, 16, 24, 32)
ONE = np.ones((1, 1), dtype=bool)

# How dichromats see linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
EYES = {
    "normal": np.eye(3),
    "protanope": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranope": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def alone(name: str, tile: int) -> np.ndarray:
    return tiles.paint([(ONE, name)], tile=tile, floor=GROUND.get(name, "floor"))


def seen_by(eyes: str, image: np.ndarray) -> np.ndarray:
    return 255 * np.clip((image / 255) ** 2.2 @ EYES[eyes].T, 0, 1) ** (1 / 2.2)


def cell(image: np.ndarray, row: int, column: int, tile: int) -> np.ndarray:
    return image[row * tile : (row + 1) * tile, column * tile : (column + 1) * tile]


@pytest.mark.parametrize("tile", TILES)
def test_picture_has_tile_times_the_map(tile):
    image = tiles.paint([(np.zeros((3, 5), dtype=np.uint8), "wall")], tile=tile)
    assert image.shape == (3 * tile, 5 * tile, 3)
    assert image.dtype == np.uint8


def test_default_tile_is_24():
    assert tiles.paint([(ONE, "wall")]).shape == (24, 24, 3)


@given(data=st.data(), tile=st.sampled_from((8, 12)))
def test_a_cell_looks_as_it_would_alone(data, tile):
    """A picture is its cells side by side: each shows its own layers, in order, and nothing of its neighbours."""
    names = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
    planes = data.draw(arrays.arrays(bool, (len(names), 2, 3)))
    image = tiles.paint(list(zip(planes, names, strict=True)), tile=tile)
    for row, column in itertools.product(range(2), range(3)):
        layers = [(ONE & plane[row, column], name) for plane, name in zip(planes, names, strict=True)]
        np.testing.assert_array_equal(cell(image, row, column, tile), tiles.paint(layers, tile=tile))


@pytest.mark.parametrize("name", NAMES)
def test_one_cell_changes_no_other(name):
    tile, empty = 16, np.zeros((3, 3), dtype=bool)
    middle = empty.copy()
    middle[1, 1] = True
    changed = np.any(tiles.paint([(middle, name)], tile=tile) != tiles.paint([(empty, name)], tile=tile), axis=-1)
    assert cell(changed, 1, 1, tile).any() == (name != "floor")
    changed[tile : 2 * tile, tile : 2 * tile] = False
    assert not changed.any()


def test_later_layers_cover_earlier_ones():
    wall_last = tiles.paint([(ONE, "agent"), (ONE, "wall")])
    np.testing.assert_array_equal(wall_last, alone("wall", 24))
    agent_last = tiles.paint([(ONE, "wall"), (ONE, "agent")])
    np.testing.assert_array_equal(agent_last[12, 12], alone("agent", 24)[12, 12])
    np.testing.assert_array_equal(agent_last[0, 0], alone("wall", 24)[0, 0])


def test_half_opacity_mixes_colours(monkeypatch):
    monkeypatch.setitem(tiles.SPRITES, "test-red", lambda x, y, line: iter([(x < 2, "#FF000080")]))
    monkeypatch.setitem(tiles.SPRITES, "test-grey", lambda x, y, line: iter([(x < 2, "#646464")]))
    mixed = tiles.paint([(ONE, "test-red")], tile=4, floor="test-grey")
    expected = [255 * 128 / 255 + 100 * 127 / 255, 100 * 127 / 255, 100 * 127 / 255]
    assert np.abs(mixed - np.array(expected)).max() <= 0.51


def test_edges_are_antialiased(monkeypatch):
    """A white half plane that covers 3/8 of the second pixel column leaves it at 3/8 of white."""
    monkeypatch.setitem(tiles.SPRITES, "test-black", lambda x, y, line: iter([(x < 2, "#000000")]))
    monkeypatch.setitem(
        tiles.SPRITES, "test-edge", lambda x, y, line: iter([(x < -1 + 2 * (1 + 3 / 8) / 4, "#FFFFFF")])
    )
    image = tiles.paint([(ONE, "test-edge")], tile=4, floor="test-black")
    np.testing.assert_array_equal(image[2, :, 0], [255, round(255 * 3 / 8), 0, 0])


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("tile", TILES)
def test_every_two_sprites_look_different(tile, eyes):
    pictures = {name: seen_by(eyes, alone(name, tile)) for name in NAMES}
    for one, other in itertools.combinations(NAMES, 2):
        assert np.abs(pictures[one] - pictures[other]).mean() > 30, (one, other)


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize("name", ["agent", "goal", "catcher", "butterfly"])
def test_actors_stand_out_from_floor_and_wall(name, tile, eyes):
    actor = seen_by(eyes, alone(name, tile))
    for ground in ("floor", "wall"):
        distance = np.linalg.norm(actor - seen_by(eyes, alone(ground, tile)), axis=-1)
        assert np.mean(distance > 60) > 0.5, ground


def test_cached_sprites_cannot_be_spoiled():
    tiles.paint([(ONE, "agent")])[:] = 0
    assert tiles.paint([(ONE, "agent")]).any()
    with pytest.raises(ValueError):
        tiles.sprite("agent", 24)[0, 0] = 1
    with pytest.raises(ValueError):
        tiles.palette(3)[0] = 1


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        ([], "no layer"),
        ([(np.zeros((2, 3)), "wall"), (np.zeros((3, 2)), "goal")], r"wall \(2, 3\), goal \(3, 2\)"),
        ([(np.zeros((2, 3, 1)), "wall")], r"wall \(2, 3, 1\)"),
    ],
)
def test_planes_that_do_not_fit_are_named(layers, said):
    with pytest.raises(ValueError, match=said):
        tiles.paint(layers)


def test_unknown_sprite():
    with pytest.raises(KeyError):
        tiles.paint([(ONE, "dragon")])


@pytest.mark.parametrize("n", [0, 1, 3, 7, 10, 24])
def test_palette_is_a_prefix_of_one_row_of_colours(n):
    colours = tiles.palette(n)
    assert colours.shape == (n, 3)
    assert colours.dtype == np.uint8
    np.testing.assert_array_equal(colours, tiles.palette(30)[:n])


@pytest.mark.parametrize(("eyes", "n", "apart"), [("normal", 16, 50), ("protanope", 10, 35), ("deuteranope", 10, 35)])
def test_palette_colours_are_distinct_and_visible(eyes, n, apart):
    well = np.median(alone("well", 24).reshape(-1, 3), axis=0)
    ground, *colours = seen_by(eyes, np.vstack([well, tiles.palette(n)]))
    assert min(np.linalg.norm(colour - ground) for colour in colours) > 70
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(colours, 2)) > apart


@pytest.mark.parametrize("tile", TILES)
def test_channels_show_their_own_colour(tile):
    obs = np.eye(4, dtype=np.uint8)[None].repeat(2, axis=0)
    obs[1] = 0
    image = tiles.paint_channels(obs, tile=tile)
    assert image.shape == (2 * tile, 4 * tile, 3)
    assert image.dtype == np.uint8
    for channel, colour in enumerate(tiles.palette(4)):
        share = np.mean(np.all(cell(image, 0, channel, tile) == colour, axis=-1))
        assert share > 0.75
        np.testing.assert_array_equal(cell(image, 1, channel, tile), alone("well", tile))


@given(obs=arrays.arrays(bool, (2, 3, 5)), tile=st.sampled_from((16, 24)))
def test_channels_that_share_a_cell_all_show(obs, tile):
    image = tiles.paint_channels(obs, tile=tile)
    for row, column in itertools.product(range(2), range(3)):
        own = cell(image, row, column, tile)
        shown = [bool(np.all(own == colour, axis=-1).any()) for colour in tiles.palette(5)]
        assert shown == obs[row, column].tolist()
        np.testing.assert_array_equal(own, tiles.paint_channels(obs[row, column][None, None], tile=tile))


def test_map_without_channels_axis_is_refused():
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        tiles.paint_channels(np.zeros((2, 3)))
