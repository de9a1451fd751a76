"""Tables of parts: what can be registered, how names are found, and whose code is imported."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from sadapt import registry
from sadapt.envs import table as _table  # noqa: F401 (fills the table of worlds)
from sadapt.errors import UserError
from sadapt.fields import Checked, Count
from sadapt.motivation import table as _motivation  # noqa: F401 (fills the tables of marginals and bandits)
from sadapt.registry import (
    OWN,
    TABLES,
    Choice,
    find,
    import_modules,
    is_foreign,
    known,
    made,
    register,
    require_trusted,
)


@dataclass(frozen=True)
class GreedySettings(Checked):
    """Settings of the part below."""

    tries: Count = 3


class Thing(NamedTuple):
    """What the factories of these tests make."""

    told: Any
    settings: Any = None
    xp: Any = None


def greedy(arms: int, settings: GreedySettings = GreedySettings(), *, xp: Any = None) -> Thing:
    return Thing(arms, settings, xp)


def modest(arms: int) -> Thing:
    return Thing(arms)


@pytest.fixture(autouse=True)
def tables_as_they_were(monkeypatch):
    """What a test registers or imports is forgotten afterwards."""
    for kind, rows in TABLES.items():
        monkeypatch.setitem(TABLES, kind, dict(rows))
    monkeypatch.setattr(registry, "IMPORTED", [])


@pytest.fixture
def module(tmp_path, monkeypatch):
    """`module(name, code)` writes a module into the folder that the program was started in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    written = []

    def write(name: str, code: str) -> str:
        (tmp_path / f"{name}.py").write_text(code)
        written.append(name)
        return name

    yield write
    for name in written:
        sys.modules.pop(name, None)


def test_a_part_is_found_by_its_name_with_its_settings_and_hints():
    register("bandit", "greedy", greedy, GreedySettings, num_envs=4)
    part = find("bandit", "greedy")
    assert (part.kind, part.name, part.hints) == ("bandit", "greedy", {"num_envs": 4})
    assert part.defaults() == GreedySettings(3)
    assert part.make(2, settings=GreedySettings(7), xp="numpy") == Thing(2, GreedySettings(7), "numpy")
    assert known("bandit", "greedy")


def test_parts_without_settings_are_made_without_any():
    register("bandit", "modest", modest)
    assert find("bandit", "modest").defaults() is None
    assert find("bandit", "modest").make(2) == Thing(2)


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UserError, match=r"unknown bandit 'ubc': did you mean 'ucb'\? .*--import MODULE"):
        find("bandit", "ubc")
    with pytest.raises(UserError, match="unknown world 'CartPole-v1': did you mean 'gym:CartPole-v1'"):
        find("env", "CartPole-v1")
    with pytest.raises(UserError, match="unknown world 'maze-smal': did you mean 'maze-small'"):
        find("env", "maze-smal")
    with pytest.raises(UserError, match="choose one of: auto, bernoulli, categorical, "):
        find("marginal", "xyzzy")
    assert not known("bandit", "ubc")


def test_families_stand_for_whatever_follows_their_colon():
    assert find("env", "gym:CartPole-v1").name == "gym:"
    assert find("env", "atari:pong").name == "atari:"
    assert known("env", "gym:CartPole-v1")
    with pytest.raises(UserError, match="unknown world 'gin:"):
        find("env", "gin:CartPole-v1")


@pytest.mark.parametrize("kind", ["bandits", "", "wolrd"])
def test_an_unknown_kind_is_refused(kind):
    with pytest.raises(UserError, match="unknown kind of part"):
        register(kind, "greedy", greedy)


@pytest.mark.parametrize("name", ["", "two words", "-greedy", "--greedy", "tab\tbed", 3, None])
def test_names_that_cannot_be_typed_are_refused(name):
    with pytest.raises(UserError, match=r"cannot be called .*: a name is one word"):
        register("bandit", name, greedy)


@pytest.mark.parametrize("factory", [3, None, Thing(1), ["greedy"]])
def test_a_factory_must_be_a_function(factory):
    with pytest.raises(UserError, match=r"the bandit 'greedy' is registered with .*: a factory must be a function"):
        register("bandit", "greedy", factory)
    assert "greedy" not in TABLES["bandit"]


@pytest.mark.parametrize("settings", [dict, int, GreedySettings(), {"tries": 3}])
def test_settings_must_be_a_dataclass(settings):
    with pytest.raises(UserError, match=r"the settings of bandit 'greedy' are .*: they must be a dataclass"):
        register("bandit", "greedy", greedy, settings)
    assert "greedy" not in TABLES["bandit"]


def test_a_name_is_taken_once():
    register("bandit", "greedy", greedy, GreedySettings)
    with pytest.raises(UserError, match=r"'greedy' is already registered, by .*test_registry:greedy: choose another"):
        register("bandit", "greedy", modest)
    with pytest.raises(UserError, match="'ucb' is already registered, by sadapt"):
        register("bandit", "ucb", greedy)
    assert find("bandit", "greedy").factory is greedy


