"""Where rows of metrics go beside `metrics.csv`: TensorBoard, and Weights & Biases on request."""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from sadapt.errors import UserError, installing
from sadapt.training.metrics import Row

log = logging.getLogger(__name__)


class Sink(NamedTuple):
    """Takes rows until it is closed."""

    name: str
    add: Callable[[Row], None]
    close: Callable[[], None]


class Onlookers:
    """The sinks of a run; one that fails is named and left out from then on, and the run goes on."""

    def __init__(self, openers: Mapping[str, Callable[[], Sink]]) -> None:
        self._sinks: list[Sink] = []
        for name, opener in openers.items():
            self._try(name, lambda opener=opener: self._sinks.append(opener()))  # type: ignore[misc]

    def add(self, row: Row) -> None:
        for sink in list(self._sinks):
            if not self._try(sink.name, lambda sink=sink: sink.add(row)):  # type: ignore[misc]
                self._sinks.remove(sink)
                with suppress(Exception):
                    sink.close()

    def close(self) -> None:
        for sink in self._sinks:
            self._try(sink.name, sink.close)
        self._sinks = []

    def _try(self, name: str, call: Callable[[], None]) -> bool:
        try:
            call()
        except Exception as error:  # a service raises what it likes
            log.warning("%s gets no more of this run, which continues: %s", name, error)
            return False
        return True


def scalars(row: Row, charts: Mapping[str, str]) -> dict[str, float]:
    """A row by the names of its charts, without what is missing."""
    return {
        charts.get(name, f"charts/{name}"): float(value)
        for name, value in row.items()
        if name != "step" and value is not None
    }


def tensorboard(folder: Path, step: int, charts: Mapping[str, str]) -> Sink:
    """TensorBoard events in the run's folder; those after `step`, from a run that was cut off, are hidden.

    They are written here and now: the library's own thread would die of a full disk, and let the run wait for it.
    """
    from tensorboardX.event_file_writer import EventsWriter
    from tensorboardX.proto.event_pb2 import Event, SessionLog
    from tensorboardX.summary import scalar

    writer = EventsWriter(str(folder / "events"))
    if step:
        writer.write_event(Event(wall_time=time.time(), step=step, session_log=SessionLog(status=SessionLog.START)))

    def add(row: Row) -> None:
        for name, value in scalars(row, charts).items():
            event = Event(wall_time=time.time(), step=int(row["step"] or 0), summary=scalar(name, value))
            writer.write_event(event)
        writer.flush()

    return Sink("TensorBoard", add, writer.close)


def wandb(folder: Path, name: str, config: dict[str, Any], charts: Mapping[str, str]) -> Sink:
    """Weights & Biases; `WANDB_MODE=offline` keeps the run on this machine until `wandb sync`."""
    require_wandb()
    module = importlib.import_module("wandb")
    words = {"project": "sadapt", "name": name, "id": identity(name, config), "resume": "allow"}
    run = module.init(**words, dir=str(folder), config=config)

    def add(row: Row) -> None:
        run.log(scalars(row, charts), step=int(row["step"] or 0))

    return Sink("Weights & Biases", add, run.finish)


def identity(name: str, config: dict[str, Any]) -> str:
    """What tells a run from every other one, of the same name and other settings too."""
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
    return f"{name.replace('/', '-')}-{digest[:8]}"


def require_wandb() -> None:
    """Refuses `--track` where the library is not installed, before anything has begun."""
    try:
        importlib.import_module("wandb")
    except ModuleNotFoundError as error:
        raise UserError(f"--track needs Weights & Biases: {installing('wandb')}, or leave out --track") from error
