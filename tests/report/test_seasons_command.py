"""`sadapt seasons`: a table, JSON and a picture of stored runs, and what it says where there are none."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sadapt.cli import main
from sadapt.composite import all_changed
from sadapt.report.seasons_picture import last_changes
from sadapt.runs import config
from sadapt.runs.folder import write_json
from sadapt.training.presets import preset

COLUMNS = "step,episodes,length,entropy,h_random,surprise,surprise_random,return,alpha,pushed,season,changes"


def store(root, objective, seed, alpha, stream=True):
    """Six seasons of ten rows, the first of each with the change in it; `alpha(wild)` is the share of S-Min."""
    wanted = {"objective": objective, "seed": seed, "total_timesteps": 600, "stream": stream}
    folder = root / f"{objective}-{stream}-{seed}"
    folder.mkdir(parents=True)
    settings = all_changed(preset("seasons", stream=stream), wanted)
    write_json(folder / "config.json", {"settings": config.to_dict(settings)})
    lines = [COLUMNS]
    for row in range(60):
        wild, change = row // 10 % 2, row % 10 == 0
        share = "" if alpha is None else alpha(wild)
        lines.append(f"{10 * (row + 1)},{row},50,5,6,{5 + wild},6,-{wild},{share},0.5,{50 * wild},{int(change)}")
    (folder / "metrics.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture
def results(tmp_path):
    store(tmp_path, "s-adapt", 1, lambda wild: wild)
    store(tmp_path, "s-adapt", 2, lambda wild: 0.5)
    store(tmp_path, "s-adapt", 1, lambda wild: 1, stream=False)
    store(tmp_path, "s-min", 1, None)
    return tmp_path


def test_agents_by_name(results, capsys):
    assert main(["seasons", str(results), "--json"]) == 0
    found = {row["agent"]: row for row in json.loads(capsys.readouterr().out)}
    assert set(found) == {"S-Adapt", "S-Adapt, episodes", "S-Min"}
    assert found["S-Adapt"]["right"]["value"] == pytest.approx(0.75)
    assert found["S-Adapt, episodes"]["right"]["value"] == pytest.approx(0.5)
    assert found["S-Min"]["right"]["value"] == pytest.approx(0.5)
    assert found["S-Adapt"]["regret"] is None


def test_a_table_and_a_picture(results, capsys):
    out = results / "changes.png"
    assert main(["seasons", str(results), "--figure", str(out)]) == 0
    assert "S-Adapt, episodes" in capsys.readouterr().out
    assert out.stat().st_size > 5_000


def test_no_runs_with_seasons(tmp_path, capsys):
    assert main(["seasons", str(tmp_path)]) == 2
    assert "holds no runs" in capsys.readouterr().err


def test_the_last_changes_begin_just_before_the_first_of_them():
    changes = np.zeros(40)
    changes[[5, 10, 11, 20, 30]] = 1
    assert last_changes(changes, 2) == slice(18, 40)
    assert last_changes(changes, 3) == slice(8, 40)
    assert last_changes(changes, 9) == slice(0, 40)
