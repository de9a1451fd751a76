"""Experiments as data: a TOML file whose groups of settings become runs; every list in a group is an axis.

title = "Maze"
include = ["F4"]              # the runs of other experiments too

[[fast]]                      # a group of the preset `fast`; as many as you like
env = ["maze-small", "maze-large"]
objective = ["s-adapt", "s-min"]
seed = [1, 2, 3]
gamma = 0.95                  # any setting of `sadapt train`, by its name
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from sadapt.composite import all_changed, get, places
from sadapt.errors import UserError, nearest
from sadapt.registry import known
from sadapt.runs import config
from sadapt.runs.folder import default_path
from sadapt.training.presets import PRESETS, require_preset
from sadapt.training.presets import preset as preset_of
from sadapt.training.settings import Settings, foreign_modules

FILES = resources.files("sadapt.experiments") / "files"
TOP = ("title", "include", *PRESETS)
NAMED = ("env", "objective", "seed", "learner")
"""What a run's folder is called after in any case."""


MOST = 100_000
"""Runs of one group."""


class Planned(NamedTuple):
    """A run that an experiment asks for."""

    path: Path
    """Its folder, below the folder of results."""
    settings: Settings


class Experiment(NamedTuple):
    """A file, read."""

    name: str
    title: str
    runs: tuple[Planned, ...]


class Source(NamedTuple):
    """A file's text, and what it calls itself in messages."""

    name: str
    shown: str
    text: str

    def error(self, message: str, word: str | None = None, after: int = 0) -> UserError:
        """An error at the first line from `after` on that holds `word`."""
        line = after + 1
        if word is not None:
            lines = [text.partition("#")[0] for text in self.text.splitlines()[after:]]
            as_key = re.compile(rf"\s*{re.escape(word)}\s*=")
            anywhere = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
            found = [i for i, text in enumerate(lines) if as_key.match(text)]
            found += [i for i, text in enumerate(lines) if anywhere.search(text)]
            line += found[0] if found else 0
        return UserError(f"{self.shown}, line {line}: {message}")


def packaged() -> tuple[str, ...]:
    """The experiments that come with the program."""
    return tuple(sorted(file.name.removesuffix(".toml") for file in FILES.iterdir() if file.name.endswith(".toml")))


def read(name: str, preset: str = "fast", *, checked: bool = True, imports: tuple[str, ...] = ()) -> Experiment:
    """The experiment of a figure or a file, with every run's settings complete and possible.

    `imports` are the modules of one's own that have been imported for it.
    """
    require_preset(preset)
    title, runs = _expand(_source(name), preset, ())
    if imports:
        runs = [(_needing(run, imports), source, after) for run, source, after in runs]
    unique: dict[Path, Planned] = {}
    for run, source, after in runs:
        before = unique.setdefault(run.path, run)
        if before.settings != run.settings:
            raise source.error(f"two groups ask for {run.path} with different settings", after=after)
    if not unique:
        raise UserError(f"{name} has no runs for the preset {preset!r}: it needs a group [[{preset}]]")
    if checked:
        _require_possible(runs)
    return Experiment(Path(name).stem, title, tuple(unique.values()))


def _needing(run: Planned, imports: tuple[str, ...]) -> Planned:
    """The same run, which says what it needs."""
    settings = all_changed(run.settings, {"imports": imports})
    return run._replace(settings=all_changed(settings, {"imports": foreign_modules(settings)}))


Found = tuple[Planned, Source, int]
"""A run, and the place in a file that asks for it."""


