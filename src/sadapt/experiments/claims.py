"""The paper's claims as checks on stored runs: every check is a margin over seeds that must lie above 0.

`claims.toml` says what is compared with which threshold. A margin's 95 % bootstrap interval over seeds decides: yes if
all of it is at least 0, no otherwise; a claim with fewer seeds than it asks for is not answered.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sadapt.errors import UserError
from sadapt.report.statistics import Interval, interval
from sadapt.report.stored import Results

YES, NO, UNKNOWN = "yes", "no", "not enough runs"
SEEDS = 3
"""Seeds that a claim needs if it does not say."""
AGENTS = ("s-adapt", "s-max", "s-min", "extrinsic", "random")


class Margin(NamedTuple):
    """A check as a number that must not be negative."""

    what: str
    samples: tuple[np.ndarray, ...]
    statistic: Callable[..., Any]


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


class Missing(Exception):
    """An agent that a check needs has no runs, or too few."""

    def __init__(self, agent: str, seeds: int) -> None:
        super().__init__(agent)
        self.seeds = seeds


class Values:
    """The final values of a world's agents, one number a seed."""

    def __init__(self, results: Results, world: str, learner: str, seeds: int) -> None:
        self.results, self.world, self.learner, self.least = results, world, learner, seeds
        self.fewest = 1_000

    def __call__(self, agent: str, column: str) -> np.ndarray:
        objective, _, marginal = agent.partition(" ")
        group = self.results.get(self.world, objective, marginal=marginal or "auto", learner=self.learner)
        seeds = 0 if group is None else len(group.seeds)
        self.fewest = min(self.fewest, seeds)
        if group is None or seeds < self.least:
            raise Missing(agent, seeds)
        values = group.final(column)
        if not np.isfinite(values).all():
            raise Missing(agent, 0)
        return values


Rule = Callable[[dict[str, Any], Values], Iterator[Margin]]


def _value(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """x - at_least, or at_most - x."""
    for agent in check["agents"]:
        column, samples = check["column"], (of(agent, check["column"]),)
        if "at_least" in check:
            least = float(check["at_least"])
            yield Margin(f"{agent}: {column} - {least:g}", samples, lambda x, bar=least: _mean(x) - bar)
        else:
            most = float(check["at_most"])
            yield Margin(f"{agent}: {most:g} - {column}", samples, lambda x, bar=most: bar - _mean(x))


def _below(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """other - x."""
    column, agent, other = check["column"], check["agent"], check["than"]
    samples = (of(agent, column), of(other, column))
    yield Margin(f"{column} of {other} - of {agent}", samples, lambda x, y: _mean(y) - _mean(x))


def _par(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """x - other + tolerance |other - random|."""
    column, other, share = check["column"], check["than"], float(check["tolerance"])
    for agent in check["agents"]:
        samples = (of(agent, column), of(other, column), of("random", column))
        yield Margin(
            f"{column} of {agent} - of {other} + {share:g} |{other} - random|",
            samples,
            lambda x, y, r: _mean(x) - _mean(y) + share * np.abs(_mean(y) - _mean(r)),
        )


def _close(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """tolerance |other| - |x - other|."""
    column, agent, other, share = check["column"], check["agent"], check["than"], float(check["tolerance"])
    samples = (of(agent, column), of(other, column))
    yield Margin(
        f"{share:g} {column} of {other} - |{agent} - {other}|",
        samples,
        lambda x, y: share * np.abs(_mean(y)) - np.abs(_mean(x) - _mean(y)),
    )


def _extreme(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """tolerance (max - min over agents) - distance of x from the end."""
    column, agent, share, end = check["column"], check["agent"], float(check["tolerance"]), check["end"]
    samples = tuple(of(each, column) for each in AGENTS)
    place = AGENTS.index(agent)

    def statistic(*drawn: np.ndarray) -> Any:
        means = np.stack([_mean(each) for each in drawn])
        low, high = means.min(axis=0), means.max(axis=0)
        away = means[place] - low if end == "lowest" else high - means[place]
        return share * (high - low) - away

    yield Margin(f"{share:g} range - distance of {agent} from the {end} {column}", samples, statistic)


def _further(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """|x - random| - |other - random| of the final entropies."""
    agent, other = check["agent"], check["than"]
    samples = tuple(of(each, "entropy") for each in (agent, other, "random"))
    yield Margin(f"|H {agent} - H random| - |H {other} - H random|", samples, _lead)


def _equally_far(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """factor - the larger of the two distances over the smaller."""
    agent, other, factor = check["agent"], check["than"], float(check["factor"])
    samples = tuple(of(each, "entropy") for each in (agent, other, "random"))

    def statistic(x: np.ndarray, y: np.ndarray, r: np.ndarray) -> Any:
        far, near = np.abs(_mean(x) - _mean(r)), np.abs(_mean(y) - _mean(r))
        return factor - np.maximum(far, near) / np.maximum(np.minimum(far, near), 1e-9)

    yield Margin(f"{factor:g} - ratio of the distances of {agent} and {other} from random", samples, statistic)


def _follows(check: dict[str, Any], of: Values) -> Iterator[Margin]:
    """Share of the better arm's episodes - 1/2; nothing to show where the arms are as good as equal."""
    up, down, random = (of(each, "entropy") for each in ("s-max", "s-min", "random"))
    far, near = abs(_mean(up) - _mean(random)), abs(_mean(down) - _mean(random))
    shares = of("s-adapt", "alpha")
    if max(far, near) <= float(check["tolerance"]) * min(far, near):
        yield Margin("arms are equal: either is right", (shares,), lambda x: np.ones_like(_mean(x)))
    elif far > near:
        yield Margin("S-Max moves entropy further: share of S-Max - 0.5", (shares,), lambda x: 0.5 - _mean(x))
    else:
        yield Margin("S-Min moves entropy further: share of S-Min - 0.5", (shares,), lambda x: _mean(x) - 0.5)


def _mean(values: np.ndarray) -> Any:
    return values.mean(axis=-1)


def _lead(x: np.ndarray, y: np.ndarray, r: np.ndarray) -> Any:
    return np.abs(_mean(x) - _mean(r)) - np.abs(_mean(y) - _mean(r))


RULES: dict[str, Rule] = {
    "value": _value,
    "below": _below,
    "par": _par,
    "close": _close,
    "extreme": _extreme,
    "further": _further,
    "equally far": _equally_far,
    "follows": _follows,
}


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
        found = interval(margin.samples, margin.statistic)
        yield Finding(margin.what, YES if found.low >= 0 else NO, found, of.fewest)


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
