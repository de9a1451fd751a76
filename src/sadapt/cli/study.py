"""Commands about stored runs: `figures` and `claims`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import arg

from sadapt.cli.common import Flag, OptionalFile, OptionalFolder, progress, require_suffix
from sadapt.errors import UserError

RESULTS = Annotated[Path, tyro.conf.Positional, arg(metavar="RESULTS", help_behavior_hint="")]


@dataclass(frozen=True)
class FiguresCommand:
    """Draw the paper's figures from stored runs, as PNG and SVG."""

    results: RESULTS
    """Folder of runs, as `sadapt sweep` makes it."""
    out: OptionalFolder = None
    """Where to draw; RESULTS/figures if not given."""
    only: Annotated[tuple[str, ...], arg(metavar="F2 F3 ...", help_behavior_hint="")] = ()
    """Only these figures."""
    learner: str = "pqn"
    """Whose runs: pqn, dqn, ppo, or one of your own."""
    aggregate: Flag = False
    """Interquartile means with bootstrap intervals instead of means with deviations, and a summary over worlds."""
    json: Flag = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        from sadapt.output import Column, show, show_json
        from sadapt.report.figures import draw
        from sadapt.report.stored import load

        results = load(self.results)
        with progress(self.json) as tell:
            drawn = draw(
                results,
                self.out or self.results / "figures",
                only=self.only,
                learner=self.learner,
                aggregate=self.aggregate,
                tell=tell,
            )
        if self.json:
            return show_json({name: [str(path) for path in paths] for name, paths in drawn.items()})
        show(
            [{"name": name, "files": ", ".join(map(str, paths)) or "no runs yet"} for name, paths in drawn.items()],
            [Column("name", "figure"), Column("files", "files", folds=True)],
        )
        return _mention(results, drawn=True)


@dataclass(frozen=True)
class ClaimsCommand:
    """Check the paper's claims on stored runs: yes, no, or not enough runs, with the numbers."""

    results: RESULTS
    """Folder of runs, as `sadapt sweep` makes it."""
    learner: str = "pqn"
    """Whose runs: pqn, dqn, ppo, or one of your own."""
    out: OptionalFile = None
    """Write the table as Markdown too."""
    json: Flag = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        from sadapt.experiments.claims import as_records, evaluate, markdown
        from sadapt.output import Column, console, show, show_json
        from sadapt.report.stored import load

        results = load(self.results)
        claims = evaluate(results, learner=self.learner)
        if self.out is not None:
            require_suffix("--out", self.out, (".md", ".markdown"))
            self.out.parent.mkdir(parents=True, exist_ok=True)
            self.out.write_text(markdown(claims), encoding="utf-8")
        if self.json:
            return show_json(as_records(claims))
        show(
            [
                {"id": claim.id, "world": verdict.world, "answer": verdict.answer, "says": finding.what, "how": finding}
                for claim in claims
                for verdict in claim.verdicts
                for finding in verdict.findings
            ],
            [
                Column("id", "claim"),
                Column("world", "world"),
                Column("answer", "answer"),
                Column("how", "margin over seeds, 95 %", lambda finding: finding.spoken(), right=True),
                Column("says", "which must not be negative", folds=True),
            ],
        )
        out = console()
        out.print()
        for claim in claims:
            out.print(f"{claim.id:4s} {claim.answer:16s} {claim.says}")
        return _mention(results)


@dataclass(frozen=True)
class AdaptationCommand:
    """Measure what adapting costs: S-Adapt against the better of its two single objectives, world by world.

    waste is the share of its episodes on the other arm; area and final are its distance from a random agent's entropy
    over the run and at its end, relative to the better agent's; cost is how many times as many steps it takes to nine
    tenths of the better agent's final distance.
    """

    results: RESULTS
    """Folder of runs, as `sadapt sweep` makes it."""
    learner: str = "pqn"
    """Whose runs: pqn, dqn, ppo, or one of your own."""
    json: Flag = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        from sadapt.output import Column, show, show_json
        from sadapt.report.adaptation import measured
        from sadapt.report.stored import load

        results = load(self.results)
        found = measured(results, learner=self.learner)
        if not found:
            raise UserError(
                f"{self.results} has no world with runs of s-adapt, s-min and s-max by {self.learner}: "
                "`sadapt sweep F2` makes some"
            )
        names = ("waste", "area", "final", "cost")
        if self.json:
            records = [{**each._asdict(), **{name: getattr(each, name)._asdict() for name in names}} for each in found]
            return show_json(records)
        spoken = lambda each: f"{each.value:.2f} [{each.low:.2f}, {each.high:.2f}]"  # noqa: E731
        show(
            [each._asdict() for each in found],
            [
                Column("world", "world"),
                Column("better", "better arm"),
                *(Column(name, f"{name}, 95 %", spoken, right=True) for name in names),
                Column("seeds", "seeds", right=True),
            ],
        )
        return _mention(results)


def _mention(results: Any, *, drawn: bool = False) -> None:
    """Says which runs were left out, and why; in figures those of other settings are drawn beside the others."""
    aside = () if drawn else results.set_aside
    for paths, why in ((results.unfinished, "unfinished"), (aside, "other settings than most seeds")):
        if paths:
            print(f"left out, {why}: {', '.join(map(str, paths))}", file=sys.stderr)
    for path, why in results.left_out:
        print(f"left out, {path}: {why}", file=sys.stderr)
