"""Going on beyond the planned end: the run gets longer, what goes by its planned length stays as it was.

An extended run is the same, to the byte, as one that was asked for `total_timesteps` of the new length and
`planned_timesteps` of the old one from its beginning.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sadapt.errors import UserError
from sadapt.fields import Count, checked, field_of
from sadapt.runs import config
from sadapt.runs.folder import RunFolder, write_json
from sadapt.training.loop import steps_trained
from sadapt.training.program import Program
from sadapt.training.settings import Settings

TOTAL, PLANNED = "total_timesteps", "planned_timesteps"


def extended(settings: Settings, total: int, source: str) -> Settings:
    """The same run with more steps; its schedules go by as many as before."""
    total = checked(field_of(Count), TOTAL, total)
    if total < settings.total_timesteps:
        raise UserError(
            f"{source} is a run of {settings.total_timesteps:,} steps: --total-timesteps must be more to extend it; "
            f"got {total:,}"
        )
    if total == settings.total_timesteps:
        return settings
    return replace(settings, total_timesteps=total, planned_timesteps=settings.planned)


def as_long_as(settings: Settings, wanted: Settings) -> Settings:
    """The same settings with the lengths of others."""
    return replace(settings, total_timesteps=wanted.total_timesteps, planned_timesteps=wanted.planned_timesteps)


def require_learning(prog: Program, source: str) -> None:
    """Refuses to go on where nothing would be learned any more."""
    if prog.learner.falls.get("learning_rate") == 0:
        raise UserError(
            f"{source} has a learning rate of 0 after its planned end, so it would learn nothing more: train a "
            f"new run that starts from its policy (sadapt train ... --from {source})"
        )


def spoken(prog: Program, step: int) -> str:
    """What an extended run's schedules do, in a sentence."""
    planned, falls = prog.sizes.planned_steps, prog.learner.falls
    values = ", ".join(f"{name} {value:g}" for name, value in falls.items())
    if not falls:
        what = "this learner reports none"
    elif step >= planned:
        what = f"they have ended, and stay where they are ({values})"
    else:
        what = f"they end at that step, and stay there ({values})"
    return (
        f"continues from step {step:,} to step {steps_trained(prog):,}. Its schedules keep to the {planned:,} planned "
        f"steps: {what}. Rows of metrics come as often as before"
    )


def same_but_longer(former: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether stored settings are those of the wanted run before it was extended."""
    return former.get(TOTAL, 0) <= wanted[TOTAL] and not config.differences(as_planned(former), as_planned(wanted))


def as_planned(settings: dict[str, Any]) -> dict[str, Any]:
    """Stored settings as they were before any extension."""
    return {**settings, TOTAL: settings.get(PLANNED) or settings.get(TOTAL), PLANNED: None}


def record(folder: RunFolder, settings: Settings, prog: Program, step: int) -> None:
    """Writes the longer run into `config.json`, with when and by which program it was extended."""
    former = config.read_record(folder.config)
    before = config.from_dict(former["settings"], str(folder.config))
    now = config.record(settings)
    change = {"at_step": step, "from": before.total_timesteps, "to": settings.total_timesteps}
    told = {name: now[name] for name in ("version", "versions", "revision", "command")}
    history = [*former.get("extended", []), {**change, **told}]
    new = {"settings": config.to_dict(as_long_as(before, settings)), "steps": steps_trained(prog), "extended": history}
    write_json(folder.config, {**former, **new})