def test_the_same_part_may_be_registered_again():
    """A module may be imported twice, under two names or after an edit."""
    register("bandit", "greedy", greedy)
    register("bandit", "greedy", greedy, GreedySettings)
    assert find("bandit", "greedy").settings is GreedySettings
    register("env", "mine", "my.worlds:mine")
    register("env", "mine", "my.worlds:mine")
    with pytest.raises(UserError, match=r"by my.worlds:mine"):
        register("env", "mine", "my.worlds:another")


def test_the_same_name_may_be_one_of_another_kind():
    register("bandit", "greedy", greedy)
    register("marginal", "greedy", modest)
    assert find("marginal", "greedy").factory is modest


def test_a_factory_named_by_its_module_is_imported_when_it_is_needed(module):
    name = module("lazy_part", "def made(arms):\n    return ('made', arms)\n")
    register("bandit", "lazy", f"{name}:made")
    part = find("bandit", "lazy")
    assert (part.module, part.foreign, name in sys.modules) == ("lazy_part", True, False)
    sys.path.insert(0, ".")
    assert part.make(2) == ("made", 2)
    assert name in sys.modules


def test_whose_a_part_is():
    register("bandit", "greedy", greedy)
    assert find("bandit", "greedy").foreign
    assert not find("bandit", "ucb").foreign
    assert not find("env", "tetris").foreign
    assert is_foreign("bandit", Choice("ucb"), {"bandit": greedy})
    assert is_foreign("bandit", Choice(OWN + "greedy"), {})
    assert not is_foreign("bandit", Choice("ucb"), {"marginal": greedy})


def test_made_by_name_by_function_or_as_it_is():
    register("bandit", "greedy", greedy, GreedySettings)
    by_name = made("bandit", Thing, Choice("greedy", GreedySettings(5)), {}, 2, xp="numpy")
    assert by_name == Thing(2, GreedySettings(5), "numpy")
    own = Choice(OWN + "greedy")
    assert made("bandit", Thing, own, {"bandit": greedy}, 2, xp="numpy") == Thing(2, GreedySettings(), "numpy")
    assert made("bandit", Thing, own, {"bandit": modest}, 2, xp="numpy") == Thing(2)
    assert made("bandit", Thing, own, {"bandit": Thing(9)}, 2, xp="numpy") == Thing(9)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"bandit": 3}, "bandit is 3; it must be a name, a Thing or a function that makes one"),
        ({}, "was passed in Python .*pass it again .*bandit=.*or register it"),
        ({"bandit": lambda arms: "nothing"}, "breaks its contract: its factory made 'nothing', not a Thing"),
        ({"bandit": lambda arms: arms.missing}, "breaks its contract: <lambda> raised AttributeError"),
    ],
)
def test_parts_that_cannot_be_made_are_named(own, message):
    with pytest.raises(UserError, match=message):
        made("bandit", Thing, Choice(OWN + "mine"), own, 2)


def test_a_users_mistake_in_a_part_is_told_as_it_is():
    def picky(arms):
        raise UserError("two arms are too many")

    with pytest.raises(UserError, match=r"^two arms are too many$"):
        made("bandit", Thing, Choice(OWN + "picky"), {"bandit": picky}, 2)


def test_modules_are_imported_from_where_the_program_was_started(module):
    name = module(
        "my_bandits",
        "from sadapt.registry import register\ndef lucky(arms):\n    return arms\nregister('bandit', 'lucky', lucky)\n",
    )
    import_modules([name])
    assert find("bandit", "lucky").module == name
    assert [name] == registry.IMPORTED
    import_modules([name, f"{name}.py"])
    assert [name, f"{name}.py"] == registry.IMPORTED


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            None,
            "--import my_module: No module named 'my_module'; name a module that Python can find and import from here",
        ),
        ("import not_to_be_found", "--import my_module: No module named 'not_to_be_found'"),
        ("1 / 0", "--import my_module: ZeroDivisionError: division by zero"),
        ("def broken(:\n", "--import my_module: SyntaxError"),
        (
            "from sadapt.registry import register\nregister('bandit', 'ucb', print)",
            "--import my_module: the bandit 'ucb' is already registered",
        ),
    ],
)
def test_modules_that_cannot_be_imported_are_named(module, code, message):
    if code is not None:
        module("my_module", code)
    else:
        module("another", "")
    with pytest.raises(UserError, match=message):
        import_modules(["my_module"])
    assert registry.IMPORTED == []


def test_what_a_file_names_is_not_imported_for_that(monkeypatch):
    with pytest.raises(UserError, match=r"run.json needs evil, which .*give --import evil \(in Python: trust=True\)"):
        require_trusted(["evil", "json"], "run.json")
    with pytest.raises(UserError, match=r"needs evil and worse/part.py, .*--import evil --import worse/part.py"):
        require_trusted(["evil", "worse/part.py"], "run.json")
    assert "evil" not in sys.modules
    require_trusted(["json"], "run.json")
    monkeypatch.setitem(sys.modules, "evil", ModuleType("evil"))
    require_trusted(["evil", "evil.py", "./evil.py"], "run.json")
