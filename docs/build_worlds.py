"""Writes docs/worlds/NAME.md for every built-in world: facts and numbers from the program, rules from rules/.

Run it from the project's root: `.venv/bin/python docs/build_worlds.py [NAME ...]`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import numpy as np
from PIL import Image

from sadapt import probe
from sadapt.envs import make, names
from sadapt.envs.atari import freeway
from sadapt.envs.base import Env, Facts
from sadapt.envs.registry import make_any
from sadapt.motivation.probe import Report
from sadapt.registry import find

HERE = Path(__file__).parent / "worlds"
SOURCES = {
    "maze": "After the paper's maze, with our own layout.",
    "butterflies": "After the paper's butterflies, with our own layout.",
    "seasons": "Our own world and layout.",
    "tetris": "After SMiRL's small Tetris (Berseth et al., 2021).",
    "minatar": "After MinAtar (Young and Tian, 2019), rewritten; [what all five games share](minatar.md).",
    "atari": "ale-py (Bellemare et al., 2013).",
}
TEMPLATE = """\
# `{name}`

![{name}]({name}.png)

{about}.

## Rules

{rules}

## Facts

| | |
|---|---|
| observation | `{dtype}{shape}`{stack} |
| channels | {channels} |
| actions | {actions} |
| horizon | {horizon} steps |
| an early end | {on_death} |
| the marginal sees | {seen} |
| from Gymnasium | {gym} |
| source | {source} |

## How far can its entropy be pushed?

{numbers}
"""
ENDS = {
    "end": "ends the episode",
    "soft": "restarts the world, and the episode continues (`soft`)",
    "shock": "restarts the world and is seen as a random observation (`shock`)",
}


def table(report: Report) -> str:
    """What `sadapt probe` prints, as Markdown."""
    lines = ["| policy | final entropy, nats | return |", "|---|---|---|"]
    lines += [
        f"| {row.name} | {row.entropy:.2f} ± {row.entropy_std:.2f} | {row.task_return:.2f} |"
        for row in sorted(report.rows, key=lambda row: row.entropy)
    ]
    room = report.rooms["entropy"]
    verdict = {"s-max": "S-Max", "s-min": "S-Min", "neither": "Neither arm"}[room.favours]
    feedback = f"{room.feedback_low:.3g} down, {room.feedback_high:.3g} up"
    return (
        "\n".join(lines)
        + f"\n\nFeedback |(H - H_random) / H_random| of these policies: {feedback}. {verdict} has more room."
    )


def numbers_of(report: Report) -> str:
    """The world's table, then one for each of its regimes."""
    asked = f"`sadapt probe {report.env}`, {report.episodes} episodes per policy, seed 0:\n\n{table(report)}"
    return "\n\n".join([asked, *(f"### {name}\n\n{table(regime)}" for name, regime in report.regimes.items())])


def picture(env: Env, steps: int = 30) -> np.ndarray:
    """The world after some random steps."""
    key_reset, key_play = jax.random.split(jax.random.key(1))
    state, _ = env.reset(key_reset)
    advance = jax.jit(env.step)
    for key in jax.random.split(key_play, steps):
        key_act, key_step = jax.random.split(key)
        after, step = advance(key_step, state, jax.random.randint(key_act, (), 0, env.num_actions))
        if step.terminated:
            break
        state = after
    return env.render(state)


def screen() -> np.ndarray:
    """Atari's first screen after some steps up."""
    worlds = freeway().open(1)
    worlds.restart(jax.random.key(0), np.ones(1, bool))
    for _ in range(20):
        worlds.step(jax.random.key(0), np.ones(1, np.int64))
    image = worlds.render()
    worlds.close()
    return image


def rules_of(name: str) -> str:
    """The world's own rules, or its family's."""
    own = HERE / "rules" / f"{name}.md"
    return (own if own.exists() else HERE / "rules" / f"{name.split('-')[0]}.md").read_text(encoding="utf-8").strip()


def page(env: Facts, numbers: str) -> str:
    """One page."""
    seen = ", ".join(env.channels[index] for index in env.marginal_channels)
    return TEMPLATE.format(
        name=env.name,
        about=env.about[0].upper() + env.about[1:],
        rules=rules_of(env.name),
        dtype=np.dtype(env.obs_dtype).name,
        shape=list(env.obs_shape),
        stack=f", {env.stack} at a time for the policy" if env.stack > 1 else "",
        channels=", ".join(env.channels),
        actions=", ".join(env.actions),
        horizon=env.horizon,
        on_death=ENDS[env.on_death],
        seen=seen if env.eye is None else f"{seen}, averaged to {env.eye.shape[0]} x {env.eye.shape[1]}",
        gym=f'`gym.make("{find("env", env.name).hints["gymnasium_id"]}")`'
        if "gymnasium_id" in find("env", env.name).hints
        else "as in ale-py",
        source=SOURCES[env.name.split("-")[0]],
        numbers=numbers,
    )


def contents() -> str:
    """The list of all pages."""
    facts: list[Facts] = [make_any(name) for name in names()]
    lines = ["# Worlds", "", "| world | | horizon |", "|---|---|---|"]
    lines += [f"| [`{env.name}`]({env.name}.md) | {env.about} | {env.horizon} |" for env in facts]
    return "\n".join(
        [*lines, "", "Any Gymnasium environment with discrete actions works too: `sadapt train gym:ID`.", ""]
    )


def main() -> None:
    (HERE / "README.md").write_text(contents(), encoding="utf-8")
    wanted = sys.argv[1:] or [*names(), "atari-freeway"]
    for name in wanted:
        if name == "atari-freeway":
            env, image = freeway(), screen()
            numbers = (
                "`sadapt probe` needs a world written in JAX; a random agent's entropy is measured before training."
            )
        else:
            env = make(name)
            scenes = [picture(each) for each in env.regimes.values() or [env]]
            image, numbers = np.hstack(scenes), numbers_of(probe(env))
        Image.fromarray(image).save(HERE / f"{name}.png", optimize=True)
        (HERE / f"{name}.md").write_text(page(env, numbers), encoding="utf-8")
        print(HERE / f"{name}.md")


if __name__ == "__main__":
    main()
