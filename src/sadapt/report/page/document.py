"""The whole page: one file with its style, its program, its data and the plotting library in it."""

from __future__ import annotations

import base64
import gzip
import importlib
import json
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path

from sadapt import __version__
from sadapt.errors import UserError, installing
from sadapt.report import adaptation
from sadapt.report.page import evidence, films, overview, worlds
from sadapt.report.page.elements import MISSING, NOTHING, Markup, counted, element, joined, number, table
from sadapt.report.page.gather import FINISHED, Run, Study
from sadapt.report.page.lines import plots
from sadapt.report.stored import Results

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; media-src data:"
)
"""What the page may load: nothing that is not in it."""
Claims = Mapping[str, Sequence[evidence.Record]]
"""By learner."""
FEW = 40
"""Runs that are listed without being asked for."""


def page(study: Study, results: Results | None, claims: Claims) -> str:
    """The page as text."""
    shown = films.chosen(study)
    parts = _parts(study, results, claims, shown) if study.blocks else {}
    body = [
        _header(study),
        _contents(study, parts),
        element("main", *(_part(name, inside) for name, inside in parts.items()), _nothing(study), _footer(shown)),
        element("script", Markup(_packed(json.dumps(plots(study)))), type="text/plain", id="data"),
        element("script", Markup(_library()), type="text/plain", id="library"),
        element("script", Markup(_own("page.js"))),
    ]
    head = [
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("title", f"{_title(study)} – sadapt"),
        element("style", Markup(_own("page.css"))),
    ]
    return f"<!doctype html>\n{element('html', element('head', *head), element('body', *body), lang='en')}\n"


def live(text: str, every: float) -> str:
    """The same page, which loads itself again after so many seconds."""
    return text.replace("<body>", f'<body data-live="{every:g}">', 1)


def require_plotly() -> None:
    """Refuses to begin where the plotting library is missing."""
    try:
        importlib.import_module("plotly.offline")
    except ModuleNotFoundError as error:
        raise UserError(f"a report needs plotly: {installing('report')}") from error


def _parts(study: Study, results: Results | None, claims: Claims, shown: films.Chosen) -> dict[str, Markup]:
    """Chapters by their titles."""
    parts = {"Overview": joined([overview.unreadable(study.broken), overview.glance(study)])}
    known = {learner: records for learner, records in claims.items() if evidence.answered(records)}
    for learner, records in known.items():
        parts[_of_learner("The paper’s claims", learner, known)] = evidence.claims(records)
    measured = {name: adaptation.measured(results, learner=name) for name in study.learners} if results else {}
    measured = {learner: found for learner, found in measured.items() if found}
    for learner, found in measured.items():
        parts[_of_learner("What adapting costs", learner, measured)] = evidence.adaptation(found)
    common = worlds.shared(study)
    sections = [worlds.section(study, at, shown.films.get(at, ()), common) for at in range(len(study.blocks))]
    parts["Worlds"] = joined([element("p", HOW, class_="note"), *sections])
    if common and len(study.runs) > 1:
        parts["Settings of all runs"] = worlds.chips(common)
    return parts | {"Runs": _runs(study)}


HOW = (
    "Each curve is the interquartile mean over seeds, its band the 95% bootstrap interval; thin lines are single "
    "seeds. Click a name to hide its curve, drag to zoom, double-click to reset the zoom."
)


def _of_learner(title: str, learner: str, among: Mapping[str, object]) -> str:
    return f"{title} ({learner})" if len(among) > 1 else title


def _title(study: Study) -> str:
    return study.root.resolve().name or str(study.root)


def _header(study: Study) -> Markup:
    built = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
    said = [element("time", f"{built} UTC", datetime=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))]
    hold = element("button", "pause", type="button", id="hold", aria_pressed="false")
    said.append(element("span", element("span", "live", class_="pill running"), hold, class_="live"))
    return element(
        "header",
        element("p", "Report of ", element("code", str(study.root)), " · ", joined(said, " "), class_="over"),
        element("h1", _title(study)),
        overview.summary(study),
        overview.progress(study.runs),
    )


def _contents(study: Study, parts: Mapping[str, Markup]) -> Markup:
    entries = []
    for name in parts:
        inside = NOTHING
        if name == "Worlds":
            links = (
                element("li", element("a", overview.title(study, block), href=f"#{overview.anchor(at)}"))
                for at, block in enumerate(study.blocks)
            )
            inside = element("ul", *links)
        entries.append(element("li", element("a", name, href=f"#{overview.slug(name)}"), inside))
    folded = element("details", element("summary", "Contents"), element("ul", *entries), open=True)
    return element("nav", folded, aria_label="contents") if entries else NOTHING


def _part(name: str, inside: Markup) -> Markup:
    return element("section", element("h2", name), inside, id=overview.slug(name), class_="part")


def _nothing(study: Study) -> Markup:
    """What is said in the place of everything else."""
    if study.blocks:
        return NOTHING
    said = "There is no run in this folder that could be shown yet."
    return joined([element("p", said, class_="callout"), overview.unreadable(study.broken)])


def _runs(study: Study) -> Markup:
    """Every run with its state, the unfinished ones first."""
    runs = sorted(study.runs, key=lambda run: run.state == FINISHED)
    heads = ["Run", "state", "steps", "return", "share of S-Min", "steps/s"]
    shown = table(heads, [_run(study, run) for run in runs], right=(2, 3, 4, 5), kind="runs")
    few = len(runs) <= FEW
    return shown if few else element("details", element("summary", f"All {len(runs):,} runs"), shown)


def _run(study: Study, run: Run) -> list[str]:
    path = run.folder.path
    inside = path.relative_to(study.root) if path != study.root else path
    pace = run.last("steps_per_second") if run.columns else float("nan")
    state = element("span", run.state, class_=f"pill {overview.slug(run.state)}")
    done = f"{run.step:,}" if run.state == FINISHED else f"{run.step:,} of {run.total:,}"
    share = run.last("alpha")
    shares = f"{share:.0%}" if share == share and run.settings["objective"] in ("s-adapt", "s-task") else MISSING
    return [element("code", str(inside)), state, done, number(run.last("return")), shares, number(pace)]


def _footer(shown: films.Chosen) -> Markup:
    said = []
    if shown.left_out:
        said.append(f"{counted(len(shown.left_out), 'film')} had no room on this page: {films.names(shown.left_out)}.")
    if shown.broken:
        said.append(f"{counted(len(shown.broken), 'film')} could not be read: {films.names(shown.broken)}.")
    lines = [element("p", line) for line in said]
    return element("footer", *lines, element("p", f"Made by sadapt {__version__} (sadapt report)."))


@lru_cache(maxsize=1)
def _library() -> str:
    """The plotting library, compressed: the browser unpacks it."""
    return _packed(importlib.import_module("plotly.offline").get_plotlyjs())


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii")


def _own(name: str) -> str:
    return (resources.files("sadapt.report.page") / name).read_text(encoding="utf-8")


def write(path: Path, text: str) -> Path:
    """Writes the page to the side and renames it, so that whoever looks sees a whole one."""
    from sadapt.runs.metrics_file import replace_text

    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, text)
    return path
