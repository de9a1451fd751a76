"""Calls that train nothing themselves: lists of worlds, runs and policies, sweeps, what many runs say, and speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sadapt import zoo
from sadapt.envs.table import described
from sadapt.envs.table import names as world_names
from sadapt.errors import Stop, UserError
from sadapt.fields import unknown_name
from sadapt.registry import import_modules
from sadapt.runs import listing
from sadapt.runs.folder import RunFolder
from sadapt.runs.listing import Comparison, Listed

if TYPE_CHECKING:
    from sadapt.experiments.claims import Claim
    from sadapt.report.adaptation import Adaptation
    from sadapt.report.page.gather import Study
    from sadapt.report.seasons import Followed

Folder = str | Path


def list_worlds() -> list[dict[str, Any]]:
    """Lists every built-in world with its size, horizon, actions and channels, as `sadapt list` does."""
    return [described(name) for name in world_names()]


def list_zoo() -> list[zoo.Entry]:
    """Lists the trained policies that come with the program, as `sadapt zoo` does; `load(entry.source)` loads one."""
    return zoo.entries()


def list_runs(folder: Folder = "runs") -> list[Listed]:
    """Lists every run in a folder and its state, as `sadapt runs` does."""
    return listing.listed(folder)


def compare(first: Folder | RunFolder, second: Folder | RunFolder) -> Comparison:
    """Finds what differs between two runs in settings and results, as `sadapt compare` does."""
    return listing.compared(first, second)


def sweep(
    experiment: Folder,
    *,
    preset: str = "fast",
    out: Folder = "results",
    executor: str = "local",
    workers: int | None = None,
    imports: Sequence[str] = (),
    on_done: Callable[[RunFolder, bool], None] | None = None,
) -> list[RunFolder]:
    """Trains all unfinished runs of a figure or a TOML file, as `sadapt sweep` does; returns all its runs.

    `on_done` is called with every run that ends, and whether it finished. `Stop` is raised if any run has failed.
    """
    import_modules(imports)
    from sadapt.experiments import plan
    from sadapt.experiments.executors import EXECUTORS
    from sadapt.experiments.sweep import Sweep, carry_out

    if executor not in EXECUTORS:
        raise unknown_name("executor", executor, EXECUTORS)
    found = Sweep(plan.read(str(experiment), preset, imports=tuple(imports)), Path(out))
    found.require_same_settings()
    failures = []
    for run, outcome in carry_out(found, found.left(), EXECUTORS[executor], workers=workers):
        if on_done is not None:
            on_done(found.folder(run), not outcome.code)
        if outcome.code:
            failures.append(f"{found.folder(run)}: {outcome.message or f'exit code {outcome.code}'}")
    if failures:
        raise Stop("\n".join([f"{len(failures)} runs could not be finished:", *failures]))
    return [found.folder(run) for run in found.experiment.runs]


def figures(
    results: Folder,
    out: Folder | None = None,
    *,
    only: Sequence[str] = (),
    learner: str = "pqn",
    aggregate: bool = False,
) -> dict[str, list[Path]]:
    """Draws the paper's figures from stored runs, as `sadapt figures` does; returns the files of each figure."""
    from sadapt.report.figures import draw
    from sadapt.report.stored import load

    place = Path(results) / "figures" if out is None else Path(out)
    return draw(load(results), place, only=tuple(only), learner=learner, aggregate=aggregate)


def claims(results: Folder, *, learner: str = "pqn") -> list[Claim]:
    """Checks the paper's claims on stored runs, as `sadapt claims` does."""
    from sadapt.experiments.claims import evaluate
    from sadapt.report.stored import load

    return evaluate(load(results), learner=learner)


def table(results: Folder, out: str | Path | None = None) -> Path:
    """Writes all stored runs into one tidy table, a compressed CSV, as `sadapt table` does."""
    from sadapt.report.stored import load
    from sadapt.report.table import write

    return write(load(results), Path(results), None if out is None else Path(out))


def write_report(folder: Folder = "runs", out: Folder | None = None) -> Path:
    """Writes a folder of runs as one offline HTML file, as `sadapt report` does; by default `folder`/report.html."""
    from sadapt.report.page.document import require_plotly, write
    from sadapt.report.page.gather import gather, require_folder, require_runs

    require_plotly()
    study = gather(require_folder(Path(folder)))
    require_runs(study)
    return write(study.root / "report.html" if out is None else Path(out), page_of(study))


def page_of(study: Study) -> str:
    """The page of runs, with the claims of every learner among them."""
    from sadapt.experiments.claims import as_records, evaluate
    from sadapt.report.page.document import page
    from sadapt.report.stored import load

    results = load(study.root) if study.blocks else None
    told = {name: as_records(evaluate(results, learner=name)) for name in study.learners} if results else {}
    return page(study, results, told)


def adaptation(results: Folder, *, learner: str = "pqn") -> list[Adaptation]:
    """Measures what adapting costs S-Adapt, world by world, as `sadapt adaptation` does."""
    from sadapt.report.adaptation import measured
    from sadapt.report.stored import load

    return list(measured(load(results), learner=learner))


def seasons(results: Folder, *, figure: Folder | None = None, imports: Sequence[str] = ()) -> list[Followed]:
    """Measures how well agents follow a world whose season changes, as `sadapt seasons` does; may draw it, too."""
    import_modules(imports)
    from sadapt.report.seasons import by_agent, followed
    from sadapt.report.stored import load

    groups = by_agent(load(results))
    if not groups:
        raise UserError(f"{results} has no runs in a world with seasons: `sadapt sweep seasons` makes some")
    if figure is not None:
        from sadapt.report.seasons_picture import draw

        draw(groups, Path(figure))
    return followed(groups)


def bench(part: str = "all", *, seconds: float = 3.0) -> list[dict[str, Any]]:
    """Measures speed on this machine, as `sadapt bench` does: worlds, wrappers, learners, peers, or all of them."""
    from sadapt.benchmarks.run import PARTS, rows

    if part not in ("all", *PARTS):
        raise unknown_name("part", part, ("all", *PARTS))
    return list(rows(PARTS if part == "all" else (part,), seconds=seconds))
