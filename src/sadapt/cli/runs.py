"""Commands about runs: `train`, `resume`, `eval`, `watch` and `export`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from tyro.conf import arg

from sadapt.cli.common import EnvName, Flag, OptionalCount, OptionalFile, OptionalFolder, RunPath, at_least
from sadapt.errors import UserError, nearest

if TYPE_CHECKING:
    from sadapt.runs.folder import RunFolder
    from sadapt.training.settings import Settings

ABOUT_TRAIN = """\
Train an agent in a world. Everything about the run is kept in one folder and can be resumed at any moment.

examples:
  sadapt train maze-small                                S-Adapt with the fast learner
  sadapt train tetris --objective s-min --seed 3         another agent, another seed
  sadapt train tetris --preset paper                     the paper's DQN: 10M steps, hours
  sadapt train maze-small --total-timesteps 200000       a shorter run
  sadapt train maze-small --config OLD/config.json       the settings of a former run
  sadapt train maze-small --num-seeds 5                  five seeds in one program
  sadapt train gym:CartPole-v1                           a world of Gymnasium
  sadapt train gym:Mine-v0 --import my_module            or one of your own
  sadapt train --learner dqn --help                      the settings of the other learner"""

LEARNERS = ("dqn", "pqn")
PRESETS = ("fast", "paper")
Quiet = Annotated[bool, arg(aliases=["-q"], help_behavior_hint="")]


@dataclass(frozen=True)
class TrainCommand:
    """Train an agent; `sadapt train --help` shows every setting."""

    env: EnvName
    """A world of `sadapt list`, or any Gymnasium world as gym:ID."""
    objective: Literal["s-adapt", "s-min", "s-max", "extrinsic", "random"] = "s-adapt"
    """Who learns: paid by surprise in the direction that the bandit picks, in one direction, by the task, or not."""
    preset: Literal["fast", "paper"] = "fast"
    """Where the defaults come from: minutes on a core with PQN, or the paper's DQN."""
    learner: Literal["dqn", "pqn"] = "pqn"
    """How it learns; its settings are at the end of this list."""
    seed: int = 1
    """Seed of everything random."""
    num_seeds: int = 1
    """Seeds to train at once, from --seed on, each into its own folder."""
    total_timesteps: int = 1_000_000
    """Environment steps, over all worlds side by side."""
    num_envs: int = 64
    """Worlds side by side."""
    layout: OptionalFile = None
    """A map of your own: `#` wall, `A` agent, `G` goal, `b` butterfly, `.` free."""
    obs_key: Annotated[str | None, tyro.conf.DisallowNone, arg(metavar="KEY", help_behavior_hint="")] = None
    """Which part of a dictionary observation to see, in Gymnasium worlds that show one."""
    imports: Annotated[
        str | None, tyro.conf.DisallowNone, arg(name="import", metavar="MODULE", help_behavior_hint="")
    ] = None
    """A module to import first, which registers Gymnasium worlds of your own."""
    out: OptionalFolder = None
    """Folder of the run; runs/ENV/OBJECTIVE-LEARNER-sSEED if not given."""
    overwrite: Flag = False
    """Replace a run that is already there."""
    config: OptionalFile = None
    """Take the settings of a former run's config.json; other flags change them."""
    print_config: Flag = False
    """Print the settings as JSON and train nothing."""
    checkpoint_interval: float = 300.0
    """Seconds between checkpoints."""
    log_interval: OptionalCount = None
    """Steps between rows of metrics.csv; a two-hundredth of the run if not given."""
    tensorboard: Literal["on", "off"] = "on"
    """Write TensorBoard events beside metrics.csv."""
    track: Flag = False
    """Log to Weights & Biases too (extra `wandb`; WANDB_MODE=offline keeps it here)."""
    quiet: Quiet = False
    """Say nothing but the run's folder."""

    @staticmethod
    def parse(argv: list[str]) -> TrainCommand:
        """Reads the flags over the defaults that preset, learner and world (or a former run) give them."""
        settings, preset = _defaults(argv)
        kind = _with_settings(type(settings.motivation), type(settings.network), type(settings.learner))
        default = kind(
            env=settings.env or tyro.MISSING,
            objective=settings.objective,
            preset=preset,
            learner=_learner_name(settings),
            seed=settings.seed,
            total_timesteps=settings.total_timesteps,
            num_envs=settings.num_envs,
            layout=None if settings.layout is None else Path(settings.layout),
            obs_key=settings.obs_key,
            imports=settings.imports,
            log_interval=settings.log_interval,
            motivation=settings.motivation,
            network=settings.network,
            hyper=settings.learner,
        )
        return tyro.cli(
            kind,
            args=argv,
            prog="sadapt train",
            description=ABOUT_TRAIN,
            default=default,
            config=(tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes),
        )

    def settings(self) -> Settings:
        """The run that the flags ask for."""
        from sadapt.training.settings import Settings

        return Settings(
            env=self.env,
            objective=self.objective,
            seed=self.seed,
            total_timesteps=self.total_timesteps,
            num_envs=self.num_envs,
            layout=None if self.layout is None else str(self.layout),
            obs_key=self.obs_key,
            imports=self.imports,
            log_interval=self.log_interval,
            motivation=self.motivation,  # type: ignore[attr-defined]
            network=self.network,  # type: ignore[attr-defined]
            learner=self.hyper,  # type: ignore[attr-defined]
        )

    def run(self) -> None:
        from sadapt.cli.display import display
        from sadapt.runs import config, session

        settings = self.settings()
        if self.print_config:
            session.prepare(settings)
            print(json.dumps({"settings": config.to_dict(settings)}, indent=2))
            return
        options = session.Options(
            checkpoint_interval=self.checkpoint_interval, tensorboard=self.tensorboard == "on", track=self.track
        )
        with display(settings, quiet=self.quiet) as shown:
            folders = session.train(
                settings,
                self.out,
                num_seeds=self.num_seeds,
                overwrite=self.overwrite,
                options=options,
                display=shown,
            )
        _tell(folders, quiet=self.quiet)


