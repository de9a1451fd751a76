"""What the runs bear out: the paper's claims, and what adapting costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sadapt.report.adaptation import Adaptation
from sadapt.report.page.elements import NOTHING, Markup, counted, element, folded, hundredths, joined, ranged, table
from sadapt.report.page.overview import slug

UNKNOWN = "not enough runs"
MEASURES = {
    "waste": "share of S-Adapt's episodes on the other arm",
    "area": "mean distance from a random agent's entropy over the run, relative to the better single objective's",
    "final": "the same distance over the last tenth",
    "cost": "steps to nine tenths of the better one's final distance, relative to its own",
}
Record = Mapping[str, Any]
"""A claim in one world, or in all of them, as `sadapt claims --json` prints it."""


def claims(records: Sequence[Record]) -> Markup:
    """Every claim with its answer; the margins behind it when it is opened. Those without runs come last, folded."""
    overall = [each for each in records if "says" in each]
    behind: dict[str, list[Record]] = {}
    for each in records:
        if "says" not in each:
            behind.setdefault(str(each["id"]), []).append(each)
    counts = Counter(str(each["answer"]) for each in overall)
    pills = [element("li", f"{count} {answer}", class_=f"pill {slug(answer)}") for answer, count in counts.items()]
    known = [_claim(each, behind.get(str(each["id"]), ())) for each in overall if each["answer"] != UNKNOWN]
    unknown = [_claim(each, behind.get(str(each["id"]), ())) for each in overall if each["answer"] == UNKNOWN]
    rest = folded(f"{counted(len(unknown), 'claim')} without enough runs", *unknown) if unknown else NOTHING
    return joined([element("ul", *pills, class_="pills"), element("div", *known, class_="claims"), rest])


def answered(records: Sequence[Record]) -> bool:
    """Whether any claim can be judged at all."""
    return any(each["answer"] != UNKNOWN for each in records if "says" in each)


def adaptation(found: Sequence[Adaptation]) -> Markup:
    """A row per world; what the columns mean stands below."""
    rows = []
    for each in found:
        measures = [ranged(*getattr(each, name), spoken=hundredths) for name in MEASURES]
        rows.append([each.world, each.better, *measures, str(each.seeds)])
    meanings = [element("div", element("dt", name), element("dd", said)) for name, said in MEASURES.items()]
    return joined(
        [
            table(["World", "better arm", *MEASURES, "seeds"], rows, right=range(2, 7)),
            element("dl", *meanings, class_="meanings"),
        ]
    )


def _claim(claim: Record, worlds: Sequence[Record]) -> Markup:
    said = joined(
        [
            element("span", str(claim["id"]), class_="id"),
            element("span", str(claim["answer"]), class_=f"pill {slug(str(claim['answer']))}"),
            element("span", str(claim["says"]), class_="says"),
        ]
    )
    rows = [
        [str(each["world"]), str(check["what"]), _margin(check), _answer(check), str(check.get("seeds", ""))]
        for each in worlds
        for check in each.get("checks", ())
    ]
    heads = ["World", "margin that must not be negative", "margin, 95 %", "answer", "seeds"]
    return element("details", element("summary", said), table(heads, rows, right=(2, 4)), class_="claim")


def _margin(check: Record) -> str:
    margin = check.get("margin")
    return ranged(margin["value"], margin["low"], margin["high"]) if margin else ""


def _answer(check: Record) -> Markup:
    return element("span", str(check["answer"]), class_=f"pill {slug(str(check['answer']))}")
