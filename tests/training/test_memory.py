"""What a machine cannot hold or count is refused before any of it is allocated, with what to ask for instead."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from sadapt.api import probe
from sadapt.composite import all_changed, changed
from sadapt.errors import UserError
from sadapt.training.memory import require_memory
from sadapt.training.presets import preset
from sadapt.training.program import build


@pytest.mark.parametrize(
    ("learner", "setting", "most", "what"),
    [
        ("dqn", "buffer_size", 2_000_000, "replay of 2,000,000 steps"),
        ("pqn", "num_envs", 65_536, "65,536 worlds side by side"),
        ("ppo", "num_envs", 65_536, "65,536 worlds side by side"),
        ("pqn", "random_episodes", 10_000_000, "10,000,000 episodes at once"),
    ],
)
def test_what_does_not_fit_is_refused_before_it_is_allocated_and_what_is_advised_fits(learner, setting, most, what):
    greedy, free = changed(preset("tetris", learner=learner), setting, most), 50_000_000
    with pytest.raises(UserError, match=rf"{what}: [\d.]+ GB, but only 0\.05 GB of memory is free: lower --") as told:
        require_memory(build(greedy), free=free)
    advised = int(re.search(r"to ([\d,]+) or less", str(told.value))[1].replace(",", ""))
    assert 1 <= advised < most
    modest = 2 ** (advised.bit_length() - 1)  # a number that minibatches divide
    require_memory(build(changed(greedy, setting, modest)), free=free)


@pytest.mark.parametrize(("name", "value"), [("hidden", 2**31 - 1), ("radius", 1000)])
def test_a_network_beyond_all_memory_is_refused(name, value):
    settings = all_changed(preset("maze-small"), {"network": "window", name: value})
    with pytest.raises(UserError, match=r"GB of memory is free: .*smaller network \(--hidden, --radius\)"):
        require_memory(build(settings))


def test_steps_that_cannot_be_counted_are_refused_by_the_largest_number():
    settings = changed(preset("tetris", learner="pqn"), "total_timesteps", 2**31 - 1)
    with pytest.raises(UserError, match=r"--total-timesteps must be at most (\d+) here") as told:
        build(settings)
    largest = int(re.search(r"at most (\d+)", str(told.value))[1])
    prog = build(changed(settings, "total_timesteps", largest))
    assert -(-largest // prog.learner.chunk_steps) * prog.learner.chunk_steps < 2**31
    with pytest.raises(UserError, match="--total-timesteps"):
        build(changed(settings, "total_timesteps", largest + 1))


def test_what_the_shell_does_not_allow_is_not_free():
    line = (
        "ulimit -d 2000000; exec " + sys.executable + " -c 'import sadapt.training.memory as m; print(m.free_bytes())'"
    )
    told = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout
    assert 0 < int(told) < 2_000_000 * 1024


def test_seeds_at_once_take_their_state_each():
    prog = build(preset("tetris"))
    require_memory(prog, free=10_000_000)
    with pytest.raises(UserError, match=r"1,000 seeds at once: .* lower --num-seeds to 4 or less"):
        require_memory(prog, free=10_000_000, seeds=1000)


def test_a_probe_of_more_episodes_than_fit_is_refused():
    with pytest.raises(UserError, match=r"2,000,000,000 episodes at once: .* lower --episodes to "):
        probe("tetris", episodes=2_000_000_000)
