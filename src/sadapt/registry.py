"""Parts by name: one table a kind, filled by this package and by whoever registers a part of their own.

    register("bandit", "greedy", greedy, settings=GreedySettings)

A factory is called with what its kind is told about the run, and with `settings=` if it registered any:

    env       factory(name)                      -> Env or HostEnv
    marginal  factory(spec, xp=...)              -> Marginal
    feedback  factory(xp=...)                    -> Feedback
    bandit    factory(arms, xp=...)              -> Bandit
    network   factory(spec)                      -> Network
    learner   factory(task)                      -> Learner
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sadapt.errors import UserError, nearest

OURS = __name__.partition(".")[0]
KINDS = ("env", "marginal", "feedback", "bandit", "network", "learner")
HINT = "Your own part needs --import MODULE, which registers it"
GYMNASIUM = re.compile(r"[^:]+-v\d+")
"""How ids of Gymnasium look, and no name of ours."""

OWN = "own:"
"""How a part is called that is an object or a function handed over in Python, and has no name in any table."""
Own = Mapping[str, Any]
"""Such parts, by their kind."""


def own_name(part: Any) -> str:
    """What messages call such a part."""
    return OWN + str(getattr(part, "name", None) or getattr(part, "__name__", type(part).__name__))


class Choice(NamedTuple):
    """A part by its name, with its own settings; a dictionary of them where the part is not known here."""

    name: str
    settings: Any = None


class Part(NamedTuple):
    """A row of a table."""

    kind: str
    name: str
    factory: Callable[..., Any] | str
    """A function, or "module:function", which is imported when it is first needed."""
    settings: type | None
    """A frozen dataclass whose fields become flags."""
    hints: Mapping[str, Any]
    """What else its kind wants to know of it."""

    @property
    def module(self) -> str:
        """The module that its code is in."""
        if isinstance(self.factory, str):
            return self.factory.partition(":")[0]
        return str(getattr(self.factory, "__module__", ""))

    @property
    def foreign(self) -> bool:
        """Whether it is somebody's own."""
        return self.module.partition(".")[0] != OURS

    def defaults(self) -> Any:
        """Its settings as they come; None if it has none."""
        return None if self.settings is None else _usual(self.settings)

    def load(self) -> Callable[..., Any]:
        """The factory itself."""
        if not isinstance(self.factory, str):
            return self.factory
        module, _, name = self.factory.partition(":")
        return getattr(importlib.import_module(module), name)

    def make(self, *told: Any, settings: Any = None, **words: Any) -> Any:
        """The part that its factory makes."""
        return self.load()(*told, **({} if settings is None else {"settings": settings}), **words)


@functools.cache
def _usual(settings: type) -> Any:
    """Settings as they come, made once, since they are frozen."""
    return settings()


TABLES: dict[str, dict[str, Part]] = {kind: {} for kind in KINDS}
IMPORTED: list[str] = []
"""Modules that the user asked to import, for processes that have to import them too."""


def register(
    kind: str, name: str, factory: Callable[..., Any] | str, settings: type | None = None, **hints: Any
) -> None:
    """Registers a part by name, for every command and file; `settings` is a frozen dataclass with defaults."""
    if kind not in TABLES:
        raise UserError(f"unknown kind of part {kind!r}: {nearest(kind, KINDS)}")
    if not isinstance(name, str) or not name or name.startswith("-") or any(letter.isspace() for letter in name):
        raise UserError(f"a {kind} cannot be called {name!r}: a name is one word")
    if not callable(factory) and not isinstance(factory, str):
        raise UserError(f"the {kind} {name!r} is registered with {factory!r}: a factory must be a function")
    if settings is not None and not (isinstance(settings, type) and dataclasses.is_dataclass(settings)):
        raise UserError(f"the settings of {kind} {name!r} are {settings!r}: they must be a dataclass")
    part, before = Part(kind, name, factory, settings, hints), TABLES[kind].get(name)
    if before is not None and _origin(before) != _origin(part):
        raise UserError(f"the {kind} {name!r} is already registered, by {_origin(before)}: choose another name")
    TABLES[kind][name] = part


def _origin(part: Part) -> str:
    if isinstance(part.factory, str):
        return part.factory
    return f"{part.module}:{getattr(part.factory, '__qualname__', repr(part.factory))}"


