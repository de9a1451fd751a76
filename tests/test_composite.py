"""Settings that name parts: any setting is changed by its name, wherever it lives."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sadapt.composite import COMMON, Composite, all_changed, changed, get, group, names, part, switched, usual
from sadapt.errors import UserError
from sadapt.fields import Checked, Count, Share, Whole
from sadapt.registry import OWN, TABLES, Choice, register


@dataclass(frozen=True)
class Payment(Checked):
    """A group."""

    rate: Share = 0.5


@dataclass(frozen=True)
class Slow(Checked):
    """Settings of a learner."""

    batch: Count = 32
    patience: Whole = 9


@dataclass(frozen=True)
class Quick(Checked):
    """Settings of another, which has one setting in common with the first and another usual value for it."""

    batch: Count = 64
    speed: Share = 1.0


@dataclass(frozen=True)
class Cautious(Checked):
    """Settings of a bandit."""

    doubt: Share = 0.1


@dataclass(frozen=True)
class Clumsy(Checked):
    """Settings whose name is taken."""

    rate: Share = 0.1


@dataclass(frozen=True)
class Forgetful(Checked):
    """Settings with a name that a learner has too."""

    batch: Count = 1


@dataclass(frozen=True)
class Everybodys(Checked):
    """What worlds without settings have."""

    horizon: Count | None = None


@dataclass(frozen=True)
class Run(Composite):
    """A composite."""

    seed: Whole = 1
    payment: Payment = group(Payment)
    learner: Choice = part("learner", "slow")
    chooser: Choice = part("bandit", "cautious")


@dataclass(frozen=True)
class Journey(Composite):
    """A composite with a part that has no usual one."""

    world: Choice = part("env")
    seed: Whole = 1


def nothing(*told, **words):
    return None


@pytest.fixture(autouse=True)
def parts(monkeypatch):
    """Tables that hold these parts alone."""
    for kind in TABLES:
        monkeypatch.setitem(TABLES, kind, {})
    for name, settings in (("slow", Slow), ("quick", Quick), ("plain", None), ("clumsy", Clumsy)):
        register("learner", name, nothing, settings)
    for name, settings in (("cautious", Cautious), ("forgetful", Forgetful), ("simple", None)):
        register("bandit", name, nothing, settings)
    register("env", "meadow", nothing)
    monkeypatch.setitem(COMMON, "env", Everybodys)


def test_parts_are_named_and_bring_their_settings():
    run = Run()
    assert run.learner == Choice("slow", Slow())
    assert Run(learner="quick").learner == Choice("quick", Quick())
    assert Run(learner=Choice("slow", Slow(batch=3))).learner.settings.batch == 3
    assert Run(learner="plain").learner == Choice("plain", None)
    assert names(run) == {"seed", "rate", "learner", "bandit", "batch", "patience", "doubt"}
    assert names(Run(learner="quick")) == names(run) - {"patience"} | {"speed"}


@pytest.mark.parametrize(
    ("name", "value", "where"),
    [
        ("seed", 7, lambda run: run.seed),
        ("rate", 0.25, lambda run: run.payment.rate),
        ("batch", 5, lambda run: run.learner.settings.batch),
        ("doubt", 0.75, lambda run: run.chooser.settings.doubt),
        ("learner", "quick", lambda run: run.learner.name),
        ("bandit", "simple", lambda run: run.chooser.name),
    ],
)
def test_changed_by_name_wherever_it_lives(name, value, where):
    before = Run()
    after = changed(before, name, value)
    assert where(after) == get(after, name) == value
    assert before == Run()
    assert changed(after, name, get(before, name)) == before


CHANGES = {
    "seed": st.integers(0, 9),
    "rate": st.floats(0, 1),
    "batch": st.integers(1, 99),
    "patience": st.integers(0, 9),
    "doubt": st.floats(0, 1),
}


@given(st.fixed_dictionaries({}, optional=CHANGES), st.permutations(list(CHANGES)))
def test_several_changes_at_once_are_those_one_after_another_in_any_order(changes, order):
    together = all_changed(Run(), changes)
    apart = Run()
    for name in (name for name in order if name in changes):
        apart = changed(apart, name, changes[name])
    assert together == apart
    assert {name: get(together, name) for name in changes} == changes
    for name in CHANGES.keys() - changes.keys():
        assert get(together, name) == get(Run(), name)


def test_parts_come_first_because_they_bring_settings():
    run = all_changed(Run(), {"speed": 0.5, "batch": 7, "learner": "quick"})
    assert run.learner == Choice("quick", Quick(batch=7, speed=0.5))
    with pytest.raises(UserError):
        all_changed(Run(), {"speed": 0.5})


def test_switching_keeps_unusual_settings_that_both_have():
    """A batch of 32 is Slow's usual one, so Quick has its own; one of 5 was somebody's wish."""
    assert switched(Run(), "learner", "quick").learner.settings == Quick(batch=64)
    assert changed(changed(Run(), "batch", 5), "learner", "quick").learner.settings == Quick(batch=5)
    both = all_changed(Run(), {"batch": 5, "patience": 2})
    assert changed(both, "learner", "quick").learner.settings == Quick(batch=5)
    assert changed(both, "learner", "slow") == both
    assert changed(both, "learner", "plain").learner == Choice("plain", None)
    assert changed(both, "learner", "quick").payment == both.payment


@given(st.integers(1, 99))
def test_there_and_back_loses_nothing_that_both_have(batch):
    there = changed(changed(Run(), "batch", batch), "learner", "quick")
    back = changed(there, "learner", "slow")
    expected = 32 if batch in (32, 64) else batch
    assert get(back, "batch") == expected


def test_names_that_collide_are_refused():
    with pytest.raises(UserError, match="'rate' of the learner 'clumsy' is also one of the payment: rename it"):
        Run(learner="clumsy")
    with pytest.raises(UserError, match="'batch' of the bandit 'forgetful' is also one of the learner 'slow'"):
        changed(Run(), "bandit", "forgetful")
    assert get(Run(learner="plain", chooser="forgetful"), "batch") == 1


def test_a_part_may_not_take_the_name_of_the_runs_own():
    @dataclass(frozen=True)
    class Seeded(Checked):
        """Settings with a name of the run's."""

        seed: Whole = 1

    register("learner", "seeded", nothing, Seeded)
    with pytest.raises(UserError, match="'seed' of the learner 'seeded' is also one of the run"):
        Run(learner="seeded")