@dataclass(frozen=True)
class ResumeCommand:
    """Go on with a run from its last checkpoint, to the same result as if it had never stopped."""

    run_path: RunPath
    """Folder of the run."""
    checkpoint_interval: Annotated[
        float | None, tyro.conf.DisallowNone, arg(metavar="SECONDS", help_behavior_hint="")
    ] = None
    """Seconds between checkpoints; as before if not given."""
    quiet: Quiet = False
    """Say nothing but the run's folder."""

    def run(self) -> None:
        from sadapt.cli.display import display
        from sadapt.runs import session
        from sadapt.runs.folder import find

        folder = find(self.run_path)
        if folder.read_status().get("state") == "finished":
            print(f"{folder} has finished already; nothing is left to do")
            return
        options = session.former_options(folder)
        if self.checkpoint_interval is not None:
            options = dataclasses.replace(options, checkpoint_interval=self.checkpoint_interval)
        with display(folder.read_settings(), quiet=self.quiet) as shown:
            folder = session.resume(folder.path, options=options, display=shown)
        _tell([folder], quiet=self.quiet)


@dataclass(frozen=True)
class EvalCommand:
    """Play a trained agent greedily and show what it does, beside a random one."""

    run_path: RunPath
    """Folder of a run, or an exported policy."""
    episodes: int = 100
    """Whole episodes to play."""
    arm: Annotated[Literal["s-max", "s-min"] | None, tyro.conf.DisallowNone, arg(help_behavior_hint="")] = None
    """Force S-Adapt into one direction; the one that its bandit prefers if not given."""
    epsilon: float = 0.0
    """Share of random actions."""
    seed: int = 0
    """Seed of every random draw."""
    json: Flag = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        from sadapt.runs.evaluation import evaluate
        from sadapt.tables import Column, console, show, show_json

        found = evaluate(self.run_path, episodes=self.episodes, arm=self.arm, seed=self.seed, epsilon=self.epsilon)
        if self.json:
            return show_json(found.as_dict())
        out = console()
        out.print(
            f"{found.env}: {found.objective} on arm {found.arm}, trained for {found.step:,} steps, "
            f"{found.episodes} episodes\n"
        )
        show(
            [{"what": name, "mean": measure.mean, "std": measure.std} for name, measure in found.measures.items()],
            [
                Column("what", "per episode"),
                Column("mean", "mean", lambda value: f"{value:.4g}", right=True),
                Column("std", "std", lambda value: f"{value:.3g}", right=True),
            ],
        )
        out.print(f"\nA random agent's entropy here is {found.h_random:.4g}.")
        return None


