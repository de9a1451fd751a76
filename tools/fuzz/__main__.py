"""The fuzzer's command line: makes the material, meets the inputs, tells what it has found."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shlex
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tools.fuzz import material, trial
from tools.fuzz.cases import Case, prepare
from tools.fuzz.verdict import contents, findings

HOME = material.ROOT / ".fuzz"
LINES = 12
"""Of what the program said, at its end, that are shown."""


class Task(NamedTuple):
    """What is asked of the fuzzer."""

    seed: int
    material: Path
    home: Path
    patience: float


class Met(NamedTuple):
    """An input, how it was met, and what is wrong with that."""

    case: Case
    outcome: trial.Outcome
    wrong: list[str]


def meet(task: Task, number: int) -> Met:
    """One input, from an empty folder to a verdict; what is found is kept."""
    place = task.home / "work" / str(number)
    folder, log = place / "folder", place / "said.txt"
    shutil.rmtree(place, ignore_errors=True)
    case = prepare(task.seed, number, task.material, folder)
    before = contents(folder)
    action = (trial.executed if case.real else trial.forked)(case.words)
    outcome = trial.run(action, folder, log, patience=task.patience, stops=case.command.long)
    wrong = findings(case, outcome, before, contents(folder))
    if wrong:
        kept = kept_at(task, number)
        shutil.rmtree(kept, ignore_errors=True)
        prepare(task.seed, number, task.material, kept / "folder")
        shutil.copy(log, kept / "said.txt")
    shutil.rmtree(place, ignore_errors=True)
    return Met(case, outcome._replace(said=outcome.said if wrong else ""), wrong)


def kept_at(task: Task, number: int) -> Path:
    return task.home / "findings" / f"{task.seed}-{number}"


def all_met(task: Task, numbers: Sequence[int], workers: int) -> Iterator[Met]:
    """Every input, several at a time."""
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
        for done in as_completed([pool.submit(meet, task, number) for number in numbers]):
            yield done.result()


def tell(task: Task, met: Met) -> None:
    """A finding, and how to see it again."""
    print(f"\nFINDING in input {met.case.number} of seed {task.seed}: {'; '.join(met.wrong)}")
    print(f"  command   sadapt {ascii(shlex.join(met.case.words))[1:-1]}")
    print(f"  damaged   {', '.join(met.case.damaged) or 'nothing but the command'}")
    print(f"  kept in   {kept_at(task, met.case.number)}")
    print(f"  repeat    make fuzz SEED={task.seed} ONLY={met.case.number}")
    for line in met.outcome.said.strip().splitlines()[-LINES:]:
        print(f"  | {ascii(line[:300])[1:-1]}")
    sys.stdout.flush()


def summary(counts: Counter[str], busy: float, seconds: float) -> str:
    """One line at the end."""
    told = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    return f"{told}; {seconds / 60:.1f} minutes, {busy / 60:.1f} minutes of a core"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="fuzz",
        description="Damage files of small genuine runs and command lines, and look how the program meets them. It "
        "must not show a traceback, hang, ask for more than 2 GB, change a file that it should not, or end with "
        "another exit code than 0, 1, 2, 130 or 143.",
        epilog="Exit code 0: nothing was found. 1: something was.",
    )
    made.add_argument("--seed", type=int, default=1, help="which inputs (1)")
    made.add_argument("--inputs", type=int, default=2_000, help="how many (2000)")
    made.add_argument("--only", type=int, nargs="+", default=[], metavar="N", help="these inputs alone, by number")
    made.add_argument("--workers", type=int, default=2, help="inputs at a time (2)")
    made.add_argument("--patience", type=float, default=60.0, help="seconds after which an input hangs (60)")
    made.add_argument("--home", type=Path, default=HOME, help="where runs, programs and findings are kept (.fuzz)")
    made.add_argument("--former", action="store_true", help="use the runs that are there, although the sources changed")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    args = parser().parse_args(argv)
    home = args.home.resolve()
    os.environ |= material.environment(home)
    say = partial(print, file=sys.stderr, flush=True)
    stored = material.made(home, args.workers, say, former=args.former)
    trial.warm()
    task = Task(args.seed, stored, home, args.patience)
    numbers = args.only or range(args.inputs)
    began, busy, counts = time.monotonic(), 0.0, Counter[str]()
    for count, met in enumerate(all_met(task, numbers, args.workers), 1):
        busy += met.outcome.busy
        counts["stopped" if met.outcome.stopped else f"of code {met.outcome.code}"] += 1
        if met.wrong:
            counts["findings"] += 1
            tell(task, met)
        if count % 100 == 0:
            print(f"{count} of {len(numbers)}: {summary(counts, busy, time.monotonic() - began)}", flush=True)
    print(summary(counts, busy, time.monotonic() - began))
    return 1 if counts["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
