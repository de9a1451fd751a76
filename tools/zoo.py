"""Fills the zoo: `python -m tools.zoo RUN...` exports trained policies into src/sadapt/zoo with their evaluation.

A run must be finished, and of a world that comes with the program. Of several runs of one agent in one world the one
whose bandit would hear the most is kept. Policies that are there already stay, unless they are named again.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from sadapt import __version__, zoo
from sadapt.envs.table import compiled
from sadapt.errors import UserError
from sadapt.motivation.objectives import ARMS
from sadapt.runs import config
from sadapt.runs.agent import Agent, load
from sadapt.runs.evaluation import evaluate
from sadapt.runs.folder import RunFolder, find
from sadapt.runs.programs import keep_programs

MOST = 8_000_000
"""Bytes of the whole folder."""
DIGITS = 6


def main(words: list[str] | None = None) -> int:
    """Exports every run that is named; 2 is a mistake of the user's."""
    parser = argparse.ArgumentParser(prog="python -m tools.zoo", description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folder of a finished run")
    parser.add_argument("--out", type=Path, default=zoo.FOLDER, help="folder of the zoo")
    parser.add_argument("--episodes", type=int, default=100, help="episodes of each evaluation")
    parser.add_argument("--unfinished", action="store_true", help="take a run that was stopped, too, as far as it came")
    given = parser.parse_args(words)
    try:
        best: dict[str, float] = {}
        given.out.mkdir(parents=True, exist_ok=True)
        keep_programs()
        for path in given.runs:
            agent = usable(find(path), unfinished=given.unfinished)
            evaluations = evaluated(agent, given.episodes)
            heard = evaluations[ARMS[agent.preferred_arm]]["measures"]["feedback"]["mean"]
            name = name_of(agent)
            if name not in best or heard > best[name]:
                best[name] = heard
                put(agent, name, evaluations, given.out)
            print(f"{name}: {path}, feedback {heard:.3g}", flush=True)
        require_small(given.out)
    except UserError as error:
        print(f"zoo: error: {error}", file=sys.stderr)
        return 2
    return 0


def usable(run: RunFolder, *, unfinished: bool = False) -> Agent:
    """The agent of a finished run in a world that comes with the program."""
    settings = run.read_settings()
    if settings.env not in compiled() or run.layout.exists() or settings.imports:
        raise UserError(f"{run} is a run in {settings.env}; the zoo has worlds that come with the program, as they are")
    if not unfinished and run.read_status().get("state") != "finished":
        raise UserError(f"{run} has not finished: `sadapt resume {run}` first, or give --unfinished")
    agent = load(run.path)
    if agent.program.learner.policy is None:
        raise UserError(f"{run} is a run of Random, which has no policy")
    return agent


def name_of(agent: Agent) -> str:
    """The world's name; for others than S-Adapt, the agent's behind it."""
    objective = agent.settings.objective
    return agent.settings.env if objective == "s-adapt" else f"{agent.settings.env}-{objective}"


def evaluated(agent: Agent, episodes: int) -> dict[str, dict[str, Any]]:
    """What the policy does on every arm that it has, rounded, and without where it came from."""
    import jax
    import jax.numpy as jnp

    agent.params = jax.tree.map(lambda x: x.astype(jnp.float16).astype(jnp.float32), agent.params)
    arms = ARMS if agent.program.parts.objective.adaptive else (ARMS[agent.preferred_arm],)
    found = {}
    for arm in arms:
        name = arm if agent.program.parts.objective.adaptive else None
        told = evaluate(agent, episodes=episodes, arm=name).as_dict()
        found[arm] = {**told, "source": zoo.PREFIX + name_of(agent)}
    return {arm: rounded(told) for arm, told in found.items()}


def rounded(value: Any) -> Any:
    """Numbers to as many digits as mean something."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def put(agent: Agent, name: str, evaluations: dict[str, dict[str, Any]], folder: Path) -> None:
    """The policy and what is told of it."""
    made = config.read_record(RunFolder(agent.source).config)
    about = {
        "env": agent.settings.env,
        "objective": agent.settings.objective,
        "learner": agent.settings.learner.name,
        "arm": ARMS[agent.preferred_arm],
        "step": agent.step,
        "version": __version__,
        "revision": made.get("revision"),
        "versions": made.get("versions"),
        "settings": config.to_dict(agent.settings),
        "evaluations": evaluations,
    }
    agent.save(folder / f"{name}{zoo.POLICY}", half=True)
    (folder / f"{name}{zoo.ABOUT}").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def require_small(folder: Path) -> None:
    """Refuses a zoo that is too large to come with the program."""
    size = sum(file.stat().st_size for file in folder.iterdir() if file.suffix in (zoo.POLICY, zoo.ABOUT))
    print(f"{len(zoo.names(folder))} policies, {size / 1e6:.2f} MB in {folder}")
    if size > MOST:
        raise UserError(f"{folder} has {size / 1e6:.2f} MB; at most {MOST / 1e6:g} may come with the program")


if __name__ == "__main__":
    sys.exit(main())
