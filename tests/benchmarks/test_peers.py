"""Peers that answer, die, hang or talk nonsense, environments that cannot be made: rows, or a line that says why."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from sadapt.benchmarks.peers import guest, places, rows, sizes
from sadapt.benchmarks.peers.process import Absent, asked
from sadapt.benchmarks.timing import by_turns
from sadapt.learners.networks import Spec
from sadapt.learners.networks.plain import plain
from sadapt.motivation.augmented import Augmented

ANSWERING = "print('ready 10', flush=True)\nfor line in sys.stdin: print({answer}, flush=True)"


def script(tmp_path: Path, code: str) -> list[str]:
    """A peer of that code."""
    path = tmp_path / "peer.py"
    path.write_text(f"import os, sys, time\n{code}\n", encoding="utf-8")
    return [sys.executable, "-I", str(path)]


def test_a_peer_tells_its_steps_and_the_seconds_of_every_stretch(tmp_path):
    code = "times = iter([0.5, 0.25, 1])\n" + ANSWERING.format(answer="next(times) if line == 'go\\n' else line")
    with asked(script(tmp_path, code)) as peer:
        assert peer.steps == 10
        assert [peer.timed() for _ in range(3)] == [0.5, 0.25, 1.0]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise SystemExit('no such game')", "it ended with no such game"),
        ("os._exit(3)", "it ended with no word"),
        ("time.sleep(60)", "it did not answer within 2 s"),
        ("print('warming up'); time.sleep(60)", "it did not answer within 2 s"),
        ("print('warming up', flush=True); time.sleep(60)", "it said 'warming up' instead of `ready STEPS`"),
        ("print('ready', flush=True)", "it said 'ready' instead of `ready STEPS`"),
        ("print('ready 0', flush=True)", "it said 'ready 0' instead of `ready STEPS`"),
        ("sys.stdout.buffer.write(b'\\xff\\xfe\\n')", "it said '\ufffd\ufffd' instead of `ready STEPS`"),
    ],
)
def test_a_peer_that_does_not_get_ready_is_absent(tmp_path, code, why):
    with pytest.raises(Absent) as raised, asked(script(tmp_path, code), set_up=2.0):
        pass
    assert str(raised.value) == why


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("sys.exit('out of memory')", "it ended with out of memory"),
        ("time.sleep(60)", "it did not answer within 0.5 s"),
        ("'quick'", "it said 'quick' instead of the seconds that it took"),
        ("'nan'", "it said 'nan' instead of the seconds that it took"),
        ("-1.0", "it said '-1.0' instead of the seconds that it took"),
    ],
)
def test_a_peer_that_fails_later_is_absent_too(tmp_path, answer, why):
    with pytest.raises(Absent) as raised, asked(script(tmp_path, ANSWERING.format(answer=answer)), answer=0.5) as peer:
        peer.timed()
    assert str(raised.value) == why


def test_what_cannot_be_started_is_absent(tmp_path):
    with pytest.raises(Absent, match="could not be started: No such file"), asked([str(tmp_path / "python")]):
        pass


def running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_no_peer_outlives_its_contest(tmp_path, error):
    command = script(tmp_path, "print('ready', os.getpid(), flush=True)\nwhile True: time.sleep(1)")
    number = 0
    try:
        with asked(command) as peer:
            number = peer.steps
            assert running(number)
            if error is not None:
                raise error
    except (ValueError, KeyboardInterrupt):
        pass
    assert not running(number)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="processes cannot be pinned here")
def test_a_peer_stays_on_our_core(tmp_path):
    """Measured in a process of its own, which is pinned for good."""
    command = script(tmp_path, "print('ready', 1 + min(os.sched_getaffinity(0)), flush=True)")
    code = (
        "import os\nfrom sadapt.runs.cores import one_core\nfrom sadapt.benchmarks.peers.process import asked\n"
        f"one_core()\nwith asked({command!r}) as peer: print(peer.steps - 1 == max(os.sched_getaffinity(0)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]


def test_turns_are_taken_and_the_best_counts():
    order = []

    def timed(name, seconds):
        left = iter(seconds)

        def call():
            order.append(name)
            return next(left)

        return call

    assert by_turns(timed("a", [3.0, 1.0, 2.0]), timed("b", [5.0, 6.0, 4.0]), seconds=0.0) == [1.0, 4.0]
    assert order == ["a", "b"] * 3


def test_rates_are_compared_each_with_each():
    ours = {"ours": rows.Contender(100, lambda: 0.5)}
    theirs = {"plain": rows.Contender(10, lambda: 0.25), "fused": rows.Contender(10, lambda: 0.125)}
    assert list(rows.compared(ours, theirs, 0.0)) == [
        {"what": "ours", "value": 200, "unit": "steps/s", "against": "plain", "reference": 40, "ratio": 5},
        {"what": "ours", "value": 200, "unit": "steps/s", "against": "fused", "reference": 80, "ratio": 2.5},
    ]


def test_a_contest_that_fails_is_told_and_the_others_are_held(caplog):
    def fine():
        yield {"what": "before"}

    def broken():
        yield {"what": "half"}
        raise Absent("it ended with no word")

    with caplog.at_level(logging.WARNING):
        held = [each["what"] for each in rows.held({"first": fine, "second": broken, "third": fine})]
    assert held == ["before", "half", "before"]
    assert caplog.messages == ["left out, second: it ended with no word"]


@pytest.fixture
def no_index(monkeypatch, tmp_path):
    """A cache folder of its own, and pip that finds no package anywhere."""
    monkeypatch.setenv("SADAPT_CACHE", str(tmp_path / "cache"))
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return tmp_path / "cache"


def test_an_installation_that_fails_leaves_a_line_and_nothing_else(no_index, caplog, monkeypatch):
    monkeypatch.setattr(rows, "_stable_baselines", lambda seconds: iter([{"what": "dqn"}]))
    monkeypatch.setattr(rows, "_minatar", lambda seconds: iter([{"what": "minatar"}]))
    monkeypatch.setattr(rows, "_gymnax", lambda seconds: iter([{"what": "gymnax"}]))
    with caplog.at_level(logging.WARNING):
        assert [each["what"] for each in rows.rows(seconds=0.0)] == ["dqn", "minatar", "gymnax"]
    making, left_out = caplog.messages
    assert making.startswith(f"making an environment for rejax in {no_index / 'peers'}: rejax==0.1.3 gymnax==0.0.9")
    assert left_out.startswith("left out, rejax: pip install rejax==0.1.3")
    assert left_out.endswith("failed (No matching distribution found for rejax==0.1.3)")
    assert list((no_index / "peers").iterdir()) == []


def test_an_environment_is_made_once_and_used_again(no_index, caplog, monkeypatch):
    made = []

    def run(command, what):
        made.append(command)
        if "venv" in command:
            python = places.python_in(Path(command[-1]))
            python.parent.mkdir(parents=True)
            python.touch()

    monkeypatch.setitem(places.PINS, "fake", ("fake==1.0",))
    monkeypatch.setattr(places, "_run", run)
    with caplog.at_level(logging.WARNING):
        first, second = places.interpreter("fake"), places.interpreter("fake")
    assert first == second == places.python_in(first.parents[1])
    assert first.exists()
    assert first.is_relative_to(no_index / "peers")
    assert len(caplog.messages) == 1
    assert [command[1:3] for command in made] == [["-m", "venv"], ["-I", "-m"]]
    first.unlink()
    assert places.interpreter("fake") == first
    assert first.exists(), "one whose interpreter is gone is made again"
    monkeypatch.setitem(places.PINS, "fake", ("fake==2.0",))
    assert places.interpreter("fake") != first, "other pins, another environment"


def test_whoever_makes_it_second_takes_the_first(no_index, monkeypatch):
    """Two processes at once: the other's is in its place before ours is."""

    def run(command, what):
        if "venv" in command:
            half = Path(command[-1])
            for whole in (half, half.parents[1] / half.parent.name.rpartition("-")[0]):
                python = places.python_in(whole)
                python.parent.mkdir(parents=True)
                python.write_text(str(whole))

    monkeypatch.setitem(places.PINS, "fake", ("fake==1.0",))
    monkeypatch.setattr(places, "_run", run)
    python = places.interpreter("fake")
    assert python.read_text() == str(python.parents[1])
    assert [path.name for path in (no_index / "peers").iterdir()] == [python.parents[1].name]


