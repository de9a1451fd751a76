"""Taking a run up: from the newest checkpoint that is whole, of this run, and in step with its metrics."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import Any, NamedTuple

from sadapt import __version__
from sadapt.errors import UserError
from sadapt.runs import checkpoint, config, metrics_file
from sadapt.runs.checkpoint import Damaged
from sadapt.runs.extending import as_long_as, same_but_longer
from sadapt.runs.folder import RunFolder, layout_text
from sadapt.training.program import TrainState
from sadapt.training.settings import Settings

log = logging.getLogger(__name__)


class Restored(NamedTuple):
    """A run as it was left."""

    state: TrainState
    seconds: float
    """That it took so far."""
    metrics: str | None
    """What is wrong with its metrics, if no checkpoint is in step with them."""


def known_facts(folder: RunFolder) -> dict[str, Any]:
    """What a checkpoint tells of its run, so that it is taken up as what it was."""
    return {
        "version": __version__,
        "settings": config.to_dict(config.read(folder.config)),
        "versions": config.versions(),
        "layout": layout_digest(folder),
    }


def layout_digest(folder: RunFolder) -> str | None:
    """The run's own map in short."""
    text = layout_text(folder.on_its_map(config.read(folder.config)))
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def restore(folder: RunFolder, shapes: TrainState, wanted: Settings | None = None) -> Restored | None:
    """The run from the newest checkpoint that can be used; None if there never was one.

    `wanted` has the length of a run that is to be extended, where `config.json` does not say so yet.
    """
    stored = config.read(folder.config)
    expected = config.to_dict(stored if wanted is None else as_long_as(stored, wanted))
    out_of_step: list[tuple[Path, dict[str, Any], str]] = []
    paths = list(folder.checkpoints.newest())
    for path in paths:
        try:
            facts = checkpoint.require_run(checkpoint.facts_of(path))
            _require_same(folder, path, facts, expected)
            if (trouble := metrics_file.trouble(folder.metrics, facts.get("metrics"))) is not None:
                out_of_step.append((path, facts, trouble))
                continue
            return _restored(folder, path, facts, shapes, None)
        except Damaged as damage:
            log.warning("checkpoint %s is not used: %s", path, damage)
    for path, facts, trouble in out_of_step:
        try:
            return _restored(folder, path, facts, shapes, trouble)
        except Damaged as damage:
            log.warning("checkpoint %s is not used: %s", path, damage)
    if paths:
        raise UserError(
            f"no checkpoint of {folder} can be used ({', '.join(path.name for path in paths)}), so it cannot be "
            f"resumed and is left as it is: {folder.anew()}"
        )
    return None


def _restored(
    folder: RunFolder, path: Path, facts: dict[str, Any], shapes: TrainState, trouble: str | None
) -> Restored:
    """The run from this checkpoint, with its metrics cut back to it."""
    state = checkpoint.tree_like(shapes, checkpoint.stored(path))
    _tell_versions(path, facts)
    newest = next(folder.checkpoints.newest())
    if trouble is not None:
        log.warning("%s %s: the run continues from %s, but these rows are lost", folder.metrics, trouble, path)
        metrics_file.cut(folder.metrics, int(facts["step"]))
    else:
        if path != newest and (why := _trouble(folder, newest)) is not None:
            log.warning("%s %s: the run continues from %s, before that", folder.metrics, why, path)
        metrics_file.cut_to(folder.metrics, facts.get("metrics"), int(facts["step"]))
    return Restored(state, float(facts.get("seconds", 0.0)), trouble)


def _trouble(folder: RunFolder, path: Path) -> str | None:
    """What is wrong with the metrics if one asks this checkpoint, so far as it can be asked."""
    try:
        return metrics_file.trouble(folder.metrics, checkpoint.require_run(checkpoint.facts_of(path)).get("metrics"))
    except Damaged:
        return None


def is_complete(folder: RunFolder) -> bool:
    """Whether a run has finished and nothing of it is missing; refuses one that could not be completed."""
    if folder.read_status().get("state") != "finished":
        return False
    newest = next(folder.checkpoints.newest(), None)
    if newest is None:
        raise UserError(
            f"{folder} has finished, but its checkpoints are gone, so it cannot be resumed: {folder.anew()}"
        )
    try:
        facts = checkpoint.require_run(checkpoint.facts_of(newest))
    except Damaged:
        return False
    done = int(facts["step"]) >= config.read(folder.config).total_timesteps
    return done and metrics_file.trouble(folder.metrics, facts.get("metrics")) is None


def _require_same(folder: RunFolder, path: Path, facts: dict[str, Any], expected: dict[str, Any]) -> None:
    """Refuses a checkpoint of another version, of other settings or of another map than the run's."""
    if facts["version"] != __version__:
        raise UserError(
            f"checkpoint {path} is from sadapt {facts['version']}, this is {__version__}: install that version "
            f"(pip install sadapt=={facts['version']}) to resume, or train again"
        )
    found = config.differences(facts["settings"], expected)
    if found and not same_but_longer(facts["settings"], expected):
        raise UserError(
            f"checkpoint {path} is from other settings than config.json (checkpoint's first): " + "; ".join(found)
        )
    if "layout" in facts and facts["layout"] != layout_digest(folder):
        raise UserError(
            f"checkpoint {path} is from another map than {folder.layout} is now: put the map back as it was to go on, "
            f"or train again: {folder.anew()}"
        )


def _tell_versions(path: Path, facts: dict[str, Any]) -> None:
    """Says with which other libraries a run began."""
    theirs, ours = facts.get("versions", {}), config.versions()
    others = [name for name in config.RECORDED if theirs.get(name, ours[name]) != ours[name]]
    if others:
        told = "; ".join(f"{name} {theirs[name]}, this is {ours[name]}" for name in others)
        log.warning("%s was written with %s: the run continues, but may not end in the same bytes", path, told)