def _source(name: str) -> Source:
    if name in packaged():
        return Source(name, f"{name}.toml", (FILES / f"{name}.toml").read_text(encoding="utf-8"))
    path = Path(name)
    if not path.is_file():
        known = packaged()
        raise UserError(f"no experiment {name!r}: {nearest(name, known)} Or name your own TOML file")
    try:
        return Source(path.stem, str(path), path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not text ({error}); expected a TOML file of runs") from error


def _expand(source: Source, preset: str, above: tuple[str, ...]) -> tuple[str, list[Found]]:
    """Title and runs of a file, with those that it includes."""
    try:
        given = tomllib.loads(source.text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{source.shown} is not TOML: {error}") from error
    for name in given:
        if name not in TOP:
            raise source.error(f"unknown key {name!r}: {nearest(name, TOP)}", name)
    found: list[Found] = []
    for other in _listed(given.get("include", [])):
        if not isinstance(other, str) or other in (*above, source.name):
            raise source.error(f"cannot include {other!r}: expected the name of another experiment", "include")
        try:
            included = _source(other)
        except UserError as error:
            raise source.error(str(error), other) from error
        found += _expand(included, preset, (*above, source.name))[1]
    groups = given.get(preset, [])
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise source.error(f"{preset} must be groups, each under a line [[{preset}]]", preset)
    for group, after in zip(groups, _headers(source, preset), strict=False):
        found += ((run, source, after) for run in _group(group, preset, source, after))
    return str(given.get("title", source.name)), found


def _headers(source: Source, preset: str) -> Iterator[int]:
    """Lines at which the groups of a preset begin, counted from 0."""
    pattern = re.compile(rf"\s*\[\[\s*{preset}\s*\]\]")
    lines = source.text.splitlines()
    yield from (index for index, line in enumerate(lines) if pattern.match(line))
    yield from itertools.repeat(0)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _group(group: dict[str, Any], preset: str, source: Source, after: int) -> Iterator[Planned]:
    """Every combination of a group's axes."""
    if "env" not in group:
        raise source.error(f'this group of [[{preset}]] names no world: it needs env = "..."', after=after)
    axes = {name: _listed(values) for name, values in group.items()}
    for name, values in axes.items():
        if not values:
            raise source.error(f"{name} is an empty list: give at least one value", name, after)
    if (count := math.prod(map(len, axes.values()))) > MOST:
        raise source.error(f"this group asks for {count:,} runs; at most {MOST:,} can be planned", after=after)
    for combination in itertools.product(*axes.values()):
        yield _run(dict(zip(axes, combination, strict=True)), preset, source, after)


def _run(wanted: dict[str, Any], preset: str, source: Source, after: int) -> Planned:
    """One combination: the preset's settings with what the file changes."""
    env = wanted["env"]
    parts = {kind: wanted[kind] for kind in places(Settings) if kind != "env" and kind in wanted}
    begin = partial(_start, env, preset, source=source, after=after, stream=wanted.get("stream") is True)
    usual = begin({kind: part for kind, part in parts.items() if kind == "learner"})
    start = begin(parts) if parts else usual
    special = [f"{kind}={part}" for kind, part in parts.items() if kind not in NAMED and get(usual, kind) != part]
    changes = {name: value for name, value in wanted.items() if name != "env" and name not in parts}
    for name, value in changes.items():
        try:
            special += [_spoken(name, value)] if name not in NAMED and get(start, name) != value else []
        except UserError as error:
            raise source.error(str(error), name, after) from error
    try:
        settings = all_changed(start, changes)
    except UserError as error:
        raise source.error(str(error), _wrong(start, changes), after) from error
    return Planned(Path(preset) / _folder(settings, special), settings)


def _spoken(name: str, value: Any) -> str:
    """A setting in the name of a folder; the policy that a run begins with is a path or zoo:NAME, and a part of it."""
    return f"{name}={re.sub('[/:]', '-', str(value)) if name == 'start_from' else value}"


def _start(env: str, preset: str, parts: dict[str, Any], source: Source, after: int, stream: bool) -> Settings:
    """The preset's settings with these parts."""
    try:
        return preset_of(env, preset, stream=stream, **parts)
    except UserError as error:
        word = next((kind for kind, part in {"env": env, **parts}.items() if not isinstance(part, str)), None)
        word = word or next((part for kind, part in parts.items() if not known(kind, part)), env)
        raise source.error(str(error), word, after) from error


def _wrong(start: Settings, changes: dict[str, Any]) -> str | None:
    """Which of several changes cannot be."""
    for name, value in changes.items():
        try:
            all_changed(start, {name: value})
        except UserError:
            return name
    return None


def _folder(settings: Settings, special: list[str]) -> Path:
    """`<env>/<objective>-<learner>[-<setting>=<value>]-s<seed>`: only what differs from the preset is spelled out."""
    usual, seed = default_path(settings, ""), f"-s{settings.seed}"
    return usual.with_name("-".join([usual.name.removesuffix(seed), *special]) + seed)


def _require_possible(found: Iterable[Found]) -> None:
    """Refuses a world or a combination of settings that could not be trained, at the line that asks for it."""
    seen: set[str] = set()
    for run, source, after in found:
        alone = str({**config.to_dict(run.settings), "seed": 0})
        if alone in seen:
            continue
        seen.add(alone)
        from sadapt.runs.session import prepare

        try:
            prepare(run.settings)
        except UserError as error:
            raise source.error(str(error), run.settings.env, after) from error
