"""What adapting costs, on runs whose every number is known."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sadapt.cli import main
from sadapt.composite import all_changed
from sadapt.report.adaptation import measured
from sadapt.report.stored import load
from sadapt.runs import config
from sadapt.runs.folder import write_json
from sadapt.training.presets import preset

ROWS = 20


def store(root, objective, distance, alpha=None, seed=1, env="maze-small", pushed=None):
    """A run of 20 rows and 10 episodes a row whose entropy lies `distance(row)` above a random agent's of 5."""
    settings = all_changed(preset(env), {"objective": objective, "seed": seed, "total_timesteps": 100 * ROWS})
    folder = root / f"{env}-{objective}-{seed}"
    folder.mkdir(parents=True)
    write_json(folder / "config.json", {"settings": config.to_dict(settings)})
    lines = ["step,episodes,return,surprise,entropy,h_random,alpha" + ("" if pushed is None else ",pushed")]
    for row in range(1, ROWS + 1):
        share = "" if alpha is None else alpha(row)
        line = f"{100 * row},{10 * row},0,0,{5 + distance(row)},5,{share}"
        lines.append(line if pushed is None else f"{line},{pushed(row)}")
    (folder / "metrics.csv").write_text("\n".join(lines) + "\n")


def test_by_hand(tmp_path):
    """S-Max is at 4 from row 5 on, S-Min at -1; S-Adapt is on S-Min until row 5, at 4 from row 10 on.

    waste 5 / 20; area (11 * 4) / (16 * 4) = 0.6875; final 1; cost 1000 / 500.
    """
    store(tmp_path, "s-max", lambda row: 4 if row >= 5 else 0)
    store(tmp_path, "s-min", lambda row: -1)
    store(tmp_path, "s-adapt", lambda row: 4 if row >= 10 else 0, alpha=lambda row: 1 if row <= 5 else 0)
    (found,) = measured(load(tmp_path))
    assert (found.world, found.better, found.seeds) == ("maze-small", "s-max", 1)
    values = [each.value for each in (found.waste, found.area, found.final, found.cost)]
    assert values == pytest.approx([0.25, 0.6875, 1.0, 2.0])


def test_arms_that_take_turns_do_not_cancel_each_other(tmp_path):
    """Half of the episodes lie 4 above H_rand, half 4 below: all of them are as far away as S-Max's."""
    store(tmp_path, "s-max", lambda row: 4)
    store(tmp_path, "s-min", lambda row: -1)
    store(tmp_path, "s-adapt", lambda row: 0, alpha=lambda row: 0.5, pushed=lambda row: 0.8)
    (found,) = measured(load(tmp_path))
    assert (found.waste.value, found.area.value, found.cost.value) == pytest.approx((0.5, 1.0, 1.0))


def test_either_arm_is_right_where_both_end_within_a_tenth(tmp_path):
    store(tmp_path, "s-max", lambda row: 4.0)
    store(tmp_path, "s-min", lambda row: -3.8)
    store(tmp_path, "s-adapt", lambda row: -3.8, alpha=lambda row: 1)
    (found,) = measured(load(tmp_path))
    assert found.better == "either"
    assert found.waste.value == 0


def test_an_agent_that_never_arrives_costs_without_end(tmp_path, capsys):
    store(tmp_path, "s-max", lambda row: 1.0)
    store(tmp_path, "s-min", lambda row: -4.0)
    store(tmp_path, "s-adapt", lambda row: -2.0, alpha=lambda row: 0.5)
    (found,) = measured(load(tmp_path))
    assert np.isinf(found.cost.value)
    assert (found.waste.value, found.final.value) == (0.5, 0.5)
    assert main(["adaptation", str(tmp_path), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["cost"]["value"] is None
    assert told["waste"]["value"] == 0.5


def test_intervals_are_over_seeds(tmp_path):
    for seed, level in ((1, 3.0), (2, 4.0), (3, 5.0)):
        store(tmp_path, "s-max", lambda row: 4.0, seed=seed)
        store(tmp_path, "s-min", lambda row: 0.0, seed=seed)
        store(tmp_path, "s-adapt", lambda row, level=level: level, alpha=lambda row: 0, seed=seed)
    (found,) = measured(load(tmp_path))
    assert found.final.value == pytest.approx(1.0)
    assert 0.7 <= found.final.low < 0.9 < 1.1 < found.final.high <= 1.3


def test_worlds_without_all_three_are_refused_in_a_sentence(tmp_path, capsys):
    store(tmp_path, "s-adapt", lambda row: 1.0, alpha=lambda row: 0)
    assert main(["adaptation", str(tmp_path)]) == 2
    assert "no world with runs of s-adapt, s-min and s-max" in capsys.readouterr().err
