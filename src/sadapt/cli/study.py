"""Commands about stored runs: `figures`, `claims`, `adaptation` and `table`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import arg

from sadapt.cli.common import Flag, OptionalFile, OptionalFolder, progress, require_suffix
from sadapt.errors import Stop, UserError

RESULTS = Annotated[Path, tyro.conf.Positional, arg(metavar="RESULTS", help_behavior_hint="")]


@dataclass(frozen=True)
class FiguresCommand:
    """Draw the paper's figures and an overview of all claims from stored runs, as PNG and SVG."""

    results: RESULTS
    """Folder of runs, as written by `sadapt sweep`."""
    out: OptionalFolder = None
    """Where to write the figures; by default RESULTS/figures."""
    only: Annotated[tuple[str, ...], arg(metavar="F2 F3 ...", help_behavior_hint="")] = ()
    """Only these figures; `claims` is the overview of all claims."""
    learner: str = "pqn"
    """Learner of the runs: pqn, dqn, ppo, or your own."""
    aggregate: Flag = False
    """Interquartile means with bootstrap intervals, not means with standard deviations; and a summary over worlds."""
    json: Flag = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        from sadapt.experiments.claims_picture import GLANCE
        from sadapt.output import Column, show, show_json
        from sadapt.report.figures import FIGURES, draw
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
                figures={"claims": GLANCE, **FIGURES},
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
    """Check the paper's claims on stored runs, or compare two folders of runs.

    A claim holds (yes) if the 95% interval of its margin over seeds lies at or above 0, does not hold (no) if it lies
    below, and is undecided (cannot tell) if it contains 0. With --against, runs with the same settings are compared
    instead: the exit code is 0 if nothing tells the two folders apart, 1 if something does.
    """

    results: RESULTS
    """Folder of runs, as written by `sadapt sweep`."""
    learner: str = "pqn"
    """Learner of the runs: pqn, dqn, ppo, or your own."""
    checks: Flag = False
    """Show every check in every world, not only the one that decides each claim."""
    against: OptionalFolder = None
    """Another folder of runs: test whether the two agree statistically, over all learners."""
    out: OptionalFile = None
    """Also write the table as Markdown."""
    json: Flag = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        from sadapt.experiments.claims import as_records, evaluate
        from sadapt.experiments.claims_told import glance, lines, markdown, tally
        from sadapt.output import console, show_json
        from sadapt.report.stored import load

        if self.out is not None:
            require_suffix("--out", self.out, (".md", ".markdown"))
        if self.against is not None and (self.out is not None or self.checks):
            raise UserError("--against compares runs, not claims: leave out --out and --checks")
        results = load(self.results)
        if self.against is not None:
            return self._compare(results, load(self.against), self.against)
        claims = evaluate(results, learner=self.learner)
        if self.out is not None:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            self.out.write_text(f"{glance(claims)}\n{markdown(claims)}", encoding="utf-8")
        if self.json:
            return show_json(as_records(claims))
        print("\n".join([*lines(claims, console().width, checks=self.checks), *tally(claims)]))
        return _mention(results)

    def _compare(self, results: Any, others: Any, folder: Path) -> None:
        from sadapt.output import console, show, show_json
        from sadapt.report.agreement import compare, nearest_miss
        from sadapt.report.agreement_told import COLUMNS, as_record, rows, summary

        found = compare(results, others)
        if not found.pairs and not found.comparisons and not found.lonely:
            example = nearest_miss(results, others)
            raise UserError(
                f"{self.results} and {folder} have no runs in common: runs are compared only with runs of the same "
                "settings (world, agent, learner, steps and all others but the seed), and there are none"
                + (f"; {example}" if example else "")
            )
        if not found.comparisons:
            raise UserError(
                f"{self.results} and {folder} share {found.lonely} settings, but with only one run on either side, "
                "which leaves no way to judge chance: add a second seed to one of them"
            )
        if self.json:
            show_json(as_record(found))
        else:
            show(rows(found), COLUMNS)
            console().print(f"\n{summary(found)}", markup=False)
            _mention(results, drawn=True)
            _mention(others, drawn=True)
        if found.differing:
            raise Stop(
                f"{self.results} and {folder} differ in {len(found.differing)} of {len(found.comparisons)} comparisons"
            )


@dataclass(frozen=True)
class AdaptationCommand:
    """Measure what adapting costs: S-Adapt against the better of its two single objectives, world by world.

    waste is the share of its episodes on the other arm; area and final are its distance from a random agent's entropy
    over the run and at the end, relative to the better agent's; cost is how many times as many steps it takes to reach
    nine tenths of the better agent's final distance.
    """

    results: RESULTS
    """Folder of runs, as written by `sadapt sweep`."""
    learner: str = "pqn"
    """Learner of the runs: pqn, dqn, ppo, or your own."""
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
        show(
            [each._asdict() for each in found],
            [
                Column("world", "world"),
                Column("better", "better arm"),
                *(Column(name, f"{name}, 95 %", str, right=True) for name in names),
                Column("seeds", "seeds", right=True),
            ],
        )
        return _mention(results)


@dataclass(frozen=True)
class TableCommand:
    """Write all stored runs into one tidy table, and show what they cost.

    The table is a compressed CSV with a row for every run and logged step; `sadapt.report.load(RESULTS)` returns it as
    a pandas data frame. The same runs give the same bytes.
    """

    results: RESULTS
    """Folder of runs, as written by `sadapt sweep`."""
    out: OptionalFile = None
    """Where to write it, a .csv.gz file; by default RESULTS/runs.csv.gz."""
    json: Flag = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        from sadapt.output import Column, show, show_json
        from sadapt.report.stored import load
        from sadapt.report.table import costs, write

        results = load(self.results)
        out = write(results, self.results, self.out)
        size = out.stat().st_size
        records = [each._asdict() for each in costs(results)]
        if self.json:
            return show_json({"file": str(out), "bytes": size, "costs": records})
        total = {name: sum(each[name] for each in records) for name in ("runs", "steps", "core_hours")}
        show(
            [*records, {"world": "all", "learner": "", **total}],
            [
                Column("world", "world"),
                Column("learner", "learner"),
                Column("runs", "runs", right=True),
                Column("steps", "steps", lambda steps: f"{steps / 1e6:.1f}M", right=True),
                Column("core_hours", "core-hours", lambda hours: f"{hours:.2f}", right=True),
            ],
        )
        print(f"{out} holds them all, {size / 1e6:.1f} MB")
        return _mention(results, drawn=True)


def _mention(results: Any, *, drawn: bool = False) -> None:
    """Says which runs were left out, and why; in figures those of other settings are drawn beside the others."""
    aside = () if drawn else results.set_aside
    for paths, why in ((results.unfinished, "unfinished"), (aside, "other settings than those that are used")):
        if paths:
            print(f"left out, {why}: {', '.join(map(str, paths))}", file=sys.stderr)
    for path, why in results.left_out:
        print(f"left out, {path}: {why}", file=sys.stderr)
