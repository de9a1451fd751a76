"""Python is as good as the command line: every command is a call, and every option tells itself."""

from __future__ import annotations

import inspect
import sys
from types import SimpleNamespace

import pytest

import sadapt
from sadapt import api
from sadapt.cli import COMMANDS
from sadapt.errors import UserError
from sadapt.options import sections
from sadapt.runs import display
from sadapt.runs.folder import RunFolder
from sadapt.runs.recorder import Progress
from sadapt.training.presets import preset

CALLS = {
    "list": "list_worlds",
    "eval": "evaluate",
    "runs": "list_runs",
    "zoo": "list_zoo",
    "film": "film_world",
    "report": "write_report",
}
"""Commands whose calls have other names: those of Python, or of a module of ours, are taken."""


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_is_a_call_with_a_meaning(command):
    call = getattr(sadapt, CALLS.get(command, command))
    assert callable(call)
    assert inspect.getdoc(call)


def test_dir_shows_every_public_name_before_any_is_used():
    assert set(sadapt.__all__) <= set(dir(sadapt))
    assert sadapt.__all__ == api.__all__
    for name in sadapt.__all__:
        assert getattr(sadapt, name) is getattr(api, name)


@pytest.mark.parametrize("call", [sadapt.train, sadapt.settings])
def test_help_tells_every_setting_and_completion_offers_it(call):
    text, offered = inspect.getdoc(call), inspect.signature(call).parameters
    assert text is not None
    for title, told in sections():
        assert f"\n{title}:\n" in text
        for each in told:
            assert f"\n    {each.name}: " in text
            assert " ".join(each.about.split()) in " ".join(text.split())
            assert each.about or "own" in title, each.name
            assert each.name in offered
    assert offered["learning_rate"].kind is inspect.Parameter.KEYWORD_ONLY
    assert "settings of the learner ppo" in text


def test_every_option_of_train_itself_is_told():
    text = str(inspect.getdoc(sadapt.train))
    named = [name for name, each in inspect.signature(api.train).parameters.items() if repr(each.default) != "<preset>"]
    for name in named:
        assert name == "changes" or f"{name}:" in text or f"{name}," in text, name


def test_several_runs_are_not_one():
    runs = [RunFolder("a"), RunFolder("b")]
    for call in (api.load, api.evaluate, api.resume):
        with pytest.raises(UserError, match="2 runs were given; name one of them: a, b"):
            call(runs)
    with pytest.raises(UserError, match="what train returned, an exported policy or zoo:NAME; got 3"):
        api.load(3)
    assert repr(runs[0]) == "RunFolder('a')"


def shown_by(monkeypatch, *, notebook: bool, terminal: bool):
    """What `auto` shows a run with."""
    shell = SimpleNamespace(kernel=1) if notebook else SimpleNamespace()
    made: list[str] = []

    class Handle:
        def update(self, html):
            made.append(html)

    def show(html, display_id):
        made.append(html)
        return Handle()

    module = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(HTML=str, display=show))
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", module.display)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    with display.chosen(preset("tetris"), "auto") as shown:
        if shown is not None:
            for step in (0, 50, 100):
                shown(Progress(step, 100, 10.0, {"return": 1.5, "surprise": 2.0, "entropy": 3.0, "h_random": 4.0}))
    return shown, made


def test_a_notebook_gets_a_bar_that_changes_in_place(monkeypatch):
    monkeypatch.setattr(display, "SECONDS", 0.0)
    shown, made = shown_by(monkeypatch, notebook=True, terminal=False)
    assert shown is not None
    assert ["<progress" in each for each in made] == [False, True, True]
    assert 'value="100" max="100"' in made[-1]
    assert "return 1.5" in made[-1]


def test_a_terminal_gets_a_panel_and_a_script_nothing(monkeypatch):
    assert shown_by(monkeypatch, notebook=False, terminal=True)[0] is not None
    assert shown_by(monkeypatch, notebook=False, terminal=False)[0] is None


def test_an_own_display_is_used_and_none_is_none():
    show = lambda progress: None  # noqa: E731
    with display.chosen(preset("tetris"), show) as shown:
        assert shown is show
    with display.chosen(preset("tetris"), None) as shown:
        assert shown is None
    with (
        pytest.raises(UserError, match="display must be a function, 'auto' or None; got 'bar'"),
        display.chosen(preset("tetris"), "bar"),
    ):
        pass


def test_worlds_as_data():
    found = {each["name"]: each for each in api.list_worlds()}
    assert found["tetris"]["horizon"] == 200
    assert found["maze-small"]["actions"] == ("stay", "left", "up", "right", "down")
