"""The paper's claims as checks on stored runs: every check is a margin over seeds that must lie above 0.

`claims.toml` says what is compared with which threshold. A margin's 95 % bootstrap interval over seeds decides: yes if
all of it is at least 0, no if all of it is below, and if it lies across 0 the runs cannot tell. A claim with fewer
seeds than it asks for is not answered.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from sadapt.errors import UserError
from sadapt.experiments.rules import ONE, RULES, Margin, Missing, Scale, Values, name
from sadapt.report.statistics import Interval
from sadapt.report.stored import Results

YES, NO, UNCLEAR, UNKNOWN = "yes", "no", "cannot tell", "not enough runs"
ANSWERS = (NO, UNKNOWN, UNCLEAR, YES)
"""The first of these that is among a claim's answers is the claim's."""
SEEDS = 3
"""Seeds that a claim needs if it does not say."""


class Finding(NamedTuple):
    """A check in one world."""

    what: str
    answer: str
    margin: Interval | None
    seeds: int
    """Of the agent with the fewest."""
    finds: str = ""
    """The values behind the margin."""
    scale: Scale = ONE
    held: int = 0
    """Seeds in which it holds, each by itself."""

    @property
    def relative(self) -> Interval | None:
        """The margin as a share of its scale."""
        return None if self.margin is None else Interval(*(each / self.scale.size for each in self.margin))


class Verdict(NamedTuple):
    """A claim in one world."""

    id: str
    world: str
    answer: str
    findings: tuple[Finding, ...]

    @property
    def deciding(self) -> Finding:
        """The check that the answer hangs on: of those with this answer, the one with the smallest margin."""
        alike = (each for each in self.findings if each.answer == self.answer)
        return min(alike, key=_clearance, default=Finding("nothing is checked here", UNKNOWN, None, 0))


class Claim(NamedTuple):
    """A claim in all its worlds."""

    id: str
    says: str
    answer: str
    verdicts: tuple[Verdict, ...]
    title: str = ""
    """What it says, in a few words."""

    @property
    def deciding(self) -> Verdict:
        """The world that the answer hangs on."""
        alike = (each for each in self.verdicts if each.answer == self.answer)
        return min(alike, key=lambda each: _clearance(each.deciding))

    @property
    def holds_in(self) -> int:
        """Worlds."""
        return sum(each.answer == YES for each in self.verdicts)

    @property
    def seeds(self) -> tuple[int, int]:
        """Fewest and most over its checks."""
        counts = [each.seeds for verdict in self.verdicts for each in verdict.findings]
        return min(counts, default=0), max(counts, default=0)


def _clearance(finding: Finding) -> float:
    """How far an interval's lower end is from saying no."""
    return 0.0 if finding.relative is None else finding.relative.low


def evaluate(results: Results, *, learner: str = "pqn", file: Path | None = None) -> list[Claim]:
    """Every claim of the file, on the runs of one learner."""
    claims = []
    alone = [
        results.of_seed(seed) for seed in sorted({seed for each in results.groups.values() for seed in each.seeds})
    ]
    for claim in _read(file):
        verdicts = [_verdict(claim, world, results, alone, learner) for world in claim["worlds"]]
        answer = _overall([each.answer for each in verdicts])
        claims.append(Claim(claim["id"], claim["says"], answer, tuple(verdicts), claim.get("title", claim["says"])))
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
                    f"{source}: claim {claim.get('id')!r} has an unknown rule {check.get('rule')!r}; "
                    f"choose one of: {', '.join(RULES)}"
                )
    return found


def _verdict(claim: dict[str, Any], world: str, results: Results, alone: Sequence[Results], learner: str) -> Verdict:
    findings: list[Finding] = []
    for check in claim["check"]:
        if world in check.get("worlds", claim["worlds"]):
            least = int(claim.get("seeds", SEEDS))
            findings += _findings(
                check, Values(results, world, learner, least), [Values(one, world, learner, 1) for one in alone]
            )
    return Verdict(claim["id"], world, _overall([each.answer for each in findings]), tuple(findings))


def _findings(check: dict[str, Any], of: Values, seeds: Sequence[Values]) -> Iterator[Finding]:
    """A check's margins, and in how many seeds each of them is good by itself."""
    by_seed = [list(_margins(check, one)) for one in seeds]
    for place, margin in enumerate(_margins(check, of)):
        if isinstance(margin, Missing):
            yield Finding(f"{name(str(margin))} has {margin.seeds} of {of.least} seeds", UNKNOWN, None, margin.seeds)
            continue
        single = [each[place] for each in by_seed if place < len(each)]
        held = sum(isinstance(each, Margin) and each.found.value >= 0 for each in single)
        found = margin.found
        answer = YES if found.low >= 0 else NO if found.high < 0 else UNCLEAR
        yield Finding(margin.what, answer, found, of.fewest, margin.finds, margin.scale, held)


def _margins(check: dict[str, Any], of: Values) -> Iterator[Margin | Missing]:
    """What a rule yields, up to the first agent that is missing."""
    try:
        yield from RULES[check["rule"]](check, of)
    except Missing as missing:
        yield missing


def _overall(answers: Sequence[str]) -> str:
    return next((each for each in ANSWERS if each in answers), UNKNOWN)


def as_records(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """One entry per claim and world, and one per claim with `world` "all": its answer and what it hangs on."""
    records: list[dict[str, Any]] = []
    for claim in claims:
        for verdict in claim.verdicts:
            checks = [_record(each) for each in verdict.findings]
            records.append({"id": claim.id, "world": verdict.world, "answer": verdict.answer, "checks": checks})
        deciding = claim.deciding
        records.append(
            {
                "id": claim.id,
                "world": "all",
                "answer": claim.answer,
                "says": claim.says,
                "holds_in": claim.holds_in,
                "worlds": len(claim.verdicts),
                "deciding": {"world": deciding.world, **_record(deciding.deciding)},
            }
        )
    return records


def _record(finding: Finding) -> dict[str, Any]:
    margin, relative = finding.margin, finding.relative
    return {
        "what": finding.what,
        "finds": finding.finds,
        "answer": finding.answer,
        "seeds": finding.seeds,
        "held": finding.held,
        "margin": None if margin is None else margin._asdict(),
        "relative": None if relative is None else relative._asdict(),
    }
