"""The `sadapt` command: every command is a frozen dataclass of its options that parses, delegates and prints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import tyro
from tyro.conf import arg
from tyro.extras import subcommand_cli_from_dict

from sadapt import __version__
from sadapt.errors import UserError, nearest

# JAX, NumPy and Matplotlib are imported by the commands that need them, so that `sadapt --help` answers at once.
if TYPE_CHECKING:
    import numpy as np

    from sadapt.envs.base import Env, Policy
    from sadapt.motivation.probe import Report

ABOUT = """\
Agents that learn without reward, by controlling the entropy of what they see.

examples:
  sadapt list                                every world there is
  sadapt probe maze-small                    which way its entropy can be pushed
  sadapt probe maze-small --plot probe.png   the same, with a figure
  sadapt film tetris --out tetris.gif        watch a random agent
  sadapt film maze-small --policy walker     watch a scripted one
  sadapt bench                               how fast this machine is
  sadapt probe --help                        every option of a command
  sadapt --version                           the version of this program"""

EnvName = Annotated[str, tyro.conf.Positional, arg(metavar="ENV", help_behavior_hint="")]
OptionalFile = Annotated[Path | None, tyro.conf.DisallowNone, arg(metavar="FILE", help_behavior_hint="")]
Flag = Annotated[bool, arg(help_behavior_hint="")]

GREY = "#7A7A7A"
PALETTE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


class Command(Protocol):
    """Options that know what to do."""

    def run(self) -> None: ...


@dataclass(frozen=True)
class ListCommand:
    """Show every world: its size, horizon, actions and channels."""

    json: Flag = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        from sadapt.envs import registry
        from sadapt.tables import Column, show, show_json

        records = [_facts(registry.make(name)) for name in registry.names()]
        if self.json:
            return show_json(records)
        return show(
            records,
            [
                Column("name", "world"),
                Column("size", "size", lambda size: "x".join(map(str, size)), right=True),
                Column("horizon", "horizon", right=True),
                Column("actions", "actions", lambda names: str(len(names)), right=True, spare=True),
                Column("channels", "channels", ", ".join, spare=True),
                Column("about", "about", folds=True),
            ],
        )


@dataclass(frozen=True)
class ProbeCommand:
    """Measure, before any training, which way a world's entropy can be pushed further."""

    env: EnvName
    """A world of `sadapt list`."""
    episodes: int = 100
    """Episodes per policy."""
    seed: int = 0
    """Seed of every random draw."""
    layout: OptionalFile = None
    """A map of your own: `#` wall, `A` agent, `G` goal, `b` butterfly, `.` free."""
    marginal: Literal["bernoulli", "gaussian"] = "bernoulli"
    """Distribution fitted to every entry of the observation."""
    pseudo_count: float = 0.0
    """All-zero observations that every episode's marginal starts with."""
    plot: OptionalFile = None
    """Draw entropy over time too (.png, .svg or .pdf)."""
    json: Flag = False
    """Print JSON instead of a table."""
    quiet: Flag = False
    """No progress on standard error."""

    def run(self) -> None:
        _at_least(1, "--episodes", self.episodes)
        if self.plot is not None:
            _require_suffix("--plot", self.plot, (".png", ".svg", ".pdf"))
        from sadapt.envs import registry
        from sadapt.motivation.probe import probe
        from sadapt.tables import show_json

        env = registry.make(self.env, layout=self.layout)
        with _progress(self.quiet) as on_progress:
            report = probe(
                env,
                episodes=self.episodes,
                seed=self.seed,
                kind=self.marginal,
                pseudo_count=self.pseudo_count,
                on_progress=on_progress,
            )
        if self.plot is not None:
            _plot(report, self.plot)
        if self.json:
            return show_json(asdict(report))
        return _show_report(report)


