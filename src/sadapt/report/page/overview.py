"""The top of the page: what is in the folder, and every world at a glance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from sadapt.motivation.objectives import OBJECTIVES
from sadapt.report.drawing import spoken_steps
from sadapt.report.page.elements import MISSING, NOTHING, Markup, counted, element, joined, number, table
from sadapt.report.page.gather import FINISHED, ORDER, Block, Broken, Curve, Run, Study
from sadapt.report.page.lines import shares

STRETCHES = 24
"""Of a strip that tells the arms over a training."""


def summary(study: Study) -> Markup:
    """Runs, worlds, agents and steps in one line, and how the runs stand."""
    worlds = {block.world for block in study.blocks}
    agents = {curve.objective for block in study.blocks for curve in block.curves}
    facts = [
        counted(len(study.runs), "run"),
        counted(len(worlds), "world"),
        counted(len(agents), "agent"),
        f"{steps(sum(run.step for run in study.runs))} steps",
    ]
    states = Counter(run.state for run in study.runs)
    pills = [element("li", f"{count:,} {state}", class_=f"pill {slug(state)}") for state, count in states.most_common()]
    if study.broken:
        pills.append(element("li", f"{len(study.broken):,} unreadable", class_="pill failed"))
    return joined([element("p", joined(facts, " · "), class_="facts"), element("ul", *pills, class_="pills")])


def glance(study: Study) -> Markup:
    """A row per world and learner: which arms S-Adapt has taken, and every agent's return in the end."""
    agents = [name for name in ORDER if any(_first(block, name) for block in study.blocks)]
    adaptive = [name for name in agents if OBJECTIVES[name].adaptive]
    heads = ["World", *(["Arms over the training"] if adaptive else []), *(OBJECTIVES[name].title for name in agents)]
    rows = [list(_row(study, at, agents, bool(adaptive))) for at in range(len(study.blocks))]
    first = 2 if adaptive else 1
    shown = table(heads, rows, right=range(first, len(heads)), kind="glance")
    return joined([element("p", *_words(bool(adaptive)), class_="note"), shown])


def progress(runs: Sequence[Run]) -> Markup:
    """How far runs have come that are not finished, as a bar; nothing if all are."""
    if all(run.state == FINISHED for run in runs):
        return NOTHING
    done = sum(min(run.step, run.total) for run in runs) / max(sum(run.total for run in runs), 1)
    said = f"{done:.0%} of the steps of {counted(len(runs), 'run')}"
    bar = element("progress", value=f"{done:.3f}", max="1", aria_label=said)
    return element("p", bar, " ", said, class_="progress")


def unreadable(broken: Sequence[Broken]) -> Markup:
    """What looks like a run and is none, with the reason."""
    if not broken:
        return NOTHING
    rows = [element("li", each.why) for each in broken]
    said = element("p", f"{counted(len(broken), 'folder')} left out that cannot be read:")
    return element("div", said, element("ul", *rows), class_="callout")


def steps(count: float) -> str:
    """`20k`, `1.5M`, `3.2G`, to three digits."""
    rounded = float(f"{count:.3g}")
    return f"{rounded / 1e9:g}G" if rounded >= 1e9 else spoken_steps(rounded, None)


def anchor(at: int) -> str:
    """Where a block stands on the page."""
    return f"world-{at}"


def title(study: Study, block: Block) -> Markup:
    """The world's name, and the learner's where several learned there."""
    several = sum(other.world == block.world for other in study.blocks) > 1
    tag = element("span", block.learner, class_="tag") if several else NOTHING
    return joined([block.world, tag], " ")


def slug(text: str) -> str:
    """Words as a class of the style sheet."""
    return "-".join("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())


def strip(curve: Curve) -> Markup:
    """The arms' shares over the planned training, from S-Max's colour to S-Min's."""
    found = shares(curve, STRETCHES)
    if all(share is None for share in found):
        return MISSING
    pieces = (element("i", style=f"background:{_shade(share)}") for share in found)
    last = next(share for share in reversed(found) if share is not None)
    said = f"in the end {last:.0%} of the episodes on S-Min"
    return element("span", *pieces, class_="strip", role="img", aria_label=said, title=said)


def _row(study: Study, at: int, agents: Sequence[str], adaptive: bool) -> Iterator[str]:
    block = study.blocks[at]
    yield element("a", title(study, block), href=f"#{anchor(at)}")
    if adaptive:
        chooser = next((curve for curve in block.curves if OBJECTIVES[curve.objective].adaptive), None)
        yield MISSING if chooser is None else strip(chooser)
    means = {name: _mean(curve) for name in agents if (curve := _first(block, name)) is not None}
    best = number(max((mean for mean in means.values() if np.isfinite(mean)), default=float("nan")))
    for name in agents:
        text = number(means.get(name, float("nan")))
        yield element("b", text) if text == best != MISSING and len(means) > 1 else text


def _words(adaptive: bool) -> Iterator[str]:
    """What the table shows."""
    yield "Return per episode over the last tenth of the training, mean over finished seeds; the highest is bold. "
    if adaptive:
        yield "The strip is the training from start to planned end: "
        yield element("span", "S-Max", class_="key s-max")
        yield " and "
        yield element("span", "S-Min", class_="key s-min")
        yield " where the bandit chose one arm, pale where it tried both."


def _first(block: Block, objective: str) -> Curve | None:
    """An agent's curve; of several the one with the most seeds."""
    return next((curve for curve in block.curves if curve.objective == objective), None)


def _mean(curve: Curve) -> float:
    finals = np.array([run.last("return") for run in curve.judged])
    return float(finals.mean()) if len(finals) else float("nan")


def _shade(share: float | None) -> str:
    if share is None:
        return "transparent"
    arm, much = ("s-min", 2 * share - 1) if share >= 0.5 else ("s-max", 1 - 2 * share)
    return f"color-mix(in oklab,var(--{arm}) {much:.0%},var(--between))"