@dataclass(frozen=True)
class WatchCommand:
    """Film a trained agent: the world, what it has seen so far (theta), and its surprise over time."""

    run_path: RunPath
    """Folder of a run, or an exported policy."""
    out: OptionalFile = None
    """Where to write the film (.gif or .mp4); RUN/videos/ARM-sSEED.gif if not given."""
    compare: Annotated[Path | None, tyro.conf.DisallowNone, arg(metavar="RUN2", help_behavior_hint="")] = None
    """A second run to show beside the first, from the same seed."""
    arm: Annotated[Literal["s-max", "s-min"] | None, tyro.conf.DisallowNone, arg(help_behavior_hint="")] = None
    """Force S-Adapt into one direction; the one that its bandit prefers if not given."""
    steps: OptionalCount = None
    """Steps to film at most; a whole episode if not given."""
    fps: int = 12
    """Frames per second."""
    epsilon: float = 0.0
    """Share of random actions."""
    seed: int = 0
    """Seed of every random draw."""

    def run(self) -> None:
        at_least(1, "--fps", self.fps)
        from sadapt.motivation.objectives import ARMS
        from sadapt.runs.agent import load
        from sadapt.runs.watching import watch

        agent = load(self.run_path)
        out = self.out
        if out is None:
            folder = self.run_path.with_suffix("") if self.run_path.is_file() else Path(agent.source) / "videos"
            out = folder / f"{ARMS[agent.arm(self.arm)]}-s{self.seed}{'-compared' if self.compare else ''}.gif"
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

    def run(self) -> None:
        from sadapt.runs.agent import load

        agent = load(self.run_path)
        print(agent.save(self.out or Path(agent.source) / "policy.safetensors"))


@dataclass(frozen=True)
class PlotCommand:
    """Draw the learning curves of one run, or of several in the same world."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, arg(metavar="RUN [RUN ...]", help_behavior_hint="")]
    """Folders of runs."""
    out: OptionalFile = None
    """Where to draw them (.png, .svg or .pdf); RUN/curve.png if not given."""

    def run(self) -> None:
        from sadapt.report.curves import plot

        print(plot(self.runs, self.out))


def _with_settings(motivation: type, network: type, learner: type) -> Any:
    """The command with the settings of one learner among its flags."""
    return dataclasses.make_dataclass(
        "TrainCommand",
        [
            ("motivation", motivation, field(default_factory=motivation)),
            ("network", network, field(default_factory=network)),
            ("hyper", learner, field(default_factory=learner)),
        ],
        bases=(TrainCommand,),
        frozen=True,
    )


def _learner_name(settings: Settings) -> Literal["dqn", "pqn"]:
    from sadapt.learners.dqn import DQNSettings

    return "dqn" if isinstance(settings.learner, DQNSettings) else "pqn"


def _defaults(argv: list[str]) -> tuple[Settings, Literal["fast", "paper"]]:
    """Settings before the flags: of a former run, or of the preset; and the preset's name."""
    from sadapt.envs import registry
    from sadapt.training.presets import chosen

    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    first.add_argument("--preset", default="fast")
    first.add_argument("--learner", default=None)
    first.add_argument("--config", default=None)
    try:
        known, words = first.parse_known_args(argv)
    except argparse.ArgumentError as error:
        raise UserError(str(error)) from error
    named = (word for word in words if word in registry.REGISTRY or word.startswith(registry.OUTSIDE))
    env = next(named, words[0] if words and not words[0].startswith("-") else "")
    for option, given, valid in (("preset", known.preset, PRESETS), ("learner", known.learner, LEARNERS)):
        if given is not None and given not in valid:
            raise UserError(f"unknown {option} {given!r}: {nearest(given, valid)}")
    if known.config is not None:
        from sadapt.runs import config
        from sadapt.runs.folder import RunFolder

        file = Path(known.config)
        settings = RunFolder(file.parent).read_settings() if file.name == "config.json" else config.read(file)
        if known.learner not in (None, _learner_name(settings)):
            raise UserError(
                f"{known.config} is of learner {_learner_name(settings)!r}, --learner says {known.learner!r}: "
                "leave one of them away"
            )
        return dataclasses.replace(settings, env=env or settings.env), known.preset
    return chosen(env, known.preset, known.learner), known.preset


def _tell(folders: list[RunFolder], *, quiet: bool) -> None:
    """Says where everything is."""
    for folder in folders:
        print(folder)
    if not quiet and folders:
        run = folders[0]
        print(f"look at it:  sadapt eval {run}\nfilm it:     sadapt watch {run}", file=sys.stderr)