@pytest.mark.parametrize("place", ["off", "/dev/null/nowhere"])
def test_without_a_folder_there_is_no_environment(monkeypatch, place):
    monkeypatch.setenv("SADAPT_CACHE", place)
    with pytest.raises(
        Absent, match=r"SADAPT_CACHE is off|could not be made in /dev/null/nowhere/peers: Not a directory"
    ):
        places.interpreter("rejax")


def test_what_is_not_installed_is_told():
    with pytest.raises(Absent, match="nowhere_at_all is not installed; the extra `bench` brings it"):
        rows._require("nowhere_at_all")


def test_a_guest_imports_nothing_of_ours_and_warms_up_twice(tmp_path):
    """As it is run: its file alone, in isolation. Two calls come before it is ready, one for every `go`."""
    code = (
        f"import runpy, sys\nguest = runpy.run_path({guest.__file__!r})\ncalls = []\n"
        "guest['serve']((7, lambda: calls.append(1)), sys.stdin, sys.stdout)\n"
        "print(len(calls), any(name.startswith('sadapt') for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], input="go\nwhat\ngo\n", capture_output=True, text=True, check=True
    )
    ready, first, second, end = done.stdout.splitlines()
    assert (ready, end) == ("ready 7", "4 False")
    assert 0 < float(first) < 60
    assert 0 < float(second) < 60


