"""Claims on made-up results, with margins computed by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from sadapt.errors import UserError
from sadapt.experiments.claims import as_records, evaluate
from sadapt.experiments.claims_picture import picture
from sadapt.experiments.claims_told import glance, lines, markdown, tally
from sadapt.report.stored import Agent, Group, Results

STEPS = np.arange(1, 11) * 100.0


def group(env, objective, values, marginal="auto"):
    """Runs of ten rows whose last, the last tenth, holds the values per seed; rows before are far off."""
    seeds = len(next(iter(values.values())))
    columns = {"step": np.tile(STEPS, (seeds, 1))}
    for name, finals in values.items():
        columns[name] = np.full((seeds, 10), -1e6)
        columns[name][:, -1] = finals
    agent = Agent(env, objective, marginal, "pqn")
    return agent, Group(agent, 1000, (), tuple(range(1, seeds + 1)), columns)


def results(*groups):
    return Results(dict(groups), (), ())


def claims_file(tmp_path, text):
    path = tmp_path / "claims.toml"
    path.write_text(text)
    return path


def ask(tmp_path, check, *groups, seeds=3):
    """The findings of one check in the world w."""
    text = f'[[claim]]\nid = "X"\nsays = "so"\nworlds = ["w"]\nseeds = {seeds}\n[[claim.check]]\n{check}\n'
    (claim,) = evaluate(results(*groups), file=claims_file(tmp_path, text))
    (verdict,) = claim.verdicts
    return verdict.findings


FIVE = {"s-adapt": 5.0, "s-max": 9.0, "s-min": 1.0, "extrinsic": 6.0, "random": 4.0}


def five(**changed):
    return [group("w", name, {"entropy": np.full(3, value)}) for name, value in {**FIVE, **changed}.items()]


def test_a_value_must_clear_its_bar_with_the_whole_interval(tmp_path):
    check = 'rule = "value"\nagents = ["s-max"]\ncolumn = "return"\nat_least = 0.8'
    (good,) = ask(tmp_path, check, group("w", "s-max", {"return": [0.85, 0.9, 1.0]}))
    assert good.answer == "yes"
    assert good.margin.value == pytest.approx(0.35 / 3)
    assert good.margin.low == pytest.approx(0.05)
    assert good.margin.high == pytest.approx(0.2)
    (bad,) = ask(tmp_path, check, group("w", "s-max", {"return": [0.5, 0.6, 0.7]}))
    assert bad.margin.high == pytest.approx(-0.1)
    assert bad.answer == "no"


@pytest.mark.parametrize("values", [[0.5, 1.0, 1.0], [0.5, 0.6, 1.0]])
def test_an_interval_across_the_bar_tells_nothing_whichever_side_its_middle_is_on(tmp_path, values):
    check = 'rule = "value"\nagents = ["s-max"]\ncolumn = "return"\nat_least = 0.8'
    (found,) = ask(tmp_path, check, group("w", "s-max", {"return": values}))
    assert found.margin.low < 0 < found.margin.high
    assert found.answer == "cannot tell"
    assert found.held == sum(value >= 0.8 for value in values)


def test_a_finding_tells_its_values_its_seeds_and_its_share_of_the_range(tmp_path):
    """Seeds by themselves: 5 - 6, 5.5 - 6 and 7 - 6, and a share of 0.1 of 2, 2 and 2."""
    groups = [*five()[1:], group("w", "s-adapt", {"entropy": [5.0, 5.5, 7.0]})]
    check = 'rule = "par"\nagents = ["s-adapt"]\nthan = "extrinsic"\ncolumn = "entropy"\ntolerance = 0.1'
    (found,) = ask(tmp_path, check, *groups)
    assert found.finds == "5.83 against 6, Random 4"
    assert (found.held, found.seeds) == (1, 3)
    assert found.relative.value == pytest.approx((17.5 / 3 - 6 + 0.2) / (9 - 1))


def test_where_the_better_arm_is_uncertain_so_is_whether_the_bandit_follows_it(tmp_path):
    """S-Max moves entropy by 5, 1 and 5, S-Min by 3: which is further depends on the seeds."""
    groups = [group("w", name, {"entropy": np.full(3, value)}) for name, value in FIVE.items() if name != "s-max"]
    groups[0] = group("w", "s-adapt", {"entropy": [5.0] * 3, "alpha": [0.0] * 3})
    (found,) = ask(
        tmp_path, 'rule = "follows"\ntolerance = 1.1', *groups, group("w", "s-max", {"entropy": [9.0, 5.0, 9.0]})
    )
    assert found.answer == "cannot tell"
    assert found.held == 2


def test_at_most_turns_the_margin_round(tmp_path):
    check = 'rule = "value"\nagents = ["s-max"]\ncolumn = "return"\nat_most = 0.5'
    (found,) = ask(tmp_path, check, group("w", "s-max", {"return": [0.1, 0.1, 0.1]}))
    assert found.margin == pytest.approx((0.4, 0.4, 0.4))


def test_too_few_seeds_answer_nothing(tmp_path):
    check = 'rule = "value"\nagents = ["s-max"]\ncolumn = "return"\nat_least = 0.0'
    (found,) = ask(tmp_path, check, group("w", "s-max", {"return": [1.0, 1.0]}))
    assert (found.answer, found.seeds) == ("not enough runs", 2)
    (none,) = ask(tmp_path, check)
    assert (none.answer, none.seeds) == ("not enough runs", 0)


@pytest.mark.parametrize(("s_min", "margin"), [(1.0, 0.8), (4.5, 0.6 - 1.5), (3.4, 0.6 - 0.4)])
def test_extremes_are_within_a_share_of_the_range(tmp_path, s_min, margin):
    check = 'rule = "extreme"\nagent = "s-min"\ncolumn = "entropy"\nend = "lowest"\ntolerance = 0.1'
    others = {"random": 3.0} if s_min > 3 else {}
    (found,) = ask(tmp_path, check, *five(**{"s-min": s_min}, **others))
    assert found.margin.value == pytest.approx(margin)


def test_distances_from_random(tmp_path):
    (found,) = ask(tmp_path, 'rule = "further"\nagent = "s-max"\nthan = "s-min"', *five())
    assert found.margin.value == pytest.approx((9 - 4) - (4 - 1))
    (found,) = ask(tmp_path, 'rule = "equally far"\nagent = "s-max"\nthan = "s-min"\nfactor = 1.5', *five())
    assert found.margin.value == pytest.approx(1.5 - 5 / 3)
    assert found.answer == "no"


def test_par_allows_a_share_of_the_distance_to_random(tmp_path):
    check = 'rule = "par"\nagents = ["s-adapt"]\nthan = "extrinsic"\ncolumn = "entropy"\ntolerance = 0.5'
    (found,) = ask(tmp_path, check, *five())
    assert found.margin.value == pytest.approx(5 - 6 + 0.5 * 2)


def test_close_and_below(tmp_path):
    check = 'rule = "close"\nagent = "extrinsic"\nthan = "random"\ncolumn = "entropy"\ntolerance = 0.1'
    assert ask(tmp_path, check, *five())[0].margin.value == pytest.approx(0.4 - 2)
    check = 'rule = "below"\nagent = "s-min"\nthan = "random"\ncolumn = "entropy"'
    assert ask(tmp_path, check, *five())[0].margin.value == pytest.approx(3)


@pytest.mark.parametrize(
    ("s_max", "alpha", "answer"),
    [(9.0, 0.1, "yes"), (9.0, 0.9, "no"), (5.0, 0.1, "no"), (5.0, 0.9, "yes"), (7.1, 0.1, "yes"), (7.1, 0.9, "yes")],
)
def test_the_bandit_follows_the_arm_that_reaches_further(tmp_path, s_max, alpha, answer):
    groups = [
        group("w", name, {"entropy": np.full(3, value), "alpha": np.full(3, alpha)})
        for name, value in {**FIVE, "s-max": s_max}.items()
    ]
    (found,) = ask(tmp_path, 'rule = "follows"\ntolerance = 1.1', *groups)
    assert found.answer == answer


def test_a_marginal_can_be_named(tmp_path):
    check = 'rule = "below"\nagent = "s-adapt gaussian"\nthan = "s-adapt"\ncolumn = "return"'
    groups = [
        group("w", "s-adapt", {"return": [3.0, 3.0]}),
        group("w", "s-adapt", {"return": [1.0, 1.0]}, marginal="gaussian"),
    ]
    (found,) = ask(tmp_path, check, *groups, seeds=2)
    assert found.margin.value == pytest.approx(2)


def test_one_no_makes_a_claim_a_no(tmp_path):
    text = """
