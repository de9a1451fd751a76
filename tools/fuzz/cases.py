"""Which input has which number: a command, the files that it is given, and what is wrong with them."""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tools.fuzz import values
from tools.fuzz.material import POLICIES, RUNS
from tools.fuzz.mutations import damaged
from tools.fuzz.tensors import as_tensors

REAL = 0.05
"""Share of the inputs that meet a process of their own, and not a fork of one that has imported everything."""


class Command(NamedTuple):
    """Something that the program is asked to do."""

    line: str
    files: Mapping[str, tuple[str, ...]] = {}
    """What it is given, by the name that it has then: one of these."""
    writes: tuple[str, ...] = ()
    """Below which it may write."""
    share: int = 4
    """How often it comes, relative to others."""
    long: bool = False
    """Whether it may take long for good reasons, and is to be stopped then."""


RUN = {"run": RUNS}
POLICY = {"policy.safetensors": tuple(f"{name}.safetensors" for name in POLICIES)}
RESULTS, SWEPT = {"results": ("results",)}, {"results": ("swept",), "plan.toml": ("plan.toml",)}
MAP = {"map.txt": ("map.txt",)}
SMALL = "--num-envs 2 --total-timesteps 64 --random-episodes 2 --hidden 8 --tensorboard off --quiet"
COMMANDS = (
    Command("eval run --episodes 2 --json", RUN, share=8, long=True),
    Command("eval policy.safetensors --episodes 2 --epsilon 0.5", POLICY, share=5, long=True),
    Command("load run", RUN, share=8),
    Command("load policy.safetensors", POLICY, share=8),
    Command("resume run", RUN, ("run",), share=14, long=True),
    Command("resume run --checkpoint-interval 0.01 --quiet", {"run": ("stopped",)}, ("run",), share=4, long=True),
    Command("watch run --out film.gif --steps 3", RUN, ("film.gif",), share=3, long=True),
    Command("watch policy.safetensors --steps 3", POLICY, ("policy",), share=2, long=True),
    Command("export run --out mine.safetensors", RUN, ("mine.safetensors",), share=3),
    Command("plot run --out curve.png", RUN, ("curve.png",), share=10),
    Command("plot run other --out curve.svg", {**RUN, "other": ("adapting", "stopped")}, ("curve.svg",), share=3),
    Command("figures results --out drawn --only F4 --json", RESULTS, ("drawn",), share=5),
    Command("claims results", RESULTS, share=10),
    Command("claims results --json --out claims.md", RESULTS, ("claims.md",)),
    Command("claims results --against other", {**RESULTS, "other": ("results",)}, share=6),
    Command("adaptation results --json", RESULTS, share=6),
    Command("table results --out runs.csv.gz", RESULTS, ("runs.csv.gz",), share=6),
    Command("report results --out page.html", RESULTS, ("page.html", "page.html.partial"), share=4, long=True),
    Command("sweep plan.toml --out results --dry-run --no-estimate", SWEPT, share=12, long=True),
    Command("sweep plan.toml --out results --no-estimate --workers 1 --json", SWEPT, ("results",), share=1, long=True),
    Command("train tetris --config run/config.json --print-config", RUN, share=8, long=True),
    Command(f"train tetris --config run/config.json --out new {SMALL}", RUN, ("new",), share=1, long=True),
    Command(f"train tetris --out run --overwrite {SMALL}", {"run": ("adapting",)}, ("run",), share=1, long=True),
    Command(f"train tetris --out folder --overwrite {SMALL}", {}, share=1, long=True),
    Command("train maze-small --layout map.txt --print-config", MAP, share=4, long=True),
    Command(f"train maze-small --layout map.txt --out new {SMALL}", MAP, ("new",), share=1, long=True),
    Command("probe maze-small --layout map.txt --episodes 2 --quiet", MAP, share=2, long=True),
    Command("film maze-small --layout map.txt --out film.gif --steps 3", MAP, ("film.gif",), share=2, long=True),
    Command("list --json", {}, share=1),
    Command("runs run --json", RUN, share=4),
    Command("compare run other --json", {**RUN, "other": ("adapting", "stopped")}, share=4),
    Command(f"train tetris --from policy.safetensors --out new {SMALL}", POLICY, ("new",), share=1, long=True),
)
OPTIONS = (
    "seed", "episodes", "epsilon", "arm", "json", "import", "out", "steps", "fps", "compare", "each", "learner", "only",
    "num-envs", "num-seeds", "horizon", "radius", "hidden", "learning-rate", "gamma", "total-timesteps",
    "random-episodes", "buffer-size", "num-steps", "minibatch-size", "marginal", "network", "bandit", "feedback",
    "objective", "layout", "config", "preset", "quiet", "checkpoint-interval", "workers", "executor", "dry-run",
    "normalise", "std-floor", "reward-clip", "aggregate", "help", "nonsense",
)  # fmt: skip
"""Options of any command, to be given to any other."""