@pytest.mark.parametrize("learner", ["pqn", "ppo", "dqn"])
def test_both_sides_update_as_often_on_as_much(learner):
    ours, theirs = sizes.settings(learner), sizes.rejax(learner)
    said, wanted = theirs["settings"], ours.learner.settings
    assert said["num_envs"] == ours.num_envs
    if learner == "dqn":
        assert said["num_epochs"] / said["num_envs"] == 1 / wanted.train_frequency
        assert (said["batch_size"], said["buffer_size"]) == (wanted.batch_size, wanted.buffer_size)
        assert said["target_update_freq"] == wanted.target_network_frequency
        assert theirs["before"] >= said["fill_buffer"], "nothing is timed before it learns"
    else:
        assert said["num_steps"] == wanted.num_steps
        assert said["num_envs"] * said["num_steps"] / said["num_minibatches"] == wanted.minibatch_size
        assert said["num_epochs"] == wanted.update_epochs


def sizes_of(params):
    return sorted(leaf.size for leaf in jax.tree.leaves(params))


@pytest.mark.parametrize(("learner", "outputs"), [("pqn", 3), ("ppo", 4), ("dqn", 3)])
def test_our_networks_have_the_sizes_that_the_guest_builds(learner, outputs):
    """A kernel of 3 x 3 x 4 x 16 and matrices of 1,024 to `hidden` to the outputs; norms over all units or none."""
    told = sizes.rejax(learner)
    network = sizes.program(learner).parts.task.network(outputs)
    hidden, norms = told["hidden"], [1024, 1024, told["hidden"], told["hidden"]] if told["layer_norm"] else []
    expected = [3 * 3 * 4 * 16, 16, 1024 * hidden, hidden, hidden * outputs, outputs, *norms]
    assert sizes_of(network.init(jax.random.key(0))) == sorted(expected)


def test_a_value_apart_is_the_last_output_of_a_network_of_its_own():
    spec = Spec("breakout", (10, 10, 4), None, 4)
    network = sizes.policy_and_value(spec)
    params = network.init(jax.random.key(0))
    alone = plain(spec._replace(outputs=1))
    assert sizes_of(params["value"]) == sizes_of(alone.init(jax.random.key(0)))
    views = jax.vmap(network.view)(Augmented(jnp.ones((2, 10, 10, 4)), None, None, None))
    assert network.apply(params, views).shape == (2, 4)
    gradient = jax.grad(lambda p: jnp.sum(network.apply(p, views)[:, -1]))(params)
    assert not any(jnp.any(leaf) for leaf in jax.tree.leaves(gradient["policy"]))
    assert any(jnp.any(leaf) for leaf in jax.tree.leaves(gradient["value"]))
