"""Does a change leave every run as it was, to the byte? `python tools/same.py REV` compares with another revision.

Only what every revision has is used: the command line, `metrics.csv`, exported policies and the Gymnasium wrappers.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import io
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parent.parent
HERE, THERE = "here", "in REV"
"""What the working tree and the other revision are called."""
CLOCK = "steps_per_second"
"""The one column that is not a result."""
NAMED = 4
"""Names that a list of differing ones spells out."""
SINGLE = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
ALWAYS = "--tensorboard off --quiet"
PQN = "--learner pqn --num-envs 16 --num-steps 16 --total-timesteps 81920 --log-interval 16384 --random-episodes 8"
DQN = (
    "--learner dqn --buffer-size 4000 --learning-starts 500 --target-network-frequency 500 --train-frequency 8 "
    "--start-e 0.5 --end-e 0.5 --total-timesteps 4000 --log-interval 500 --random-episodes 8"
)
OUTSIDE = (
    "--learner pqn --num-envs 1 --num-steps 32 --minibatch-size 32 --total-timesteps 5120 --log-interval 1024 "
    "--random-episodes 8 --hidden 32"
)
ATARI = (
    "--learner dqn --objective s-max --num-envs 1 --horizon 64 --random-episodes 2 --buffer-size 640 "
    "--learning-starts 128 --target-network-frequency 128 --train-frequency 16 --batch-size 8 "
    "--total-timesteps 640 --log-interval 128"
)


class Mistake(Exception):
    """What the user can put right; the message says how."""


class Case(NamedTuple):
    """Something that both revisions do."""

    name: str
    flags: str
    """Arguments of `sadapt train`; none plays the wrappers instead."""
    exports: bool = True
    """Whether there is a policy to export."""
    needs: str | None = None
    """A module without which the case is left out."""

    @property
    def missing(self) -> bool:
        return self.needs is not None and find_spec(self.needs) is None


CASES = (
    Case("pqn-tetris", f"tetris {PQN} --minibatch-size 64"),
    Case("pqn-tetris-gaussian", f"tetris {PQN} --marginal gaussian --arms together --baseline global --hidden 32"),
    Case("pqn-tetris-seeds", f"tetris {PQN} --objective s-min --num-seeds 2 --hidden 32 --on-death end"),
    Case("pqn-maze", f"maze-small {PQN} --minibatch-size 256 --hidden 32"),
    Case("pqn-butterflies", f"butterflies-small {PQN} --objective s-max --minibatch-size 256 --hidden 32"),
    Case("pqn-breakout", f"minatar-breakout {PQN} --objective extrinsic --hidden 32"),
    Case("pqn-random", f"tetris {PQN} --objective random", exports=False),
    Case("dqn-tetris", f"tetris {DQN}"),
    Case("dqn-tetris-relabel", f"tetris {DQN} --network plain --hidden 32 --relabel --double --arms together"),
    Case("dqn-maze", f"maze-small {DQN} --objective s-max --network window --hidden 32 --num-envs 4 --huber"),
    Case("dqn-butterflies-gaussian", f"butterflies-small {DQN} --objective s-min --marginal gaussian --network plain"),
    Case("pqn-cartpole-1", f"gym:CartPole-v1 {OUTSIDE}"),
    Case("dqn-cartpole-2", f"gym:CartPole-v1 {DQN} --objective extrinsic --num-envs 2 --hidden 32"),
    Case("dqn-freeway", f"atari-freeway {ATARI}", needs="ale_py"),
    Case("wrappers", "", exports=False),
)


class Verdict(NamedTuple):
    """Whether two results are equal, and what to say about it."""

    same: bool
    text: str


NOTHING = Verdict(True, "none")


class Outcome(NamedTuple):
    """A line of the table."""

    name: str
    metrics: Verdict
    parameters: Verdict
    seconds: float

    @property
    def same(self) -> bool:
        return self.metrics.same and self.parameters.same


class Side(NamedTuple):
    """One of the two source trees, and where its processes run."""

    name: str
    folder: str
    """Of its results, within a case's."""
    source: Path
    core: int | None
    """None leaves it to the system."""