def find(kind: str, name: str) -> Part:
    """The part of that name; of a family such as `gym:`, the family."""
    table = TABLES[kind]
    family = name.partition(":")[0] + ":"
    if name in table:
        return table[name]
    if family in table and name != family:
        return table[family]
    known = [each for each in table if not each.endswith(":")]
    hint = f"did you mean 'gym:{name}'?" if kind == "env" and GYMNASIUM.fullmatch(name) else nearest(name, known)
    raise UserError(f"unknown {spoken(kind)} {name!r}: {hint}{'' if hint.endswith('?') else '.'} {HINT}")


def spoken(kind: str) -> str:
    """A kind of part in words."""
    return "world" if kind == "env" else kind


def require_name(kind: str, given: Any) -> None:
    """Refuses what cannot be the name of a part."""
    if not isinstance(given, str):
        raise UserError(f"--{kind} must be the name of a {spoken(kind)}; got {given!r}")


def is_foreign(kind: str, choice: Choice, own: Own) -> bool:
    """Whether a part is somebody's own, and has to be checked."""
    return kind in own or choice.name.startswith(OWN) or find(kind, choice.name).foreign


def made(kind: str, bundle: type, choice: Choice, own: Own, *told: Any, **words: Any) -> Any:
    """A part: as it was handed over, by the factory that was, or by the one that is registered."""
    if kind in own and isinstance(own[kind], bundle):
        return own[kind]
    if kind in own and not callable(own[kind]):
        raise UserError(f"{kind} is {own[kind]!r}; it must be a name, a {bundle.__name__} or a function that makes one")
    if kind not in own and choice.name.startswith(OWN):
        raise UserError(
            f"this run's {kind} was passed in Python ({choice.name}) and is not registered: pass it again "
            f"({kind}=...), or register it under a name and train again"
        )
    if not is_foreign(kind, choice, own):
        return find(kind, choice.name).make(*told, settings=choice.settings, **words)
    factory = own[kind] if kind in own else find(kind, choice.name).load()
    if kind not in own and choice.settings is not None:
        words["settings"] = choice.settings
    found = called(kind, choice.name, factory, *told, **_accepted(factory, words))
    if not isinstance(found, bundle):
        raise broken(kind, choice.name, f"its factory made {found!r}, not a {bundle.__name__}")
    return found


def _accepted(factory: Callable[..., Any], words: dict[str, Any]) -> dict[str, Any]:
    """Those words that a factory takes."""
    try:
        takes = inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return words
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in takes.values()):
        return words
    return {name: value for name, value in words.items() if name in takes}


def called(kind: str, name: str, function: Callable[..., Any], *told: Any, **words: Any) -> Any:
    """A call into somebody's code, whose failure is told as theirs."""
    try:
        return function(*told, **words)
    except UserError:
        raise
    except Exception as error:  # whatever that code does
        title = getattr(function, "__qualname__", "its code").rpartition(".")[2]
        first = str(error).strip().partition("\n")[0]
        raise broken(kind, name, f"{title} raised {type(error).__name__} ({first})") from error


def broken(kind: str, name: str, what: str) -> UserError:
    """The refusal of a part."""
    return UserError(f"the {kind} {name!r} breaks its contract: {what}")


def known(kind: str, name: str) -> bool:
    """Whether `find` would find it."""
    return name in TABLES[kind] or name.partition(":")[0] + ":" in TABLES[kind]


def import_modules(modules: Iterable[str]) -> None:
    """Imports the user's own modules, found from the folder that the program was started in."""
    here = str(Path.cwd())
    for module in modules:
        if here not in sys.path:
            sys.path.insert(0, here)
        try:
            importlib.import_module(module_name(module))
            if module not in IMPORTED:
                IMPORTED.append(module)
        except UserError as error:
            raise UserError(f"--import {module}: {error}") from error
        except Exception as error:  # whatever the user's module does
            what = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
            raise UserError(
                f"--import {module}: {what}; name a module that Python can find and import from here ({here})"
            ) from error


def module_name(given: str) -> str:
    """A module's name, also from its file's."""
    return given.removesuffix(".py").replace("/", ".").lstrip(".")


def require_trusted(needed: Iterable[str], source: str) -> None:
    """Refuses to import what a file names: whoever loads it says so, or has imported it already."""
    missing = [module for module in needed if module_name(module) not in sys.modules]
    if missing:
        words = " ".join(f"--import {module}" for module in missing)
        raise UserError(
            f"{source} needs {' and '.join(missing)}, which is not part of this program, and a file alone imports "
            f"nothing: if you trust it, give {words} (in Python: trust=True)"
        )
