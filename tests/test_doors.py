"""One validation for all doors: what is wrong is refused by the same sentence in Python, the shell, TOML and JSON."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from sadapt.api import settings
from sadapt.cli.train import TrainCommand
from sadapt.composite import all_changed, groups, own_names, places
from sadapt.errors import UserError
from sadapt.experiments import plan
from sadapt.fields import SPECIAL, Field, checked, fields_of, flag, spelled, told
from sadapt.gym.settings import SurpriseSettings, settings_from
from sadapt.registry import TABLES
from sadapt.runs import config
from sadapt.training.presets import preset
from sadapt.training.settings import Settings


class Case(NamedTuple):
    """A setting, and the parts that a run has which has it."""

    name: str
    field: Field
    parts: dict[str, str]


def cases() -> Iterator[Case]:
    """Every setting of every class: a run's own, its groups', and those of every part that comes with the program."""
    usual = preset("tetris")
    yield from (Case(name, fields_of(Settings)[name], {}) for name in own_names(Settings) if name != "imports")
    for group in groups(usual):
        if group.kind is None:
            yield from (Case(name, field, {}) for name, field in fields_of(type(group.settings)).items())
    for kind in places(Settings):
        classes = {}
        for row in TABLES[kind].values():
            if row.settings is not None and not row.foreign and not row.name.endswith(":"):
                classes.setdefault(row.settings, row.name)
        for kept, part in classes.items():
            yield from (Case(name, field, {kind: part}) for name, field in fields_of(kept).items())
    yield Case("obs_key", fields_of(TABLES["env"]["gym:"].settings)["obs_key"], {"env": "gym:CartPole-v1"})


CASES = list(cases())
words = st.text("abcdefghijklmnopqrstuvwxyz_ßé", min_size=1, max_size=12).filter(
    lambda word: spelled(word) == word and word not in (*SPECIAL, "true", "false")
)
numbers = st.one_of(
    st.integers(-(10**30), 10**30),
    st.sampled_from([-1, 0, 2**31, 2**32, 2**64, 2**200]),
    st.floats(allow_nan=False, allow_infinity=False),
)


def wrong(field: Field, name: str) -> st.SearchStrategy[Any]:
    """Values that the field does not take, of kinds that every door can spell."""

    def refused(value: Any) -> bool:
        try:
            checked(field, name, value)
        except UserError:
            return True
        return False

    if field.kind is str:  # in the shell every word is text
        return words.filter(refused) if field.tables else numbers
    assert refused("neither")
    return st.one_of(words, numbers).map(lambda value: value if refused(value) else "neither")


def refusal(door: Any) -> str:
    with pytest.raises(UserError) as told_by:
        door()
    return str(told_by.value)


def by_python(env: str, changes: dict[str, Any]) -> str:
    found = {refusal(lambda: settings(env, **changes))}
    parts = {kind: changes[kind] for kind in places(Settings) if kind in changes}
    others = {name: value for name, value in changes.items() if name not in parts}
    if all(known(kind, part) for kind, part in parts.items()):
        found.add(refusal(lambda: all_changed(preset(env, **parts), others)))
    (sentence,) = found
    return sentence


def known(kind: str, part: Any) -> bool:
    return isinstance(part, str) and part in TABLES[kind]


def by_shell(env: str, changes: dict[str, Any]) -> str:
    line = [f"{flag(name)}={value}" for name, value in changes.items()]
    return refusal(lambda: TrainCommand.parse([env, *line]).settings())


def by_toml(env: str, changes: dict[str, Any], folder: Path) -> str:
    file = folder / "mine.toml"
    lines = [f"{name} = {_toml(value)}" for name, value in {"env": env, **changes}.items()]
    file.write_text("\n".join(["[[fast]]", *lines]), encoding="utf-8")
    place, _, sentence = refusal(lambda: plan.read(str(file), checked=False)).partition(": ")
    number = int(place.removeprefix(f"{file}, line "))
    name = list(changes)[-1]
    assert [*file.read_text(encoding="utf-8").splitlines()][number - 1].startswith(f"{name} = ")
    return sentence


def _toml(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def by_json(env: str, changes: dict[str, Any], folder: Path) -> str:
    kinds = {kind: place for kind, place in places(Settings).items() if kind != "env"}
    plain = config.to_dict(preset(env, **{kind: changes[kind] for kind in kinds if known(kind, changes.get(kind))}))
    for name, value in changes.items():
        holder = next((part for part in plain.values() if isinstance(part, dict) and name in part), plain)
        if name in kinds:
            plain[name] = {"kind": value}
        else:
            holder[name] = value
    file = folder / "config.json"
    file.write_text(json.dumps({"settings": plain}), encoding="utf-8")
    return refusal(lambda: config.read(file)).removeprefix(f"{file}: ")


def through_all_doors(env: str, changes: dict[str, Any], folder: Path, *, in_shell: bool = True) -> str:
    """The sentence that all of them say."""
    said = {
        "python": by_python(env, changes),
        "toml": by_toml(env, changes, folder),
        "json": by_json(env, changes, folder),
        **({"shell": by_shell(env, changes)} if in_shell else {}),
    }
    assert len(set(said.values())) == 1, said
    return said["python"]


SPOKEN = {"start_from": "from"}
"""Settings whose flags have other names, and who are spoken of by these."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join([*case.parts.values(), case.name]))
@examples(max_examples=2, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_is_wrong_is_refused_by_the_same_sentence_through_every_door(case, data, tmp_path_factory):
    value = data.draw(wrong(case.field, case.name))
    parts = dict(case.parts)
    env = parts.pop("env", "maze-small")
    shell_has_wrong_values = case.field.kind is not str or bool(case.field.tables)
    folder = tmp_path_factory.getbasetemp()
    said = through_all_doors(env, {**parts, case.name: value}, folder, in_shell=shell_has_wrong_values)
    assert SPOKEN.get(case.name, case.name).replace("_", "-") in said.replace(" ", "-")
    shown = told(value) if isinstance(value, int | str) and case.field.kind is not float else None
    assert shown is None or shown in said


@pytest.mark.parametrize("kind", [kind for kind in places(Settings) if kind != "env"])
@examples(max_examples=2, suppress_health_check=list(HealthCheck))
@given(name=words)
def test_the_name_of_a_part_that_is_not_there(kind, name, tmp_path_factory):
    if name in TABLES[kind]:
        return
    said = through_all_doors("tetris", {kind: name}, tmp_path_factory.getbasetemp())
    assert said.startswith(f"unknown {kind} {name!r}: ")


@pytest.mark.parametrize("wrong_name", ["bernouli", "nothing-like-it"])
@pytest.mark.parametrize("kind", ["marginal", "learner", "network", "bandit", "feedback"])
def test_the_issues_examples_by_name(kind, wrong_name, tmp_path):
    assert wrong_name in through_all_doors("tetris", {kind: wrong_name}, tmp_path)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"arms": "both"}, "unknown arms 'both': did you mean 'together'?"),
        ({"normalise": "no"}, "--normalise must be true or false; got 'no'"),
        ({"seed": 1.5}, "--seed must be a whole number; got 1.5"),
        ({"learning_rate": -1}, "--learning-rate must be more than 0; got -1"),
        ({"learning_rate": 0}, "--learning-rate must be more than 0; got 0"),
        ({"gamma": "None"}, "--gamma must be a number; got 'None'"),
        ({"seed": 2**64}, "--seed must be at most 18446744073709551615; got 18446744073709551616"),
        ({"total_timesteps": 2**31}, "--total-timesteps must be at most 2147483647; got 2147483648"),
        ({"objective": "s-mim"}, "unknown objective 's-mim': did you mean 's-min'?"),
    ],
)
def test_sentences(changes, sentence, tmp_path):
    assert through_all_doors("tetris", changes, tmp_path) == sentence