class Case(NamedTuple):
    """An input."""

    number: int
    words: tuple[str, ...]
    command: Command
    damaged: tuple[str, ...]
    """Files that are not what they were."""
    real: bool


def prepare(seed: int, number: int, material: Path, folder: Path) -> Case:
    """Puts input `number` into an empty folder; the same one for the same seed and material."""
    chance = random.Random(f"{seed}/{number}")
    command = chance.choices(COMMANDS, [each.share for each in COMMANDS])[0]
    folder.mkdir(parents=True)
    _bystanders(folder)
    for name, choices in sorted(command.files.items()):
        source = material / chance.choice(choices)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
        if source.is_dir():
            (folder / name / "notes.txt").write_text("mine\n", encoding="utf-8")
    words, touched = command.line.split(), list[str]()
    wrong_words = not command.files or chance.random() < 0.2
    if not wrong_words or (command.files and chance.random() < 0.3):
        touched = [_hit(chance, folder, sorted(command.files)) for _ in range(chance.choice((1, 1, 1, 2)))]
    if wrong_words:
        words = _mangled(chance, words)
    return Case(number, tuple(words), command, tuple(touched), chance.random() < REAL)


def _bystanders(folder: Path) -> None:
    """What belongs to somebody else."""
    (folder / "notes.txt").write_text("mine\n", encoding="utf-8")
    for name in ("videos", "checkpoints"):
        (folder / "folder" / name).mkdir(parents=True)
        (folder / "folder" / name / "step-000000000001.safetensors").write_text("mine\n", encoding="utf-8")
    (folder / "folder" / "metrics.csv").write_text("mine\n", encoding="utf-8")
    (folder / "loop").symlink_to("loop")


def _hit(chance: random.Random, folder: Path, names: list[str]) -> str:
    """Damages one of the files that a command is given; says which."""
    paths = [path for name in names for path in [folder / name, *sorted((folder / name).rglob("*"))]]
    files = [path for path in paths if path.is_file() and path.name not in ("notes.txt", ".lock")]
    weights = [4 if path.suffix in (".json", ".csv", ".toml") else 2 for path in files]
    if not files:
        return "nothing"
    path = chance.choices(files, weights)[0]
    kind = chance.randrange(16)
    if kind > 1:
        special = as_tensors if path.suffix == ".safetensors" else None
        path.write_bytes(damaged(chance, path.name, path.read_bytes(), special))
    else:
        path.unlink()
        if kind == 1:
            chance.choice((Path.mkdir, lambda at: at.symlink_to(at.name), lambda at: at.symlink_to("notes.txt")))(path)
    return str(path.relative_to(folder))


def _mangled(chance: random.Random, words: list[str]) -> list[str]:
    """A command line with words too many, too few, or others."""
    words = list(words)
    for _ in range(chance.choice((1, 1, 2))):
        at, kind = chance.randrange(len(words)), chance.randrange(6)
        if kind == 0 and len(words) > 1:
            del words[at]
        elif kind == 1:
            words.insert(at + 1, words[at])
        elif kind == 2:
            words[at] = values.word(chance)
        elif kind == 3:
            words.append(values.word(chance))
        else:
            option, value = f"--{chance.choice(OPTIONS)}", values.word(chance)
            words += chance.choice(([option, value], [f"{option}={value}"], [option]))
    return words
