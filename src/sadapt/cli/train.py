"""The command `train`: its flags are the settings, in one pass over them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from tyro.conf import arg

from sadapt.cli.common import EnvName, Flag, Imports, OptionalFile, OptionalFolder, Quiet
from sadapt.cli.flags import first_look, flag_of, group_flags, parsed_over
from sadapt.composite import all_changed, get, groups, own_names
from sadapt.fields import Count, Limit, field_docs
from sadapt.registry import OWN, TABLES
from sadapt.training.presets import PRESETS, preset
from sadapt.training.settings import Settings

if TYPE_CHECKING:
    from sadapt.runs.folder import RunFolder

ABOUT = """\
Train an agent in a world. Everything about the run is in one folder, and it can be resumed at any time.

examples:
  sadapt train maze-small                            S-Adapt, fast learner
  sadapt train tetris --objective s-min --seed 3     another agent and seed
  sadapt train tetris --preset paper                 the paper's DQN, hours
  sadapt train maze-small --total-timesteps 200000   a shorter run
  sadapt train maze-small --config OLD/config.json   an earlier run's settings
  sadapt train maze-small --num-seeds 5              five seeds in one program
  sadapt train tetris --from RUN --objective extrinsic
                                                     the task, pretrained
  sadapt train gym:CartPole-v1                       a Gymnasium environment
  sadapt train tetris --stream --half-life 200       without episodes
  sadapt train mine --import my_module               your own world
  sadapt train maze-small --learner dqn --help       another part's settings"""

PARTS = {
    "marginal": "Distribution fitted to the observations of an episode; its settings are below.",
    "feedback": "What the bandit learns from when an episode ends; its settings are below.",
    "bandit": "What picks the arm of each S-Adapt episode; its settings are below.",
    "network": "Network of the learner; its settings are below.",
    "learner": "Learning algorithm; its settings are below.",
}


@dataclass(frozen=True, kw_only=True)
class TrainCommand:
    """Train an agent; `sadapt train ENV --help` shows every setting, including the world's own."""

    env: EnvName
    """A world from `sadapt list`, gym:ID for a Gymnasium environment, atari:GAME, or your own with --import."""
    preset: Literal["fast", "paper"] = "fast"
    """Where the defaults come from: minutes on a core with PQN, or the paper's DQN."""
    num_seeds: Count = 1
    """Number of seeds to train at once, starting from --seed, each in its own folder."""
    out: OptionalFolder = None
    """Folder of the run; by default runs/ENV/OBJECTIVE-LEARNER-sSEED."""
    overwrite: Flag = False
    """Replace an existing run."""
    config: OptionalFile = None
    """Take the settings from an earlier run's config.json; other flags override them."""
    print_config: Flag = False
    """Print the settings as JSON and train nothing."""
    checkpoint_interval: Limit = 300.0
    """Seconds between checkpoints."""
    tensorboard: Literal["on", "off"] = "on"
    """Write TensorBoard events as well as metrics.csv."""
    track: Flag = False
    """Also log to Weights & Biases (extra `wandb`; WANDB_MODE=offline logs locally)."""
    quiet: Quiet = False
    """Print only the run's folder."""
    imports: Imports = ()

    @staticmethod
    def parse(words: list[str]) -> TrainCommand:
        """Reads the flags over the defaults that preset, world and parts (or a former run) give them."""
        settings, name, imports = _defaults(words)
        given = {"preset": name, "imports": imports}
        return parsed_over(_with_settings(settings), "train", words, settings, given, description=ABOUT)

    def settings(self) -> Settings:
        """The run that the flags ask for."""
        base: Settings = self.base  # type: ignore[attr-defined]
        changes = {name: getattr(self, name) for name in own_names(Settings)}
        for each in groups(base):
            changes |= vars(getattr(self, f"{each.place}_settings"))
        return all_changed(base, {**changes, "imports": tuple(self.imports)})

    def run(self) -> None:
        settings = self.settings()
        from sadapt.runs import config, session
        from sadapt.runs.display import display
        from sadapt.runs.recorder import Options
        from sadapt.training.loop import steps_trained

        if self.print_config:
            steps = steps_trained(session.prepare(settings))
            print(json.dumps({"settings": config.to_dict(settings), "steps": steps}, indent=2))
            return
        options = Options(
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
        tell(folders, quiet=self.quiet)


def tell(folders: list[RunFolder], *, quiet: bool) -> None:
    """Says where everything is, if somebody is there to read it."""
    with contextlib.suppress(BrokenPipeError):
        for folder in folders:
            print(folder, flush=True)
        if not quiet and folders:
            run = folders[0].named
            print(f"look at it:  sadapt eval {run}\nfilm it:     sadapt watch {run}", file=sys.stderr, flush=True)


def _with_settings(settings: Settings) -> Any:
    """The command with every setting of this run among its flags: the run's own, the parts, and a group for each."""
    docs, hints = field_docs(Settings), get_type_hints(Settings, include_extras=True)
    flags: list[Any] = [
        (name, flag_of(hints[name], docs[name], name), getattr(settings, name))
        for name in own_names(Settings)
        if name != "imports"
    ]
    for kind, about in PARTS.items():
        known_names = ",".join(name for name in TABLES[kind])
        flags.append((kind, Annotated[str, arg(metavar=f"{{{known_names}}}", help=about)], get(settings, kind)))
    flags += group_flags(settings)
    return dataclasses.make_dataclass("TrainCommand", flags, bases=(TrainCommand,), frozen=True, kw_only=True)


def _defaults(words: list[str]) -> tuple[Settings, str, tuple[str, ...]]:
    """Settings before the flags: of a former run, or of the preset; the preset's name; modules to import."""
    given, env = first_look(words, {"preset": "fast", "config": None, **dict.fromkeys(PARTS)})
    parts = {kind: getattr(given, kind) for kind in PARTS if getattr(given, kind) is not None}
    if given.config is not None:
        from sadapt.runs.folder import settings_in

        former = settings_in(Path(given.config))
        return all_changed(former, {**parts, **({} if env is None else {"env": env})}), given.preset, former.imports
    if given.preset not in PRESETS:
        preset(OWN, given.preset)
    usual = preset(OWN if env is None else env, given.preset, stream=_asks_for_stream(words), **parts)
    return usual, given.preset, tuple(given.imports)


def _asks_for_stream(words: list[str]) -> bool:
    """Whether the last word about it says so: a stream has another bandit unless one is named."""
    said = [word for word in words if word.partition("=")[0] in ("--stream", "--no-stream")]
    return bool(said) and said[-1].lower() in ("--stream", "--stream=true")
