"""One table of everything that is measured, in one run."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from sadapt.benchmarks.row import Row, row
from sadapt.benchmarks.timing import best_of

PARTS = ("worlds", "wrappers", "learners", "peers")
STEPS, ATARI_STEPS = 250, 40
"""Steps in a timed call where we are compared with a peer: short ones, so that each finds the machine undisturbed."""
PATIENCE = 8
"""How many times longer such comparisons may take than the other measurements."""


def rows(parts: tuple[str, ...] = PARTS, *, seconds: float = 3.0) -> Iterator[Row]:
    """Measures and yields row after row: what, the number and its unit, what it is compared with, the ratio."""
    from sadapt.benchmarks import learners, worlds

    gflops = learners.matmul_gflops()
    yield row("matrix products", gflops, "GFLOP/s", learners.REFERENCE_GFLOPS, "reference core")
    if "worlds" in parts:
        for name, target in worlds.TARGETS.items():
            rate = worlds.steps_per_second(name, seconds=seconds)
            yield row(f"{name}, 256 worlds, random play", rate, "steps/s", target, "target")
        yield from _arcade(seconds)
    if "wrappers" in parts:
        yield from _wrappers(seconds)
    if "learners" in parts:
        yield from _learners(seconds)
    if "peers" in parts:
        from sadapt.benchmarks.peers import rows as peers

        yield from peers.rows(seconds=seconds)


def _arcade(seconds: float) -> Iterator[Row]:
    from sadapt.benchmarks import worlds

    for name, target in worlds.ARCADE_TARGETS.items():
        rate = worlds.steps_per_second(name, 64, seconds=seconds)
        yield row(f"{name}, 64 worlds, random play", rate, "steps/s", target, "target")


def _wrappers(seconds: float) -> Iterator[Row]:
    from sadapt.benchmarks import wrappers

    for channels in wrappers.CHANNELS:
        for what, limit in wrappers.LIMITS.items():
            added = wrappers.overhead_microseconds(what, channels, seconds=seconds)
            yield row(f"surprise wrapper, 10x10x{channels}, {what}", added, "us/step", limit, "limit")


def _learners(seconds: float) -> Iterator[Row]:
    from sadapt.benchmarks import learners, where

    for name, target in learners.PQN_TARGETS.items():
        yield row(f"pqn fast, {name}", learners.pqn_rate(name, seconds=seconds), "steps/s", target, "target")
    if find_spec("ale_py") is not None:
        for objective, target in learners.ATARI_TARGETS.items():
            rate = learners.atari_pqn_rate(objective, seconds=PATIENCE * seconds)
            yield row(f"pqn fast, atari-freeway, {objective}", rate, "steps/s", target, "target")
    for name in learners.ADAPTING:
        ours, single = learners.adapting_rates(name, seconds=seconds)
        yield row(f"pqn fast, {name}, s-adapt, arms by turns", ours, "steps/s", single, "s-min")
    for name in learners.STREAMS:
        stream, episodic = learners.stream_rates(name, seconds=seconds)
        yield row(f"pqn fast, {name}, s-min in a stream", stream, "steps/s", episodic, "in episodes")
    small, dqn = learners.dqn_rates(10_000, 1_000_000, steps=STEPS, seconds=PATIENCE * seconds)
    yield row("dqn paper, maze-small, replay 1,000,000", dqn, "steps/s", small, "replay 10,000")
    updated = learners.dqn_settings(learning_starts=1_000, buffer_size=100_000)
    update, bare = where.update_milliseconds(updated, seconds=PATIENCE * seconds)
    yield row("dqn update", update, "ms", bare, "its matrix products and Adam alone")
    for name in ("maze-small", "butterflies-large"):
        kept, everything = learners.replay_gigabytes(name)
        yield row(f"replay of 1,000,000 steps, {name}", kept, "GB", everything, "s, theta and successors as float32")
    written = learners.checkpoint_seconds()
    yield row("checkpoint of dqn paper, maze-small, replay 1,000,000", written, "s", 10.0, "limit")
    if all(find_spec(module) is not None for module in ("stable_baselines3", "ale_py", "cv2")):
        from sadapt.benchmarks import sb3

        for objective in ("extrinsic", "s-min"):
            both = [part.atari_training(objective, steps=ATARI_STEPS) for part in (learners, sb3)]
            ours, peer = (ATARI_STEPS / each for each in best_of(*both, seconds=PATIENCE * seconds))
            yield row(f"dqn paper, atari-freeway, {objective}", ours, "steps/s", peer, "stable-baselines3 dqn")
