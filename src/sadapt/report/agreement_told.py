"""The agreement of two sets of runs told: a table of agents, a summary, and a record."""

from __future__ import annotations

from typing import Any

from sadapt.output import Column
from sadapt.report.agreement import ARM, LEVEL, SMALL, Agreement, Comparison

COLUMNS = (
    Column("world", "world"),
    Column("agent", "agent", folds=True),
    Column("entropy", "entropy", right=True),
    Column("return", "return", right=True),
    Column("p", "p", right=True),
    Column("answer", "answer"),
    Column("seeds", "runs", right=True, spare=True),
    Column("arm", "on S-Min", right=True, spare=True),
)


def rows(found: Agreement) -> list[dict[str, str]]:
    """A row for each agent, those that differ first: `5.96, 5.97` are the means of the two sets."""
    agents: dict[tuple[str, str, str], dict[str, Comparison]] = {}
    for each in found.comparisons:
        agents.setdefault((each.world, each.agent, each.learner), {})[each.measure] = each
    told = []
    for (world, agent, learner), measures in agents.items():
        differing = [name for name, each in measures.items() if each.differs]
        told.append(
            {
                "world": world,
                "agent": agent if learner == "pqn" else f"{agent}, {learner}",
                "answer": f"differ: {', '.join(differing)}" if differing else "agree",
                "p": f"{min(each.corrected for each in measures.values()):.2g}",
                "seeds": ", ".join(map(str, next(iter(measures.values())).seeds)),
                **{name: _means(measures.get(name)) for name in ("entropy", "return", ARM)},
            }
        )
    return sorted(told, key=lambda each: each["answer"] == "agree")


def _means(each: Comparison | None) -> str:
    if each is None:
        return ""
    return ", ".join(f"{mean:.0%}" if each.measure == ARM else f"{mean:.4g}" for mean in each.means)


def summary(found: Agreement) -> str:
    """The answer in a paragraph, and how much it can be trusted."""
    count = len(found.comparisons)
    answer = (
        f"{len(found.differing)} of {count} comparisons differ" if found.differing else f"all {count} comparisons agree"
    )
    told = [
        f"{answer} (p < {LEVEL:g} after Holm's correction; differences under {SMALL:.0%} of a measure's range in a "
        "world do not count).",
        f"Half of them would have detected a difference of {found.noticeable:.1%} of it.",
    ]
    if found.pairs:
        told.append(
            f"Of {found.pairs} runs with the same settings and seed, {found.same} are the same in every number."
        )
    if found.lonely:
        told.append(f"Not compared, since there is only one run on either side: {found.lonely} settings.")
    if found.elsewhere:
        told.append(f"In one folder only: {found.elsewhere} settings.")
    return "\n".join(told)


def as_record(found: Agreement) -> dict[str, Any]:
    """For programs."""
    return {
        "agree": not found.differing,
        "noticeable": found.noticeable,
        "pairs": found.pairs,
        "same": found.same,
        "lonely": found.lonely,
        "elsewhere": found.elsewhere,
        "comparisons": [{**each._asdict(), "differs": each.differs} for each in found.comparisons],
    }
