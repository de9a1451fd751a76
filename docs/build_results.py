"""Fills the tables and captions of docs/results.md and docs/streams.md from stored runs.

python docs/build_results.py [RESULTS]

`sadapt figures results` draws the pictures of the first page. Studies beside the paper's are in studies/.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

from sadapt.experiments.claims import evaluate
from sadapt.experiments.claims_picture import GLANCE
from sadapt.experiments.claims_told import glance, markdown, tally
from sadapt.experiments.sweep import account
from sadapt.motivation.objectives import OBJECTIVES
from sadapt.registry import import_modules
from sadapt.report.adaptation import measured
from sadapt.report.figures import FIGURES, Figure
from sadapt.report.naming import labels
from sadapt.report.seasons import by_agent, followed
from sadapt.report.seasons_picture import draw
from sadapt.report.stored import Group, Results, load
from sadapt.report.table import costs

HERE = Path(__file__).parent
COLUMNS = {"return": "return", "deaths": "deaths", "entropy": "final entropy", "alpha": "share of S-Min"}


def finals(results: Results, learner: str) -> str:
    """The last tenth of every agent's runs, each variant by itself: mean and standard deviation over seeds."""
    lines = ["| world | agent | seeds | steps | H_rand | " + " | ".join(COLUMNS.values()) + " |"]
    lines.append("|---|---|" + "---:|" * (3 + len(COLUMNS)))
    for agent, group in sorted(results.groups.items(), key=_order):
        if agent.learner != learner:
            continue
        variants = results.variants(group)
        for each, title in zip(variants, labels([one.settings for one in variants]), strict=True):
            marginal = ", Gaussian" if agent.marginal == "gaussian" else ""
            random = f"{np.nanmean(each.columns['h_random']):.4g}"
            cells = [agent.env, title + marginal, str(len(each.seeds)), f"{each.total / 1e6:.1f}M", random]
            lines.append(f"| {' | '.join([*cells, *(_spoken(each, column) for column in COLUMNS)])} |")
    return "\n".join(lines) + "\n"


def _order(entry: tuple) -> tuple:
    agent = entry[0]
    return agent.env, list(OBJECTIVES).index(agent.objective), agent.marginal


def _spoken(group: Group, column: str) -> str:
    if column == "deaths" and not np.nansum(group.columns.get("deaths", np.zeros(1))):
        return ""
    values = group.final(column) if column in group.columns else np.array([np.nan])
    return f"{values.mean():.3g} ± {values.std():.2g}" if np.isfinite(values).all() else ""


def adaptation(results: Results) -> str:
    """What adapting costs, world by world."""
    names = ("waste", "area", "final", "cost")
    lines = [f"| world | better arm | {' | '.join(names)} | seeds |", f"|---|---|{'---:|' * (len(names) + 1)}"]
    for each in measured(results):
        cells = [str(getattr(each, name)) for name in names]
        lines.append(f"| {each.world} | {each.better} | {' | '.join(cells)} | {each.seeds} |")
    return "\n".join(lines) + "\n"


def pictures(folder: Path) -> str:
    """Every figure that has been drawn, with what to see in it."""
    shown = [_picture(name, each) for name, each in FIGURES.items() if (folder / "figures" / f"{name}.png").is_file()]
    missing = [name for name in FIGURES if not (folder / "figures" / f"{name}.png").is_file()]
    return "\n".join(shown) + (f"\nWithout runs as yet: {', '.join(missing)}.\n" if missing else "")


def _picture(name: str, figure: Figure) -> str:
    head = "" if figure is GLANCE else f"**{name}: {figure.title}.** "
    return f"![{name}: {figure.title}](../results/figures/{name}.png)\n\n{head}{figure.caption}\n"


def pretraining(results: Results) -> str:
    """The task learned anew and from S-Adapt's policy: mean and standard deviation of the return over seeds."""
    spans = {"first quarter": (0.0, 0.25), "whole run": (0.0, 1.0), "last tenth": (0.9, 1.0)}
    lines = [f"| world | exploration falls over | network | {' | '.join(spans)} | seeds |"]
    lines.append("|---|---:|---|" + "---:|" * (len(spans) + 1))
    for group in sorted(results.all_groups(), key=_beginning):
        world, falls, source = _beginning(group)
        cells = [world, f"{falls:g}", f"`{source}`" if source else "new"]
        cells += [_between(group, *span) for span in spans.values()]
        lines.append(f"| {' | '.join(cells)} | {len(group.seeds)} |")
    return "\n".join(lines) + "\n"


def _beginning(group: Group) -> tuple[str, float, str]:
    settings = group.settings
    return group.agent.env, settings["learner"]["exploration_fraction"], settings["start_from"] or ""