@dataclass(frozen=True)
class FilmCommand:
    """Film one episode of a random or scripted agent."""

    env: EnvName
    """A world of `sadapt list`."""
    policy: str = "random"
    """Who acts: random, or a policy that `sadapt probe` shows for this world."""
    seed: int = 0
    """Seed of every random draw."""
    steps: Annotated[int | None, tyro.conf.DisallowNone, arg(metavar="INT", help_behavior_hint="")] = None
    """Steps to film at most; the world's horizon if not given."""
    fps: int = 10
    """Frames per second."""
    layout: OptionalFile = None
    """A map of your own: `#` wall, `A` agent, `G` goal, `b` butterfly, `.` free."""
    out: OptionalFile = None
    """Where to write the film; ENV-POLICY.gif here if not given."""

    def run(self) -> None:
        _at_least(1, "--fps", self.fps)
        if self.steps is not None:
            _at_least(1, "--steps", self.steps)
        from sadapt.envs import registry
        from sadapt.film import save

        env = registry.make(self.env, layout=self.layout)
        frames = _frames(env, _policy(env, self.policy), seed=self.seed, steps=self.steps or env.horizon)
        print(save(frames, self.out or Path(f"{self.env}-{self.policy}.gif"), fps=self.fps))


@dataclass(frozen=True)
class BenchCommand:
    """Measure speed on one core of this machine: worlds, learners, and their peers where they are installed."""

    part: Annotated[Literal["all", "worlds", "learners"], tyro.conf.Positional, arg(help_behavior_hint="")] = "all"
    """What to measure: all, worlds or learners."""
    seconds: float = 3.0
    """How long to repeat each measurement; the fastest call counts."""
    json: Flag = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        from sadapt.benchmarks.timing import one_core

        one_core()
        from sadapt.benchmarks.run import PARTS, rows
        from sadapt.tables import Column, show, show_json

        records = []
        with _progress(self.json) as on_progress:
            for row in rows(PARTS if self.part == "all" else (self.part,), seconds=self.seconds):
                records.append(row)
                if on_progress is not None:
                    on_progress(row["what"], min(len(records) / 17, 1.0))
        if self.json:
            return show_json(records)
        return show(
            records,
            [
                Column("what", "what"),
                Column("value", "measured", _figures, right=True),
                Column("unit", "unit"),
                Column("ratio", "ratio", lambda ratio: f"{ratio:.2f}", right=True),
                Column("reference", "reference", _figures, right=True),
                Column("against", "against", folds=True),
            ],
        )


