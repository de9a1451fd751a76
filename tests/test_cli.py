"""The command line as a user meets it: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from sadapt import __version__, cli, output
from sadapt.cli import COMMANDS, main, worlds
from sadapt.envs import table
from sadapt.errors import UserError
from sadapt.motivation.probe import PolicyRow, Report, Room


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """The installed program in a process of its own."""
    program = Path(sys.executable).with_name("sadapt")
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=120)


def test_help_names_every_command_and_opens_with_examples(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for name in COMMANDS:
        assert re.search(rf"^  {name} +[a-z]", text, flags=re.MULTILINE), name
    assert text.index("commands") < text.index("examples:")


def test_every_example_of_the_help_is_understood(capsys):
    main(["--help"])
    examples = re.findall(r"^  sadapt (.+?)  +\S", capsys.readouterr().out, flags=re.MULTILINE)
    assert len(examples) >= 5
    for example in examples:
        words = example.split()
        if words[-1].startswith("--"):
            assert main(words) == 0
        else:
            assert type(cli._parse(words[0], words[1:])).__name__ == COMMANDS[words[0]].name


def test_no_word_at_all_shows_the_help(capsys):
    assert main([]) == 0
    assert "usage: sadapt" in capsys.readouterr().out


def test_help_loads_neither_jax_nor_matplotlib():
    seen = "{'jax', 'matplotlib', 'numpy', 'gymnasium', 'tyro'} & set(sys.modules)"
    heavy = f"import sys; from sadapt.cli import main; main(['--help']); print({seen})"
    done = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.endswith("set()\n")


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"sadapt {__version__}\n"


def test_list_has_a_row_for_every_world(capsys):
    assert main(["list"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["world", "size", "horizon", "actions", "channels", "about"]
    assert [row.split()[0] for row in rows] == [*table.names()]
    small = next(row for row in rows if row.startswith("maze-small "))
    assert small.split()[1:4] == ["10x10", "100", "5"]
    assert "wall, agent, goal" in small


@pytest.mark.parametrize(("width", "dropped"), [(120, set()), (100, {"channels"}), (80, {"channels", "actions"})])
def test_list_leaves_columns_out_in_a_narrow_terminal(capsys, monkeypatch, width, dropped):
    monkeypatch.setattr(output, "console", lambda: Console(file=sys.stdout, width=width))
    assert main(["list"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert {"world", "size", "horizon", "actions", "channels", "about"} - set(header.split()) == dropped
    assert all(len(row) <= width and "…" not in row for row in rows)
    assert {row.split()[0] for row in rows} >= set(table.names())


def test_list_as_json(capsys):
    assert main(["list", "--json"]) == 0
    told = {world["name"]: world for world in json.loads(capsys.readouterr().out)}
    assert set(told) == set(table.names())
    assert told["butterflies-small"]["seen_by_marginal"] == ["wall", "butterfly"]
    assert told["maze-large"]["size"] == [32, 32]
    assert told["tetris"]["horizon"] == 200
    assert len(told["tetris"]["actions"]) == 12
    assert told["maze-small"]["actions"] == ["stay", "left", "up", "right", "down"]


def test_json_writes_numbers_that_are_missing_as_null(capsys):
    output.show_json({"a": np.float32("nan"), "b": [np.int64(1), float("inf")], "c": np.eye(2), "d": ("x", None, True)})
    expected = {"a": None, "b": [1, None], "c": [[1, 0], [0, 1]], "d": ["x", None, True]}
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == expected


@pytest.mark.parametrize("command", ["probe", "film"])
def test_an_unknown_world_is_one_paragraph_with_the_nearest_name(command):
    done = run(command, "maze-smal")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("sadapt: error: ")
    assert "'maze-small'" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["prob", "tetris"], "did you mean 'probe'?"),
        (["xyz"], "choose one of: adaptation, bench, claims, compare, eval, export, figures, film, list"),
        (["probe", "tetris", "--episode", "3"], "--episodes"),
        (["probe", "tetris", "--episodes", "few"], "--episodes"),
        (["probe", "tetris", "--episodes", "0"], "--episodes must be at least 1; got 0"),
        (["probe", "tetris", "--marginal", "poisson"], "bernoulli"),
        (["probe", "tetris", "--plot", "figure.doc"], ".png, .svg or .pdf"),
        (["probe", "tetris", "--season-steps", "9"], "has no setting 'season_steps'"),
        (["probe", "tetris", "--learning-rate", "1"], "unknown option '--learning-rate'"),
        (["probe"], "ENV"),
        (["film", "maze-small", "--std-floor", "1"], "--std-floor"),
        (["film", "tetris", "--steps", "0"], "--steps must be at least 1; got 0"),
        (["film", "tetris", "--fps", "-1"], "--fps must be at least 1; got -1"),
        (["film", "maze-small", "--policy", "rnadom"], "did you mean 'random'?"),
        (["--versoin"], "--help"),
    ],
)
def test_a_mistake_is_answered_with_advice_and_exit_code_2(capsys, words, hint):
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert hint in shown.err


@pytest.mark.parametrize("command", ["probe", "film"])
def test_a_broken_layout_is_located(capsys, tmp_path, command):
    layout = tmp_path / "mine.txt"
    layout.write_text("A..\n.x.\n..G\n")
    assert main([command, "maze-small", "--layout", str(layout)]) == 2
    message = capsys.readouterr().err
    assert "mine.txt" in message
    assert re.search(r"line 2\b", message)
    assert re.search(r"column 2\b", message)


def test_a_layout_that_does_not_exist(capsys, tmp_path):
    assert main(["probe", "maze-small", "--layout", str(tmp_path / "none.txt")]) == 2
    assert "none.txt" in capsys.readouterr().err


def test_a_file_that_cannot_be_written(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert main(["film", "maze-small", "--steps", "1", "--out", str(tmp_path / "file" / "film.gif")]) == 2
    message = capsys.readouterr().err
    assert message.startswith("sadapt: error: ")
    assert str(tmp_path / "file") in message


@pytest.mark.parametrize(("interruption", "code"), [(KeyboardInterrupt(), 130), (UserError("no"), 2)])
def test_exit_codes(monkeypatch, interruption, code):
    def interrupted() -> None:
        raise interruption

    monkeypatch.setattr(table, "names", interrupted)
    assert main(["list"]) == code


def test_a_fault_of_the_program_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(table, "names", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["list"])


def test_probe_as_json(capsys):
    assert main(["probe", "maze-small", "--episodes", "4", "--json"]) == 0
    shown = capsys.readouterr()
    report = json.loads(shown.out)
    assert report["env"] == "maze-small"
    assert report["episodes"] == 4
    assert set(report["rooms"]) == {"entropy", "surprise"}
    for room in report["rooms"].values():
        assert room["low"] <= room["random"] <= room["high"]
        for end in ("low", "high"):
            expected = abs(room[end] - room["random"]) / max(room["random"], room["random_std"])
            assert room[f"feedback_{end}"] == pytest.approx(expected, rel=1e-5)
        assert room["favours"] in {"s-max", "s-min", "neither"}
    assert "random" in {row["name"] for row in report["rows"]}
    assert all(len(row["curve"]) == 101 for row in report["rows"])
    assert "random" in shown.err


def test_probe_with_a_layout_a_plot_and_no_progress(capsys, tmp_path):
    layout, plot = tmp_path / "mine.txt", tmp_path / "new" / "probe.png"
    layout.write_text("A...\n.##.\n...G\n")
    words = ["probe", "maze-small", "--episodes", "2", "--layout", str(layout), "--plot", str(plot), "--quiet"]
    assert main(words) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    for of, line in zip(("entropy", "surprise"), shown.out.splitlines()[-2:], strict=True):
        assert re.match(rf"  by {of} .* down, .* up\. S-M", line)
    with Image.open(plot) as figure:
        assert figure.width > 600


def room_with(low: float, high: float) -> Room:
    """A random agent's 10, and extremes that lie that far below and above."""
    favours = "neither" if low == high else "s-max" if high > low else "s-min"
    return Room(10.0, 0.5, 10.0 - low, 10.0 + high, "still", "walker", low / 10, high / 10, favours)


