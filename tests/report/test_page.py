"""A folder of runs as a page: what is on it, whether the numbers are the files', and what is said of odd folders."""

import base64
import gzip
import io
import json
import re
import shlex
import sys
import types

import numpy as np
import pytest
from PIL import Image, ImageSequence

from sadapt.cli import main
from sadapt.motivation.objectives import OBJECTIVES
from sadapt.report.page import colours, document, films
from sadapt.report.page.elements import element, number, ranged
from sadapt.report.page.gather import gather
from sadapt.report.page.lines import POINTS, plots, thinned
from sadapt.report.page.worlds import command
from sadapt.runs.folder import write_json
from tests.report.test_figures import store


@pytest.fixture(autouse=True)
def library(monkeypatch):
    """A stand-in for the plotting library, which only a browser needs."""
    stand_in = types.ModuleType("plotly.offline")
    stand_in.get_plotlyjs = lambda: "library"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "plotly", types.ModuleType("plotly"))
    monkeypatch.setitem(sys.modules, "plotly.offline", stand_in)
    document._library.cache_clear()
    yield
    document._library.cache_clear()


@pytest.fixture
def stored(tmp_path):
    for objective in ("s-adapt", "s-max", "s-min", "extrinsic", "random"):
        for seed in (1, 2, 3):
            store(tmp_path / "runs", "maze-small", objective, seed)
    return tmp_path / "runs"


def reported(folder, *words):
    """The page that the command makes."""
    assert main(["report", str(folder), *words]) == 0
    return (folder / "report.html").read_text(encoding="utf-8")


def shown(text):
    """What a reader sees: the text between the tags."""
    body = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.S)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def data(text):
    """What the plots are drawn from."""
    packed = re.search(r'id="data">([^<]*)<', text)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def line(block, column, curve):
    panel = next(panel for panel in block["panels"] if panel["column"] == column)
    names = [each["name"] for each in block["curves"]]
    return next(line for line in panel["lines"] if names[line["curve"]] == curve)


def test_a_study_is_shown_with_claims_costs_settings_and_commands(stored, capsys):
    text = reported(stored)
    assert capsys.readouterr().out.strip() == str(stored / "report.html")
    words = shown(text)
    assert "15 runs · 1 world · 5 agents" in words
    assert "15 finished" in words
    assert "S-Max and S-Adapt consistently reach the goal" in words
    assert "better arm" in words
    assert "learner.gamma" in words
    assert f"sadapt train --config {stored}/maze-small-s-adapt-1-0/config.json" in words


def test_curves_are_the_middle_of_the_seeds_with_an_interval_and_every_seed(stored):
    [block] = data(reported(stored))
    found = line(block, "return", "S-Max")  # return = seed * row, in rows 1 to 20 of seeds 1, 2 and 3
    assert found["x"] == [100 * row for row in range(1, 21)]
    assert found["y"] == [2 * row for row in range(1, 21)]
    assert [seed["y"][-1] for seed in found["seeds"]] == [20, 40, 60]
    assert found["low"][-1] == 20
    assert found["high"][-1] == 60


def test_only_those_who_choose_have_a_share_of_arms(stored):
    [block] = data(reported(stored))
    panel = next(panel for panel in block["panels"] if panel["column"] == "alpha")
    assert [block["curves"][each["curve"]]["name"] for each in panel["lines"]] == ["S-Adapt"]
    assert next(panel for panel in block["panels"] if panel["column"] == "entropy")["random"] == 3


def test_without_a_choice_there_is_no_panel_of_arms(tmp_path):
    store(tmp_path, "tetris", "s-min", 1)
    [block] = data(reported(tmp_path))
    assert [panel["column"] for panel in block["panels"]] == ["return", "entropy"]


def test_an_unfinished_run_is_shown_as_far_as_it_has_come(stored):
    store(stored, "maze-small", "s-max", 4, rows=5)
    text = reported(stored)
    [block] = data(text)
    found = line(block, "return", "S-Max")
    assert found["x"][-1] == 500, "the middle ends where not all seeds have a value"
    assert [len(seed["x"]) for seed in found["seeds"]] == [20, 20, 20, 5]
    assert "1 unfinished" in shown(text)
    assert "500 of 2,000" in shown(text)
    assert re.search(r"S-Max 39 \[19\.5, 58\.5\] .* 3 of 4 ", shown(text)), "final values are of finished runs alone"


def test_a_run_that_has_not_begun_is_said_to_have_nothing_to_draw(tmp_path):
    folder = store(tmp_path, "tetris", "s-min", 1)
    (folder / "metrics.csv").unlink()
    words = shown(reported(tmp_path))
    assert "No run has written a row of metrics yet" in words
    assert "0% of the steps of 1 run" in words


def test_a_last_line_that_was_cut_short_is_left_out(tmp_path):
    folder = store(tmp_path, "tetris", "s-min", 1, rows=5)
    with open(folder / "metrics.csv", "a") as file:
        file.write("6")
    [block] = data(reported(tmp_path))
    assert line(block, "return", "S-Min")["x"] == [100, 200, 300, 400, 500]


