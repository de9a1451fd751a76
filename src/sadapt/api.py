"""What the commands do, as calls: `from sadapt import train, load, evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sadapt.motivation.probe import probe
from sadapt.report.curves import plot
from sadapt.runs import session
from sadapt.runs.agent import Agent, load
from sadapt.runs.evaluation import Evaluation, evaluate
from sadapt.runs.folder import RunFolder
from sadapt.runs.session import Display, Options
from sadapt.runs.watching import watch
from sadapt.training.presets import chosen
from sadapt.training.settings import Settings, changed

__all__ = [
    "Agent",
    "Evaluation",
    "Options",
    "RunFolder",
    "Settings",
    "evaluate",
    "export",
    "load",
    "plot",
    "probe",
    "resume",
    "settings",
    "train",
    "watch",
]


def settings(env: str, *, preset: str = "fast", learner: str | None = None, **changes: Any) -> Settings:
    """A preset for a world, with any setting changed by its name: `settings("tetris", seed=3, learning_rate=1e-3)`."""
    found = chosen(env, preset, learner)
    for name, value in changes.items():
        found = changed(found, name, value)
    return found


def train(
    env: str | Settings,
    *,
    preset: str = "fast",
    learner: str | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    options: Options | None = None,
    display: Display | None = None,
    **changes: Any,
) -> RunFolder:
    """Trains one run into a folder, as `sadapt train` does; `changes` are settings by name, as in `settings`.

    `display` is called with the run's progress after every chunk of steps. Ctrl-C saves the run and raises
    `sadapt.errors.Stop`.
    """
    wanted = env if isinstance(env, Settings) else settings(env, preset=preset, learner=learner)
    for name, value in changes.items():
        wanted = changed(wanted, name, value)
    return session.train(wanted, out, overwrite=overwrite, options=options, display=display)[0]


def resume(run: str | Path | RunFolder, *, options: Options | None = None, display: Display | None = None) -> RunFolder:
    """Goes on with a run from its last checkpoint, as `sadapt resume` does."""
    return session.resume(str(run), options=options, display=display)


def export(run: str | Path | RunFolder | Agent, path: str | Path) -> Path:
    """Writes policy and settings into one safetensors file, as `sadapt export` does."""
    return (run if isinstance(run, Agent) else load(str(run))).save(path)