@pytest.mark.parametrize("name", [name for name in own_names(SurpriseSettings) if name != "random"])
@given(data=st.data())
def test_wrappers_check_their_options_alike(name, data):
    value = data.draw(wrong(fields_of(SurpriseSettings)[name], name))
    said = {refusal(lambda: settings_from({name: value})), refusal(lambda: SurpriseSettings(**{name: value}))}
    assert len(said) == 1
    assert name.replace("_", "-") in said.pop().replace(" ", "-")


@pytest.mark.parametrize("value", [math.inf, "inf"])
def test_a_limit_may_be_infinite_in_every_spelling(value, tmp_path):
    assert settings("tetris", reward_clip=value).motivation.reward_clip == math.inf
    assert TrainCommand.parse(["tetris", "--reward-clip", "inf"]).settings().motivation.reward_clip == math.inf
    (tmp_path / "mine.toml").write_text('[[fast]]\nenv = "tetris"\nreward_clip = inf\n')
    (run,) = plan.read(str(tmp_path / "mine.toml"), checked=False).runs
    assert run.settings.motivation.reward_clip == math.inf
    with pytest.raises(UserError, match="--learning-rate must be finite; got inf"):
        settings("tetris", learning_rate=value)


WRONG_LINES = [
    ["train", "tetriss"],
    ["train", "tetris", "--learner", "dqm"],
    ["train", "tetris", "--arms", "both"],
    ["train", "tetris", "--learning-rate", "-1"],
    ["train", "tetris", "--seed", "99999999999999999999999"],
    ["train", "tetris", "--total-timesteps", "99999999999"],
    ["train", "tetris", "--num-seeds", "0"],
    ["train", "tetris", "--checkpoint-interval", "-1"],
    ["train", "tetris", "--objectiv", "s-min"],
    ["train", "tetris", "maze-small"],
    ["train", "tetris", "--seed"],
    ["train"],
    ["bench", "--seconds", "-1"],
    ["bench", "everything"],
    ["probe", "tetris", "--seed", "-1"],
    ["eval", "runs/none", "--epsilon", "2"],
    ["watch", "runs/none", "--arm", "s-mim"],
    ["sweep", "F2", "--workers", "0"],
    ["probe", "tetriss"],
    ["probe", "tetris", "--marginal", "poisson"],
    ["film", "tetriss"],
    ["eval", "runs/none"],
    ["watch", "runs/none"],
    ["export", "runs/none"],
    ["resume", "runs/none"],
]


def test_wrong_command_lines_are_one_paragraph_each_before_jax_is_imported():
    code = f"""
import sys
from sadapt.cli import main
print([main(line) for line in {WRONG_LINES!r}], "jax" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == f"{[2] * len(WRONG_LINES)} False\n"
    said = done.stderr.splitlines()
    assert len(said) == len(WRONG_LINES)
    assert all(each.startswith("sadapt: error: ") for each in said)


@pytest.mark.parametrize(
    ("line", "normalise"),
    [
        (["--no-normalise"], False),
        (["--normalise"], True),
        (["--normalise=false"], False),
        (["--normalise", "False"], False),
        (["--normalise=true"], True),
        (["--no-normalise=false"], True),
        (["--no-normalise", "--normalise"], True),
    ],
)
def test_a_flag_may_be_given_true_or_false(line, normalise):
    for words_given in (["tetris", *line], [*line, "tetris"]):
        assert TrainCommand.parse(words_given).settings().motivation.normalise is normalise
