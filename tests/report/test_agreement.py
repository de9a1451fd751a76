"""Two sets of runs beside each other: what is a difference, what is chance, and how the command says so."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from sadapt.cli import main
from sadapt.report.agreement import compare, fisher_test, holm, t_test
from sadapt.report.stored import Agent, Group, Results
from tests.report.test_figures import store

STEPS = np.arange(1, 11) * 100.0


def group(world, finals, *, first=1, alpha=None, settings=None):
    """Runs whose entropy rises from 0 to 10 and stays at its final value in the last row, the last tenth."""
    columns = {"step": np.tile(STEPS, (len(finals), 1))}
    columns["entropy"] = np.tile(np.linspace(0.0, 10.0, 10), (len(finals), 1))
    columns["entropy"][:, -1] = finals
    columns["alpha"] = np.full_like(columns["step"], np.nan if alpha is None else 0.0)
    if alpha is not None:
        columns["alpha"][:, -1] = alpha
    agent = Agent(world, "s-adapt", "auto", "pqn")
    seeds = tuple(range(first, first + len(finals)))
    return Group(agent, 1000, (), seeds, columns, {"env": world, "objective": "s-adapt", **(settings or {})})


def results(*groups):
    return Results({each.agent: each for each in groups}, (), ())


def test_the_t_test_is_students():
    x, y = np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.5])
    assert t_test(x, y) == pytest.approx(stats.ttest_ind(x, y).pvalue)


def test_small_differences_do_not_count_and_runs_without_chance_are_told_apart():
    ones = np.ones(3)
    assert t_test(ones, ones) == 1.0
    assert t_test(ones, ones - 0.005, tolerance=0.01) == 1.0
    assert t_test(ones, ones - 0.5, tolerance=0.01) == 0.0


def test_arms_are_counted():
    """Three of three against none of three: 2 of the 20 ways to deal them out are so extreme."""
    assert fisher_test(np.ones(3), np.zeros(3)) == pytest.approx(2 / 20)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_false_alarms_are_as_rare_as_they_should_be():
    """400 pairs of studies of one source, 20 worlds each, 2 against 3 seeds: about one in twenty may differ."""
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(400):
        ours = results(*(group(f"w{world}", rng.normal(5, 1, 2)) for world in range(20)))
        theirs = results(*(group(f"w{world}", rng.normal(5, 1, 3), first=3) for world in range(20)))
        alarms += bool(compare(ours, theirs).differing)
    assert alarms <= 32


def test_a_real_difference_in_one_world_of_many_is_found():
    rng = np.random.default_rng(2)
    ours = results(*(group(f"w{world}", rng.normal(5, 0.1, 5)) for world in range(20)))
    theirs = results(*(group(f"w{world}", rng.normal(5 + 2 * (world == 7), 0.1, 1), first=9) for world in range(20)))
    found = compare(ours, theirs)
    assert [each.world for each in found.differing] == ["w7"]
    assert found.differing[0].seeds == (5, 1)
    assert len(found.comparisons) == 20
    assert found.noticeable < 0.1


def test_only_runs_of_the_same_settings_are_compared():
    ours = results(group("a", [1.0, 1.1]), group("b", [1.0, 1.1], settings={"gamma": 0.9}), group("c", [1.0]))
    theirs = results(group("a", [1.0, 1.2]), group("b", [5.0, 5.1], settings={"gamma": 0.5}), group("c", [1.0]))
    found = compare(ours, theirs)
    assert {each.world for each in found.comparisons} == {"a"}
    assert (found.pairs, found.same, found.lonely, found.elsewhere) == (3, 2, 1, 2)


def test_arms_are_compared_by_the_runs_that_end_on_them():
    found = compare(results(group("a", [5.0] * 8, alpha=0.9)), results(group("a", [5.0] * 8, alpha=0.2)))
    assert [(each.measure, each.means) for each in found.differing] == [("arm", (1.0, 0.0))]


def study(root, seeds, *, rows=20):
    for objective in ("s-max", "s-min"):
        for seed in seeds:
            store(root, "maze-small", objective, seed, rows=rows)
    return root


def test_the_exit_code_means_it(tmp_path, capsys):
    """Seeds 1 to 3 against themselves, and against runs with a hundred times their return; entropy is the same."""
    one, two = study(tmp_path / "one", (1, 2, 3)), study(tmp_path / "two", (1, 2, 3))
    assert main(["claims", str(one), "--against", str(two)]) == 0
    told = capsys.readouterr()
    assert "all 4 comparisons agree" in told.out
    assert "Of 6 runs with the same settings and seed, 6 are the same" in told.out
    far = study(tmp_path / "far", (100, 101, 102))
    assert main(["claims", str(one), "--against", str(far), "--json"]) == 1
    told = capsys.readouterr()
    assert "differ in 2 of 4 comparisons" in told.err
    record = json.loads(told.out)
    assert record["agree"] is False
    assert {each["measure"] for each in record["comparisons"] if each["differs"]} == {"return"}
    assert main(["claims", str(one), "--against", str(far)]) == 1
    assert "differ: return" in capsys.readouterr().out


def test_folders_that_cannot_be_compared_are_refused_in_a_sentence(tmp_path, capsys):
    one = study(tmp_path / "one", (1,))
    store(tmp_path / "other", "tetris", "s-max", 1)
    assert main(["claims", str(one), "--against", str(tmp_path / "other")]) == 2
    assert "no runs in common" in capsys.readouterr().err
    store(tmp_path / "changed", "maze-small", "s-max", 1, gamma=0.5)
    assert main(["claims", str(one), "--against", str(tmp_path / "changed")]) == 2
    assert "s-max in maze-small differs in learner.gamma: 0.97, 0.5" in capsys.readouterr().err
    assert main(["claims", str(one), "--against", str(study(tmp_path / "two", (2,)))]) == 2
    assert "only one run on either side" in capsys.readouterr().err
    assert main(["claims", str(one), "--against", str(tmp_path / "nowhere")]) == 2
    assert "holds no runs" in capsys.readouterr().err
    assert main(["claims", str(one), "--against", str(one), "--checks"]) == 2
    assert "leave out --out and --checks" in capsys.readouterr().err
