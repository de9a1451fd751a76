"""The worlds that Gymnasium is told of."""

from __future__ import annotations

from sadapt.envs.table import compiled
from sadapt.registry import find

WORLDS = compiled()
ID_OF = {name: find("env", name).hints["gymnasium_id"] for name in WORLDS}
IDS = list(ID_OF.values())