def _between(group: Group, low: float, high: float) -> str:
    """The mean return of that part of the run, over seeds."""
    steps = group.columns["step"][0] / group.total
    values = np.nanmean(group.columns["return"][:, (steps > low) & (steps <= high)], axis=1)
    return f"{values.mean():.3g} ± {values.std():.2g}"


def seasons(results: Results) -> str:
    """How well agents follow a world whose season changes, with 95% intervals over seeds."""
    names = {"right": "right arm", "recovery": "recovery, of a season", "value": "value", "regret": "regret"}
    lines = [f"| agent | {' | '.join(names.values())} | task in 100 steps: calm, wild | seeds |"]
    lines.append(f"|---|{'---:|' * (len(names) + 2)}")
    for each in followed(by_agent(results)):
        cells = ["" if (found := getattr(each, name)) is None else str(found) for name in names]
        task = ", ".join(f"{value:.2f}" for value in each.task)
        lines.append(f"| {each.agent} | {' | '.join(cells)} | {task} | {each.seeds} |")
    return "\n".join(lines) + "\n"


def streams(alone: Results, episodic: Results) -> str:
    """The share of S-Min in the last tenth of S-Adapt's runs, without episodes and with them."""
    lines = ["| world | steps | share of S-Min, stream | share of S-Min, episodes | seeds of each |"]
    lines.append("|---|---:|---:|---:|---|")
    for agent, group in sorted(alone.groups.items(), key=_order):
        other = episodic.groups[agent]
        shares = " | ".join(_spoken(each, "alpha") for each in (group, other))
        lines.append(f"| {agent.env} | {group.total / 1e6:.1f}M | {shares} | {len(group.seeds)}, {len(other.seeds)} |")
    return "\n".join(lines) + "\n"


def hours(results: Results) -> str:
    """What the stored runs took by their own account, world by world."""
    lines = ["| world | learner | runs | steps | core-hours |", "|---|---|---:|---:|---:|"]
    found = costs(results)
    lines += [
        f"| {each.world} | {each.learner} | {each.runs} | {each.steps / 1e6:.1f}M | {each.core_hours:.2f} |"
        for each in found
    ]
    runs, steps, total = (sum(getattr(each, name) for each in found) for name in ("runs", "steps", "core_hours"))
    lines.append(f"| all | | {runs} | {steps / 1e6:.1f}M | {total:.2f} |")
    return "\n".join(lines) + "\n"


def sweeps(folder: Path) -> str:
    """What every call of `sadapt sweep` took, as it wrote it down itself."""
    lines = ["| command | began | runs | failed | wall | core-hours |", "|---|---|---:|---:|---:|---:|"]
    wall = core = 0.0
    for entry in account(folder):
        wall, core = wall + entry["wall_seconds"], core + entry["core_seconds"]
        lines.append(
            f"| `{entry['command']}` | {entry['began']} | {entry['finished']} | {entry['failed']} | "
            f"{entry['wall_seconds'] / 60:.0f} min | {entry['core_seconds'] / 3600:.2f} |"
        )
    lines.append(f"| all | | | | {wall / 60:.0f} min | {core / 3600:.2f} |")
    return "\n".join(lines) + "\n"


def fill(page: Path, blocks: dict[str, str]) -> None:
    """Writes every block into its place on the page."""
    text = page.read_text(encoding="utf-8")
    for name, block in blocks.items():
        place = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, found = place.subn(lambda found, block=block: found[1] + block + found[2], text)
        if found != 1:
            raise SystemExit(f"{page} needs one place <!-- {name} --> ... <!-- end -->; it has {found}")
    page.write_text(text, encoding="utf-8")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "results"
    results, studies = load(folder), HERE.parent / "studies"
    claims = evaluate(results)
    fill(
        HERE / "results.md",
        {
            "glance": f"{'; '.join(tally(claims))}.\n\n{_picture('claims', GLANCE)}\n{glance(claims)}",
            "claims": markdown(claims),
            "adaptation": adaptation(results),
            "figures": pictures(folder),
            "finals": finals(results, "pqn"),
            "dqn": finals(results, "dqn"),
            "pretraining": pretraining(load(studies / "pretraining")),
            "hours": hours(results),
            "sweeps": sweeps(folder),
        },
    )
    sys.path.insert(0, str(HERE.parent / "examples"))
    import_modules(["oracle"])
    followers = load(studies / "seasons")
    alone = load(studies / "streams")
    fill(HERE / "streams.md", {"seasons": seasons(followers), "streams": streams(alone, results)})
    draw(by_agent(followers), HERE / "pictures" / "seasons-changes.png")


if __name__ == "__main__":
    main()