def _figures(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


COMMANDS: dict[str, Callable[..., Command]] = {
    "list": ListCommand,
    "probe": ProbeCommand,
    "film": FilmCommand,
    "bench": BenchCommand,
}


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit code: 0, 2 after a user's mistake, 130 after an interruption."""
    try:
        _parse(sys.argv[1:] if argv is None else argv).run()
    except UserError as mistake:
        return _refuse(str(mistake))
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
    return subcommand_cli_from_dict(
        COMMANDS,
        prog="sadapt",
        description=ABOUT,
        args=argv or ["--help"],
        config=(tyro.conf.FlagCreatePairsOff,),
    )


def _at_least(least: int, option: str, given: int) -> None:
    if given < least:
        raise UserError(f"{option} must be at least {least}; got {given}")


def _require_suffix(option: str, path: Path, suffixes: tuple[str, ...]) -> None:
    if path.suffix.lower() not in suffixes:
        raise UserError(f"{option} must name a {', '.join(suffixes[:-1])} or {suffixes[-1]} file; got {str(path)!r}")


def _facts(env: Env) -> dict[str, Any]:
    """What `sadapt list` tells about a world."""
    return {
        "name": env.name,
        "size": env.obs_shape[:-1],
        "horizon": env.horizon,
        "actions": env.actions,
        "channels": env.channels,
        "seen_by_marginal": [env.channels[channel] for channel in env.marginal_channels],
        "policies": ["random", *env.scripted],
        "about": env.about,
    }


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str, float], None] | None]:
    """Shows on standard error which policy is playing: a bar on a terminal, a line each elsewhere."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        columns = (SpinnerColumn(), BarColumn(bar_width=24), TextColumn("{task.description}"))
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("starting", total=1.0)
            yield lambda name, done: bar.update(task, description=name, completed=done)
    else:
        yield lambda name, done: print(f"{done:4.0%} {name}", file=sys.stderr)


def _show_report(report: Report) -> None:
    from sadapt.tables import Column, console, show

    records = [
        {
            "policy": row.name,
            "entropy": f"{row.entropy:.2f} ± {row.entropy_std:.2f}",
            "shift": f"{(row.entropy - report.h_random) / abs(report.h_random):+.0%}",
            "return": f"{row.task_return:.2f}",
            "deaths": f"{row.deaths:.1f}",
            "length": f"{row.length:.0f}",
        }
        for row in sorted(report.rows, key=lambda row: row.entropy)
    ]
    out = console()
    out.print(f"{report.env}: {report.episodes} episodes per policy, up to {report.horizon} steps each\n")
    show(
        records,
        [
            Column("policy", "policy"),
            Column("entropy", "final entropy, nats", right=True),
            Column("shift", "from random", right=True),
            Column("return", "return", right=True),
            Column("deaths", "terminated", right=True),
            Column("length", "steps", right=True),
        ],
    )
    out.print(f"\nfeedback |(H - H_random) / H_random|: {report.feedback_low:.3g} down, {report.feedback_high:.3g} up")
    out.print(_verdict(report))


def _verdict(report: Report) -> str:
    """One sentence: which arm has more room, and by what ratio."""
    low, high = report.feedback_low, report.feedback_high
    lower, higher = repr(report.low_policy), repr(report.high_policy)
    if low == high == 0:
        return "Neither arm has room: no policy here moves entropy away from random."
    if report.favours == "neither":
        return f"Neither arm has more room: {higher} raises entropy exactly as far as {lower} lowers it."
    if low == 0:
        return f"S-Max has more room: {higher} raises entropy above random, no policy here lowers it."
    if high == 0:
        return f"S-Min has more room: {lower} lowers entropy below random, no policy here raises it."
    if report.favours == "s-max":
        return f"S-Max has more room: {higher} raises entropy {high / low:.2f} times as far as {lower} lowers it."
    return f"S-Min has more room: {lower} lowers entropy {low / high:.2f} times as far as {higher} raises it."


def _plot(report: Report, path: Path) -> None:
    """Draws mean entropy over time, a line per policy, with the random agent's final entropy across."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    axes = figure.subplots()
    colours = {"random": GREY}
    for row in sorted(report.rows, key=lambda row: -row.entropy):
        colour = colours.setdefault(row.name, PALETTE[(len(colours) - 1) % len(PALETTE)])
        axes.plot(row.curve, color=colour, linewidth=1.8, label=f"{row.name}  {row.entropy:.1f}")
    axes.axhline(report.h_random, color=GREY, linewidth=1, linestyle=(0, (4, 3)), label="random, final")
    axes.set(xlabel="step", ylabel="entropy, nats", xlim=(0, report.horizon))
    axes.set_title(f"{report.env}: entropy of what has been seen", loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, title="policy, final entropy", alignment="left"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)


def _policy(env: Env, name: str) -> Policy:
    """A policy by the name that `sadapt probe` gives it."""
    from sadapt.motivation.baseline import random_policy

    policies = {"random": random_policy(env), **env.scripted}
    if name not in policies:
        raise UserError(f"unknown policy {name!r} in {env.name!r}: {nearest(name, policies)}")
    return policies[name]


def _frames(env: Env, policy: Policy, *, seed: int, steps: int) -> Iterator[np.ndarray]:
    """Pictures of one episode, the first before any action."""
    import jax
    import jax.numpy as jnp

    from sadapt.motivation.bandits import fixed
    from sadapt.motivation.episode import Answer, Episode, Fresh, Transition, episodes
    from sadapt.motivation.marginals import marginal_family

    marginal = marginal_family("bernoulli" if env.binary else "gaussian")(env.seen_shape)
    rules = episodes(env, marginal, fixed(0), on_death=env.on_death, horizon=steps)

    @jax.jit
    def advance(key: jax.Array, episode: Episode) -> tuple[Episode, Transition]:
        key_act, key_step, key_reset, key_shock = jax.random.split(key, 4)
        action = policy(key_act, episode.world, marginal.features(episode.marginal))
        world, step = env.step(key_step, episode.world, action)
        return rules.absorb(key_shock, episode, Answer(world, step, Fresh(*env.reset(key_reset))))

    key_begin, key_play = jax.random.split(jax.random.key(seed))
    episode = rules.begin(Fresh(*env.reset(key_begin)), jnp.zeros((), jnp.int32))
    yield env.render(episode.world)
    for key in jax.random.split(key_play, steps):
        episode, transition = advance(key, episode)
        yield env.render(episode.world)
        if transition.closed:
            return
