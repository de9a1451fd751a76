"""The `sadapt` command: every command is a frozen dataclass of its options that parses, delegates and prints.

JAX, NumPy and Matplotlib are imported by the commands that need them, so that `sadapt --help` answers at once.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

import tyro
from tyro.extras import subcommand_cli_from_dict

from sadapt import __version__
from sadapt.cli.bench import BenchCommand
from sadapt.cli.common import Command
from sadapt.cli.runs import EvalCommand, ExportCommand, PlotCommand, ResumeCommand, TrainCommand, WatchCommand
from sadapt.cli.study import ClaimsCommand, FiguresCommand, SweepCommand
from sadapt.cli.worlds import FilmCommand, ListCommand, ProbeCommand
from sadapt.errors import Stop, UserError, nearest

ABOUT = """\
Agents that learn without reward, by controlling the entropy of what they see.

examples:
  sadapt list                                every world there is
  sadapt probe maze-small                    which way its entropy can be pushed
  sadapt train maze-small                    train S-Adapt there; runs/maze-small/... keeps everything
  sadapt resume runs/maze-small/...          go on after a stop, however it came
  sadapt eval runs/maze-small/...            play the trained agent greedily
  sadapt watch runs/maze-small/...           film it
  sadapt plot runs/maze-small/...            draw its curves
  sadapt film tetris --out tetris.gif        film a random agent
  sadapt sweep F2                            all runs of a figure of the paper, as many at once as there are cores
  sadapt figures results                     draw the figures of the runs that are there
  sadapt claims results                      which of the paper's claims they bear out
  sadapt bench                               how fast this machine is
  sadapt train --help                        every option of a command
  sadapt --version                           the version of this program"""

COMMANDS: dict[str, Callable[..., Command]] = {
    "list": ListCommand,
    "probe": ProbeCommand,
    "film": FilmCommand,
    "train": TrainCommand,
    "resume": ResumeCommand,
    "eval": EvalCommand,
    "watch": WatchCommand,
    "plot": PlotCommand,
    "export": ExportCommand,
    "sweep": SweepCommand,
    "figures": FiguresCommand,
    "claims": ClaimsCommand,
    "bench": BenchCommand,
}


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit code.

    0 is success, 1 a run that could not go on, 2 a user's mistake, 128 + signal a run that was asked to stop.
    """
    logging.basicConfig(format="%(message)s", level=logging.WARNING, stream=sys.stderr)
    try:
        _parse(sys.argv[1:] if argv is None else argv).run()
    except UserError as mistake:
        return _refuse(str(mistake))
    except Stop as stop:
        print(f"sadapt: {stop}", file=sys.stderr)
        return stop.code
    except OSError as failure:
        return _refuse(f"{failure.filename}: {failure.strerror}" if failure.filename else str(failure))
    except KeyboardInterrupt:
        return 130
    except SystemExit as finished:
        return int(finished.code or 0)
    return 0


def _refuse(message: str) -> int:
    print(f"sadapt: error: {message}", file=sys.stderr)
    return 2


def _parse(argv: list[str]) -> Command:
    """The command that the words ask for; ends the program after `--help`, `--version` or a word that fits nowhere."""
    if argv[:1] == ["--version"]:
        print(f"sadapt {__version__}")
        raise SystemExit(0)
    if argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        raise UserError(f"unknown command {argv[0]!r}: {nearest(argv[0], COMMANDS)}")
    if argv[:1] == ["train"]:
        return TrainCommand.parse(argv[1:])
    return subcommand_cli_from_dict(
        COMMANDS,
        prog="sadapt",
        description=ABOUT,
        args=argv or ["--help"],
        config=(tyro.conf.FlagCreatePairsOff,),
    )
