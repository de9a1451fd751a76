"""Commands about runs that are there: `resume`, `eval`, `watch`, `plot` and `export`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from tyro.conf import arg

from sadapt.cli.common import Flag, Imports, OptionalCount, OptionalFile, Quiet, RunPath, require_run
from sadapt.cli.train import tell
from sadapt.fields import Count, Limit, Seed, Share
from sadapt.registry import import_modules
from sadapt.zoo import PREFIX, is_named


@dataclass(frozen=True)
class ResumeCommand:
    """Go on with a run from its last checkpoint, to the same result as if it had never stopped.

    With --total-timesteps it goes on beyond its planned end. What falls with the length of the training, such as
    epsilon and the learning rate, goes by the planned length and stays at its last value.
    """

    run_path: RunPath
    """Folder of the run."""
    total_timesteps: OptionalCount = None
    """Environment steps to extend the run to; as planned if not given."""
    checkpoint_interval: Annotated[
        Limit | None, tyro.conf.DisallowNone, arg(metavar="SECONDS", help_behavior_hint="")
    ] = None
    """Seconds between checkpoints; as before if not given."""
    quiet: Quiet = False
    """Say nothing but the run's folder."""
    imports: Imports = ()

    def run(self) -> None:
        import_modules(self.imports)
        require_run(self.run_path)
        from sadapt.motivation.doubts import warn
        from sadapt.runs import extending, session
        from sadapt.runs.display import display
        from sadapt.runs.folder import find
        from sadapt.runs.restoring import is_complete

        folder = find(self.run_path)
        settings = folder.read_settings()
        if self.total_timesteps is not None:
            settings = extending.extended(settings, self.total_timesteps, str(folder))
        if is_complete(folder) and settings.total_timesteps == folder.read_settings().total_timesteps:
            print(f"{folder} has finished already; nothing is left to do")
            warn(folder.warnings)
            return
        options = session.former_options(folder)
        if self.checkpoint_interval is not None:
            options = dataclasses.replace(options, checkpoint_interval=self.checkpoint_interval)
        with display(settings, quiet=self.quiet) as shown:
            folder = session.resume(folder.path, options=options, display=shown, total_timesteps=self.total_timesteps)
        tell([folder], quiet=self.quiet)


@dataclass(frozen=True)
class EvalCommand:
    """Play a trained agent greedily and show what it does, beside a random one."""

    run_path: RunPath
    """Folder of a run, an exported policy, or zoo:NAME."""
    episodes: Count = 100
    """Whole episodes to play."""
    arm: Annotated[Literal["s-max", "s-min"] | None, tyro.conf.DisallowNone, arg(help_behavior_hint="")] = None
    """Force S-Adapt into one direction; the one that its bandit prefers if not given."""
    epsilon: Share = 0.0
    """Share of random actions."""
    seed: Seed = 0
    """Seed of every random draw."""
    json: Flag = False
    """Print JSON instead of a table."""
    imports: Imports = ()

    def run(self) -> None:
        import_modules(self.imports)
        require_run(self.run_path)
        from sadapt.api import evaluate
        from sadapt.motivation.doubts import warn
        from sadapt.output import Column, console, show, show_json

        found = evaluate(self.run_path, episodes=self.episodes, arm=self.arm, seed=self.seed, epsilon=self.epsilon)
        warn(found.warnings)
        if self.json:
            return show_json(found.as_dict())
        out = console()
        out.print(
            f"{found.env}: {found.objective} on arm {found.arm}, trained for {found.step:,} steps, "
            f"{found.episodes} episodes\n"
        )
        mean, std = (lambda value: f"{value:.4g}"), (lambda value: f"{value:.3g}")
        show(
            [
                {"what": name, **measure._asdict(), "at_random": beside.mean, "its_std": beside.std}
                for name, measure in found.measures.items()
                for beside in [found.random[name]]
            ],
            [
                Column("what", "per episode"),
                Column("mean", "mean", mean, right=True),
                Column("std", "std", std, right=True),
                Column("at_random", "Random's mean", mean, right=True),
                Column("its_std", "std", std, right=True),
            ],
        )
        return None


@dataclass(frozen=True)
class WatchCommand:
    """Film a trained agent: the world, what it has seen so far (theta), and its surprise over time."""

    run_path: RunPath
    """Folder of a run, an exported policy, or zoo:NAME."""
    out: OptionalFile = None
    """Where to write the film (.gif or .mp4); RUN/videos/ARM-sSEED.gif if not given, of zoo:NAME NAME/ARM-sSEED.gif."""
    compare: Annotated[Path | None, tyro.conf.DisallowNone, arg(metavar="RUN2", help_behavior_hint="")] = None
    """A second run to show beside the first, from the same seed."""
    arm: Annotated[Literal["s-max", "s-min"] | None, tyro.conf.DisallowNone, arg(help_behavior_hint="")] = None
    """Force S-Adapt into one direction; the one that its bandit prefers if not given."""
    steps: OptionalCount = None
    """Steps to film at most; a whole episode if not given."""
    fps: Count = 12
    """Frames per second."""
    epsilon: Share = 0.0
    """Share of random actions."""
    seed: Seed = 0
    """Seed of every random draw."""
    imports: Imports = ()

    def run(self) -> None:
        import_modules(self.imports)
        require_run(self.run_path)
        from sadapt.api import load, watch
        from sadapt.motivation.objectives import ARMS

        agent = load(self.run_path)
        out = self.out
        if out is None:
            name = f"{ARMS[agent.arm(self.arm)]}-s{self.seed}{'-compared' if self.compare else ''}.gif"
            out = _beside(self.run_path, agent.source, "videos", name)
        film = watch(
            agent,
            out,
            compare=self.compare,
            arm=self.arm,
            seed=self.seed,
            steps=self.steps,
            fps=self.fps,
            epsilon=self.epsilon,
        )
        print(film)


@dataclass(frozen=True)
class ExportCommand:
    """Write a run's policy and settings into one safetensors file."""

    run_path: RunPath
    """Folder of a run."""
    out: OptionalFile = None
    """Where to write it; RUN/policy.safetensors if not given."""
    imports: Imports = ()

    def run(self) -> None:
        import_modules(self.imports)
        require_run(self.run_path)
        from sadapt.api import load

        agent = load(self.run_path)
        print(agent.save(self.out or _beside(self.run_path, agent.source, "", "policy.safetensors")))


def _beside(given: Path, source: str, inside: str, name: str) -> Path:
    """Where a file about a run goes: into the run's folder, or beside a policy, or here if it is one of the zoo."""
    if is_named(given):
        return Path(str(given).removeprefix(PREFIX)) / name
    return given.with_suffix("") / name if given.is_file() else Path(source) / inside / name


@dataclass(frozen=True)
class PlotCommand:
    """Draw the learning curves of one run, or of several in the same world."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, arg(metavar="RUN [RUN ...]", help_behavior_hint="")]
    """Folders of runs."""
    out: OptionalFile = None
    """Where to draw them (.png, .svg or .pdf); RUN/curve.png if not given."""
    each: Flag = False
    """Draw every run as a curve of its own, not the mean over the seeds of the same settings."""

    def run(self) -> None:
        from sadapt.report.curves import plot

        print(plot(self.runs, self.out, each=self.each))