def differing_names(mine: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """What is to be said about names that only one side has."""
    found = []
    for where, these, those in ((HERE, mine, set(theirs)), (THERE, theirs, set(mine))):
        alone = [name for name in these if name not in those]
        more = f" and {len(alone) - NAMED} more" if len(alone) > NAMED else ""
        if alone:
            found.append(f"only {where}: {', '.join(alone[:NAMED])}{more}")
    return found


def combined(found: Sequence[str], verdicts: Mapping[str, Verdict]) -> Verdict:
    """Verdicts on the files of a case as one; equal ones are told only if all are."""
    wrong = {name: verdict for name, verdict in verdicts.items() if not verdict.same}
    several = len(verdicts) > 1
    told = [f"{name}: {verdict.text}" if several else verdict.text for name, verdict in (wrong or verdicts).items()]
    return Verdict(bool(verdicts) and not found and not wrong, "; ".join([*found, *told]) or "nothing was written")


def read_table(path: Path, ignore: set[str]) -> tuple[list[str], list[dict[str, str]]]:
    """Columns and rows of a CSV file as text, without the columns in `ignore`."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
    return [name for name in reader.fieldnames or () if name not in ignore], rows


def compare_table(mine: Path, theirs: Path, ignore: Sequence[str] = ()) -> Verdict:
    """Two `metrics.csv`, column by column as text; columns in `ignore` may differ or be missing.

    A column that is new here changes no result, and is told only; one that is gone is a difference.
    """
    (columns, rows), (their_columns, their_rows) = (read_table(path, {CLOCK, *ignore}) for path in (mine, theirs))
    new = [name for name in columns if name not in their_columns]
    found = differing_names([name for name in columns if name not in new], their_columns)
    differing: dict[str, str] = {}
    for row, their_row in zip(rows, their_rows, strict=False):
        for name in (name for name in columns if name in their_columns):
            if row[name] != their_row[name]:
                values = f"{row[name]} {HERE}, {their_row[name]} {THERE}"
                differing.setdefault(name, f"{name} at step {row.get('step')}: {values}")
    if differing:
        others = f" ({len(differing)} columns differ)" if len(differing) > 1 else ""
        found.insert(0, next(iter(differing.values())) + others)
    if len(rows) != len(their_rows):
        found.append(f"{len(rows)} rows {HERE}, {len(their_rows)} {THERE}")
    added = f", new here: {', '.join(new)}" if new else ""
    return Verdict(not found, ("; ".join(found) or f"equal ({len(rows)} rows)") + added)


def compare_tables(mine: Path, theirs: Path, ignore: Sequence[str] = ()) -> Verdict:
    """Every `metrics.csv` below two folders: one, or one per seed."""
    here, there = ({path.parent.name: path for path in folder.rglob("metrics.csv")} for folder in (mine, theirs))
    common = [name for name in sorted(here) if name in there]
    return combined(
        differing_names(sorted(here), sorted(there)),
        {name: compare_table(here[name], there[name], ignore) for name in common},
    )


def content(array: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    """All that an array is."""
    return array.dtype.str, array.shape, array.tobytes()


def distance(mine: np.ndarray, theirs: np.ndarray) -> float:
    """The largest difference of two arrays of one shape; infinite where only one is a number."""
    a, b = mine.astype(np.float64), theirs.astype(np.float64)
    with np.errstate(invalid="ignore"):
        gaps = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    return float(np.max(np.nan_to_num(gaps, nan=np.inf), initial=0.0))


def compare_arrays(
    mine: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray], *, renaming: bool = False
) -> Verdict:
    """Two sets of named arrays, byte by byte; with `renaming` other names for the same arrays are no difference."""
    if not mine and not theirs:
        return NOTHING
    found = differing_names(list(mine), list(theirs))
    if found and renaming and Counter(map(content, mine.values())) == Counter(map(content, theirs.values())):
        return Verdict(True, f"equal but renamed ({'; '.join(found)})")
    gaps: dict[str, float] = {}
    for name in (name for name in mine if name in theirs):
        a, b = mine[name], theirs[name]
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            found.append(f"{name}: {a.dtype} {a.shape} {HERE}, {b.dtype} {b.shape} {THERE}")
        elif a.tobytes() != b.tobytes():
            gaps[name] = distance(a, b)
    if gaps:
        most = max(gaps, key=gaps.__getitem__)
        found.insert(0, f"{len(gaps)} of {len(mine)} arrays differ, most {most}: by {gaps[most]:.3g}")
    return Verdict(not found, "; ".join(found) or f"equal ({len(mine)} arrays)")


def compare_policies(mine: Path, theirs: Path) -> Verdict:
    """Every exported policy in two folders: one, or one per seed."""
    here, there = ({path.stem: load_file(path) for path in folder.glob("*.safetensors")} for folder in (mine, theirs))
    common = [name for name in sorted(here) if name in there]
    return combined(
        differing_names(sorted(here), sorted(there)),
        {name: compare_arrays(here[name], there[name], renaming=True) for name in common},
    )


def git(*words: str) -> bytes:
    """What git answers about this repository."""
    try:
        return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, check=True).stdout
    except OSError as failure:
        raise Mistake(f"git does not run: {failure.strerror}; it holds the other revision") from failure


def resolve(revision: str) -> str:
    """The commit that a revision names."""
    try:
        return git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    except subprocess.CalledProcessError as failure:
        raise Mistake(
            f"{revision!r} is no revision of the repository in {ROOT}: give a commit, a branch or a tag, "
            "for example HEAD~1"
        ) from failure


def materialise(commit: str, folder: Path) -> Path:
    """The sources of a commit, below `folder`."""
    try:
        packed = git("archive", "--format=tar", commit, "src")
    except subprocess.CalledProcessError as failure:
        raise Mistake(f"revision {commit} has no folder src: give a later one") from failure
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def snapshot(folder: Path) -> Path:
    """The sources of the working tree as they are now, below `folder`: they may be edited while the cases run."""
    return Path(shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__")))


def cores() -> list[int | None]:
    """Two cores to pin to, or the only one; None where processes cannot be pinned."""
    if hasattr(os, "sched_getaffinity"):
        return [*sorted(os.sched_getaffinity(0))[:2]]
    return [None] * min(2, os.cpu_count() or 1)


def environment(side: Side, cache: Path) -> dict[str, str]:
    """What a process of this side sees."""
    return {
        **os.environ,
        "PYTHONPATH": str(side.source),
        "XLA_FLAGS": SINGLE,
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(cache),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.3",
    }


def require_own_sources(side: Side, cache: Path) -> None:
    """Refuses to compare a tree with itself, which an installed package that hides PYTHONPATH would come to."""
    line, seen = [sys.executable, "-c", "import sadapt; print(sadapt.__file__)"], environment(side, cache)
    asked = subprocess.run(line, env=seen, cwd=side.source, capture_output=True, text=True, check=False)
    if not Path(asked.stdout.strip()).is_relative_to(side.source):
        told = asked.stdout.strip() or asked.stderr.strip().rpartition("\n")[2]
        raise Mistake(f"{sys.executable} does not import sadapt from {side.source}, but says: {told}")


def commands(case: Case, folder: Path) -> list[list[str]]:
    """What one side does first; exporting comes after it."""
    if not case.flags:
        return [[str(Path(__file__).resolve()), "--play", "wrappers", str(folder / "wrappers.npz")]]
    return [["-m", "sadapt", "train", *f"{case.flags} {ALWAYS}".split(), "--out", str(folder / "run")]]


def exports(case: Case, folder: Path) -> list[list[str]]:
    """How the policies of one side's finished runs are exported."""
    runs = sorted(path.parent for path in (folder / "run").rglob("metrics.csv")) if case.exports else []
    return [["-m", "sadapt", "export", str(run), "--out", str(folder / f"{run.name}.safetensors")] for run in runs]


def perform(case: Case, side: Side, folder: Path, cache: Path, running: set[subprocess.Popen]) -> str | None:
    """Does a case on one side, into `folder`; returns the last words of a command that failed.

    The process under way is in `running`, for whoever has to stop it.
    """
    if side.core is not None:
        os.sched_setaffinity(0, {side.core})  # of this thread alone, and of the processes that it starts
    folder.mkdir(parents=True)
    with (folder / "log.txt").open("w+", encoding="utf-8") as log:
        for listed in (commands, exports):
            for words in listed(case, folder):
                line, seen = [sys.executable, *words], environment(side, cache)
                with subprocess.Popen(line, env=seen, cwd=folder, stdout=log, stderr=log) as process:
                    running.add(process)
                    code = process.wait()
                if code:
                    log.seek(0)
                    return (log.read().strip().splitlines() or [f"exit code {code}"])[-1]
    return None


def judge(case: Case, mine: Path, theirs: Path, ignore: Sequence[str]) -> tuple[Verdict, Verdict]:
    """What both sides of a case have left behind, compared: metrics and parameters."""
    if not case.flags:
        with np.load(mine / "wrappers.npz") as a, np.load(theirs / "wrappers.npz") as b:
            return compare_arrays(a, b), NOTHING
    metrics = compare_tables(mine / "run", theirs / "run", ignore)
    return metrics, compare_policies(mine, theirs) if case.exports else NOTHING


def run_case(case: Case, sides: Sequence[Side], out: Path, cache: Path, ignore: Sequence[str]) -> Outcome:
    """One case on both sides, at once where there are two cores."""
    if case.missing:
        return Outcome(case.name, Verdict(True, f"left out: {case.needs} is not installed"), NOTHING, 0.0)
    began = time.perf_counter()
    folders = [out / case.name / side.folder for side in sides]
    running: set[subprocess.Popen] = set()
    with ThreadPoolExecutor(len(cores())) as pool:
        try:
            failures = list(pool.map(lambda side, folder: perform(case, side, folder, cache, running), sides, folders))
        except BaseException:
            for process in running.copy():
                process.terminate()
            raise
    seconds = time.perf_counter() - began
    failed = [f"failed {side.name}: {words}" for side, words in zip(sides, failures, strict=True) if words is not None]
    if failed:
        return Outcome(case.name, Verdict(False, "; ".join(failed)), NOTHING, seconds)
    return Outcome(case.name, *judge(case, folders[0], folders[1], ignore), seconds)


class Diary:
    """What a stream of steps shows, kept as arrays."""

    def __init__(self) -> None:
        self._parts: dict[str, list[np.ndarray]] = {}

    def note(self, **values: Any) -> None:
        for name, value in values.items():
            array = np.array(value)
            if array.dtype.kind in "biuf":
                self._parts.setdefault(name, []).append(array)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.stack(parts) for name, parts in self._parts.items()}


