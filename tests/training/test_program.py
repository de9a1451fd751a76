"""One program, two drivers, many seeds: all give the numbers of the one compiled run."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sadapt import api
from sadapt.composite import all_changed
from sadapt.errors import Stop, UserError
from sadapt.motivation.feedback import Feedback, of_surprise, summed_up
from sadapt.runs import metrics_file
from sadapt.runs.recorder import Options
from sadapt.training import compiled, host, loop, metrics
from sadapt.training.memory import require_memory
from sadapt.training.program import build
from sadapt.training.settings import Settings
from tests.trees import same

LEARNERS = {
    "dqn": {
        "batch_size": 16,
        "buffer_size": 2_000,
        "train_frequency": 4,
        "learning_starts": 400,
        "target_network_frequency": 200,
    },
    "pqn": {"num_steps": 8, "minibatch_size": 16},
}
every_learner = pytest.mark.parametrize("learner", ["dqn", "pqn"])


def tiny(learned_by: str, **changes) -> Settings:
    """A short run on Tetris."""
    small = {
        "seed": 5,
        "total_timesteps": 1_200,
        "num_envs": 4,
        "random_episodes": 4,
        "horizon": 20,
        "baseline": "time",
        "network": "plain",
        "hidden": 16,
        "learner": learned_by,
        **LEARNERS[learned_by],
    }
    return all_changed(Settings(world="tetris"), {**small, **changes})


def test_options_that_the_compiler_does_not_know_are_left_out():
    known = {"xla_cpu_copy_insertion_use_region_analysis": True}
    assert host.supported({"xla_cpu_no_such_option": True, **known}) == known


@every_learner
def test_host_driver_gives_the_compiled_drivers_numbers(learner):
    settings = tiny(learner)
    prog = build(settings)
    warmup = min(prog.learner.warmup_steps, 320)
    learned = prog.learner._replace(chunk_steps=320, warmup_steps=warmup)
    prog = prog._replace(parts=prog.parts._replace(learner=learned))
    key, random = jax.random.key(3), summed_up({"entropy": np.full(2, 20.0), "surprise": np.array([3.0, 5.0])})
    *_, whole = compiled.run(prog, compiled.start(prog, key, random))
    worlds = host.JaxWorlds(prog.env, settings.num_envs)
    *_, piecewise = host.run(prog, worlds, host.start(prog, worlds, key, random))
    ignored = {"episodes": whole.episodes._replace(world=())}
    same(whole._replace(**ignored), piecewise, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_seeds_at_once_equal_seeds_alone():
    settings = tiny("pqn")
    prog = build(settings)
    *_, together = compiled.run(prog, compiled.launch_seeds(prog, [5, 6]), over=jax.vmap)
    for index, seed in enumerate([5, 6]):
        alone_prog = build(dataclasses.replace(settings, seed=seed))
        *_, alone = compiled.run(alone_prog, compiled.launch(alone_prog, seed))
        picked = jax.tree.map(lambda x, i=index: x[i], together)
        same(picked.learner.params, alone.learner.params, rtol=1e-3, atol=1e-3)
        same(picked.tally, alone.tally, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_seeds_are_spread_over_devices():
    code = """
        import jax, jax.numpy as jnp
        from tests.training.test_program import tiny
        from sadapt.training import compiled
        from sadapt.training.program import build
        assert jax.device_count() == 2
        prog = build(tiny("pqn"))
        *_, state = compiled.run(prog, compiled.launch_seeds(prog, [5, 6]), over=jax.vmap)
        assert len(jax.tree.leaves(state.learner.params)[0].sharding.device_set) == 2
        print(*state.tally.measures["entropy"].tolist())
    """
    flags = "--xla_force_host_platform_device_count=2"
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env={**os.environ, "XLA_FLAGS": flags},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    spread = [float(x) for x in run.stdout.split()]
    prog = build(tiny("pqn"))
    *_, state = compiled.run(prog, compiled.launch_seeds(prog, [5, 6]), over=jax.vmap)
    np.testing.assert_allclose(spread, state.tally.measures["entropy"], rtol=1e-3)


def trained(learner: str, seed: int, steps: int) -> tuple:
    """The last state, and all rows but for the clock."""
    rows = []
    wide = {"num_envs": 32} if learner == "pqn" else {}
    state = loop.train(tiny(learner, seed=seed, total_timesteps=steps, **wide), on_row=rows.append)
    return state, [{name: value for name, value in row.items() if name != metrics.CLOCK} for row in rows]


@pytest.mark.parametrize("steps", [2_000, pytest.param(50_000, marks=pytest.mark.slow)])
@every_learner
def test_same_seed_same_bytes_other_seed_other_bytes(learner, steps):
    first, again, other = (trained(learner, seed, steps) for seed in (5, 5, 6))
    same(first[0], again[0])
    assert first[1] == again[1]
    assert first[1] != other[1]


def test_rows_have_every_column_and_leave_blanks_empty():
    rows = []
    loop.train(tiny("pqn", objective="random"), on_row=rows.append)
    assert rows[-1]["step"] >= 1_200
    assert rows[-1]["loss"] is None
    assert rows[-1]["alpha"] is None
    assert rows[-1]["length"] == 20
    assert rows[-1]["rows"] is not None


def test_the_replays_plan_is_told_and_kept_within_memory(caplog):
    prog = build(tiny("dqn"))
    with caplog.at_level("INFO"):
        require_memory(prog)
    assert "replay of 2,000 steps: 0.00 GB" in caplog.text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_envs": 0}, "--num-envs must be at least 1"),
        ({"objective": "s-mid"}, "did you mean"),
        ({"minibatch_size": 33}, "must divide"),
        ({"learner": "dqn", "batch_size": 64, "buffer_size": 32}, "a batch of 64"),
        ({"horizon": 0}, "horizon"),
        ({"network": "window"}, "needs an agent"),
        ({"learner": "ppq"}, "did you mean 'p.o'|did you mean 'pqn'"),
    ],
)
def test_impossible_settings_are_refused(changes, message):
    with pytest.raises(UserError, match=message):
        build(all_changed(tiny("pqn"), changes))


def broken_after(length: float, value: float):
    """A factory of a feedback that passes its check and is no number as soon as episodes are that long."""

    def made(xp=None):
        return Feedback(lambda measures, random, arm: jnp.where(measures["length"] < length, 0.5, value), "entropy")

    return made


@pytest.mark.parametrize(("value", "what"), [(math.nan, "is not a number"), (math.inf, "is infinite")])
def test_feedback_that_is_no_number_stops_the_run(tmp_path, value, what):
    """Four worlds of 20 steps, checked chunk by chunk: the first chunk's episodes are named."""
    settings = tiny("pqn")
    told = rf"feedback of an episode among the last (\d+) \(up to episode (\d+), step ([\d,]+)\) {what}: .*entropy"
    with pytest.raises(Stop, match=told) as stopped:
        api.train(settings, feedback=broken_after(20, value), out=tmp_path / "run", options=Options(tensorboard=False))
    last, episode, step = (int(word.replace(",", "")) for word in re.search(told, str(stopped.value)).groups())
    assert last == episode == 4 * (step // 4 // 20)
    assert json.loads((tmp_path / "run" / "status.json").read_text())["state"] == "diverged"


def test_nobody_minds_where_no_bandit_listens(tmp_path):
    run = api.train(
        tiny("pqn", objective="s-min"),
        feedback=broken_after(20, math.nan),
        out=tmp_path / "run",
        options=Options(tensorboard=False),
    )
    assert json.loads((run.path / "status.json").read_text())["state"] == "finished"


@pytest.mark.parametrize("given", ["surprise", of_surprise, of_surprise()], ids=["name", "function", "object"])
def test_the_feedback_may_be_a_name_a_function_or_an_object(given, tmp_path):
    run = api.train(tiny("pqn"), feedback=given, out=tmp_path / "run", options=Options(tensorboard=False))
    rows = metrics_file.read(run.metrics)
    assert rows[-1]["feedback"] == rows[-1]["feedback_surprise"] != rows[-1]["feedback_entropy"]