[[claim]]
id = "X"
says = "so"
worlds = ["w", "v", "u"]
[[claim.check]]
rule = "value"
agents = ["s-max"]
column = "return"
at_least = 0.5
"""
    path = claims_file(tmp_path, text)
    good, bad = group("w", "s-max", {"return": [1.0] * 3}), group("v", "s-max", {"return": [0.0] * 3})
    (claim,) = evaluate(results(good, bad), file=path)
    assert [each.answer for each in claim.verdicts] == ["yes", "no", "not enough runs"]
    assert claim.answer == "no"
    (claim,) = evaluate(results(good), file=path)
    assert claim.answer == "not enough runs"
    records = as_records([claim])
    assert [(each["id"], each["world"], each["answer"]) for each in records] == [
        ("X", "w", "yes"),
        ("X", "v", "not enough runs"),
        ("X", "u", "not enough runs"),
        ("X", "all", "not enough runs"),
    ]
    json.dumps(records)
    assert "| X | so | **not enough runs**, 1 of 3 |" in glance([claim])
    assert "| X | v | S-Max has 0 of 3 seeds |" in markdown([claim])


OPEN = """
[[claim]]
id = "Y"
title = "short"
says = "a sentence that is a good deal longer than a terminal of forty columns has room for"
worlds = ["w", "v"]
[[claim.check]]
rule = "value"
agents = ["s-max"]
column = "return"
at_least = 0.5
"""


def test_a_claim_is_told_by_the_check_that_its_answer_hangs_on(tmp_path):
    clear, open_ = group("w", "s-max", {"return": [1.0] * 3}), group("v", "s-max", {"return": [0.2, 0.6, 0.9]})
    (claim,) = evaluate(results(clear, open_), file=claims_file(tmp_path, OPEN))
    assert claim.answer == "cannot tell"
    assert claim.deciding.world == "v"
    (overall,) = (each for each in as_records([claim]) if each["world"] == "all")
    assert (overall["holds_in"], overall["worlds"], overall["deciding"]["held"]) == (1, 2, 2)
    told = list(lines([claim], 80))
    assert all(len(line) <= 80 for line in told)
    text = " ".join(" ".join(told).split())
    assert "Y cannot tell: holds in 1 of 2 worlds, 3 seeds" in text
    assert "here v: return of S-Max at least 0.5: 0.567" in text
    assert "holds in 2 of 3 seeds" in text
    assert "here w" not in text
    assert "yes w: return of S-Max" in " ".join(" ".join(lines([claim], 80, checks=True)).split())
    assert tally([claim]) == ["cannot tell 1: Y"]


def test_the_picture_has_a_row_a_claim_and_a_mark_a_world(tmp_path):
    clear, bad = group("w", "s-max", {"return": [1.0] * 3}), group("v", "s-max", {"return": [0.0] * 3})
    axes = picture(evaluate(results(clear, bad), file=claims_file(tmp_path, OPEN))).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["short    Y"]
    marks = [
        line.get_xdata()[0] for line in axes.lines if line.get_marker() in ("o", "X", "D") and len(line.get_xdata())
    ]
    assert marks == pytest.approx([1.0, -1.0])  # margins of 0.5 and -0.5, relative to the bar


def test_unknown_rules_are_refused(tmp_path):
    path = claims_file(tmp_path, '[[claim]]\nid = "X"\nworlds = []\n[[claim.check]]\nrule = "vibes"\n')
    with pytest.raises(UserError, match="unknown rule 'vibes'"):
        evaluate(results(), file=path)


def test_without_runs_no_claim_of_the_paper_is_answered():
    claims = evaluate(Results({}, (Path("x"),), ()))
    assert {claim.id for claim in claims} >= {"E1", "M1", "M2", "B1", "B2", "T1", "T2", "D1", "A1", "A2", "A3", "W1"}
    assert {claim.answer for claim in claims} == {"not enough runs"}


def test_the_last_tenth_is_what_counts():
    _, found = group("w", "s-max", {"return": [1.0, 2.0]})
    np.testing.assert_allclose(found.final("return"), [1.0, 2.0])


def test_what_adapting_costs_is_claimed_with_its_interval(tmp_path):
    """Ten rows of ten episodes; S-Max at 4 from the first row on, S-Min at 1; S-Adapt at 4, 4 and 3 after row 2 at 0.

    Arrival at 0.9 * 4 is row 3 in two seeds and never in the third: the cost of most is 3, its worst without end.
    """

    def run(objective, *levels, late=1, alpha=0.0):
        rows = np.arange(1, 11)
        entropy = np.array([np.where(rows >= late, 5.0 + level, 5.0) for level in levels])
        columns = {
            "step": np.tile(STEPS, (len(levels), 1)),
            "episodes": np.tile(10.0 * rows, (len(levels), 1)),
            "entropy": entropy,
            "h_random": np.full_like(entropy, 5.0),
            "alpha": np.full_like(entropy, alpha),
        }
        agent = Agent("w", objective, "auto", "pqn")
        return agent, Group(agent, 1000, (), tuple(range(1, len(levels) + 1)), columns)

    runs = (run("s-max", 4, 4, 4), run("s-min", 1, 1, 1), run("s-adapt", 4, 4, 3, late=3, alpha=0.1))
    (waste,) = ask(tmp_path, 'rule = "adapting"\nmeasure = "waste"\nat_most = 0.2', *runs)
    assert waste.answer == "yes"
    assert waste.margin == pytest.approx((0.1, 0.1, 0.1))
    (final,) = ask(tmp_path, 'rule = "adapting"\nmeasure = "final"\nat_least = 0.9', *runs)
    assert final.answer == "cannot tell"
    assert final.held == 2
    assert final.margin.value == pytest.approx(11 / 12 - 0.9)
    (cost,) = ask(tmp_path, 'rule = "adapting"\nmeasure = "cost"\nat_most = 3.5', *runs)
    assert cost.answer == "cannot tell"
    assert cost.margin.value == pytest.approx(0.5)
    assert cost.margin.low == -np.inf
    (missing,) = ask(tmp_path, 'rule = "adapting"\nmeasure = "waste"\nat_most = 0.2', *runs[:2])
    assert missing.answer == "not enough runs"
