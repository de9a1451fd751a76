"""A line of the table."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def row(what: str, value: float, unit: str, reference: float, against: str) -> Row:
    """What was measured, the number and its unit, what it is compared with, the ratio."""
    return {"what": what, "value": value, "unit": unit, "against": against, "reference": reference,
            "ratio": value / reference}  # fmt: skip
