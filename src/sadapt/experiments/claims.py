"""The paper's claims as checks on stored runs: every check is a margin over seeds that must lie above 0.

`claims.toml` says what is compared with which threshold. A margin's 95 % bootstrap interval over seeds decides: yes if
all of it is at least 0, no otherwise; a claim with fewer seeds than it asks for is not answered.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from sadapt.errors import UserError
from sadapt.experiments.rules import RULES, Missing, Values
from sadapt.report.statistics import Interval
from sadapt.report.stored import Results

YES, NO, UNKNOWN = "yes", "no", "not enough runs"
SEEDS = 3
"""Seeds that a claim needs if it does not say."""


class Finding(NamedTuple):
    """A check in one world."""

    what: str
    answer: str
    margin: Interval | None
    seeds: int
    """Of the agent with the fewest."""

    def spoken(self) -> str:
        """`0.21 [0.18, 0.25]`."""
        if self.margin is None:
            return ""
        return f"{self.margin.value:.3g} [{self.margin.low:.3g}, {self.margin.high:.3g}]"


class Verdict(NamedTuple):
    """A claim in one world."""

    id: str
    world: str
    answer: str
    findings: tuple[Finding, ...]


class Claim(NamedTuple):
    """A claim in all its worlds."""

    id: str
    says: str
    answer: str
    verdicts: tuple[Verdict, ...]


def evaluate(results: Results, *, learner: str = "pqn", file: Path | None = None) -> list[Claim]:
    """Every claim of the file, on the runs of one learner."""
    claims = []
    for claim in _read(file):
        verdicts = [_verdict(claim, world, results, learner) for world in claim["worlds"]]
        claims.append(Claim(claim["id"], claim["says"], _overall([each.answer for each in verdicts]), tuple(verdicts)))
    return claims


def _read(file: Path | None) -> list[dict[str, Any]]:
    source = resources.files("sadapt.experiments") / "claims.toml" if file is None else file
    try:
        found: list[dict[str, Any]] = tomllib.loads(source.read_text(encoding="utf-8")).get("claim", [])
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{source} is not TOML: {error}") from error
    for claim in found:
        for check in claim.get("check", []):
            if check.get("rule") not in RULES:
                raise UserError(
                    f"{source}: claim {claim.get('id')!r} has no such rule as {check.get('rule')!r}; "
                    f"choose one of: {', '.join(RULES)}"
                )
    return found


def _verdict(claim: dict[str, Any], world: str, results: Results, learner: str) -> Verdict:
    findings: list[Finding] = []
    for check in claim["check"]:
        if world in check.get("worlds", claim["worlds"]):
            findings += _findings(check, Values(results, world, learner, int(claim.get("seeds", SEEDS))))
    return Verdict(claim["id"], world, _overall([each.answer for each in findings]), tuple(findings))


def _findings(check: dict[str, Any], of: Values) -> Iterator[Finding]:
    margins = RULES[check["rule"]](check, of)
    while True:
        try:
            margin = next(margins)
        except StopIteration:
            return
        except Missing as missing:
            yield Finding(f"{missing} has {missing.seeds} of {of.least} seeds", UNKNOWN, None, missing.seeds)
            return
        yield Finding(margin.what, YES if margin.found.low >= 0 else NO, margin.found, of.fewest)


def _overall(answers: Sequence[str]) -> str:
    """No if any part says no; else open if any part is; else yes."""
    if NO in answers:
        return NO
    return UNKNOWN if UNKNOWN in answers or not answers else YES


def as_records(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """One entry per claim and world, and one per claim with `world` "all" for its overall answer."""
    records: list[dict[str, Any]] = []
    for claim in claims:
        for verdict in claim.verdicts:
            checks = [
                {
                    "what": each.what,
                    "answer": each.answer,
                    "seeds": each.seeds,
                    "margin": None if each.margin is None else each.margin._asdict(),
                }
                for each in verdict.findings
            ]
            records.append({"id": claim.id, "world": verdict.world, "answer": verdict.answer, "checks": checks})
        records.append({"id": claim.id, "world": "all", "answer": claim.answer, "says": claim.says})
    return records


def markdown(claims: Sequence[Claim]) -> str:
    """Two tables: the answers, and the numbers behind them."""
    lines = ["| claim | answer | what the paper says |", "|---|---|---|"]
    lines += [f"| {claim.id} | **{claim.answer}** | {claim.says} |" for claim in claims]
    lines += ["", "| claim | world | answer | margin over seeds [95 %] | which must not be negative | seeds |"]
    lines += ["|---|---|---|---|---|---|"]
    for claim in claims:
        for verdict in claim.verdicts:
            for each in verdict.findings:
                what = each.what.replace("|", "\\|")
                cells = (claim.id, verdict.world, each.answer, each.spoken(), what, str(each.seeds))
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
