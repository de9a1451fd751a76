"""Commands about worlds: `list` and `probe`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import DisallowNone, arg

from sadapt.cli.common import (
    EnvName,
    Flag,
    Imports,
    OptionalCount,
    OptionalFile,
    OptionalName,
    progress,
    require_parts,
    require_suffix,
)
from sadapt.fields import Count, Seed
from sadapt.registry import import_modules

if TYPE_CHECKING:
    from sadapt.motivation.probe import Report, Room

GREY = "#7A7A7A"
PALETTE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


@dataclass(frozen=True)
class ListCommand:
    """Show every world: its size, horizon, actions and channels."""

    json: Flag = False
    """Print JSON instead of a table."""

    imports: Imports = ()

    def run(self) -> None:
        import_modules(self.imports)
        from sadapt.envs.table import described, names
        from sadapt.output import Column, show, show_json

        records = [described(name) for name in names()]
        if self.json:
            return show_json(records)
        return show(
            records,
            [
                Column("name", "world"),
                Column("size", "size", lambda size: "x".join(map(str, size)), right=True),
                Column("horizon", "horizon", right=True),
                Column("actions", "actions", lambda names: str(len(names)), right=True, spare=True),
                Column("channels", "channels", _shortened, spare=True),
                Column("about", "about", folds=True),
            ],
        )


@dataclass(frozen=True)
class ProbeCommand:
    """Measure, before any training, in which direction a world's entropy can be pushed further."""

    env: EnvName
    """A world from `sadapt list`, gym:ID or atari:GAME."""
    episodes: Count = 100
    """Episodes per policy."""
    seed: Seed = 0
    """Random seed."""
    layout: OptionalFile = None
    """Your own map: `#` wall, `A` agent, `G` goal, `b` butterfly, `.` free."""
    horizon: OptionalCount = None
    """Steps per episode; by default the world's own."""
    obs_key: OptionalName = None
    """Which part of a dictionary observation to use, in Gymnasium worlds that have one."""
    screen_size: OptionalCount = None
    """Side of the greyscale picture that a Gymnasium or Atari world's pictures are reduced to."""
    marginal: Annotated[str, arg(metavar="NAME")] = "auto"
    """Distribution fitted to observations: auto (by their space), bernoulli, kt, categorical, ..., or your own."""
    pseudo_count: Annotated[float | None, DisallowNone, arg(metavar="FLOAT", help_behavior_hint="")] = None
    """All-zero observations added at the start of every episode, if the marginal has this setting; by default none."""
    plot: OptionalFile = None
    """Also draw entropy over time (.png, .svg or .pdf)."""
    json: Flag = False
    """Print JSON instead of a table."""
    quiet: Flag = False
    """Show no progress."""
    imports: Imports = ()

    def run(self) -> None:
        if self.plot is not None:
            require_suffix("--plot", self.plot, (".png", ".svg", ".pdf"))
        import_modules(self.imports)
        require_parts(env=self.env, marginal=self.marginal)
        from sadapt.api import probe
        from sadapt.output import show_json

        names = ("pseudo_count", "horizon", "obs_key", "screen_size")
        given = {name: getattr(self, name) for name in names}
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        with progress(self.quiet) as on_progress:
            report = probe(
                self.env,
                marginal=self.marginal,
                layout=self.layout,
                episodes=self.episodes,
                seed=self.seed,
                on_progress=on_progress,
                **changes,
            )
        if self.plot is not None:
            _plot(report, self.plot)
        if self.json:
            return show_json(asdict(report))
        return _show_report(report)


def _shortened(names: Sequence[str], most: int = 4) -> str:
    """Names in a row; of more than `most`, the first two and how many more there are."""
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[:2])} and {len(names) - 2} more"


def _shift(by: float, whole: float) -> str:
    """A share with its sign; what rounds to nothing has none of its own."""
    return f"{round(by / whole, 2) + 0.0:+.0%}"


def _show_report(report: Report) -> None:
    from sadapt.output import Column, console, show

    here = report.rooms["entropy"]
    records = [
        {
            "policy": row.name,
            "entropy": f"{row.entropy:.2f} ± {row.entropy_std:.2f}",
            "shift": _shift(row.entropy - here.random, max(abs(here.random), here.random_std)),
            "surprise": f"{row.surprise:.2f}",
            "return": f"{row.task_return:.2f}",
            "deaths": f"{row.deaths:.1f}",
            "length": f"{row.length:.0f}",
        }
        for row in sorted(report.rows, key=lambda row: row.entropy)
    ]
    out = console()
    out.print(f"{report.env}: {report.episodes} episodes per policy, up to {report.horizon} steps each")
    out.print(f"marginal: {report.marginal}\n" if report.marginal else "")
    show(
        records,
        [
            Column("policy", "policy"),
            Column("entropy", "final entropy, nats", right=True),
            Column("shift", "from random", right=True),
            Column("surprise", "surprise per step", right=True),
            Column("return", "return", right=True),
            Column("deaths", "terminated", right=True),
            Column("length", "steps", right=True),
        ],
    )
    out.print("\nfeedback |x - x_random| / max(|x_random|, deviation of x_random)")
    for of, room in report.rooms.items():
        out.print(f"  by {of:8s}  {room.feedback_low:.3g} down, {room.feedback_high:.3g} up. {_verdict(of, room)}")


def _verdict(of: str, room: Room) -> str:
    """One sentence: which arm has more room, and by what ratio."""
    low, high = room.feedback_low, room.feedback_high
    lower, higher = repr(room.low_policy), repr(room.high_policy)
    if low == high == 0:
        return f"Neither arm has room: no policy here moves {of} away from random."
    if room.favours == "neither":
        return f"Neither arm has more room: {higher} raises {of} exactly as far as {lower} lowers it."
    if low == 0:
        return f"S-Max has more room: {higher} raises {of} above random, no policy here lowers it."
    if high == 0:
        return f"S-Min has more room: {lower} lowers {of} below random, no policy here raises it."
    if room.favours == "s-max":
        return f"S-Max has more room: {higher} raises {of} {high / low:.2f} times as far as {lower} lowers it."
    return f"S-Min has more room: {lower} lowers {of} {low / high:.2f} times as far as {higher} raises it."


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
