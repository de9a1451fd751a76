"""What is damaged: a few tiny genuine runs, exported policies, stored results, a plan and a map."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ALWAYS = (
    "--horizon 16 --random-episodes 4 --hidden 8 --log-interval 128 --tensorboard off --checkpoint-interval 0.001 "
    "--quiet"
)
PQN = "--num-envs 4 --num-steps 8 --minibatch-size 16 --update-epochs 1 --total-timesteps 512 --arms together"
TRAINED = {
    "adapting": f"tetris {PQN}",
    "mapped": "maze-small --layout map.txt --learner dqn --network plain --objective s-min --num-envs 2 "
    "--buffer-size 256 --batch-size 4 --learning-starts 64 --target-network-frequency 64 --train-frequency 8 "
    "--total-timesteps 512",
    "outside": "gym:CartPole-v1 --learner ppo --objective s-max --num-envs 2 --num-steps 16 --minibatch-size 16 "
    "--update-epochs 1 --total-timesteps 256",
    "idle": "butterflies-small --objective random --num-envs 4 --total-timesteps 512",
}
"""Runs, by their names, as `sadapt train` is asked for them."""
RUNS = (*TRAINED, "stopped")
POLICIES = ("adapting", "mapped")
OBJECTIVES = ("s-adapt", "s-min", "s-max", "random")
MAP = "########\n#A....##\n#.##...#\n#..#.#.#\n##...#G#\n########\n"
PLAN = """\
title = "Tiny"

[[fast]]
env = "maze-small"
objective = "random"
seed = [1, 2]
total_timesteps = 256
num_envs = 4
horizon = 16
random_episodes = 4
"""
XLA = (
    "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1 --xla_backend_optimization_level=0 "
    "--xla_cpu_parallel_codegen_split_count=1"
)


def environment(home: Path) -> dict[str, str]:
    """What every process sees; compiled programs are kept below `home`."""
    return {
        "PYTHONPATH": str(ROOT / "src"),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": XLA,
        "OPENBLAS_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": str(home / "matplotlib"),
        "JAX_COMPILATION_CACHE_DIR": str(home / "programs"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }


def made(home: Path, workers: int, tell: Callable[[str], None], *, former: bool = False) -> Path:
    """The folder of all material; it is made if it is not there for these sources, or for `former` ones."""
    there = list(home.glob("material-*"))
    folder = there[0] if former and there else home / f"material-{_digest()}"
    if folder.exists():
        return folder
    for old in there:
        shutil.rmtree(old)
    tell("making the runs that will be damaged (once for these sources)")
    partial = home / "material.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    (partial / "map.txt").write_text(MAP, encoding="utf-8")
    (partial / "plan.toml").write_text(PLAN, encoding="utf-8")
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda name: _train(home, partial, name), TRAINED))
    for name in POLICIES:
        _sadapt(home, partial, f"export {name} --out {name}.safetensors")
    _sadapt(home, partial, "sweep plan.toml --out swept --no-estimate --workers 1")
    _stop(partial)
    _results(partial)
    partial.rename(folder)
    return folder


def _digest() -> str:
    """These sources and this file, in short."""
    total = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted((ROOT / "src").rglob("*.py")):
        total.update(path.read_bytes())
    return total.hexdigest()[:12]


def _train(home: Path, folder: Path, name: str) -> None:
    _sadapt(home, folder, f"train {TRAINED[name]} {ALWAYS} --out {name}")


def _sadapt(home: Path, folder: Path, words: str) -> None:
    line = [sys.executable, "-m", "sadapt", *words.split()]
    done = subprocess.run(
        line, cwd=folder, env=os.environ | environment(home), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"sadapt {words} ended with {done.returncode}: {done.stderr}")


def _stop(folder: Path) -> None:
    """A run that was stopped before its end: the one that adapts, without its last checkpoint."""
    shutil.copytree(folder / "adapting", folder / "stopped")
    sorted((folder / "stopped" / "checkpoints").iterdir())[-1].unlink()
    status = folder / "stopped" / "status.json"
    status.write_text(json.dumps({**json.loads(status.read_text()), "state": "stopped"}, indent=2))


def _results(folder: Path) -> None:
    """A study: the same run under the names of several agents and seeds, without checkpoints, as it is stored."""
    record = json.loads((folder / "adapting" / "config.json").read_text())
    for objective in OBJECTIVES:
        for seed in (1, 2):
            run = folder / "results" / "tetris" / f"{objective}-pqn-s{seed}"
            run.mkdir(parents=True)
            settings = {**record["settings"], "objective": objective, "seed": seed}
            (run / "config.json").write_text(json.dumps({**record, "settings": settings}, indent=2))
            for name in ("metrics.csv", "status.json"):
                shutil.copy(folder / "adapting" / name, run)
