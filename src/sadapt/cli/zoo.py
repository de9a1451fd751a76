"""The command `zoo`: the trained policies that come with the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sadapt.cli.common import Flag
from sadapt.zoo import Entry, entries


@dataclass(frozen=True)
class ZooCommand:
    """List the trained policies that come with the program; use zoo:NAME in place of a run.

    examples:
      sadapt watch zoo:tetris                      film one
      sadapt eval zoo:maze-small --arm s-max       play it in one direction
      sadapt train tetris --from zoo:tetris        start training from it
    """

    json: Flag = False
    """Print JSON instead of a table, with settings and every measure of the evaluations."""

    def run(self) -> None:
        from sadapt.output import Column, show, show_json

        found = entries()
        if self.json:
            return show_json([{**each._asdict(), "source": each.source} for each in found])
        number = lambda value: f"{value:.4g}"  # noqa: E731
        return show(
            [_row(each) for each in found],
            [
                Column("source", "policy"),
                Column("objective", "agent"),
                Column("arm", "arm"),
                Column("return", "return", number, right=True),
                Column("random_return", "random's", number, right=True),
                Column("entropy", "entropy", number, right=True),
                Column("random_entropy", "random's", number, right=True),
                Column("step", "steps", lambda steps: f"{steps:,}", right=True, spare=True),
                Column("learner", "learner", spare=True),
                Column("bytes", "KB", lambda size: f"{size / 1000:.0f}", right=True, spare=True),
            ],
        )


def _row(entry: Entry) -> dict[str, Any]:
    """A policy on the arm that it prefers."""
    played = entry.evaluations[entry.arm]
    told = {name: played["measures"][name]["mean"] for name in ("return", "entropy")}
    beside = {f"random_{name}": played["random"][name]["mean"] for name in ("return", "entropy")}
    return {**entry._asdict(), "source": entry.source, **told, **beside}
