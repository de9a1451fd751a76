"""All claims at a glance: a row each, in it every world's margin and interval against the threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from sadapt.experiments.claims import NO, UNCLEAR, UNKNOWN, YES, Claim, evaluate
from sadapt.experiments.claims_told import seeds
from sadapt.report.drawing import PAGE, Look
from sadapt.report.figures import Figure

LINEAR = 0.02
"""Margins smaller than this are drawn on a linear scale, larger ones on a logarithmic."""
EDGE = 1.6
"""Margins beyond this are drawn here."""
TICKS = (-1, -0.3, -0.1, -0.03, 0, 0.03, 0.1, 0.3, 1)
ROW = 0.235
"""Inches of a claim's height."""
LOOKS: dict[str, dict[str, Any]] = {
    YES: {"color": "#0072B2", "marker": "o", "markersize": 3.5},
    NO: {"color": "#D55E00", "marker": "X", "markersize": 5},
    UNCLEAR: {"color": "#777777", "marker": "D", "markersize": 4, "markerfacecolor": "white"},
}
NAMES = {YES: "holds in a world", NO: "does not", UNCLEAR: "the runs cannot tell"}


def picture(claims: list[Claim]) -> Any:
    """Claims from top to bottom; right of the line they hold."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(PAGE, ROW * len(claims) + 0.75), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("symlog", linthresh=LINEAR, linscale=0.5)
    axes.axvspan(-EDGE, 0, color="#D55E00", alpha=0.08, linewidth=0)
    axes.axvline(0, color="black", linewidth=0.8)
    for row, claim in enumerate(claims):
        _draw(axes, claim, row)
    side = axes.secondary_yaxis("right")
    side.set_yticks(range(len(claims)), [_answer(claim) for claim in claims])
    for label, claim in zip(side.get_yticklabels(), claims, strict=True):
        label.set_color(LOOKS.get(claim.answer, {"color": "#777777"})["color"])
    axes.set_yticks(range(len(claims)), [f"{claim.title}  {claim.id:>3s}" for claim in claims])
    axes.set(xlim=(-EDGE, EDGE), ylim=(len(claims) - 0.5, -0.5))
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("margin over the threshold, as a share of the agents' range in that world, with its 95 % interval")
    for each in (axes, side):
        each.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    side.spines["right"].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.4)
    axes.set_axisbelow(True)
    handles = [axes.plot([], [], linewidth=1, label=NAMES[answer], **look)[0] for answer, look in LOOKS.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, frameon=False)
    return figure


def _draw(axes: Any, claim: Claim, row: int) -> None:
    """A claim's worlds, a little below each other: the check that each hangs on."""
    count = len(claim.verdicts)
    for place, verdict in enumerate(claim.verdicts):
        finding = verdict.deciding
        if finding.relative is None:
            continue
        value, low, high = np.clip(np.nan_to_num(finding.relative, nan=0.0), -EDGE, EDGE)
        height = row + (0.0 if count == 1 else 0.6 * (place / (count - 1) - 0.5))
        look = LOOKS[finding.answer]
        axes.plot([low, high], [height, height], color=look["color"], linewidth=1.2, solid_capstyle="butt")
        axes.plot(value, height, markeredgewidth=0.6, linestyle="", **look)


def _answer(claim: Claim) -> str:
    """`yes  5 of 5 worlds, 3 to 5 seeds`."""
    if claim.answer == UNKNOWN:
        return UNKNOWN
    worlds = len(claim.verdicts)
    count = f"{claim.holds_in} of {worlds} world{'' if worlds == 1 else 's'}"
    return f"{claim.answer}: {count}, {seeds(claim)}"


def _drawn(look: Look) -> Any:
    claims = evaluate(look.results, learner=look.learner)
    return None if all(claim.answer == UNKNOWN for claim in claims) else picture(claims)


GLANCE = Figure(
    "All claims at a glance",
    "Each mark is a world, at its deciding check: right of the line the claim holds there, left of it it does not, "
    "and where the interval over seeds crosses the line the runs cannot tell.",
    _drawn,
)
