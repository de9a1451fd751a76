"""Following seasons, on runs made by hand: ten rows a season, the first row of each with the change in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from sadapt.report.seasons import followed, seasons_of
from sadapt.report.stored import Agent, Group

ROWS, SEASONS = 11, 8


@dataclass(frozen=True)
class Player:
    """Shares of S-Min in calm and wild seasons, rows until it has changed over, and its values in both."""

    calm: float
    wild: float
    late: int = 0
    values: tuple[float, float] = (1.0, 1.0)


def run(player: Player) -> dict[str, np.ndarray]:
    """Metrics of calm and wild seasons by turns; 100 steps a stretch."""
    columns: dict[str, list[float]] = {name: [] for name in ("season", "changes", "alpha", "pushed", "return")}
    for season in range(SEASONS):
        wild = season % 2
        for row in range(ROWS):
            here = (player.calm, player.wild)[wild if row > player.late else 1 - wild]
            columns["season"].append(50.0 if row == 0 else 100.0 * wild)
            columns["changes"].append(0.5 if row == 0 else 0.0)
            columns["alpha"].append(here)
            columns["pushed"].append(player.values[wild])
            columns["return"].append(-wild)
    return {name: np.array(values) for name, values in columns.items()} | {"length": np.full(ROWS * SEASONS, 100.0)}


def group(*players: Player, objective: str = "s-adapt", stream: bool = True) -> Group:
    made = [run(player) for player in players]
    return Group(
        agent=Agent("seasons", objective, "auto", "pqn"),
        total=1,
        folders=(),
        seeds=tuple(range(len(players))),
        columns={name: np.stack([each[name] for each in made]) for name in made[0]},
        settings={"motivation": {"stream": stream}},
    )


def test_the_last_five_seasons_count_without_the_rows_of_changes():
    columns = run(Player(0.0, 1.0))
    found = seasons_of(columns["season"] / columns["length"], columns["changes"])
    assert [each.number for each in found] == [1, 0, 1, 0, 1]
    assert [len(each.rows) for each in found] == [ROWS - 1] * 5
    assert found[0].rows[0] == 3 * ROWS + 1


def test_a_change_in_the_middle_of_unknown_rows_ends_a_season():
    season = np.array([0, 0, np.nan, 0.4, 1, 1, 1])
    changes = np.array([0, 0, 0, 1, 0, 0, 0])
    *_, last = seasons_of(season, changes)
    assert last.number == 1
    assert list(last.rows) == [4, 5, 6]


def test_who_is_always_right_and_who_always_wrong():
    right, wrong = followed({"right": group(Player(0.0, 1.0)), "wrong": group(Player(1.0, 0.0))})
    assert (right.right.value, right.recovery.value) == (1.0, 0.0)
    assert (wrong.right.value, wrong.recovery.value) == (0.0, 1.0)
    assert right.regret is None
    assert right.task == pytest.approx((0.0, -1.0))


def test_the_first_tenth_of_a_season_is_forgiven_and_no_more():
    soon, late = followed({"soon": group(Player(0.0, 1.0, late=1)), "late": group(Player(0.0, 1.0, late=3))})
    assert soon.right.value == 1.0
    assert soon.recovery.value == pytest.approx(0.1)
    assert late.right.value == pytest.approx(7 / 9)
    assert late.recovery.value == pytest.approx(0.3)


def test_regret_is_zero_for_the_oracle_and_one_for_the_worse_single_objective():
    groups = {
        "oracle": group(Player(0.0, 1.0, values=(2.0, 1.0))),
        "S-Max": group(Player(0.0, 0.0, values=(2.0, 0.0))),
        "S-Min": group(Player(1.0, 1.0, values=(0.5, 1.0))),
        "S-Adapt": group(Player(0.0, 1.0, values=(1.8, 0.9))),
    }
    found = {each.agent: each.regret.value for each in followed(groups) if each.regret is not None}
    assert found == pytest.approx({"oracle": 0.0, "S-Max": 2 / 3, "S-Min": 1.0, "S-Adapt": 0.2})


def test_who_has_no_arm_or_another_random_agent_has_no_value():
    groups = {
        "oracle": group(Player(0.0, 1.0, values=(2.0, 1.0))),
        "S-Max": group(Player(0.0, 0.0, values=(2.0, 0.0))),
        "S-Min": group(Player(1.0, 1.0, values=(0.5, 1.0))),
        "Extrinsic": group(Player(0.0, 0.0), objective="extrinsic"),
        "S-Adapt, episodes": group(Player(1.0, 1.0), stream=False),
    }
    *_, task, blind = followed(groups)
    assert (task.right, task.recovery, task.value, task.regret) == (None,) * 4
    assert (blind.value, blind.regret) == (None, None)
    assert blind.right is not None
    assert blind.right.value == 0.5
    assert task.task == blind.task == pytest.approx((0.0, -1.0))


def test_intervals_go_over_seeds():
    (found,) = followed({"some": group(Player(0.0, 1.0), Player(0.2, 0.8), Player(0.4, 0.6))})
    assert found.right.value == pytest.approx(0.8)
    assert found.right.low < 0.8 < found.right.high
    assert found.seeds == 3