def test_variants_of_an_agent_are_told_apart_by_what_differs(stored):
    store(stored, "maze-small", "s-max", 1, gamma=0.5)
    text = reported(stored)
    [block] = data(text)
    names = [curve["name"] for curve in block["curves"]]
    assert "S-Max, gamma 0.5" in names
    looks = {(curve["colours"]["light"], curve["dash"]) for curve in block["curves"]}
    assert len(looks) == len(names)
    assert re.search(r"learner\.gamma .*0\.5", shown(text))


def test_entropies_of_several_marginals_are_drawn_from_their_random_agents(tmp_path):
    """Rows have the entropy 1, 2, 3, ... and a random agent's of 3."""
    store(tmp_path, "maze-small", "s-max", 1)
    [alone] = data(reported(tmp_path))
    assert line(alone, "entropy", "S-Max")["y"][:3] == [1, 2, 3]
    store(tmp_path, "maze-small", "s-max", 1, marginal="gaussian")
    text = reported(tmp_path)
    [block] = data(text)
    assert line(block, "entropy", "S-Max, marginal gaussian")["y"][:3] == [-2, -1, 0]
    assert next(panel["random"] for panel in block["panels"] if panel["column"] == "entropy") == 0
    assert "final entropy minus a random agent&#x27;s" in text


def test_the_overview_goes_by_the_plainest_variant_not_by_the_one_with_most_seeds(stored):
    for seed in (1, 2, 3, 4):
        store(stored, "maze-small", "s-max", seed, gamma=0.5).rename(stored / f"s-max-gamma=0.5-s{seed}")
    [block] = gather(stored).blocks
    assert [len(curve.runs) for curve in block.curves if curve.objective == "s-max"] == [3, 4]