STEPS, WORLDS = 400, 4
H_RANDOM = {"CartPole-v1": -3.0, "sadapt/Tetris-v0": 21.9}
"""The worlds that are wrapped, and a random agent's entropy there, roughly."""
OPTIONS: dict[str, dict[str, Any]] = {
    "s-adapt": {"objective": "s-adapt", "normalise": True, "baseline": "global", "marginal": "auto"},
    "s-adapt-time": {"objective": "s-adapt", "normalise": True, "baseline": "time", "marginal": "auto"},
    "s-min": {"objective": "s-min", "normalise": True, "baseline": "global", "marginal": "gaussian"},
    "s-min-raw": {"objective": "s-min", "normalise": False, "baseline": "global", "marginal": "auto"},
}


def stream_alone(env: Any) -> dict[str, np.ndarray]:
    """Seeded random play of one wrapped world."""
    diary, actions = Diary(), np.random.default_rng(7).integers(env.action_space.n, size=STEPS)
    obs, _ = env.reset(seed=3)
    diary.note(first=obs)
    for action in actions:
        obs, reward, terminated, truncated, info = env.step(int(action))
        diary.note(reward=reward, obs=obs, terminated=terminated, truncated=truncated)
        if terminated or truncated:
            diary.note(**{f"episode {name}": value for name, value in info["surprise_episode"].items()})
            obs, _ = env.reset()
            diary.note(first=obs)
    return diary.arrays()


