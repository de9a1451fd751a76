"""A world's part of the page: its curves, what they end with, films, settings and the commands to repeat it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sadapt.motivation.objectives import OBJECTIVES
from sadapt.report.naming import flat
from sadapt.report.page.colours import of_curve
from sadapt.report.page.elements import MISSING, NOTHING, Markup, counted, element, folded, joined, ranged, table
from sadapt.report.page.films import Film, as_url
from sadapt.report.page.gather import FINISHED, Block, Curve, Run, Study
from sadapt.report.page.lines import columns_of, panel_title
from sadapt.report.page.overview import anchor, progress, steps, title
from sadapt.report.statistics import interval

TOLD = ("env", "objective", "seed", "imports")
"""Settings that stand elsewhere on the page."""
RARE = 0.05
"""Deaths an episode that are not worth a column."""


def section(study: Study, at: int, films: Sequence[Film], common: Mapping[str, Any]) -> Markup:
    """All of a block."""
    block = study.blocks[at]
    return element(
        "section",
        element("h3", title(study, block)),
        element("p", facts(block), class_="facts"),
        progress(block.runs),
        _doubts(block),
        _curves(block, at),
        _finals(block),
        _films(films),
        folded("Settings", _settings(block, common)),
        folded("Commands to repeat it", _commands(block)),
        class_="world",
        id=anchor(at),
    )


def shared(study: Study) -> dict[str, Any]:
    """The settings that all runs of a study have in common."""
    return agreed([flat(run.settings) for run in study.runs])


def agreed(settings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Names and values on which several settings agree; those that stand elsewhere are left out."""
    first, *others = settings or [{}]
    return {
        name: value
        for name, value in first.items()
        if name not in TOLD and all(name in other and other[name] == value for other in others)
    }


def chips(settings: Mapping[str, Any]) -> Markup:
    """Settings and their values as a list that flows."""
    if not settings:
        return element("p", "none", class_="note")
    pairs = (element("div", element("dt", name), element("dd", spoken(value))) for name, value in settings.items())
    return element("dl", *pairs, class_="chips")


def spoken(value: Any) -> str:
    """A setting's value as a reader would write it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else value if isinstance(value, str) else json.dumps(value)


def facts(block: Block) -> str:
    """`5 seeds · 2.5M steps`, or the range where curves differ."""

    def span(values: set[str]) -> str:
        ordered = list(dict.fromkeys(sorted(values, key=lambda text: (len(text), text))))
        return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"

    seeds = span({str(len(curve.runs)) for curve in block.curves})
    totals = sorted({run.total for run in block.runs})
    long = steps(totals[0]) if len(totals) == 1 else f"{steps(totals[0])} to {steps(totals[-1])}"
    return " · ".join([f"{seeds} seed{'' if seeds == '1' else 's'}", f"{long} steps", f"learner {block.learner}"])


def command(run: Run) -> str:
    """What trains a run again, beside the old one."""
    again = f"runs/again/{run.folder.path.name}"
    words = ["sadapt", "train", "--config", str(run.folder.config), "--out", again]
    return shlex.join([*words, *(word for name in run.settings.get("imports", ()) for word in ("--import", name))])


def copied(text: str) -> Markup:
    """A command, with a button that copies it."""
    button = element("button", "copy", type="button", class_="copy")
    return element("div", element("code", text), button, class_="command")


def dot(curve: Curve) -> Markup:
    """A spot in the curve's colour, on either paper."""
    return element("i", class_="dot", style=_colours(curve))


def _colours(curve: Curve) -> str:
    return "".join(f"--{paper}:{colour};" for paper, colour in of_curve(curve.objective, curve.variant).items())


def _curves(block: Block, at: int) -> Markup:
    if not any(curve.begun for curve in block.curves):
        return element("p", "No run has written a row of metrics yet: there is nothing to draw.", class_="callout")
    buttons = [
        element("button", dot(curve), curve.name, type="button", aria_pressed="true", data_curve=str(number))
        for number, curve in enumerate(block.curves)
        if curve.begun
    ]
    panels = [
        element(
            "figure",
            element("figcaption", panel_title(block, column)),
            element("div", class_="plot", data_block=str(at), data_panel=str(number)),
            class_="panel",
        )
        for number, column in enumerate(columns_of(block))
    ]
    words = {"role": "group", "aria_label": "curves; press to hide or show", "data_block": str(at)}
    return joined([element("div", *buttons, class_="legend", **words), element("div", *panels, class_="panels")])


def _finals(block: Block) -> Markup:
    """Means over the last tenth of the training, with intervals over seeds."""
    columns = ["return", "entropy", *(["deaths"] if _any_deaths(block) else [])]
    adaptive = "alpha" in columns_of(block)
    rows = []
    for curve in block.curves:
        cells = [_over_seeds(curve.judged, column) for column in columns]
        if adaptive:
            cells.append(_over_seeds(curve.judged, "alpha") if OBJECTIVES[curve.objective].adaptive else MISSING)
        rows.append([joined([dot(curve), curve.name]), *cells, _seeds(curve)])
    heads = ["In the end", *columns, *(["share of S-Min"] if adaptive else []), "seeds"]
    return table(heads, rows, right=range(1, len(heads)))


