"""`plot`: what is one curve and what it is called, what shows where curves lie on each other, and the arms below."""

from __future__ import annotations

import numpy as np
import pytest

from sadapt.cli import main
from sadapt.errors import UserError
from sadapt.report.curves import drawn, grouped, plot
from sadapt.report.drawing import variant
from sadapt.report.naming import labels
from sadapt.report.overlap import coincident
from sadapt.runs.folder import find
from tests.report.test_figures import ROWS, store

STEPS = 100 * np.arange(1, ROWS + 1)


def curves(axes):
    """The labelled curves of a panel."""
    return {line.get_label(): line for line in axes.lines if not line.get_label().startswith(("_", "a random"))}


def test_seeds_of_the_same_settings_are_one_curve_with_a_band(tmp_path):
    folders = [find(store(tmp_path, "maze-small", "s-max", seed)) for seed in (1, 2, 3)]
    world, lines = grouped(folders, each=False)
    assert [line.label for line in lines] == ["S-Max, 3 seeds"]
    axes = drawn(world, lines).axes[0]
    np.testing.assert_allclose(curves(axes)["S-Max, 3 seeds"].get_ydata(), 2 * STEPS / 100)
    band = axes.collections[0].get_paths()[0].vertices
    top = np.array([band[band[:, 0] == step, 1].max() for step in STEPS])
    np.testing.assert_allclose(top, STEPS / 100 * (2 + np.sqrt(2 / 3)))


def test_each_run_can_be_drawn_alone(tmp_path, capsys):
    paths = [store(tmp_path, "maze-small", "s-max", seed) for seed in (1, 2, 3)]
    _, lines = grouped([find(path) for path in paths], each=True)
    assert [line.label for line in lines] == [f"S-Max, seed {seed}" for seed in (1, 2, 3)]
    assert len({(str(line.style), line.colour) for line in lines}) == 3
    picture = tmp_path / "new" / "curves.svg"
    assert main(["plot", *map(str, paths), "--each", "--out", str(picture)]) == 0
    assert main(["plot", *map(str, paths), "--out", str(tmp_path / "curves.png")]) == 0


def test_two_settings_are_two_curves_with_their_names(tmp_path):
    runs = [("s-max", 1, {}), ("s-max", 2, {}), ("s-max", 1, {"gamma": 0.5}), ("s-min", 1, {}), ("s-adapt", 1, {})]
    folders = [find(store(tmp_path / str(n), "maze-small", *run[:2], **run[2])) for n, run in enumerate(runs)]
    world, lines = grouped(folders, each=False)
    names = ["S-Max, gamma 0.97, 2 seeds", "S-Max, gamma 0.5, seed 1", "S-Min, seed 1", "S-Adapt, seed 1"]
    assert [line.label for line in lines] == names
    assert len({(str(line.style), line.colour) for line in lines}) == 4
    assert sorted(curves(drawn(world, lines).axes[0])) == sorted(names)


def test_other_parts_are_told_by_their_names():
    base = {"env": "tetris", "objective": "s-adapt", "seed": 1, "marginal": {"kind": "auto", "std_floor": 0.1}}
    other = {**base, "marginal": {"kind": "kt", "pseudo_count": 0}}
    third = {**base, "marginal": {"kind": "auto", "std_floor": 0.2}, "signed": True}
    assert labels([base]) == ["S-Adapt"]
    assert labels([base, other]) == ["S-Adapt, marginal auto", "S-Adapt, marginal kt"]
    assert labels([base | {"signed": False}, third]) == [
        "S-Adapt, std floor 0.1, no signed",
        "S-Adapt, std floor 0.2, signed",
    ]


def test_variants_of_an_agent_look_different():
    looks = [variant("#0072B2", number) for number in range(6)]
    assert len({str(look) for look in looks}) == 6
    assert looks[0] == ("-", "#0072b2")


def test_a_run_that_is_behind_does_not_shorten_the_others_without_a_word(tmp_path):
    folders = [find(store(tmp_path, "maze-small", "s-max", seed, rows=rows)) for seed, rows in ((1, ROWS), (2, 5))]
    world, lines = grouped(folders, each=False)
    axes = drawn(world, lines).axes[0]
    mean = curves(axes)["S-Max, 2 seeds"]
    np.testing.assert_allclose(mean.get_xdata(), STEPS[:5])
    rest = [line for line in axes.lines if line is not mean]
    assert any(np.array_equal(line.get_xdata(), STEPS[5:]) for line in rest)


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]], [[0, 1]]),
        ([[0, 0, 0, 0], [0, 0.005, 0, 0], [0, 0, 0, 1]], [[0, 1, 2]]),
        ([[0, 0, 0, 0], [0, 0, 1, 1]], []),
        ([[0, 1, 2, 3], [3, 2, 1, 0]], []),
    ],
)
def test_curves_that_cannot_be_told_apart(values, groups):
    steps = np.arange(4.0)
    assert coincident([(steps, np.array(each, float)) for each in values], height=1.0) == groups


def test_hidden_curves_take_turns_and_are_named(tmp_path):
    """All agents but one have the same return here; every colour is on top somewhere."""
    agents = ("extrinsic", "s-max", "s-min")
    paths = [store(tmp_path, "maze-small", name, 1) for name in agents] + [store(tmp_path, "maze-small", "random", 9)]
    picture = plot(paths, tmp_path / "curves.svg").read_text()
    assert "one line: Extrinsic = S-Max = S-Min" in picture
    world, lines = grouped([find(path) for path in paths], each=False)
    axes = drawn(world, lines).axes[0]
    top = max(line.get_zorder() for line in axes.lines)
    turns = [line for line in axes.lines if line.get_zorder() == top]
    assert len({line.get_color() for line in turns}) == 3
    assert len({line._unscaled_dash_pattern[0] for line in turns}) == 3  # each begins where another ends


def test_one_adaptive_run_has_its_arms_below_the_curve(tmp_path):
    path = store(tmp_path, "maze-small", "s-adapt", 1)
    picture = plot([path], tmp_path / "curve.svg").read_text()
    assert "episodes on S-Max" in picture
    assert "episodes on S-Min" in picture
    others = plot([path, store(tmp_path, "maze-small", "s-min", 1)], tmp_path / "two.svg").read_text()
    assert "episodes on" not in others


def test_mistakes(tmp_path):
    with pytest.raises(UserError, match="several worlds"):
        plot([store(tmp_path, env, "s-max", 1) for env in ("maze-small", "tetris")], tmp_path / "a.png")
    with pytest.raises(UserError, match=r"must end in \.png"):
        plot([store(tmp_path, "maze-large", "s-max", 1)], tmp_path / "a.doc")
