"""The `sadapt` command: every command is a frozen dataclass of its options that parses, delegates and prints.

A command's module is imported when it is called, and JAX, NumPy and Matplotlib by the commands that need them, so that
`sadapt --help` answers at once.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from sadapt import __version__
from sadapt.cli.entrance import Spoken, patient_streams, told_failure
from sadapt.errors import Stop, UserError, nearest
from sadapt.runs.interruption import Requests, requests
from sadapt.runs.programs import keep_programs

if TYPE_CHECKING:
    from sadapt.cli.common import Command

ABOUT = """\
usage: sadapt COMMAND [OPTIONS]

Agents that learn without reward, by controlling the entropy of what they see.

commands (sadapt COMMAND --help shows every option of one):
{commands}

examples:
  sadapt watch zoo:tetris               film a pretrained policy
  sadapt probe maze-small               which way its entropy can be pushed
  sadapt train maze-small               train S-Adapt into runs/maze-small/...
  sadapt runs                           the state of all runs
  sadapt resume runs/maze-small/...     continue after any kind of stop
  sadapt eval runs/maze-small/...       play the trained agent greedily
  sadapt watch runs/maze-small/...      film it
  sadapt film tetris --out tetris.gif   film a random agent
  sadapt sweep F2                       all runs of a figure of the paper
  sadapt claims results                 which of the paper's claims hold there
  sadapt --version                      the version of this program"""


class Row(NamedTuple):
    """A command: where it is, and what it does."""

    module: str
    name: str
    about: str
    compiles: bool = False


COMMANDS = {
    "list": Row("worlds", "ListCommand", "list all worlds"),
    "probe": Row("worlds", "ProbeCommand", "measure which way a world's entropy can be pushed", compiles=True),
    "film": Row("film", "FilmCommand", "film a random or scripted agent", compiles=True),
    "train": Row("train", "TrainCommand", "train an agent into its own folder", compiles=True),
    "resume": Row("runs", "ResumeCommand", "continue a run from its last checkpoint", compiles=True),
    "runs": Row("listing", "RunsCommand", "list runs: their state and latest results"),
    "compare": Row("listing", "CompareCommand", "show what differs between two runs"),
    "zoo": Row("zoo", "ZooCommand", "list the trained policies that come with the program"),
    "eval": Row("runs", "EvalCommand", "play a trained agent greedily and measure it", compiles=True),
    "watch": Row("runs", "WatchCommand", "film a trained agent", compiles=True),
    "plot": Row("runs", "PlotCommand", "draw the learning curves of runs"),
    "export": Row("runs", "ExportCommand", "write a run's policy into one file"),
    "sweep": Row("sweep", "SweepCommand", "train all runs of a figure, or of your own experiment"),
    "figures": Row("study", "FiguresCommand", "draw the paper's figures from stored runs"),
    "claims": Row("study", "ClaimsCommand", "check which of the paper's claims stored runs support"),
    "adaptation": Row("study", "AdaptationCommand", "measure what adapting costs S-Adapt, world by world"),
    "seasons": Row("seasons", "SeasonsCommand", "measure how well agents follow a world whose season changes"),
    "table": Row("study", "TableCommand", "write all stored runs into one table, with their cost"),
    "report": Row("report", "ReportCommand", "show a folder of runs as one HTML file"),
    "bench": Row("bench", "BenchCommand", "measure speed on this machine"),
}


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit code.

    0 is success, 1 a run that could not go on, 2 a user's mistake, 128 + signal a run that was asked to stop.
    """
    with patient_streams(), requests() as asked:
        logging.basicConfig(format="%(message)s", level=logging.WARNING, handlers=[Spoken()])
        code = _code(sys.argv[1:] if argv is None else argv, asked)
        if argv is None and asked.received is not None:
            # A compiler that was broken off may still be at work, and would not survive the interpreter's own end.
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(code)
    return code


def _code(words: list[str], asked: Requests) -> int:
    """The exit code of a command, after its failure has been told."""
    try:
        asked.require_none()
        _run(words)
        sys.stdout.flush()
    except Stop as stop:
        _say(str(stop))
        return stop.code
    except BaseException as error:  # what a library makes of an interruption may be anything
        if asked.received is None and not isinstance(error, KeyboardInterrupt):
            return _code_of(error)
        asked.obeyed = True
        _say("stopped")
        return asked.code
    return 0


def _run(words: list[str]) -> None:
    """Help, the version, or a command."""
    if words[:1] in ([], ["-h"], ["--help"]):
        commands = "\n".join(f"  {name:10s} {row.about}" for name, row in COMMANDS.items())
        print(ABOUT.format(commands=commands))
    elif words[0] == "--version":
        print(f"sadapt {__version__}")
    else:
        command = _parse(words[0], words[1:])
        if COMMANDS[words[0]].compiles:
            keep_programs()
        command.run()


def _code_of(error: BaseException) -> int:
    """The exit code of a command that has raised this, which is told if it is the user's to know."""
    if isinstance(error, UserError):
        return _refuse(str(error))
    if isinstance(error, OSError):
        return _refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    if isinstance(error, SystemExit):
        return int(error.code or 0)
    told = told_failure(error) if isinstance(error, Exception) else None
    if told is None:  # a fault of the program keeps its traceback
        raise error
    return _refuse(told)


def _refuse(message: str) -> int:
    _say(f"error: {message}")
    return 2


def _say(message: str) -> None:
    with suppress(OSError, ValueError):  # nobody is there to read it
        print(f"sadapt: {message}", file=sys.stderr)


def _parse(name: str, words: list[str]) -> Command:
    """The command that the words ask for; ends the program after `--help` or a word that fits nowhere."""
    if name not in COMMANDS:
        hint = nearest(name, COMMANDS)
        raise UserError(f"unknown command {name!r}: {hint} (sadapt --help shows them all)")
    row = COMMANDS[name]
    command = getattr(importlib.import_module(f"sadapt.cli.{row.module}"), row.name)
    if hasattr(command, "parse"):
        return command.parse(words)
    from sadapt.cli.parsing import parsed

    return parsed(command, name, words)