def stream_together(envs: Any) -> dict[str, np.ndarray]:
    """Seeded random play of several wrapped worlds side by side."""
    diary = Diary()
    actions = np.random.default_rng(7).integers(envs.single_action_space.n, size=(STEPS, envs.num_envs))
    obs, _ = envs.reset(seed=3)
    diary.note(first=obs)
    for row in actions:
        obs, reward, terminated, truncated, info = envs.step(row)
        diary.note(reward=reward, obs=obs, terminated=terminated, truncated=truncated)
        for name, values in info.get("surprise_episode", {}).items():
            for world in np.flatnonzero(terminated | truncated):
                diary.note(**{f"episode {name}": values[world]})
    return diary.arrays()


def play_wrappers(out: Path) -> None:
    """Both wrappers, with every set of options, around every world; all that they show goes into one file."""
    import gymnasium

    import sadapt  # noqa: F401
    from sadapt.gym import SurpriseVectorWrapper, SurpriseWrapper

    told = {}
    # Before feedback was a part, there was none but that of the paper.
    chosen = {"bandit": "ucb", "feedback": "entropy"} if find_spec("sadapt.motivation.feedback") else {}
    for world, h_random in H_RANDOM.items():
        for name, options in OPTIONS.items():
            options = {**options, **chosen, "h_random": h_random, "obs_mode": "flat"}
            alone = SurpriseWrapper(gymnasium.make(world), **options)
            together = SurpriseVectorWrapper(gymnasium.make_vec(world, num_envs=WORLDS), **options)
            for kind, shown in (("alone", stream_alone(alone)), ("together", stream_together(together))):
                told.update({f"{world} {name} {kind} {what}": array for what, array in shown.items()})
            alone.close()
            together.close()
    np.savez(out, **told)  # type: ignore[arg-type]


