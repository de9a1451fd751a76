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
    """Continue a run from its last checkpoint, with the same result as if it had never stopped.

    With --total-timesteps it continues beyond its planned end. Schedules, such as those of epsilon and the learning
    rate, keep to the planned length and then stay at their last value.
    """

    run_path: RunPath
    """Folder of the run."""
    total_timesteps: OptionalCount = None
    """Environment steps to extend the run to; by default as planned."""
    checkpoint_interval: Annotated[
        Limit | None, tyro.conf.DisallowNone, arg(metavar="SECONDS", help_behavior_hint="")
    ] = None
    """Seconds between checkpoints; by default as before."""
    quiet: Quiet = False
    """Print only the run's folder."""
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
            print(f"{folder} has already finished; there is nothing left to do")
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
    """Play a trained agent greedily and show its results next to a random agent's."""

    run_path: RunPath
    """Folder of a run, an exported policy, or zoo:NAME."""
    episodes: Count = 100
    """Number of episodes to play."""
    arm: Annotated[Literal["s-max", "s-min"] | None, tyro.conf.DisallowNone, arg(help_behavior_hint="")] = None
    """Direction of S-Adapt; by default the one its bandit prefers."""
    epsilon: Share = 0.0
    """Share of random actions."""
    seed: Seed = 0
    """Random seed."""
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
    """Where to write the film (.gif or .mp4); by default RUN/videos/ARM-sSEED.gif, for zoo:NAME NAME/ARM-sSEED.gif."""
    compare: Annotated[Path | None, tyro.conf.DisallowNone, arg(metavar="RUN2", help_behavior_hint="")] = None
    """A second run to show next to the first, with the same seed."""
    arm: Annotated[Literal["s-max", "s-min"] | None, tyro.conf.DisallowNone, arg(help_behavior_hint="")] = None
    """Direction of S-Adapt; by default the one its bandit prefers."""
    steps: OptionalCount = None
    """Maximum number of steps; by default a whole episode."""
    fps: Count = 12
    """Frames per second."""
    epsilon: Share = 0.0
    """Share of random actions."""
    seed: Seed = 0
    """Random seed."""
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
    """Where to write it; by default RUN/policy.safetensors."""
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
    """Where to write the figure (.png, .svg or .pdf); by default RUN/curve.png."""
    each: Flag = False
    """Draw a curve per run instead of the mean over seeds with the same settings."""

    def run(self) -> None:
        from sadapt.report.curves import plot

        print(plot(self.runs, self.out, each=self.each))