def report_with(low: float, high: float) -> Report:
    """A report of such rooms."""
    rows = tuple(
        PolicyRow(name, entropy, 0.5, entropy, 1.0, 0.0, 10.0, np.full(11, entropy))
        for name, entropy in {"random": 10.0, "still": 10.0 - low, "walker": 10.0 + high}.items()
    )
    return Report("toy", 3, 10, dict.fromkeys(("entropy", "surprise"), room_with(low, high)), rows)


def test_every_option_of_probe_reaches_the_computation(capsys, monkeypatch):
    asked = []

    def answer(env: str, *, on_progress: object, **options: object) -> Report:
        asked.append((env, on_progress is None, options))
        return report_with(8, 2)

    monkeypatch.setattr("sadapt.api.probe", answer)
    main(["probe", "tetris"])
    words = [
        "probe",
        "maze-small",
        "--episodes",
        "5",
        "--seed",
        "7",
        "--marginal",
        "gaussian",
        "--pseudo-count",
        "1",
        "--quiet",
    ]
    assert main(words) == 0
    assert main(["probe", "seasons", "--season-steps", "50", "--horizon", "80", "--quiet"]) == 0
    usual = {"episodes": 100, "seed": 0, "marginal": "auto"}
    assert asked == [
        ("tetris", False, usual),
        ("maze-small", True, {"episodes": 5, "seed": 7, "marginal": "gaussian", "pseudo_count": 1.0}),
        ("seasons", True, {**usual, "season_steps": 50, "horizon": 80}),
    ]


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (4, 6, "S-Max has more room: 'walker' raises entropy 1.50 times as far as 'still' lowers it."),
        (8, 2, "S-Min has more room: 'still' lowers entropy 4.00 times as far as 'walker' raises it."),
        (0, 2, "S-Max has more room: 'walker' raises entropy above random, no policy here lowers it."),
        (2, 0, "S-Min has more room: 'still' lowers entropy below random, no policy here raises it."),
        (3, 3, "Neither arm has more room: 'walker' raises entropy exactly as far as 'still' lowers it."),
        (0, 0, "Neither arm has room: no policy here moves entropy away from random."),
    ],
)
def test_the_verdict_is_one_sentence(low, high, verdict):
    assert worlds._verdict("entropy", room_with(low, high)) == verdict
    assert worlds._verdict("surprise", room_with(low, high)) == verdict.replace("entropy", "surprise")


