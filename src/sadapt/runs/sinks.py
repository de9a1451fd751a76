"""Where rows of metrics go beside `metrics.csv`: TensorBoard, and Weights & Biases on request."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sadapt.errors import UserError
from sadapt.training.metrics import Row


class Sink(NamedTuple):
    """Takes rows until it is closed."""

    add: Callable[[Row], None]
    close: Callable[[], None]


def scalars(row: Row, charts: Mapping[str, str]) -> dict[str, float]:
    """A row by the names of its charts, without what is missing."""
    return {
        charts.get(name, f"charts/{name}"): float(value)
        for name, value in row.items()
        if name != "step" and value is not None
    }


def tensorboard(folder: Path, step: int, charts: Mapping[str, str]) -> Sink:
    """TensorBoard events in the run's folder; those after `step`, from a run that was cut off, are hidden."""
    from tensorboardX import SummaryWriter

    writer = SummaryWriter(str(folder), purge_step=step or None, flush_secs=10)

    def add(row: Row) -> None:
        for name, value in scalars(row, charts).items():
            writer.add_scalar(name, value, row["step"])

    return Sink(add, writer.close)


def wandb(folder: Path, name: str, config: dict[str, Any], charts: Mapping[str, str]) -> Sink:
    """Weights & Biases; `WANDB_MODE=offline` keeps the run on this machine until `wandb sync`."""
    require_wandb()
    module = importlib.import_module("wandb")
    words = {"project": "sadapt", "name": name, "id": name.replace("/", "-"), "resume": "allow"}
    run = module.init(**words, dir=str(folder), config=config)

    def add(row: Row) -> None:
        run.log(scalars(row, charts), step=int(row["step"] or 0))

    return Sink(add, run.finish)


def require_wandb() -> None:
    """Refuses `--track` where the library is not installed, before anything has begun."""
    try:
        importlib.import_module("wandb")
    except ModuleNotFoundError as error:
        raise UserError("--track needs Weights & Biases: pip install 'sadapt[wandb]', or leave --track away") from error
