"""Commands about worlds: `list` and `probe`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from sadapt.cli.common import EnvName, Flag, Imports, OptionalFile, progress, require_suffix
from sadapt.cli.flags import changed_flags, parsed_in_world
from sadapt.fields import Count, Seed
from sadapt.registry import import_modules

if TYPE_CHECKING:
    from sadapt.motivation.probe import Report, Room

PROBED = ("world", "marginal")
"""Whose settings matter."""
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


@dataclass(frozen=True, kw_only=True)
class ProbeCommand:
    """Measure, before any training, in which direction a world's entropy can be pushed further.

    `sadapt probe ENV --help` shows the world's own settings too, and with --marginal NAME those of the marginal.
    """

    env: EnvName
    """A world from `sadapt list`, gym:ID, atari:GAME, or your own with --import."""
    episodes: Count = 100
    """Episodes per policy."""
    seed: Seed = 0
    """Random seed."""
    marginal: Annotated[str, arg(metavar="NAME")] = "auto"
    """Distribution fitted to observations: auto (by their space), bernoulli, kt, categorical, ..., or your own."""
    plot: OptionalFile = None
    """Also draw entropy over time (.png, .svg or .pdf)."""
    json: Flag = False
    """Print JSON instead of a table."""
    quiet: Flag = False
    """Show no progress."""
    imports: Imports = ()

    @staticmethod
    def parse(words: list[str]) -> ProbeCommand:
        """Reads the flags, those of the world's and the marginal's settings among them."""
        return parsed_in_world(ProbeCommand, "probe", words, {"marginal": "auto"}, PROBED)

    def run(self) -> None:
        if self.plot is not None:
            require_suffix("--plot", self.plot, (".png", ".svg", ".pdf"))
        from sadapt.api import probe
        from sadapt.output import show_json

        with progress(self.quiet) as on_progress:
            report = probe(
                self.env,
                marginal=self.marginal,
                episodes=self.episodes,
                seed=self.seed,
                on_progress=on_progress,
                **changed_flags(self, PROBED),
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
