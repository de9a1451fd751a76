"""Maps as text: what is read, and what an error says about a map that cannot be used."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.envs import make
from sadapt.envs.layout import load, packaged, parse
from sadapt.errors import UserError


def test_a_maze_is_read_cell_by_cell():
    layout = parse("#A.\n..G\n", "mine.txt", "maze")
    assert layout.wall.tolist() == [[True, False, False], [False, False, False]]
    assert (layout.agent, layout.goal, layout.source) == ((0, 1), (1, 2), "mine.txt")
    assert not layout.butterflies.any()


def test_a_butterflies_map_is_read_cell_by_cell():
    layout = parse("b.#\n.Ab", "mine.txt", "butterflies")
    assert np.argwhere(layout.butterflies).tolist() == [[0, 0], [1, 2]]
    assert np.argwhere(layout.wall).tolist() == [[0, 2]]
    assert (layout.agent, layout.goal) == ((1, 1), None)


@pytest.mark.parametrize("text", ["A.\n.G", "A.\n.G\n", "A.\r\n.G\r\n", "A.\n.G\n\n\n"])
def test_ends_of_lines_and_of_the_file_do_not_matter(text):
    layout = parse(text, "mine.txt", "maze")
    assert layout.wall.shape == (2, 2)
    assert (layout.agent, layout.goal) == ((0, 0), (1, 1))


@pytest.mark.parametrize(
    ("kind", "text", "line", "column", "words"),
    [
        ("maze", "A.G\n..", 2, 3, "2 cells"),
        ("maze", "A.G\n....", 2, 4, "4 cells"),
        ("maze", "A.G\n\n...", 2, 1, "0 cells"),
        ("maze", "A.G\n.x.", 2, 2, "'x'"),
        ("maze", "A.G\n.. ", 2, 3, "' '"),
        ("maze", "A.G\n.b.", 2, 2, "butterfly"),
        ("maze", "..G\n...", 1, 1, "no agent"),
        ("maze", "A.G\n..A", 2, 3, "second agent"),
        ("maze", "A..\n...", 1, 1, "no goal"),
        ("maze", "A.G\nG..", 2, 1, "second goal"),
        ("maze", "A#.\n.#G", 2, 3, "cannot reach this goal"),
        ("maze", "A#\n#G", 2, 2, "cannot reach this goal"),
        ("butterflies", "A.b\n.G.", 2, 2, "goal"),
        ("butterflies", "..b", 1, 1, "no agent"),
        ("butterflies", "Ab\nA.", 2, 1, "second agent"),
        ("butterflies", "A..", 1, 1, "no butterfly"),
        ("butterflies", "Ab#\n..#\n##b", 3, 3, "cannot reach this butterfly"),
    ],
)
def test_an_error_names_the_file_the_line_and_the_column(kind, text, line, column, words):
    with pytest.raises(UserError) as error:
        parse(text, "mine.txt", kind)
    assert str(error.value).startswith(f"mine.txt, line {line}, column {column}: ")
    assert words in str(error.value)


@pytest.mark.parametrize("text", ["", "\n", "  \r\n\n"])
def test_an_empty_map_is_an_error(text):
    with pytest.raises(UserError, match=r"^mine.txt is empty"):
        parse(text, "mine.txt", "maze")


def test_a_file_is_read(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_bytes(b"A.G\r\n...\r\n")
    layout = load(file, "maze")
    assert (layout.wall.shape, layout.goal, layout.source) == ((2, 3), (0, 2), str(file))


def test_a_file_that_is_not_text_is_an_error(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_bytes(b"A.\xff")
    with pytest.raises(UserError, match=r"mine\.txt.*byte 3.*UTF-8"):
        load(file, "maze")


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(UserError, match=r"nowhere\.txt"):
        load(tmp_path / "nowhere.txt", "maze")
    with pytest.raises(UserError, match="cannot read"):
        load(tmp_path, "maze")


@st.composite
def maps(draw):
    """A map's characters, one agent and one goal among free cells and walls, and where those two are."""
    height, width = draw(st.integers(1, 7)), draw(st.integers(2, 7))
    cells = draw(st.lists(st.sampled_from("#."), min_size=height * width, max_size=height * width))
    agent, goal = draw(st.lists(st.integers(0, height * width - 1), min_size=2, max_size=2, unique=True))
    cells[agent], cells[goal] = "A", "G"
    rows = ["".join(cells[at : at + width]) for at in range(0, height * width, width)]
    return rows, divmod(agent, width), divmod(goal, width)


def connected(rows, start, end):
    """Whether a walk leads from one cell to the other."""
    seen, border = {start}, [start]
    while border:
        row, column = border.pop()
        for r, c in ((row, column - 1), (row - 1, column), (row, column + 1), (row + 1, column)):
            if 0 <= r < len(rows) and 0 <= c < len(rows[0]) and rows[r][c] != "#" and (r, c) not in seen:
                seen.add((r, c))
                border.append((r, c))
    return end in seen


@given(maps())
def test_a_map_is_taken_if_and_only_if_a_walk_leads_to_the_goal(drawn):
    rows, agent, goal = drawn
    if connected(rows, agent, goal):
        layout = parse("\n".join(rows), "mine.txt", "maze")
        assert (layout.agent, layout.goal) == (agent, goal)
        assert ["".join("#" if wall else "." for wall in row) for row in layout.wall] == [
            row.replace("A", ".").replace("G", ".") for row in rows
        ]
    else:
        with pytest.raises(UserError, match=f"line {goal[0] + 1}, column {goal[1] + 1}: the agent cannot reach"):
            parse("\n".join(rows), "mine.txt", "maze")


def test_packaged_maps_say_where_they_are_from():
    assert packaged("maze-small", "maze").source == "maze-small.txt"


def test_a_users_map_takes_the_place_of_the_packaged_one(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("A.b..\n#....\n")
    env = make("butterflies-small", layout=file)
    assert (env.name, env.obs_shape, env.horizon) == ("butterflies-small", (2, 5, 3), 100)


def test_a_map_may_be_given_as_its_text():
    env = make("butterflies-small", layout="A.b..\n#....\n")
    assert (env.name, env.obs_shape, env.horizon) == ("butterflies-small", (2, 5, 3), 100)
    with pytest.raises(UserError, match=r"line 2, column 1: .*'x'"):
        make("maze-small", layout="A.G\nx..\n")


def test_a_map_of_the_wrong_kind_is_an_error(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("A.G\n")
    with pytest.raises(UserError, match="goal"):
        make("butterflies-small", layout=file)


def test_tetris_takes_no_map(tmp_path):
    with pytest.raises(UserError, match="'tetris' has no map"):
        make("tetris", layout=tmp_path / "mine.txt")


def test_an_unknown_world_is_answered_with_the_nearest_name():
    with pytest.raises(UserError, match=r"'maze-smal'.*'maze-small'"):
        make("maze-smal")


def test_a_map_without_end_is_refused_at_once():
    with pytest.raises(UserError, match=r"endless has 6,000,600 cells; a map can have at most 250,000"):
        parse("AG" + "." * 20_000 + ("\n" + "." * 20_002) * 299, "endless", "maze")