def test_the_command_that_repeats_a_run_has_its_settings(stored, capsys):
    store(stored, "maze-small", "s-max", 7, gamma=0.5)
    run = next(run for run in gather(stored).runs if run.seed == 7)
    program, *words = shlex.split(command(run))
    assert program == "sadapt"
    assert main([*words, "--print-config"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"] == run.settings


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (lambda root: None, "is not a folder"),
        (lambda root: root.write_text("a file"), "is not a folder"),
        (lambda root: root.mkdir(), "holds no runs"),
        (lambda root: write(root / "a" / "config.json", '{"compilerOptions": {}}'), "holds no run that can be read"),
        (lambda root: write(root / "config.json", "\0"), "holds no run that can be read"),
    ],
    ids=["missing", "file", "empty", "foreign", "broken"],
)
def test_a_folder_without_runs_is_one_paragraph(tmp_path, capsys, prepare, says):
    root = tmp_path / "folder"
    prepare(root)
    assert main(["report", str(root)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert says in said.err
    assert said.err.count("\n") == 1
    assert said.err.count("can be read") <= 1
    assert not list(tmp_path.rglob("*.html*"))


def write(path, text):
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_what_cannot_be_read_is_named_on_the_page_and_the_rest_is_shown(stored):
    broken = [store(stored, "maze-small", "s-max", seed) for seed in (4, 5)]
    (broken[0] / "metrics.csv").write_bytes(bytes(range(256)))
    (broken[1] / "config.json").write_text('{"<script>alert(1)</script>": 1}')
    text = reported(stored)
    words = shown(text)
    assert all(str(folder) in words for folder in broken)
    assert "2 unreadable" in words
    assert "15 runs" in words
    assert "<script>alert" not in text


def test_a_page_must_end_in_html(stored, capsys):
    assert main(["report", str(stored), "--out", str(stored / "page.pdf")]) == 2
    assert "--out must name a .html or .htm file" in capsys.readouterr().err


def test_without_plotly_it_is_said_what_to_install(stored, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    assert main(["report", str(stored)]) == 2
    assert "pip install 'sadapt[report]'" in capsys.readouterr().err


def test_warnings_of_runs_are_on_the_page(tmp_path):
    folder = store(tmp_path, "tetris", "s-adapt", 1)
    write_json(folder / "status.json", {"state": "finished", "warnings": ["the bandit has not decided"]})
    assert "the bandit has not decided" in shown(reported(tmp_path))


def test_a_watched_folder_is_built_again_when_it_has_changed_and_only_then(stored, monkeypatch, capsys):
    pages, looks = [], iter(range(4))
    original = document.write

    def noted(path, text):
        pages.append(text)
        return original(path, text)

    monkeypatch.setattr(document, "write", noted)

    def later(_):
        look = next(looks)
        if look == 1:
            store(stored, "tetris", "s-min", 1, rows=3)
        if look == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("sadapt.cli.report.time.sleep", later)
    assert main(["report", str(stored), "--watch", "--every", "7"]) == 130
    assert ["16 runs" in shown(page) for page in pages] == [False, True, True]
    assert ['data-live="7"' in page for page in pages] == [True, True, False], "the last one no longer loads itself"
    assert (stored / "report.html").read_text() == pages[-1]
    assert "16 runs: 15 finished, 1 unfinished" in capsys.readouterr().err
    assert not list(stored.glob("*.partial"))


def test_a_watched_folder_may_be_empty_at_first(tmp_path, monkeypatch):
    def enough(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sadapt.cli.report.time.sleep", enough)
    assert main(["report", str(tmp_path), "--watch"]) == 130
    assert "no run in this folder that could be shown yet" in shown((tmp_path / "report.html").read_text())


def film(path, pictures=4, size=(24, 16), noise=0):
    """A GIF whose pictures get brighter."""
    rng = np.random.default_rng(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    frames = []
    for at in range(pictures):
        base = np.full((size[1], size[0], 3), 40 + 200 * at // pictures)
        frames.append(Image.fromarray((base + rng.integers(0, noise + 1, base.shape)).clip(0, 255).astype(np.uint8)))
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=100, loop=0)


def test_films_are_on_the_page_and_broken_ones_named(stored):
    folder = stored / "maze-small-s-max-1-0" / "videos"
    film(folder / "s-max-s0.gif")
    (folder / "torn.gif").write_bytes(b"GIF89a")
    text = reported(stored)
    [address] = re.findall(r'data-film="data:image/gif;base64,([^"]*)"', text)
    assert base64.b64decode(address) == (folder / "s-max-s0.gif").read_bytes()
    assert "S-Max, seed 1 (s-max-s0)" in shown(text)
    assert f"1 film could not be read: {folder / 'torn.gif'}" in shown(text)


def test_a_large_film_is_made_smaller_and_takes_as_long_as_before(stored):
    path = stored / "maze-small-s-max-1-0" / "videos" / "s-max-s0.gif"
    film(path, pictures=200, size=(80, 60), noise=60)
    assert path.stat().st_size > films.LARGE
    [found] = films.chosen(gather(stored)).films[0]
    assert found.kind == "image/webp"
    assert len(found.data) < path.stat().st_size / 2
    with Image.open(io.BytesIO(found.data)) as smaller:
        times = [frame.copy().info["duration"] for frame in ImageSequence.Iterator(smaller)]
    assert len(times) <= films.TRIES[0].frames
    assert sum(times) == 100 * 200


def test_every_curve_gets_a_film_before_any_gets_two(stored, monkeypatch):
    for objective in ("s-max", "s-min"):
        for name in ("a", "b"):
            film(stored / f"maze-small-{objective}-1-0" / "videos" / f"{name}.gif")
    room = sum(len(each.data) + len(each.still) for each in films.chosen(gather(stored)).films[0][:2])
    monkeypatch.setattr(films, "ALL", room)
    found = films.chosen(gather(stored))
    assert [each.curve.objective for each in found.films[0]] == ["s-max", "s-min"]
    assert [path.name for path in found.left_out] == ["b.gif", "b.gif"]


def test_thin_lines_keep_their_ends_and_are_even():
    kept = thinned(1_000, 50)
    assert (kept[0], kept[-1], len(kept)) == (0, 999, 50)
    assert set(np.diff(kept)) <= {20, 21}
    assert thinned(7, 50).tolist() == list(range(7))


def test_many_runs_are_drawn_with_fewer_points(stored, monkeypatch):
    for seed in (1, 2):
        store(stored, "tetris", "s-min", seed, rows=400, total_timesteps=40_000)

    def longest():
        panels = (panel for block in plots(gather(stored)) for panel in block["panels"])
        return max(len(line["x"]) for panel in panels for line in panel["lines"])

    assert longest() == POINTS[1]
    monkeypatch.setattr("sadapt.report.page.lines.NUMBERS", 8_000)
    assert POINTS[0] <= longest() < POINTS[1]


def test_contrast_is_what_the_standard_says():
    assert colours.contrast("#ffffff", "#000000") == pytest.approx(21)
    assert colours.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert colours.contrast("#ff0000", "#ffffff") == pytest.approx(4.0, abs=0.005)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_curve_can_be_seen_on_both_papers(objective):
    for number_of in range(6):
        for paper, colour in colours.of_curve(objective, number_of).items():
            assert colours.contrast(colour, colours.PAPERS[paper]) >= colours.CONTRAST[paper]


def test_the_style_sheet_has_the_papers_that_colours_are_chosen_for():
    sheet = document._own("page.css")
    assert re.findall(r"--paper: (#\w+)", sheet) == list(colours.PAPERS.values())


def test_text_is_escaped_and_markup_is_not():
    inner = element("b", "a < b", title='"')
    assert element("p", inner, "&") == '<p><b title="&quot;">a &lt; b</b>&amp;</p>'


def test_numbers_read_well():
    spoken = [number(value) for value in (0.0, 0.012345, 1.5, 98.14, 2315.2, -15.8, 1e9, float("inf"))]
    assert spoken == ["0", "0.0123", "1.5", "98.1", "2,315", "−15.8", "1,000,000,000", "∞"]
    assert "range" not in ranged(1.0, 1.0, 1.0)