def test_a_setting_of_another_part_names_its_owner():
    with pytest.raises(UserError, match="the learner 'slow' has no setting 'speed', which is one of quick: leave it"):
        changed(Run(), "speed", 0.5)
    with pytest.raises(UserError, match="the bandit 'simple' has no setting 'doubt', which is one of cautious"):
        changed(Run(chooser="simple"), "doubt", 0.5)
    with pytest.raises(UserError, match="which is one of quick"):
        get(Run(), "speed")


def test_an_unknown_setting_is_answered_with_the_nearest():
    with pytest.raises(UserError, match="unknown setting 'pateince': did you mean 'patience'"):
        changed(Run(), "pateince", 3)
    with pytest.raises(UserError, match="unknown setting 'sede': did you mean 'seed'"):
        get(Run(), "sede")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("seed", -1, "--seed must not be negative; got -1"),
        ("rate", 2, "--rate must lie between 0 and 1; got 2"),
        ("batch", 0, "--batch must be at least 1; got 0"),
        ("batch", 1.5, "--batch must be a whole number"),
        ("learner", "quik", "unknown learner 'quik': did you mean 'quick'"),
        ("learner", 3, "--learner must be the name of a learner; got 3"),
        ("bandit", None, "--bandit must be the name of a bandit; got None"),
    ],
)
def test_values_are_checked_wherever_they_live(name, value, message):
    with pytest.raises(UserError, match=message):
        changed(Run(), name, value)


def test_a_field_of_a_part_takes_a_name_or_a_choice_only():
    with pytest.raises(UserError, match="--learner must be the name of a learner; got 3"):
        Run(learner=3)
    with pytest.raises(UserError, match="unknown learner 'quik'"):
        Run(learner="quik")
    with pytest.raises(TypeError):
        Journey()


def test_numbers_are_turned_into_the_right_type_wherever_they_live():
    run = all_changed(Run(), {"rate": 1, "doubt": 0})
    assert (type(run.payment.rate), type(run.chooser.settings.doubt)) == (float, float)


def test_an_object_of_ones_own_has_no_settings_but_those_of_all_its_kind():
    assert Run(learner=OWN + "mine").learner == Choice(OWN + "mine", None)
    assert usual("env", OWN + "mine") == Choice(OWN + "mine", Everybodys())
    assert changed(Journey(world=OWN + "mine"), "horizon", 9).world.settings == Everybodys(horizon=9)


def test_parts_that_registered_no_settings_have_those_of_all_their_kind():
    journey = changed(Journey(world="meadow"), "horizon", 3)
    assert journey.world == Choice("meadow", Everybodys(horizon=3))
    assert changed(journey, "env", OWN + "mine").world.settings == Everybodys(horizon=3)


def test_settings_that_are_not_known_here_are_left_as_they_are():
    """A file may name a part whose module was not imported: its settings are a dictionary."""
    run = replace(Run(), learner=Choice("theirs", {"strange": 1}))
    assert "strange" not in names(run)
    assert changed(run, "seed", 4).learner.settings == {"strange": 1}


def test_settings_of_a_part_that_is_known_are_checked_however_they_come():
    assert replace(Run(), learner=Choice("slow")).learner == Choice("slow", Slow())
    assert replace(Run(), learner=Choice("slow", {"batch": 3})).learner == Choice("slow", Slow(batch=3))
    with pytest.raises(UserError, match="--batch must be at least 1; got 0"):
        replace(Run(), learner=Choice("slow", {"batch": 0}))
    for wrong in ({"strange": 1}, Quick(), 3):
        with pytest.raises(UserError, match="the learner 'slow' has the settings batch, patience; got "):
            replace(Run(), learner=Choice("slow", wrong))


def test_a_group_is_of_its_own_class():
    for wrong in (None, 3, Quick()):
        with pytest.raises(UserError, match=r"the payment must be Payment\(...\); got "):
            Run(payment=wrong)


@pytest.mark.parametrize("name", [None, 3, ["slow"], {"slow": 1}])
def test_the_name_of_a_part_is_text(name):
    for door in (lambda: Run(learner=name), lambda: changed(Run(), "learner", name), lambda: usual("learner", name)):
        with pytest.raises(UserError, match="--learner must be the name of a learner; got "):
            door()


def test_settings_that_do_not_check_themselves_are_checked_too(monkeypatch):
    @dataclass(frozen=True)
    class Plain:
        doubts: Share = 0.1

    monkeypatch.setitem(TABLES["bandit"], "plain", TABLES["bandit"]["cautious"]._replace(settings=Plain))
    assert changed(Run(chooser="plain"), "doubts", 1).chooser.settings == Plain(1.0)
    with pytest.raises(UserError, match=r"--doubts must lie between 0 and 1; got 1\.5"):
        changed(Run(chooser="plain"), "doubts", 1.5)
