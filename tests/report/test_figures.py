"""Stored runs to figures: what is on them, and that the numbers are those of the files."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from sadapt.cli import main
from sadapt.composite import changed
from sadapt.errors import UserError
from sadapt.experiments.claims_picture import GLANCE
from sadapt.report.drawing import curve
from sadapt.report.figures import FIGURES, MINATAR, draw, summary
from sadapt.report.statistics import bootstrap, interquartile_mean
from sadapt.report.stored import Agent, load
from sadapt.runs import config
from sadapt.runs.folder import write_json
from sadapt.training.presets import preset

ROWS = 20


def store(root, env, objective, seed, *, rows=ROWS, **changes):
    """A run's two files, with columns that anybody can recompute: return = seed * row, entropy = row."""
    settings = preset(env)
    for name, value in {"objective": objective, "seed": seed, "total_timesteps": 2_000, **changes}.items():
        settings = changed(settings, name, value)
    folder = root / f"{env}-{objective}-{seed}-{len(changes)}"
    folder.mkdir(parents=True)
    write_json(folder / "config.json", {"settings": config.to_dict(settings)})
    lines = ["step,episodes,return,deaths,surprise,entropy,h_random,alpha"]
    alpha = "0.5" if objective == "s-adapt" else ""
    lines += [f"{100 * row},{row},{seed * row},0,{row / 2},{row},3,{alpha}" for row in range(1, rows + 1)]
    (folder / "metrics.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def stored(tmp_path):
    for objective in ("s-adapt", "s-max", "s-min", "extrinsic", "random"):
        for seed in (1, 2, 3):
            store(tmp_path / "runs", "maze-small", objective, seed)
    return tmp_path / "runs"


def test_runs_are_grouped_by_agent(stored):
    results = load(stored)
    assert len(results.groups) == 5
    group = results.get("maze-small", "s-max")
    assert group.seeds == (1, 2, 3)
    assert group.total == 2_000
    np.testing.assert_allclose(group.final("return"), [19.5, 39.0, 58.5])


def test_unfinished_runs_and_odd_ones_are_left_out_and_named(stored):
    broken = store(stored, "maze-small", "s-max", 4, rows=5)
    odd = store(stored, "maze-small", "s-max", 9, gamma=0.5)
    results = load(stored)
    assert results.unfinished == (broken,)
    assert results.set_aside == (odd,)
    assert results.get("maze-small", "s-max").seeds == (1, 2, 3)


def test_the_presets_own_settings_are_used_however_many_seeds_others_have(stored):
    others = []
    for seed in (1, 2, 3, 4):
        folder = store(stored, "maze-small", "s-max", seed, gamma=0.5)
        others.append(folder.rename(folder.with_name(f"s-max-pqn-gamma=0.5-s{seed}")))
    results = load(stored)
    assert results.get("maze-small", "s-max").seeds == (1, 2, 3)
    assert results.set_aside == tuple(others)


def test_what_cannot_be_read_is_left_out_by_name_and_the_rest_is_used(stored, capsys):
    folders = [store(stored, "maze-small", "s-max", seed) for seed in (4, 5, 6)]
    (folders[0] / "metrics.csv").write_bytes(bytes(range(256)))
    (folders[1] / "config.json").write_text('{"compilerOptions": {"strict": true}}')
    (folders[2] / "config.json").write_bytes(b"\xff\xfe")
    results = load(stored)
    assert [each.path for each in results.left_out] == folders
    assert results.get("maze-small", "s-max").seeds == (1, 2, 3)
    for command in ("figures", "claims", "adaptation"):
        assert main([command, str(stored)]) == 0
        said = capsys.readouterr().err
        assert all(str(folder) in said for folder in folders)


@pytest.mark.parametrize("gone", [1, 2, 10, ROWS - 1])
def test_a_run_with_a_hole_in_its_metrics_is_left_out_by_name(stored, gone):
    holed = store(stored, "maze-small", "s-max", 4)
    lines = (holed / "metrics.csv").read_text().splitlines(keepends=True)
    (holed / "metrics.csv").write_text("".join(lines[:gone] + lines[gone + 1 :]))
    results = load(stored)
    assert [each.path for each in results.left_out] == [holed]
    assert "hole" in results.left_out[0].why
    assert results.get("maze-small", "s-max").seeds == (1, 2, 3)


def test_a_seed_that_is_there_twice_is_named_and_taken_once(stored):
    first = stored / "maze-small-s-max-2-0"
    again = store(stored / "zzz", "maze-small", "s-max", 2)
    text = (again / "metrics.csv").read_text()
    (again / "metrics.csv").write_text(text.replace(",40,", ",77,"))
    results = load(stored)
    assert [each.path for each in results.left_out] == [again]
    assert f"seed 2 is there twice, and {first} with other rows is used" == results.left_out[0].why
    np.testing.assert_allclose(results.get("maze-small", "s-max").final("return"), [19.5, 39.0, 58.5])


def test_other_settings_are_curves_of_their_own_with_their_names(stored, tmp_path, capsys):
    store(stored, "maze-small", "s-max", 1, gamma=0.5)
    text = draw(load(stored), tmp_path / "out", only=("F2",))["F2"][1].read_text()
    assert "S-Max, gamma 0.97" in text
    assert "S-Max, gamma 0.5" in text
    assert "maze-small: 1 to 3 seeds" in text
    assert main(["figures", str(stored), "--only", "F2"]) == 0
    assert "left out" not in capsys.readouterr().err


def test_hidden_curves_are_named(stored, tmp_path):
    """Everybody has the same return here."""
    text = " ".join(draw(load(stored), tmp_path / "out", only=("F2",))["F2"][1].read_text().split())
    assert "one line: S-Adapt = S-Max" in text


def test_marginals_are_agents_of_their_own(stored):
    store(stored, "maze-small", "s-adapt", 1, marginal="gaussian")
    results = load(stored)
    assert Agent("maze-small", "s-adapt", "gaussian", "pqn") in results.groups
    assert len(results.get("maze-small", "s-adapt").seeds) == 3


def test_curves_are_mean_and_deviation_over_seeds(stored):
    line = curve(load(stored).get("maze-small", "s-max"), "return", aggregate=False)
    row = np.arange(1, ROWS + 1)
    np.testing.assert_allclose(line.steps, 100 * row)
    np.testing.assert_allclose(line.middle, 2 * row)
    np.testing.assert_allclose(line.high - line.middle, row * np.sqrt(2 / 3))


def test_aggregates_are_interquartile_means_inside_their_intervals(stored):
    line = curve(load(stored).get("maze-small", "s-max"), "return", aggregate=True)
    np.testing.assert_allclose(line.middle, 2 * np.arange(1, ROWS + 1))
    assert (line.low <= line.middle).all()
    assert (line.middle <= line.high).all()
    assert interquartile_mean(np.array([0.0, 1.0, 2.0, 100.0])) == 1.5


def test_a_bootstrap_interval_covers_the_mean_as_often_as_it_says():
    draws = np.random.default_rng(1).normal(size=(400, 30))
    _, low, high = bootstrap([draws], lambda x: x.mean(axis=-1))
    assert 0.88 < np.mean((low <= 0) & (high >= 0)) < 0.98


def test_a_column_without_numbers_has_no_curve(stored):
    assert curve(load(stored).get("maze-small", "s-max"), "alpha", aggregate=False) is None


def test_figures_say_how_many_seeds_and_steps(stored, tmp_path):
    drawn = draw(load(stored), tmp_path / "out", only=("F2", "F5", "F10", "F11"))
    assert [path.name for path in drawn["F2"]] == ["F2.png", "F2.svg"]
    assert drawn["F5"] == []
    text = drawn["F2"][1].read_text()
    for words in ("maze-small: 3 seeds, 2k steps", "S-Adapt", "Random", "surprise, nats"):
        assert words in text
    assert "share of S-Min" in drawn["F10"][1].read_text()
    assert all(words in drawn["F11"][1].read_text() for words in ("S-Max", "S-Min", "entropy, nats", "share of S-Min"))


def size(path):
    """Width and height of a picture, in points."""
    root = ElementTree.parse(path).getroot()
    return float(root.get("width").removesuffix("pt")), float(root.get("height").removesuffix("pt"))


@pytest.mark.parametrize("name", ["F5", "F10", "F11"])
def test_many_worlds_share_a_page(tmp_path, name):
    """Five worlds fit on half a page, and one on top of the other would be three."""
    for world in MINATAR:
        for objective in ("s-adapt", "s-max", "s-min"):
            store(tmp_path / "runs", world, objective, 1)
    path = draw(load(tmp_path / "runs"), tmp_path / "out", only=(name,))[name][1]
    width, height = size(path)
    assert width == pytest.approx(7 * 72)
    assert height < 4 * 72
    text = path.read_text()
    assert all(f">{world}</" in text for world in MINATAR)


def test_every_figure_says_what_to_see_and_the_page_of_results_shows_it():
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
    for name, figure in {"claims": GLANCE, **FIGURES}.items():
        assert len(figure.caption) > 60, name
        assert name == "F6" or figure.caption in page, f"{name}: python docs/build_results.py"


def test_the_same_runs_give_the_same_picture(stored, tmp_path):
    one = draw(load(stored), tmp_path / "one", only=("F2",))["F2"][1]
    two = draw(load(stored), tmp_path / "two", only=("F2",))["F2"][1]
    assert one.read_bytes() == two.read_bytes()


def test_the_summary_needs_all_agents(stored):
    results = load(stored)
    assert summary(results, "dqn") is None
    assert summary(results, "pqn") is None  # nobody is better than Random here
    store(stored, "maze-small", "s-max", 30)
    assert summary(load(stored), "pqn") is not None


def test_mistakes_are_told(stored, tmp_path):
    with pytest.raises(UserError, match="unknown figure 'F22'"):
        draw(load(stored), tmp_path, only=("F22",))
    with pytest.raises(UserError, match="holds no runs"):
        load(tmp_path / "nowhere")
    assert len(FIGURES) == 11


def test_the_commands_draw_and_answer(stored, tmp_path, capsys):
    assert main(["figures", str(stored), "--only", "F2", "--out", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "F2": [str(tmp_path / "out" / f"F2.{kind}") for kind in ("png", "svg")]
    }
    assert main(["claims", str(stored), "--json", "--out", str(tmp_path / "claims.md")]) == 0
    told = json.loads(capsys.readouterr().out)
    answers = {(each["id"], each["world"]): each["answer"] for each in told}
    assert answers["M1", "maze-small"] == "no"  # here everybody reaches the goal
    assert answers["M1", "maze-large"] == "not enough runs"
    assert answers["M1", "all"] == "no"
    assert "do not | **no**, 0 of 2 |" in (tmp_path / "claims.md").read_text()
    assert main(["claims", str(stored)]) == 0
    assert "consistently reach the goal" in capsys.readouterr().out
    assert main(["figures", str(stored), "--only", "claims"]) == 0
    assert "All claims" not in capsys.readouterr().err
    assert "not enough runs" in (stored / "figures" / "claims.svg").read_text()
    assert main(["figures", str(tmp_path / "nowhere")]) == 2