def test_the_report_ranks_policies_by_entropy(capsys):
    worlds._show_report(report_with(8, 2))
    lines = capsys.readouterr().out.splitlines()
    policies = [line.split() for line in lines if line.startswith(("still", "random", "walker"))]
    assert policies == [
        ["still", "2.00", "±", "0.50", "-80%", "2.00", "1.00", "0.0", "10"],
        ["random", "10.00", "±", "0.50", "+0%", "10.00", "1.00", "0.0", "10"],
        ["walker", "12.00", "±", "0.50", "+20%", "12.00", "1.00", "0.0", "10"],
    ]


def test_film_shows_the_start_and_every_step(capsys, tmp_path):
    film = tmp_path / "films" / "maze.gif"
    assert main(["film", "maze-small", "--steps", "12", "--seed", "3", "--out", str(film)]) == 0
    assert capsys.readouterr().out == f"{film}\n"
    with Image.open(film) as gif:
        assert gif.format == "GIF"
        assert sum(gif_frame_time(gif)) == 13 * 100


def gif_frame_time(gif: Image.Image) -> list[int]:
    times = []
    for frame in range(gif.n_frames):  # type: ignore[attr-defined]
        gif.seek(frame)
        times.append(gif.info["duration"])
    return times


def test_film_is_named_after_world_and_policy(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["film", "tetris", "--steps", "2"]) == 0
    assert (tmp_path / "tetris-random.gif").exists()


@pytest.mark.parametrize("name", [None, *COMMANDS])
def test_help_reads_well_at_80_columns(name, monkeypatch, capsys):
    """No line is longer than the terminal, and the examples stand as they were written."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"] if name is None else [name, "--help"]) == 0
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "settings options" not in text
    assert "<description>" not in text


def test_groups_of_settings_are_called_by_what_they_are_of(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["train", "maze-small", "--learner", "ppo", "--help"]) == 0
    titles = {line.strip(" ╭─╮") for line in capsys.readouterr().out.splitlines()}
    assert {"options", "world maze-small options", "bandit race options", "learner ppo options"} <= titles


def test_a_shift_that_rounds_to_nothing_has_no_minus():
    assert [worlds._shift(by, 2.0) for by in (-0.001, 0.0, -0.86, 2.4)] == ["+0%", "+0%", "-43%", "+120%"]