def _seeds(curve: Curve) -> str:
    """How many seeds the numbers are of; `3 of 5` where some have not finished, `2 so far` where none has."""
    done = sum(run.state == FINISHED for run in curve.runs)
    if done == len(curve.runs):
        return str(done)
    return f"{done} of {len(curve.runs)}" if done else f"{len(curve.begun)} so far"


def _any_deaths(block: Block) -> bool:
    """Whether anybody dies more than once in a while."""
    return any(run.last("deaths") > RARE for run in block.runs)


def _over_seeds(runs: Sequence[Run], column: str) -> str:
    finals = np.array([run.last(column) for run in runs])
    finals = finals[np.isfinite(finals)]
    if not len(finals):
        return MISSING
    return ranged(*interval((finals,), lambda values: values.mean(axis=-1)))


def _films(films: Sequence[Film]) -> Markup:
    if not films:
        return NOTHING
    return element("div", *map(_film, films), class_="films")


def _film(film: Film) -> Markup:
    said = f"{film.curve.name}, seed {film.run.seed} ({film.name})"
    if film.kind.startswith("video"):
        address = as_url(film.kind, film.data)
        screen = element("video", src=address, aria_label=said, controls=True, muted=True, loop=True, playsinline=True)
    else:
        width, height = map(str, film.size)
        still = element("img", src=as_url("image/png", film.still), alt="", width=width, height=height)
        words = {"data_film": as_url(film.kind, film.data), "aria_label": f"play the film of {said}"}
        screen = element("button", still, type="button", class_="film", aria_pressed="false", **words)
    return element("figure", screen, element("figcaption", dot(film.curve), said))


def _settings(block: Block, common: Mapping[str, Any]) -> Markup:
    """What the curves differ in, and what they share here but not with other worlds."""
    plain = [flat(curve.runs[0].settings) for curve in block.curves]
    here = {name: value for name, value in agreed(plain).items() if name not in common}
    differing = [name for name in dict.fromkeys(name for each in plain for name in each) if _differs(name, plain)]
    parts: list[str] = []
    if differing:
        heads = ["Setting", *(joined([dot(curve), curve.name]) for curve in block.curves)]
        rows = [[name, *(spoken(each[name]) if name in each else MISSING for each in plain)] for name in differing]
        parts += [element("h4", "What differs between the curves"), table(heads, rows)]
    elif len(block.curves) > 1:
        parts.append(element("p", "The curves differ only in the agent.", class_="note"))
    if here:
        parts += [element("h4", "The same in all these runs"), chips(here)]
    return joined([*parts, _made_by(block)])


def _differs(name: str, settings: Sequence[Mapping[str, Any]]) -> bool:
    missing = object()
    return name not in TOLD and any(each.get(name, missing) != settings[0].get(name, missing) for each in settings)


def _made_by(block: Block) -> Markup:
    """The programs' versions and revisions that wrote the runs."""
    revisions = _distinct(str(run.record.get("revision") or "")[:10] for run in block.runs)
    programs = _distinct(str(run.record.get("version") or "") for run in block.runs)
    libraries = [run.record.get("versions") for run in block.runs]
    jax = _distinct(str(each.get("jax") or "") for each in libraries if isinstance(each, dict))
    told = [("sadapt", programs), ("JAX", jax), (counted(len(revisions), "revision"), revisions)]
    said = "; ".join(f"{name} {', '.join(values)}" for name, values in told if values)
    return element("p", f"Made with {said}.", class_="note") if said else NOTHING


def _distinct(values: Iterator[str]) -> list[str]:
    return [value for value in dict.fromkeys(values) if value]


def _commands(block: Block) -> Markup:
    """The commands that made the runs, and one per run that makes it again."""
    first = _distinct(str(run.record.get("command") or "") for run in block.runs)
    first = [each for each in first if each != "python"]
    parts: list[str] = []
    if first:
        parts += [element("h4", "As they were given"), *map(copied, first)]
    parts.append(element("h4", "Repeat the first seed of every curve, from its own settings"))
    parts += [copied(command(curve.runs[0])) for curve in block.curves]
    others = sum(len(curve.runs) - 1 for curve in block.curves)
    if others:
        said = "Other seeds have their own config.json; the table of runs lists their folders."
        parts.append(element("p", said, class_="note"))
    return joined(parts)


def _doubts(block: Block) -> Markup:
    """Warnings of the runs, each once."""
    told: dict[str, list[Run]] = {}
    for run in block.runs:
        for warning in run.warnings:
            told.setdefault(warning, []).append(run)
    rows = [
        element("li", warning, element("small", f" ({', '.join(run.folder.path.name for run in runs)})"))
        for warning, runs in told.items()
    ]
    return element("ul", *rows, class_="callout doubts") if rows else NOTHING
