"""Claims told: as lines for a terminal, and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sadapt.experiments.claims import NO, UNCLEAR, UNKNOWN, YES, Claim, Finding, Verdict
from sadapt.report.statistics import Interval

INDENT = 12
"""Letters before what is told of a claim."""


def spoken(margin: Interval | None, sign: str = "") -> str:
    """`0.21 [0.18, 0.25]`."""
    if margin is None:
        return ""
    value, low, high = (f"{each:{sign}.3g}" for each in margin)
    return f"{value} [{low}, {high}]"


def seeds(claim: Claim) -> str:
    """`3 to 5 seeds`."""
    low, high = claim.seeds
    return f"{low} seed{'' if low == 1 else 's'}" if low == high else f"{low} to {high} seeds"


def where(claim: Claim) -> str:
    """`holds in 4 of 5 worlds`."""
    worlds = len(claim.verdicts)
    return f"holds in {claim.holds_in} of {worlds} world{'' if worlds == 1 else 's'}"


def found(verdict: Verdict, finding: Finding) -> str:
    """`butterflies-large: entropy of S-Min the lowest, to 10 % of the agents' range: 164, all agents 160 to 309`."""
    return ": ".join(part for part in (verdict.world, finding.what, finding.finds) if part)


def lines(claims: Sequence[Claim], width: int, *, checks: bool = False) -> Iterator[str]:
    """Every claim in a few lines: the answer, what the paper says, and the check that the answer hangs on; or all."""
    for claim in claims:
        yield f"{claim.id:4s} {claim.answer}: {where(claim)}, {seeds(claim)}"
        yield from _told("paper", claim.says, width)
        told = (
            [(verdict, finding) for verdict in claim.verdicts for finding in verdict.findings]
            if checks
            else [(claim.deciding, claim.deciding.deciding)]
        )
        for verdict, finding in told:
            yield from _told(finding.answer if checks else "here", found(verdict, finding), width)
            if finding.relative is not None:
                yield from _told("", f"margin {margin_told(finding)}", width)
        yield ""


def margin_told(finding: Finding) -> str:
    """`10.5 [9.78, 11.3], 7.1 % of the range; in 3 of 3 seeds`."""
    assert finding.relative is not None
    share = f", {finding.relative.value:.1%} {finding.scale.of}" if finding.scale.of else ""
    return f"{spoken(finding.margin, '+')}{share}; holds in {finding.held} of {finding.seeds} seeds"


def _told(word: str, text: str, width: int) -> list[str]:
    head = f"     {word:{INDENT - 5}s}"
    head = head if len(head) <= INDENT else f"{head} "
    return textwrap.wrap(text, max(width - 1, 40), initial_indent=head, subsequent_indent=" " * INDENT)


def tally(claims: Sequence[Claim]) -> list[str]:
    """`yes 15: E1 M1 ...`, a line for each answer that was given."""
    found = {answer: [claim.id for claim in claims if claim.answer == answer] for answer in (YES, NO, UNCLEAR, UNKNOWN)}
    return [f"{answer} {len(ids)}: {' '.join(ids)}" for answer, ids in found.items() if ids]


def glance(claims: Sequence[Claim]) -> str:
    """A table in Markdown, a row a claim: what the paper says, what we find, in how many seeds, by which margin."""
    rows = ["| claim | the paper says | here | seeds | deciding check | margin [95 %] |", "|---|---|---|---|---|---|"]
    for claim in claims:
        finding = claim.deciding.deciding
        answer = f"**{claim.answer}**, {claim.holds_in} of {len(claim.verdicts)}"
        held = seeds(claim).removesuffix("s").removesuffix(" seed")
        margin = "" if finding.relative is None else spoken(finding.margin)
        rows.append(_row(claim.id, claim.says, answer, held, found(claim.deciding, finding), margin))
    return "\n".join(rows) + "\n"


def markdown(claims: Sequence[Claim]) -> str:
    """Every check in every world."""
    head = ("claim", "world", "checked", "found", "margin [95 %]", "of range", "seeds that hold", "answer")
    rows = [_row(*head), "|---" * len(head) + "|"]
    for claim in claims:
        for verdict in claim.verdicts:
            for each in verdict.findings:
                share = "" if each.relative is None else f"{each.relative.value:.2g}"
                held = f"{each.seeds}" if each.answer == UNKNOWN else f"{each.held} of {each.seeds}"
                told = (each.what, each.finds, spoken(each.margin), share, held, each.answer)
                rows.append(_row(claim.id, verdict.world, *told))
    return "\n".join(rows) + "\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |"
