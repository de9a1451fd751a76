"""Training that begins with a trained policy: which one, whether it fits, and how it comes into the first state.

Only the policy's network is taken over. The learner, the bandit, the normaliser and every schedule begin anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from sadapt.composite import all_changed
from sadapt.errors import UserError
from sadapt.motivation.objectives import ARMS, OBJECTIVES
from sadapt.registry import Own
from sadapt.runs import checkpoint, config
from sadapt.runs.agent import Agent, load
from sadapt.runs.checkpoint import Damaged
from sadapt.training.driver import shapes
from sadapt.training.parts import per_arm_networks
from sadapt.training.program import Program, TrainState
from sadapt.training.settings import Settings

SEED = "{seed}"
"""In the name of a policy: the seed of the run that begins with it."""
ALIKE = ("obs_shape", "obs_dtype", "channels", "actions")
"""What two worlds must have in common for one's policy to act in the other."""


class Start(NamedTuple):
    """A policy to begin with."""

    params: Any
    """As this run's network has them."""
    told: dict[str, Any]
    """What `config.json` tells of it."""


def source_of(settings: Settings) -> str | None:
    """The run or file whose policy a run begins with."""
    return None if settings.start_from is None else settings.start_from.replace(SEED, str(settings.seed))


def policies(all_settings: Sequence[Settings], own: Own | None = None) -> list[Agent]:
    """The policies that runs begin with, one a seed; none if they begin with new networks."""
    sources = [source for source in map(source_of, all_settings) if source is not None]
    if sources and OBJECTIVES[all_settings[0].objective].reward is None:
        raise UserError(f"Random has no policy to start from: leave --from {sources[0]} out, or choose an --objective")
    found = [load(source, own=own) for source in sources]
    for agent in found:
        if agent.program.learner.policy is None:
            raise UserError(f"{agent.source} is a run of Random and has no policy to start from: name another --from")
    return found


def shown_as(settings: Settings, agents: Sequence[Agent]) -> Settings:
    """The same run, in which the task's agent sees what the policies have seen that it begins with."""
    blind = not OBJECTIVES[settings.objective].sees_theta and settings.as_arm == "auto"
    seeing = {ARMS[agent.preferred_arm] for agent in agents if agent.program.parts.objective.sees_theta}
    if not blind or not seeing:
        return settings
    if len(seeing) > 1:
        raise UserError("the policies to start from prefer different arms: give --as-arm s-max or --as-arm s-min")
    return all_changed(settings, {"as_arm": seeing.pop()})


def fitted(agent: Agent, prog: Program, settings: Settings) -> Start:
    """The policy as this run's network has it; refuses one that does not fit, by what does not."""
    _require_world(agent, prog)
    _require_kind(agent, settings)
    params = _for_arms(agent, prog, settings)
    try:
        filled = checkpoint.tree_like(shapes(prog).learner.params, checkpoint.tensors_of(params))
    except Damaged as misfit:
        raise UserError(f"{_whose(agent)} does not fit into this run's network: {misfit}") from misfit
    told = {"source": agent.source, "env": agent.settings.env, "objective": agent.settings.objective}
    return Start(filled, {**told, "step": agent.step, "sha256": digest(agent)})


def digest(agent: Agent) -> str:
    """The policy in short."""
    total = hashlib.sha256()
    for name, tensor in sorted(checkpoint.tensors_of(agent.params).items()):
        total.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
        total.update(tensor.tobytes())
    return total.hexdigest()


def require_same(agent: Agent, told: Any, source: str) -> None:
    """Refuses a policy that is no longer the one that a run began with."""
    if isinstance(told, dict) and told.get("sha256") not in (None, digest(agent)):
        raise UserError(
            f"{source} started from another policy than {agent.source} holds now, and has no checkpoint yet: put that "
            "policy back, or train again"
        )


def put(state: TrainState, starts: Sequence[Start]) -> TrainState:
    """The first state, with these networks in place of new ones; of several seeds, one each."""
    params = starts[0].params
    if len(starts) > 1:
        params = jax.tree.map(lambda *each: jnp.stack(each), *(start.params for start in starts))
    return state._replace(learner=state.learner._replace(params=params))


def spoken(agent: Agent, settings: Settings) -> str:
    """What is said before the first step."""
    first = getattr(settings.learner.settings, "start_e", None)
    explores = f"; exploration still begins at --start-e {first:g}: lower it to act as learned" if first else ""
    on = f" on arm {settings.as_arm}" if settings.as_arm != "auto" else ""
    return f"starts from the policy of {agent.source} ({agent.title}{on}, {agent.step:,} steps){explores}"


def _require_world(agent: Agent, prog: Program) -> None:
    """Refuses a policy of a world that shows or takes something else."""
    theirs, ours = agent.env, prog.env
    for name in ALIKE:
        before, here = getattr(theirs, name), getattr(ours, name)
        if before != here:
            raise UserError(
                f"{_whose(agent)} was trained in {theirs.name}, which has other {name.replace('_', ' ')} than "
                f"{ours.name}: {_short(before)} there, {_short(here)} here. Start from a policy of a similar world"
            )


def _require_kind(agent: Agent, settings: Settings) -> None:
    """Refuses a network of another kind, by the settings that would make it the same."""
    theirs, ours = config.to_dict(agent.settings), config.to_dict(settings)
    if "ppo" in (kinds := {theirs["learner"]["kind"], ours["learner"]["kind"]}) and len(kinds) > 1:
        raise UserError(
            f"{_whose(agent)} was trained by {theirs['learner']['kind']}, whose network has other outputs than that of "
            f"{ours['learner']['kind']}: give --learner {theirs['learner']['kind']}"
        )
    for group in ("network", "marginal"):
        named = {theirs[group]["kind"], ours[group]["kind"]}
        if "auto" in named and len(named) > 1:  # which may be the same one: its parameters will tell
            continue
        if found := config.differences(theirs[group], ours[group]):
            raise UserError(
                f"{_whose(agent)} has another {group} than this run (its own first): {'; '.join(found)}. Give the same "
                f"settings of the {group}"
            )


def _for_arms(agent: Agent, prog: Program, settings: Settings) -> Any:
    """The policy's networks, as many as this run has: of two, that of the arm which this run is on; of one, twice."""
    apart_there, apart_here = per_arm_networks(agent.settings), per_arm_networks(settings)
    if apart_there == apart_here:
        return agent.params
    if apart_here:
        return {f"arm_{arm}": agent.params for arm in range(len(ARMS))}
    arm = prog.parts.objective.arm
    return agent.params[f"arm_{agent.preferred_arm if arm is None else arm}"]


def _whose(agent: Agent) -> str:
    return f"the policy of {agent.source}"


def _short(value: Any) -> str:
    if isinstance(value, tuple) and value and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return str(value)