PLAYS: dict[str, Callable[[Path], None]] = {"wrappers": play_wrappers}


def show(outcomes: Sequence[Outcome]) -> None:
    """The table, each part of a verdict in a line of its own, and a last line that sums it up."""
    rows = [("case", "metrics", "parameters", "seconds")]
    for each in outcomes:
        columns = (
            [each.name],
            each.metrics.text.split("; "),
            each.parameters.text.split("; "),
            [f"{each.seconds:.0f}"],
        )
        rows += zip_longest(*columns, fillvalue="")
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for *cells, seconds in rows:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths[:-1], strict=True))
        print("  ".join([*padded, seconds.rjust(widths[-1])]).rstrip())
    differing = [each.name for each in outcomes if not each.same]
    told = f"{len(differing)} of {len(outcomes)} cases differ: {', '.join(differing)}" if differing else "no difference"
    print(f"\n{told} ({sum(each.seconds for each in outcomes):.0f} s)")


def chosen(names: Sequence[str] | None) -> list[Case]:
    """Cases by their names, all of them if none is given."""
    known = [case.name for case in CASES]
    for name in names or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise Mistake(f"unknown case {name!r}: " + (f"did you mean {near[0]}?" if near else "--list shows them"))
    return [case for case in CASES if names is None or case.name in names]


def compare(args: argparse.Namespace) -> int:
    """Runs the cases that were asked for and tells what came out; 1 if something differs."""
    cases, commit = chosen(args.only), resolve(args.revision)
    if args.keep is not None and args.keep.exists() and (not args.keep.is_dir() or any(args.keep.iterdir())):
        raise Mistake(f"{args.keep} is there already: --keep needs a new or empty folder")
    outcomes = []
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="same-"))).resolve()
        out, cache = (args.keep or work / "out").resolve(), work / "cache"
        pinned = cores()
        sides = [
            Side(HERE, "here", snapshot(work / "here"), pinned[0]),
            Side(THERE, "REV", materialise(commit, work / "REV"), pinned[-1]),
        ]
        for side in sides:
            require_own_sources(side, cache)
        print(f"here is the working tree, REV is {commit[:12]}", file=sys.stderr)
        for number, case in enumerate(cases, start=1):
            print(f"{number}/{len(cases)} {case.name}: ", end="", file=sys.stderr, flush=True)
            outcome = run_case(case, sides, out, cache, args.ignore_columns)
            outcomes.append(outcome)
            print(f"{'equal' if outcome.same else 'DIFFERS'}, {outcome.seconds:.0f} s", file=sys.stderr)
    show(outcomes)
    return 0 if all(outcome.same for outcome in outcomes) else 1


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="same",
        description="Run short trainings with the working tree and with another revision, and compare them to the "
        "byte: metrics.csv without its speed, the exported policies, and what the Gymnasium wrappers show.",
        epilog="Exit code 0: all equal. 1: something differs or fails. 2: a mistake on the command line.",
    )
    made.add_argument("revision", nargs="?", default="HEAD", metavar="REV", help="commit, branch or tag (HEAD)")
    made.add_argument("--only", nargs="+", metavar="NAME", help="run these cases alone")
    made.add_argument("--list", action="store_true", help="list the cases and run nothing")
    made.add_argument("--keep", type=Path, metavar="DIR", help="keep what both sides wrote: DIR/CASE/here and REV")
    made.add_argument(
        "--ignore-columns", nargs="+", default=[], metavar="NAME", help="columns of metrics.csv that may differ"
    )
    made.add_argument("--play", nargs=2, help=argparse.SUPPRESS)
    return made


def stop(number: int, _: Any) -> None:
    """Ends the program so that it cleans up behind itself."""
    sys.exit(128 + number)


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    args = parser().parse_args(argv)
    if args.play:
        PLAYS[args.play[0]](Path(args.play[1]))
        return 0
    if args.list:
        for case in CASES:
            print(f"{case.name:26}{case.flags.replace('  ', ' ') or 'both Gymnasium wrappers on seeded random play'}")
        return 0
    try:
        return compare(args)
    except Mistake as mistake:
        print(f"same: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    sys.exit(main())
